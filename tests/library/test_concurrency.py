"""Several at once on one library: every document ends whole or gone, whoever is quicker."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import servers
from gates import hold, in_time, part, until
from homes import Home
from unchunk.adapters.index import qdrant
from unchunk.engine import Engine

WHALE = "# Whales\n\nThe white whale swam before him.\n\n" + "It was a long voyage. " * 200
# Some 700 small chunks, which is more than two batches.
LONG = " ".join(f"Word {number} swims in a sea of words." for number in range(2000))
SMALL: dict[str, str | float] = {"chunk_size": 100, "chunk_overlap": 10}


async def assert_whole(engine: Engine, name: str, text: str) -> None:
    """It is live with all its parts, and nothing else is in the library."""
    document = await engine.document(name)
    live = document.live
    assert live is not None
    assert (document.draft, document.error) == (None, "")
    assert await engine.text(name) == text
    async with engine.original(name) as path:
        assert path.read_text() == text
    census = await engine._parts.spaces.active.index.census()
    assert census == {(document.id, live.generation): live.chunk_count}
    assert (await engine.doctor()).findings == ()


async def assert_nothing_left(engine: Engine) -> None:
    parts = engine._parts
    assert await parts.catalog.find() == []
    assert await parts.catalog.remains() == []
    assert await parts.blobs.keys() == {}
    assert await parts.cache.count() == 0
    assert await parts.spaces.active.index.census() == {}
    assert (await engine.doctor()).findings == ()


async def is_empty(engine: Engine) -> bool:
    return not await engine.documents()


async def waits_or_ends(engine: Engine, document: str, second: "asyncio.Task[Any]") -> None:
    """Let the second of two workers go as far as it can while the first is held up."""
    wanted = engine._parts.desk._wanted
    await until(lambda: second.done() or wanted.get(document, 0) > 1)


@pytest.mark.parametrize("second", ["add", "retry"])
def test_a_file_that_is_added_twice_at_once_is_written_once_and_then_unchanged(
    home: Home, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    path = home.file("whale.md", WHALE)

    async def work(engine: Engine) -> None:
        reading = hold(monkeypatch, engine._parts.extractor, "extract")
        first = asyncio.create_task(engine.add(path))
        await reading.reached.wait()
        again = asyncio.create_task(engine.add(path) if second == "add" else engine.retry())
        [document] = await engine.documents()
        await waits_or_ends(engine, document.id, again)
        reading.opened.set()
        assert [one.result for one in await first] == ["added"]
        assert [(one.document, one.result) for one in await again] == [(document.id, "unchanged")]
        await assert_whole(engine, "whale.md", WHALE)
        live = (await engine.document("whale.md")).live
        assert live is not None
        assert (await engine.counts()).counters["chunks"] == live.chunk_count

    home.run(in_time(work))


@pytest.mark.parametrize(
    ("name", "method", "after"),
    [
        ("blobs", "put", True),
        ("index", "upsert", True),
        ("index", "flush", True),
        ("catalog", "go_live", False),
    ],
)
def test_what_comes_in_while_the_doctor_mends_is_left_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch, name: str, method: str, *, after: bool
) -> None:
    path = home.file("whale.md", WHALE)

    async def work(engine: Engine) -> None:
        gate = hold(monkeypatch, part(engine, name), method, after=after)
        adding = asyncio.create_task(engine.add(path))
        await gate.reached.wait()
        assert (await engine.doctor(fix=True)).findings == ()
        gate.opened.set()
        assert [one.result for one in await adding] == ["added"]
        await assert_whole(engine, "whale.md", WHALE)

    home.run(in_time(work))


def test_what_is_written_anew_while_the_doctor_mends_is_left_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.file("whale.md", WHALE)

    async def work(engine: Engine) -> None:
        await engine.add(path)
        gate = hold(monkeypatch, engine._parts.catalog, "go_live")
        rewriting = asyncio.create_task(engine.reindex("whale.md"))
        await gate.reached.wait()
        assert (await engine.doctor(fix=True)).findings == ()
        gate.opened.set()
        assert (await rewriting).documents == 1
        await assert_whole(engine, "whale.md", WHALE)

    home.run(in_time(work))


@pytest.mark.parametrize(
    ("name", "method", "after"),
    [
        ("blobs", "put", False),
        ("blobs", "put", True),
        ("extractor", "extract", False),
        ("embedder", "embed", True),
        ("index", "upsert", True),
        ("index", "flush", False),
        ("catalog", "go_live", False),
    ],
)
def test_a_document_that_is_deleted_while_it_comes_in_leaves_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch, name: str, method: str, *, after: bool
) -> None:
    path = home.file("long.md", LONG)

    async def work(engine: Engine) -> None:
        gate = hold(monkeypatch, part(engine, name), method, after=after)
        adding = asyncio.create_task(engine.add(path))
        await gate.reached.wait()
        [document] = await engine.documents()
        deleting = asyncio.create_task(engine.delete(document.id))
        await until(partial(is_empty, engine))
        await waits_or_ends(engine, document.id, deleting)
        gate.opened.set()
        assert (await deleting).clean
        [outcome] = await adding
        assert outcome.result == "failed"
        assert "deleted" in outcome.error
        await assert_nothing_left(engine)
        if name == "embedder":
            # Whoever writes it stops at the next batch.
            assert (await engine.counts()).counters["embedded_chunks"] < 300

    home.run(in_time(work), **SMALL)


def test_a_version_that_is_replaced_while_it_comes_in_gives_way(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.file("notes.md", LONG)

    async def work(engine: Engine) -> None:
        gate = hold(monkeypatch, engine._parts.blobs, "put", after=True)
        first = asyncio.create_task(engine.add(path))
        await gate.reached.wait()
        [document] = await engine.documents()
        home.file("notes.md", WHALE)
        second = asyncio.create_task(engine.add(path))
        await waits_or_ends(engine, document.id, second)
        gate.opened.set()
        assert [one.error_code for one in await first] == ["overtaken"]
        assert [one.result for one in await second] == ["added"]
        await assert_whole(engine, "notes.md", WHALE)
        assert len(await engine._parts.blobs.keys()) == 1

    home.run(in_time(work), **SMALL)


def test_a_version_that_is_taken_back_while_it_comes_in_leaves_the_live_one(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.file("notes.md", WHALE)

    async def work(engine: Engine) -> None:
        [first] = await engine.add(path)
        gate = hold(monkeypatch, part(engine, "index"), "upsert", after=True)
        home.file("notes.md", LONG)
        second = asyncio.create_task(engine.add(path))
        await gate.reached.wait()
        home.file("notes.md", WHALE)
        back = asyncio.create_task(engine.add(path))
        await waits_or_ends(engine, first.document, back)
        gate.opened.set()
        assert [one.error_code for one in await second] == ["overtaken"]
        assert [one.result for one in await back] == ["unchanged"]
        await assert_whole(engine, "notes.md", WHALE)
        assert len(await engine._parts.blobs.keys()) == 1

    home.run(in_time(work), **SMALL)


def test_a_document_that_is_deleted_while_it_is_written_anew_leaves_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.file("long.md", LONG)

    async def work(engine: Engine) -> None:
        await engine.add(path)
        gate = hold(monkeypatch, part(engine, "index"), "upsert", after=True)
        rewriting = asyncio.create_task(engine.reindex("long.md"))
        await gate.reached.wait()
        [document] = await engine.documents()
        deleting = asyncio.create_task(engine.delete("long.md"))
        await until(partial(is_empty, engine))
        await waits_or_ends(engine, document.id, deleting)
        gate.opened.set()
        assert (await deleting).clean
        assert (await rewriting).documents == 0
        await assert_nothing_left(engine)

    home.run(in_time(work), **SMALL)


def test_files_of_the_same_content_in_one_call_are_embedded_once(home: Home) -> None:
    names = [f"{number}.md" for number in range(6)]
    for name in names:
        home.file(name, LONG)

    async def work(engine: Engine) -> None:
        outcomes = await engine.add(home.files)
        assert sorted(one.result for one in outcomes) == ["added", *["linked"] * 5]
        assert all(one.same_as in names for one in outcomes if one.result == "linked")
        live = (await engine.document("0.md")).live
        assert live is not None
        assert (await engine.counts()).counters["embedded_chunks"] == live.chunk_count
        assert await engine._parts.cache.count() == live.chunk_count
        assert (await engine.doctor()).findings == ()

    home.run(in_time(work))


def test_two_libraries_on_one_server_leave_each_other_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, yours = Home(tmp_path / "mine"), Home(tmp_path / "yours")
    mine.file("whale.md", WHALE)
    yours.file("whale.md", WHALE)
    yours.file("other.md", "# Other\n\nSomething else.")

    async def change(engine: Engine) -> None:
        assert (await engine.doctor(fix=True)).findings == ()
        assert len((await engine.migrate()).dropped) == 1
        assert (await engine.doctor(fix=True)).findings == ()
        assert (await engine.delete("whale.md")).clean
        for indexes in engine._parts.spaces._indexes.values():
            for name in await indexes.names():
                await indexes.drop(name)

    async def unharmed(engine: Engine) -> None:
        found = await engine.search("the white whale")
        assert {hit.name for hit in found.hits} == {"whale.md", "other.md"}
        assert (await engine.doctor()).findings == ()

    with servers.qdrant(tmp_path / "server") as server:
        ours = partial(qdrant.QdrantIndexes, grpc_port=server.grpc_port)
        monkeypatch.setattr(qdrant, "QdrantIndexes", ours)
        index = f"qdrant:{server.url}"
        for home in (mine, yours):
            home.run(lambda engine, home=home: engine.add(home.files), index=index)  # type: ignore[misc] # bound now
        mine.run(in_time(change), index=index, embedder="hashing:128")
        yours.run(in_time(unharmed), index=index)
