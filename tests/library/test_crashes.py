"""Killed at any moment: every document is wholly there or wholly absent, and add goes on."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from homes import Home
from unchunk.engine import Engine

# More of them take longer and see more: UNCHUNK_TEST_MOMENTS=40.
MOMENTS = int(os.environ.get("UNCHUNK_TEST_MOMENTS", "5"))
FILES = 80
TEXTS = {
    f"{number:02}.md": f"# Part {number}\n\n" + f"The whale of part {number} swam on. " * 150
    for number in range(FILES)
}


# Adds, and is killed some time after the step of that number; after none, if that is 0.
KILLED = """
import os, signal, sys, threading
from unchunk.adapters.blobs.folder import FolderBlobs
from unchunk.adapters.catalog import SqlCatalog
from unchunk.cli import main
from unchunk.library.lazy import LazyIndex

last, wait, steps = int(sys.argv.pop(1)), float(sys.argv.pop(1)), 0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def counted(owner, name):
    real = getattr(owner, name)

    async def step(*arguments, **options):
        global steps
        steps += 1
        if steps == last:
            threading.Timer(wait, die).start() if wait else die()
        return await real(*arguments, **options)

    setattr(owner, name, step)

for owner, names in (
    (SqlCatalog, ("begin", "go_live")), (FolderBlobs, ("put",)), (LazyIndex, ("upsert", "flush"))
):
    for name in names:
        counted(owner, name)
main()
"""


def added(home: Home, index: str, last: int = 0, wait: float = 0.0) -> bytes:
    _write(home)
    command = [sys.executable, "-c", KILLED, str(last), str(wait), "--home", str(home.folder)]
    done = subprocess.run(
        [*command, "add", "--json", str(home.files)],
        env={**os.environ, "UNCHUNK_EMBEDDER": "hashing", "UNCHUNK_INDEX": index},
        stdout=subprocess.PIPE,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0 or last
    return done.stdout


@pytest.mark.parametrize("index", ["edge", "chroma"])
def test_a_kill_at_any_moment_loses_nothing_and_leaves_nothing_half(
    tmp_path: Path, index: str
) -> None:
    rng = random.Random(7)
    chunks = json.loads(added(Home(tmp_path / "whole"), index))["counters"]["embedded_chunks"]
    seen = set()
    for moment in range(MOMENTS):
        home = Home(tmp_path / str(moment))
        # Each file has three steps, and each group of at most sixteen that go live has two.
        last = 1 + moment * (3 * FILES + 6) // (MOMENTS - 1)
        added(home, index, last, rng.random() / 20 if moment else 0.0)
        live, cached = home.run(_after, index=index)
        embedded = home.run(_again, index=index)
        assert embedded <= chunks - cached
        seen.add(live)
    assert len(seen) > 1, "the kills hit different moments"


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
