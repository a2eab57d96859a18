"""Counters, durations, logs, spans, and the id of a job through everything."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import unchunk
from unchunk.telemetry import (
    Fact,
    LogFormat,
    Span,
    Telemetry,
    job,
    log,
    show_logs,
    span_headers,
    trace_headers,
)
from unchunk.telemetry.logs import logger

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_stages_add_up_and_counters_count() -> None:
    telemetry = Telemetry()
    for _ in range(2):
        with telemetry.stage("read"):
            telemetry.count("files")
    telemetry.count("files", 3)
    assert telemetry.counters["files"] == 5
    assert telemetry.seconds["read"] > 0


def test_a_record_carries_the_job_that_it_belongs_to_also_in_a_thread(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work(name: str) -> None:
        with job(name):
            await asyncio.to_thread(log, "in %s", name)

    async def both() -> None:
        await asyncio.gather(work("one"), work("two"))

    with caplog.at_level(logging.INFO, "unchunk"):
        asyncio.run(both())
        log("outside")
    jobs = {record.getMessage(): record.__dict__["job"] for record in caplog.records}
    assert jobs == {"in one": "one", "in two": "two", "outside": "-"}


def test_what_a_library_did_is_counted_and_logged_under_one_job(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "empty.md").touch()
    with (
        caplog.at_level(logging.INFO, "unchunk"),
        unchunk.open(tmp_path / "home", embedder="hashing") as library,
    ):
        library.add(EXAMPLES / "haiku.md", tmp_path / "empty.md")
        counts = library.counts()
    assert counts.counters["files_added"] == counts.counters["files_failed"] == 1
    assert counts.counters["chunks"] == counts.counters["embedded_chunks"] == counts.chunks
    assert {"read", "extract", "chunk", "embed", "index", "flush", "commit"} <= set(counts.seconds)
    jobs = {record.__dict__["job"] for record in caplog.records}
    assert len(jobs) == 1
    assert "-" not in jobs
    assert any("failed" in record.getMessage() for record in caplog.records)


@contextmanager
def printed(form: LogFormat, level: int = logging.INFO) -> Iterator[io.StringIO]:
    """What the log of this process prints inside."""
    root = logging.getLogger()
    before, was = list(root.handlers), logger.level
    stream = io.StringIO()
    with redirect_stderr(stream):
        show_logs(form, level)
        try:
            yield stream
        finally:
            for one in set(root.handlers) - set(before):
                root.removeHandler(one)
            logger.setLevel(was)


def test_a_log_for_people_has_a_line_for_each_record_and_none_is_forged() -> None:
    with printed("text") as stream, job("j1"):
        log("added %s", "a.md\n2026-01-01 00:00:00,000 INFO [j2] deleted all\x1b[2J\u2028x\r\ny")
    first, *rest = stream.getvalue().splitlines()
    assert first.endswith("INFO [j1] added a.md")
    assert all(line.startswith("    ") for line in rest)
    assert "\x1b" not in stream.getvalue()
    assert "\\x1b[2J\\u2028x" in stream.getvalue()


def test_a_log_for_programs_is_an_object_a_line() -> None:
    with printed("json") as stream:
        with job("j1"):
            log(
                "read %s",
                "a\n\x1b.md",
                level=logging.WARNING,
                facts={"status": 200, "seconds": 0.5},
            )
        log("outside")
        logger.info("by somebody who knows no jobs")
    one, two, three = (json.loads(line) for line in stream.getvalue().splitlines())
    assert datetime.fromisoformat(one.pop("time")).utcoffset() == timedelta(0)
    assert one == {
        "level": "warning",
        "job": "j1",
        "message": "read a\n\x1b.md",
        "status": 200,
        "seconds": 0.5,
    }
    assert (two["job"], two["message"]) == (three["job"], "outside") == ("-", "outside")


def test_what_a_library_warns_of_stands_there_in_the_same_form() -> None:
    with printed("json") as stream:
        logging.getLogger("elsewhere").warning("odd")
        logging.getLogger("elsewhere").info("usual")
        logging.getLogger("elsewhere").error("worse", exc_info=ValueError("why"))
    told, worse = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (told["level"], told["job"], told["message"]) == ("warning", "-", "odd")
    assert worse["message"] == "worse\nValueError: why"


def test_the_last_call_says_how_and_how_much_is_shown() -> None:
    with printed("text") as stream:
        show_logs("json", logging.WARNING)
        log("not this")
        log("but this", level=logging.ERROR)
    [line] = stream.getvalue().splitlines()
    assert json.loads(line)["message"] == "but this"


@dataclass
class Kept:
    """A span that notes what becomes of it."""

    name: str
    facts: dict[str, Fact]
    parent: Span | None
    asked: Mapping[str, str] | None = None
    ended: list[str] = field(default_factory=list)

    @property
    def trace(self) -> str:
        return "t1"

    @property
    def headers(self) -> dict[str, str]:
        return {"traceparent": self.name}

    def note(self, facts: Mapping[str, Fact], name: str = "") -> None:
        self.facts |= facts
        self.name = name or self.name

    def end(self, error: str = "") -> None:
        self.ended.append(error)


@dataclass
class Keeping:
    """A tracer that keeps its spans."""

    spans: list[Kept] = field(default_factory=list)
    closed: int = 0

    def start(
        self,
        name: str,
        facts: Mapping[str, Fact],
        parent: Span | None,
        asked: Mapping[str, str] | None = None,
    ) -> Kept:
        self.spans.append(Kept(name, dict(facts), parent, asked))
        return self.spans[-1]

    def close(self) -> None:
        self.closed += 1


def test_stages_are_spans_of_the_one_around_them_and_tell_what_passed() -> None:
    tracer = Keeping()
    telemetry = Telemetry(tracer=tracer)
    assert trace_headers() == {}
    with job("j1"), telemetry.span("request", asked={"traceparent": "x"}):
        with telemetry.stage("search", {"texts": 2}):
            assert trace_headers() == {"X-Request-ID": "j1", "traceparent": "search"}
        with pytest.raises(ValueError, match="what was asked"), telemetry.stage("read"):
            raise ValueError("what was asked")
        assert span_headers() == {"traceparent": "request"}
    request, search, read = tracer.spans
    assert (request.parent, search.parent, read.parent) == (None, request, request)
    assert (request.asked, search.asked) == ({"traceparent": "x"}, None)
    assert search.facts == {"texts": 2}
    assert [one.ended for one in tracer.spans] == [[""], [""], ["ValueError"]]
    assert set(telemetry.seconds) == {"search", "read"}
    telemetry.close()
    assert tracer.closed == 1


def test_work_at_the_same_time_has_spans_of_its_own() -> None:
    tracer = Keeping()
    telemetry = Telemetry(tracer=tracer)

    async def work(name: str) -> None:
        with telemetry.stage(name):
            await asyncio.sleep(0)
            with telemetry.stage(f"{name} inside"):
                await asyncio.to_thread(telemetry.start, f"{name} in a thread")

    async def both() -> None:
        with telemetry.span("around"):
            await asyncio.gather(work("a"), work("b"))

    asyncio.run(both())
    parents = {one.name: getattr(one.parent, "name", None) for one in tracer.spans}
    assert parents == {
        "around": None,
        **dict.fromkeys("ab", "around"),
        **{f"{name} inside": name for name in "ab"},
        **{f"{name} in a thread": f"{name} inside" for name in "ab"},
    }


def test_what_is_cancelled_did_not_fail() -> None:
    tracer = Keeping()

    async def cancelled() -> None:
        with Telemetry(tracer=tracer).span("wait"):
            await asyncio.sleep(3_600)

    async def cancel() -> None:
        work = asyncio.create_task(cancelled())
        await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait([work])

    asyncio.run(cancel())
    assert tracer.spans[0].ended == [""]


def test_without_a_tracer_there_are_no_spans() -> None:
    telemetry = Telemetry()
    with telemetry.span("request") as span, telemetry.stage("read") as inner:
        assert span is inner is None
        assert span_headers() == {}
    assert telemetry.start("chat") is None
    telemetry.close()


def test_a_record_tells_the_trace_that_it_belongs_to() -> None:
    telemetry = Telemetry(tracer=Keeping())
    with printed("json") as stream, telemetry.span("request"):
        log("inside")
    assert json.loads(stream.getvalue())["trace_id"] == "t1"


def test_of_each_part_the_last_call_counts() -> None:
    telemetry = Telemetry()
    telemetry.worked("embedder")
    telemetry.failed("embedder", "it is gone")
    assert telemetry.calls == {"embedder": (False, "it is gone")}
    telemetry.worked("embedder")
    assert telemetry.calls == {"embedder": (True, "")}
    assert dict(telemetry.counters) == {"embedder_calls": 3, "embedder_failures": 1}
