"""Work that was killed, failed, was cancelled or is no longer wanted: what is left is sound."""

import asyncio
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

import unchunk
from adapters.embed.provider import Answer, provider, refuse, right
from gates import break_off, hold, in_time, part, until
from homes import Home
from unchunk.engine import Engine
from unchunk.errors import (
    IndexUnavailableError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.library.purging import purge

WHALE = "# Whales\n\nThe white whale swam before him.\n\n" + "It was a long voyage. " * 200
HARBOUR = "# Harbour\n\nBoats over nine metres pay dues.\n"
# Some 700 small chunks, which is more than two batches.
LONG = " ".join(f"Word {number} swims in a sea of words." for number in range(2000))
SMALL: dict[str, str | float] = {"chunk_size": 100, "chunk_overlap": 10}
TEXTS = {"long.md": LONG, **{f"{n}.md": f"# Part {n}\n\nThe whale of {n}." for n in range(4)}}

# Migrates a library until a method was called that often, and is gone.
KILLED = """
import asyncio, importlib, os, signal, sys
from unchunk.settings import load
from unchunk.wiring import open_engine

home, embedder, index, module, kind, method, call = sys.argv[1:]
owner = getattr(importlib.import_module(module), kind)
real, calls = getattr(owner, method), 0

async def deadly(*arguments, **options):
    global calls
    calls += 1
    number = calls
    done = await real(*arguments, **options)
    if number == int(call):
        os.kill(os.getpid(), signal.SIGKILL)
    return done

async def work():
    small = {"chunk_size": 100, "chunk_overlap": 10}
    settings = load(home, {}, embedder=embedder, index=index, **small)
    engine = await open_engine(settings)
    setattr(owner, method, deadly)
    await engine.migrate()

asyncio.run(work())
"""
# Has half a file on its way in, and is gone.
STAGING = """
import asyncio, os, signal, sys
from unchunk.settings import load
from unchunk.wiring import open_engine

async def work():
    engine = await open_engine(load(sys.argv[1], {}, embedder="hashing"))
    (engine._parts.incoming / "half").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(work())
"""
LAZY = ("unchunk.library.lazy", "LazyIndex")
CATALOG = ("unchunk.adapters.catalog.catalog", "SqlCatalog")
EDGE = ("unchunk.adapters.index.edge", "EdgeIndexes")


def migrate_and_die(home: Home, *arguments: str) -> None:
    command = [sys.executable, "-c", KILLED, str(home.folder), *arguments]
    assert subprocess.run(command, timeout=240, check=False).returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a library with all of `TEXTS`, to be copied."""
    home = Home(tmp_path_factory.mktemp("library"))
    for name, text in TEXTS.items():
        home.file(name, text)
    home.run(lambda engine: engine.add(home.files), **SMALL)
    return home.folder


@pytest.mark.parametrize(
    ("embedder", "where", "method", "call"),
    [
        ("hashing:128", CATALOG, "adopt_space", 1),
        ("hashing:128", LAZY, "upsert", 3),
        ("hashing", LAZY, "upsert", 3),
        ("hashing:128", CATALOG, "go_live", 1),
        ("hashing", CATALOG, "go_live", 1),
        ("hashing:128", EDGE, "drop", 1),
    ],
)
def test_a_library_that_was_killed_while_it_was_written_anew_is_whole_again(
    home: Home, library: Path, *, embedder: str, where: tuple[str, str], method: str, call: int
) -> None:
    shutil.copytree(library, home.folder)
    migrate_and_die(home, embedder, "edge", *where, method, str(call))

    async def after(engine: Engine) -> None:
        assert (await engine.doctor()).findings == ()
        for name, text in TEXTS.items():
            assert await engine.text(name) == text
        found = await engine.search("the whale of words", limit=1000)
        assert {hit.name for hit in found.hits} == set(TEXTS)
        await engine.migrate()
        assert len(engine._parts.spaces.all) == 1
        spaces = {one.live.space for one in await engine.documents() if one.live}
        assert spaces == {engine._parts.spaces.active.name}
        assert (await engine.doctor()).findings == ()

    home.run(in_time(after), embedder=embedder, **SMALL)


@pytest.mark.parametrize(
    ("where", "method", "call", "then"),
    [
        (CATALOG, "adopt_space", 1, "edge"),
        (CATALOG, "go_live", 1, "edge"),
        (CATALOG, "go_live", 1, "chroma"),
        (EDGE, "drop", 1, "edge"),
    ],
)
def test_a_library_that_was_killed_between_two_kinds_of_index_goes_on_to_either(
    home: Home, *, where: tuple[str, str], method: str, call: int, then: str
) -> None:
    texts = {name: text for name, text in TEXTS.items() if name != "long.md"}
    for name, text in texts.items():
        home.file(name, text)
    home.run(lambda engine: engine.add(home.files), **SMALL)
    migrate_and_die(home, "hashing", "chroma", *where, method, str(call))

    async def goes_on(engine: Engine, *, before: str, after: str) -> None:
        for name in (before, after):
            assert (await engine.doctor()).findings == ()
            found = await engine.search("the whale of words", limit=1000)
            assert {hit.name for hit in found.hits} == set(texts)
            assert (await engine.delete(name)).clean
            del texts[name]
            await engine.migrate()
            assert len(engine._parts.spaces.all) == 1
        assert (await engine.doctor()).findings == ()

    home.run(in_time(partial(goes_on, before="0.md", after="1.md")), index=then, **SMALL)
    other = "edge" if then == "chroma" else "chroma"
    home.run(in_time(partial(goes_on, before="2.md", after="3.md")), index=other, **SMALL)


@pytest.mark.parametrize("embedder", ["hashing", "hashing:128"])
def test_what_a_failing_index_left_half_written_is_gone_after_opening_again(
    home: Home, library: Path, monkeypatch: pytest.MonkeyPatch, embedder: str
) -> None:
    shutil.copytree(library, home.folder)

    async def failing(engine: Engine) -> None:
        await engine._parts.spaces.adopt()
        # Each of the five has written its first chunks by then.
        gone = IndexUnavailableError("the index is gone")
        break_off(monkeypatch, part(engine, "index"), "upsert", gone, {6})
        with pytest.raises(IndexUnavailableError, match="the index is gone"):
            await engine.migrate()

    async def after(engine: Engine) -> None:
        assert (await engine.doctor()).findings == ()
        assert (await engine.search("word of the sea")).hits
        assert await engine.text("long.md") == LONG
        assert (await engine.migrate()).documents > 0
        assert (await engine.doctor()).findings == ()

    home.run(in_time(failing), embedder=embedder, **SMALL)
    home.run(in_time(after), embedder=embedder, **SMALL)


@pytest.mark.parametrize("second", ["waiting", "failed"])
def test_a_version_that_is_taken_back_is_forgotten(
    home: Home, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    path = home.file("notes.md", WHALE)

    async def work(engine: Engine) -> None:
        await engine.add(path)
        home.file("notes.md", HARBOUR if second == "waiting" else "")
        with monkeypatch.context() as patch:
            down = ProviderUnavailableError("the provider is down")
            break_off(patch, part(engine, "embedder"), "embed", down)
            assert [one.result for one in await engine.add(path)] == [second]
        home.file("notes.md", WHALE)
        assert [one.result for one in await engine.add(path)] == ["unchanged"]
        document = await engine.document("notes.md")
        assert (document.draft, document.error_code, document.error) == (None, "", "")
        assert await engine.retry() == []
        assert await engine.text("notes.md") == WHALE
        assert len(await engine._parts.blobs.keys()) == 1
        assert (await engine.doctor()).findings == ()

    home.run(in_time(work))


def test_a_replaced_version_that_cannot_be_purged_is_replaced_all_the_same(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.file("notes.md", WHALE)

    async def work(engine: Engine) -> None:
        await engine.add(path)
        home.file("notes.md", HARBOUR)
        index = engine._parts.spaces.active.index
        delete = index.delete

        async def deleting(document: str, generations: Sequence[int] | None = None) -> None:
            if generations == [1]:
                raise IndexUnavailableError("the index is gone")
            await delete(document, generations)

        monkeypatch.setattr(index, "delete", deleting)
        assert [one.result for one in await engine.add(path)] == ["replaced"]
        assert (await engine.document("notes.md")).draft is None
        assert await engine.text("notes.md") == HARBOUR
        assert {hit.text for hit in (await engine.search("whale voyage")).hits} == {HARBOUR}
        assert len(await engine._parts.catalog.remains()) == 1

    async def after(engine: Engine) -> None:
        assert await engine._parts.catalog.remains() == []
        assert (await engine.doctor()).findings == ()

    home.run(in_time(work))
    home.run(in_time(after))


def test_a_text_whose_original_is_damaged_too_is_told_and_not_touched(home: Home) -> None:
    home.file("whale.md", WHALE)
    home.run(lambda engine: engine.add(home.files))
    damaged = WHALE.replace("white", "black")
    database = sqlite3.connect(home.folder / "catalog.sqlite")
    with database:
        database.execute("UPDATE texts SET content = ?", (damaged.encode(),))
    database.close()
    [original] = [path for path in (home.folder / "uploads").rglob("[!.]*") if path.is_file()]
    original.write_text("# Something else\n\nof another kind")

    async def work(engine: Engine) -> None:
        examined = await engine.doctor(fix=True)
        assert [(one.kind, one.fixed) for one in examined.findings] == [
            ("original", False),
            ("text", False),
        ]
        assert await engine.text("whale.md") == damaged
        assert [one.kind for one in (await engine.doctor()).findings] == ["original", "text"]

    home.run(in_time(work))


REMOTE: dict[str, str | float] = {"embedder": "openai:some-model", "embedder_patience": 60}


def picky(handler: object, body: dict[str, object]) -> None:
    """Refuses what speaks of poison."""
    answer: Answer = refuse(400, {"error": {"message": "content filter"}})
    (answer if "poison" in str(body["input"]) else right)(handler, body)  # type: ignore[arg-type] # as they come


def test_a_text_that_the_provider_refuses_fails_alone(home: Home) -> None:
    for number in range(6):
        home.file(f"{number}.md", f"# Part {number}\n\n{'poison' if number == 3 else 'food'}")

    async def work(engine: Engine) -> None:
        outcomes = await engine.add(home.files)
        assert {one.name: one.error_code for one in outcomes if one.result != "added"} == {
            "3.md": "refused"
        }
        refused = await engine.document("3.md")
        assert (refused.status, refused.error_code) == ("failed", "refused")
        assert "content filter" in refused.error
        assert [one.error_code for one in await engine.retry()] == ["refused"]
        assert (await engine.doctor()).findings == ()

    with provider() as server:
        server.plan.extend([picky] * 100)
        home.run(in_time(work), embedder_url=f"{server.url}/v1", **REMOTE)


def test_a_wrong_key_is_told_and_the_same_call_goes_on_with_the_right_one(home: Home) -> None:
    for number in range(6):
        home.file(f"{number}.md", f"# Part {number}\n\nfood")

    async def work(engine: Engine) -> None:
        server.plan.extend([refuse(401, {"error": {"message": "no such key"}})] * 12)
        with pytest.raises(ProviderRefusedError, match="check the key"):
            await engine.add(home.files)
        assert {one.status for one in await engine.documents()} == {"pending"}
        assert await engine._parts.spaces.active.index.census() == {}
        server.plan.clear()
        assert {one.result for one in await engine.add(home.files)} == {"added"}
        assert (await engine.doctor()).findings == ()

    with provider() as server:
        home.run(in_time(work), embedder_url=f"{server.url}/v1", **REMOTE)


def test_a_cancelled_call_leaves_no_copy_of_a_file_behind(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small = home.file("large.md", WHALE * 5000), home.file("small.md", WHALE)

    async def cancelled(adding: "asyncio.Task[object]") -> None:
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding

    async def work(engine: Engine) -> None:
        incoming = engine._parts.incoming
        adding = asyncio.create_task(engine.add(large))
        await until(lambda: any(incoming.iterdir()))
        await cancelled(adding)
        assert list(incoming.iterdir()) == []
        gate = hold(monkeypatch, engine._parts.blobs, "put")
        adding = asyncio.create_task(engine.add(small))
        await gate.reached.wait()
        assert len(list(incoming.iterdir())) == 1
        await cancelled(adding)
        assert list(incoming.iterdir()) == []
        gate.opened.set()
        assert [one.result for one in await engine.add(small)] == ["added"]

    home.run(in_time(work))
    assert list((home.folder / "incoming").iterdir()) == []


def test_what_a_killed_process_was_bringing_in_is_swept_away(home: Home) -> None:
    died = subprocess.run([sys.executable, "-c", STAGING, str(home.folder)], check=False)
    assert died.returncode == -signal.SIGKILL
    [left] = (home.folder / "incoming").glob("*/half")

    async def work(engine: Engine) -> None:
        assert not left.parent.exists()
        assert list((home.folder / "incoming").iterdir()) == [engine._parts.incoming]
        assert list(engine._parts.incoming.iterdir()) == []

    home.run(work)


def test_engines_that_open_and_close_beside_another_leave_its_files_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.file("whale.md", WHALE)

    async def work(first: Engine) -> None:
        async with home.open() as second:
            gate = hold(monkeypatch, second._parts.blobs, "put")
            adding = asyncio.create_task(second.add(path))
            await gate.reached.wait()
            await first.close()
            async with home.open() as third:
                assert await third.documents()
            gate.opened.set()
            assert [one.result for one in await adding] == ["added"]
            assert await second.text("whale.md") == WHALE

    home.run(in_time(work))
    assert list((home.folder / "incoming").iterdir()) == []


def test_closing_twice_is_closing_once(home: Home) -> None:
    home.file("whale.md", WHALE)
    with unchunk.open(home.folder, embedder="hashing") as library:
        library.add(home.files)
        library.close()
        library.close()
    with unchunk.open(home.folder, embedder="hashing") as library:
        assert library.text("whale.md") == WHALE


def test_who_is_cancelled_while_documents_become_live_lets_go_of_nothing_before(
    home: Home, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(library, home.folder)

    async def cancelled(engine: Engine) -> None:
        gate = hold(monkeypatch, part(engine, "catalog"), "go_live", after=True)
        migrating = asyncio.create_task(engine.migrate())
        await gate.reached.wait()
        migrating.cancel()
        await asyncio.sleep(0.05)
        assert not migrating.done()
        gate.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await migrating

    async def after(engine: Engine) -> None:
        assert (await engine.doctor()).findings == ()

    home.run(in_time(cancelled), **SMALL)
    home.run(in_time(after), **SMALL)


def test_in_a_library_that_is_closed_nothing_counts_as_purged(home: Home) -> None:
    async def closed(engine: Engine) -> None:
        await engine.add(home.file("whale.md", WHALE))
        [document] = await engine.documents()
        left = await engine._parts.catalog.bury(document.owner, document.id)
        await engine._parts.spaces.close()
        with pytest.raises(IndexUnavailableError, match="closed"):
            await purge(engine._parts, left)
        assert set(await engine._parts.catalog.remains()) >= set(left)

    async def after(engine: Engine) -> None:
        assert (await engine.doctor()).findings == ()

    home.run(in_time(closed))
    home.run(in_time(after))


def test_who_is_cancelled_before_its_turn_to_become_live_stays_a_draft(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(engine: Engine) -> None:
        gate = hold(monkeypatch, part(engine, "catalog"), "go_live")
        first = asyncio.create_task(engine.add(home.file("whale.md", WHALE)))
        await gate.reached.wait()
        second = asyncio.create_task(engine.add(home.file("harbour.md", HARBOUR)))
        waiting = engine._flow.committer
        await until(lambda: len(waiting._waiting) == 1)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert waiting._waiting == []
        gate.opened.set()
        await first
        assert {one.name for one in await engine.documents() if one.live} == {"whale.md"}
        assert (await engine.doctor()).findings == ()

    home.run(in_time(work))
