"""Answers that one server writes, read on, read again and stopped at another."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from server.scripted import Scripted, Sent, answer, eventually, parsed
from server.test_server_streaming import QUESTION, some
from server.towers import Tower, tower, two
from unchunk.adapters.catalog import streamlog
from unchunk.errors import TransientError
from unchunk.ports import News
from unchunk.server import copying
from unchunk.server.options import Options

TESTS = Path(__file__).parent.parent
SOON = Options(heartbeat_seconds=0.2)
# Seconds: a busy machine is late, and nothing here is about that.
PATIENCE = 60.0


@contextmanager
def asked(url: str) -> Iterator[httpx2.Response]:
    with httpx2.stream("POST", f"{url}/api/chat/stream", json=QUESTION, timeout=PATIENCE) as reply:
        yield reply


@contextmanager
def joined(url: str, stream: str, last: str = "") -> Iterator[httpx2.Response]:
    headers = {"Last-Event-ID": last} if last else {}
    place = f"{url}/api/chat/stream/{stream}"
    with httpx2.stream("GET", place, headers=headers, timeout=PATIENCE) as reply:
        yield reply


class Heard:
    """What comes over a line, a part at a time."""

    def __init__(self, reply: httpx2.Response) -> None:
        self._pieces = reply.iter_text()
        self.text = ""

    def until(self, count: int) -> None:
        """Wait for so many events."""
        while len(parsed(self.text)) < count:
            self.text += next(self._pieces)

    def all(self) -> list[Sent]:
        self.text += "".join(self._pieces)
        return parsed(self.text)


def begun(tower: Tower, count: int) -> tuple[str, list[Sent]]:
    """The id of a stream, and its first events as somebody had them who then lost the line."""
    with asked(tower.url) as reply:
        return reply.headers["x-stream-id"], parsed(some(reply, count))[:count]


def rest(tower: Tower, stream: str, last: str = "") -> list[Sent]:
    with joined(tower.url, stream, last) as reply:
        assert reply.status_code == 200, reply.read()
        return parsed("".join(reply.iter_text()))


def numbers(events: Sequence[Sent]) -> list[int]:
    return [int(one.id.rpartition(":")[2]) for one in events]


def status(tower: Tower, stream: str, last: str = "", method: str = "GET") -> int:
    headers = {"Last-Event-ID": last} if last else {}
    place = f"{tower.url}/api/chat/stream/{stream}"
    return httpx2.request(method, place, headers=headers, timeout=PATIENCE).status_code


def forget(tower: Tower) -> None:
    tower.served.inside(lambda: tower.log.forget(-1))


def test_an_answer_is_read_on_at_another_server_while_it_is_written(postgres: str) -> None:
    engine = Scripted(answer("a", "b", "c", "d"), pause_at=4)
    with two(postgres, engine, SOON) as (one, other):
        stream, seen = begun(one, 3)
        with joined(other.url, stream, seen[-1].id) as again:
            assert again.status_code == 200
            assert again.headers["x-stream-id"] == stream
            line = Heard(again)
            line.until(1)
            # It is there as far as it goes, and is waited for.
            assert numbers(parsed(line.text)) == [4]
            engine.gate.set()
            events = [*seen, *line.all()]
        assert numbers(events) == [*range(1, 9)]
        assert events[-1].data["answer"] == "abcd"
        assert rest(other, stream) == events
    assert (engine.opened, engine.stopped) == (1, 0)


def test_the_same_question_with_the_last_id_is_not_asked_again_elsewhere(postgres: str) -> None:
    with two(postgres, Scripted(answer("a", "b"))) as (one, other):
        with asked(one.url) as reply:
            whole = parsed("".join(reply.iter_text()))
        stream = reply.headers["x-stream-id"]
        for tower in (other, one):
            headers = {"Last-Event-ID": whole[2].id}
            again = httpx2.post(
                f"{tower.url}/api/chat/stream", json=QUESTION, headers=headers, timeout=PATIENCE
            )
            assert parsed(again.text) == whole[3:]
            assert status(tower, stream, whole[-1].id) == 204
            assert status(tower, stream, f"{stream}:99") == 400
            assert status(tower, f"{stream[:-1]}_") == 404
        # Nobody but the log keeps it by now, and when that is over it is gone everywhere.
        eventually(lambda: one.served.streams.kept == 0)
        forget(one)
        assert [status(tower, stream) for tower in (one, other)] == [410, 410]
    assert one.engine.opened == 1


def test_a_stream_goes_on_while_somebody_reads_it_at_another_server(postgres: str) -> None:
    engine = Scripted(answer("a", "b"), pause_at=3)
    # So long that a busy machine is not taken for nobody.
    options = Options(resume_seconds=8.0, heartbeat_seconds=1.0)
    with two(postgres, engine, options) as (one, other):
        stream, seen = begun(one, 2)
        with joined(other.url, stream, seen[-1].id) as again:
            pieces = again.iter_text()
            # Twice as long as it would go on for nobody.
            text = "".join(next(pieces) for _ in range(17))
            engine.gate.set()
            text += "".join(pieces)
        assert numbers(parsed(text)) == [3, 4, 5, 6]
        assert parsed(text)[-1].kind == "done"
        # Nobody reads this one.
        engine.gate.clear()
        begun(one, 2)
        eventually(lambda: engine.stopped == 1)


def test_an_answer_is_stopped_from_another_server_and_all_readers_are_told(postgres: str) -> None:
    engine = Scripted(answer("a", "b"), pause_at=3)
    with two(postgres, engine) as (one, other), asked(one.url) as first:
        stream = first.headers["x-stream-id"]
        with joined(other.url, stream) as second:
            line = Heard(second)
            line.until(3)
            assert status(other, stream, method="DELETE") == 204
            assert status(other, stream) == 410
            told = [line.all(), Heard(first).all()]
        assert told[0] == told[1]
        assert (told[0][-1].kind, told[0][-1].data["code"]) == ("error", "stopped")
        assert engine.stopped == 1
        for tower in (one, other):
            assert [status(tower, stream, method=how) for how in ("GET", "DELETE")] == [410, 410]


def test_an_answer_that_was_stopped_where_it_was_written_is_gone_elsewhere(postgres: str) -> None:
    engine = Scripted(answer("a", "b"), pause_at=3)
    with two(postgres, engine) as (one, other):
        stream, _ = begun(one, 2)
        assert status(one, stream, method="DELETE") == 204
        assert [status(tower, stream) for tower in (one, other)] == [410, 410]


def test_a_long_answer_comes_whole_from_another_server(postgres: str) -> None:
    tokens = [f"{number} " for number in range(1300)]
    with two(postgres, Scripted(answer(*tokens))) as (one, other):
        with asked(one.url) as reply:
            whole = parsed("".join(reply.iter_text()))
        stream = reply.headers["x-stream-id"]
        assert rest(other, stream, whole[600].id) == whole[601:]
        assert status(other, stream, whole[-1].id) == 204


def test_a_server_that_ends_tells_readers_elsewhere(postgres: str) -> None:
    with tower(postgres, Scripted([])) as other, ExitStack() as stack:
        with tower(postgres, Scripted(pause_at=3)) as one:
            stream, seen = begun(one, 2)
            reading = stack.enter_context(joined(other.url, stream, seen[-1].id))
            line = Heard(reading)
            line.until(1)
        assert line.all()[-1].data["code"] == "shutting-down"


def test_readers_of_a_server_that_ends_go_on_where_the_answer_is_written(postgres: str) -> None:
    engine = Scripted(pause_at=3)
    with tower(postgres, engine) as one, ExitStack() as stack:
        stream, seen = begun(one, 2)
        with tower(postgres, Scripted([])) as other:
            line = Heard(stack.enter_context(joined(other.url, stream, seen[-1].id)))
            line.until(1)
        # Without a last word: the answer has not ended.
        heard = [*seen, *line.all()]
        assert numbers(heard) == [1, 2, 3]
        engine.gate.set()
        assert numbers(rest(one, stream, heard[-1].id)) == [4, 5, 6]


def test_an_answer_whose_server_was_killed_ends_honestly(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamlog, "_SILENT", 1_000_000)
    monkeypatch.setattr(copying, "_BACK", 0.3)
    command = [sys.executable, str(TESTS / "server" / "shared_process.py"), postgres]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process,
        tower(postgres, Scripted([])) as other,
    ):
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            with asked(url) as reply:
                stream = reply.headers["x-stream-id"]
                with joined(other.url, stream) as second:
                    line = Heard(second)
                    line.until(4)
                    process.kill()
                    followed = line.all()
        finally:
            process.kill()
        assert numbers(followed)[:-1] == [1, 2, 3, 4]
        last = followed[-1]
        assert (last.kind, last.data["code"], last.data["transient"]) == (
            "error",
            "interrupted",
            True,
        )
        # Whoever comes later is told the same, and who knows it is told not to come again.
        assert rest(other, stream, followed[1].id) == followed[2:]
        assert status(other, stream, last.id) == 410


def test_events_that_only_a_reader_knows_are_no_reason_to_hang(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamlog, "_SILENT", 500_000)
    monkeypatch.setattr(copying, "_BACK", 0.3)
    with tower(postgres, Scripted([])) as it:
        stream = it.served.streams._name("local")
        news = News("local", stream, 1, (b"event: token\ndata: {}\nid: x:1\n\n",))
        it.served.inside(lambda: it.log.note([news]))
        [last] = rest(it, stream, f"{stream}:3")
        assert last.data["code"] == copying.INTERRUPTED.code


def test_a_database_that_is_away_costs_nobody_an_answer(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> tuple[set[str], set[str]]:
        raise TransientError("it is away")

    with two(postgres, Scripted(answer("a", "b"))) as (one, other):
        with monkeypatch.context() as patch:
            patch.setattr(streamlog.SqlStreamLog, "note", away)
            with asked(one.url) as reply:
                whole = parsed("".join(reply.iter_text()))
            stream = reply.headers["x-stream-id"]
            assert whole[-1].kind == "done"
            assert rest(one, stream, whole[1].id) == whole[2:]
            assert status(other, stream) == 410
        # It is told later.
        eventually(lambda: one.served.streams.kept == 0)
        assert rest(other, stream) == whole


def test_where_the_database_is_away_the_one_who_comes_is_told_to_come_again(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise TransientError("it is away")

    with two(postgres, Scripted(answer("a", "b"), pause_at=3)) as (one, other):
        stream, seen = begun(one, 2)
        monkeypatch.setattr(copying, "_AWAY", 0.3)
        with joined(other.url, stream, seen[-1].id) as reply:
            line = Heard(reply)
            line.until(1)
            monkeypatch.setattr(streamlog.SqlStreamLog, "read", away)
            # Without a last word.
            assert numbers(line.all()) == [3]
        assert status(other, stream) == 503
        one.engine.gate.set()


def test_each_reads_only_its_own_elsewhere(postgres: str) -> None:
    with two(postgres, Scripted(answer("a"))) as (one, other):
        with asked(one.url) as reply:
            "".join(reply.iter_text())
        stream = reply.headers["x-stream-id"]
        assert rest(other, stream)

        async def sought() -> str:
            try:
                await other.served.streams.seek("somebody", stream)
            except Exception as error:  # noqa: BLE001 - its kind is what is asked
                return type(error).__name__
            return "found"

        assert other.served.inside(sought) == "NotFoundError"
