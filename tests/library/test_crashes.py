"""Killed at any moment: every document is wholly there or wholly absent, and add goes on."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from homes import Home
from unchunk.engine import Engine

MOMENTS = 20
FILES = 80
TEXTS = {
    f"{number:02}.md": f"# Part {number}\n\n" + f"The whale of part {number} swam on. " * 150
    for number in range(FILES)
}


def adding(home: Home, index: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "unchunk", "--home", str(home.folder), "add", "--json"]
    environment = {**os.environ, "UNCHUNK_EMBEDDER": "hashing", "UNCHUNK_INDEX": index}
    return subprocess.Popen(
        [*command, str(home.files)], env=environment, stdout=subprocess.PIPE, start_new_session=True
    )


@pytest.mark.parametrize("index", ["edge", "chroma"])
def test_a_kill_at_any_moment_loses_nothing_and_leaves_nothing_half(
    tmp_path: Path, index: str
) -> None:
    rng = random.Random(7)
    whole = Home(tmp_path / "whole")
    _write(whole)
    with adding(whole, index) as process:
        began = _work_begins(whole)
        done, _ = process.communicate(timeout=120)
    takes = time.monotonic() - began
    chunks = json.loads(done)["counters"]["embedded_chunks"]
    seen = set()
    for moment in range(MOMENTS):
        home = Home(tmp_path / str(moment))
        _write(home)
        with adding(home, index) as process:
            _work_begins(home)
            time.sleep(takes * rng.random())
            process.send_signal(signal.SIGKILL)
        live, cached = home.run(_after, index=index)
        embedded = home.run(_again, index=index)
        assert embedded <= chunks - cached
        seen.add(live)
    assert len(seen) > 1, "the kills hit different moments"


def _work_begins(home: Home) -> float:
    """Wait until Python has started and the first file is on its way in."""
    began = time.monotonic()
    while not list(home.folder.glob("uploads/*")):
        assert time.monotonic() < began + 60
        time.sleep(0.005)
    return time.monotonic()


def _write(home: Home) -> None:
    for name, text in TEXTS.items():
        home.file(name, text)


async def _after(engine: Engine) -> tuple[int, int]:
    documents = await engine.documents()
    live = {one.name for one in documents if one.status == "live"}
    assert {one.status for one in documents} <= {"live", "pending"}
    for name in live:
        assert await engine.text(name) == TEXTS[name]
    found = {hit.name for hit in (await engine.search("the whale swam", limit=1000)).hits}
    assert found == live
    assert (await engine.doctor()).findings == ()
    return len(live), await engine._parts.cache.count()


async def _again(engine: Engine) -> int:
    home = Path(engine._parts.incoming).parents[1]
    outcomes = await engine.add(home.parent / "files")
    assert {one.result for one in outcomes} <= {"added", "unchanged"}
    assert {one.name for one in await engine.documents() if one.live} == set(TEXTS)
    assert (await engine.doctor()).findings == ()
    return (await engine.counts()).counters.get("embedded_chunks", 0)
