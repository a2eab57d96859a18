"""Counters, durations, and the id of a job through everything."""

import asyncio
import logging
from pathlib import Path

import pytest

import unchunk
from unchunk.telemetry import Telemetry, job, log

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
