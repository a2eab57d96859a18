"""Processes that are killed, and a database that goes away, while a library is shared."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from databases import How, postgres_running
from gates import hold
from sharers import Town, assert_agreed
from unchunk.adapters.catalog import changes
from unchunk.engine import Engine

# Adds files until the catalog, the blobs or the index were asked that often, and is gone.
KILLED = """
import os, signal, sys
from unchunk.adapters.blobs.folder import FolderBlobs
from unchunk.adapters.catalog import SqlCatalog
from unchunk.cli.main import main
from unchunk.library.lazy import LazyIndex

last, steps = int(sys.argv.pop(1)), 0

def counted(owner, name):
    real = getattr(owner, name)

    async def step(*arguments, **options):
        global steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return await real(*arguments, **options)

    setattr(owner, name, step)

for owner, names in (
    (SqlCatalog, ("begin", "next_generation", "go_live", "forget")),
    (FolderBlobs, ("put",)),
    (LazyIndex, ("upsert", "flush", "delete")),
):
    for name in names:
        counted(owner, name)
main()
"""
TEXTS = {f"{number}.md": f"A word of {number}. " * 20 for number in range(6)}


def killed(town: Town, last: int, *command: str) -> None:
    """Run a command that is killed at its step `last`, and let what it held run out."""
    settings = {f"UNCHUNK_{name.upper()}": str(it) for name, it in town.settings.items()}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(last), "--home", str(town.home("killed")), *command],
        env={**os.environ, **settings},
        stdout=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    assert done.returncode == -9, "it was to be killed"
    # A short lease would run out on a busy machine while the command is still alive.
    with psycopg.connect(str(town.settings["catalog"])) as connection:
        connection.execute("UPDATE leases SET until = 0")


@pytest.mark.parametrize("last", [3, 20])
def test_what_a_killed_process_began_another_finishes(town: Town, last: int) -> None:
    for name, text in TEXTS.items():
        town.file(name, text)
    killed(town, last, "add", str(town.files))

    async def scene() -> None:
        async with asyncio.timeout(200), town.opened() as engine:
            await settled(engine)
            for document in await engine.documents():
                if document.live is not None:
                    assert await engine.text(document.id) == TEXTS[document.name]
            await engine.add(town.files)
            await assert_agreed([engine], TEXTS)

    asyncio.run(scene())


@pytest.mark.parametrize("last", [20])
def test_what_a_killed_process_was_writing_anew_stays_as_it_was(town: Town, last: int) -> None:
    for name, text in TEXTS.items():
        town.file(name, text)

    async def before() -> None:
        async with town.opened() as engine:
            await engine.add(town.files)

    async def after() -> None:
        async with asyncio.timeout(200), town.opened() as engine:
            await settled(engine)
            await assert_agreed([engine], TEXTS)

    asyncio.run(before())
    killed(town, last, "reindex", "--all")
    asyncio.run(after())


async def settled(engine: Engine) -> None:
    """What the dead process held is free again, and what it left is purged."""
    catalog = engine._parts.catalog
    while await catalog.remains():
        await engine.purge_remains()
        await asyncio.sleep(0.1)
    assert (await engine.doctor()).findings == ()


def test_bytes_on_their_way_are_waited_for_whatever_time_a_machine_thinks_it_is(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "A word."
    path = town.file("a.md", text)
    real = changes.now
    monkeypatch.setattr(changes, "now", lambda: real() - 3_600_000_000)

    async def work(one: Engine, other: Engine) -> None:
        keeping = hold(monkeypatch, one._parts.blobs, "put")
        coming = asyncio.create_task(one.keep_file(path, "a.md"))
        await keeping.reached.wait()
        [outcome] = await other.retry()
        assert (outcome.result, outcome.error) == ("waiting", "its bytes are on their way")
        keeping.opened.set()
        await coming
        await other.retry()
        await assert_agreed([one, other], {"a.md": text})

    town.run(work)


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_database_that_restarts_is_waited_for(
    tmp_path: Path, qdrant_server: str, how: How
) -> None:
    texts = {f"{number}.md": f"A word of {number}. " * 20 for number in range(24)}

    async def scene(town: Town, restart: Callable[[], None]) -> None:
        async with asyncio.timeout(200), town.opened() as engine:
            adding = asyncio.create_task(engine.add(town.files))
            restarts = asyncio.create_task(asyncio.to_thread(restart))
            while not restarts.done():
                await engine.search("word")
                assert len(await engine.documents()) <= len(texts)
            outcomes = await adding
            assert {one.result for one in outcomes} <= {"added", "waiting"}, outcomes
            assert {one.result for one in await engine.retry()} <= {"added"}
            await assert_agreed([engine], texts)

    with postgres_running("synchronous_commit=on") as server:
        town = Town(tmp_path, server.url, f"qdrant:{qdrant_server}")
        for name, text in texts.items():
            town.file(name, text)
        asyncio.run(scene(town, lambda: server.restart(how)))
