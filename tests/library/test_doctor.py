"""What the doctor finds, and what it mends."""

import asyncio
import sqlite3

import pytest

from gates import break_off, hold, in_time, part
from homes import Home
from unchunk.domain import ChunkKey, Space
from unchunk.engine import Engine
from unchunk.errors import OutputError, ProviderUnavailableError
from unchunk.ports import Point

TEXT = "# Title\n\n" + "Some words that are worth keeping. " * 100


async def broken(engine: Engine) -> list[str]:
    return [f"{one.kind} {one.document}" for one in (await engine.doctor()).findings]


def test_chunks_that_the_index_lost_are_found_and_written_again(home: Home) -> None:
    home.file("a.md", TEXT)
    home.file("b.md", TEXT + "more")

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        document = await engine.document("a.md")
        await engine._parts.spaces.active.index.delete(document.id)
        assert await broken(engine) == ["index a.md"]
        mended = await engine.doctor(fix=True)
        assert mended.healthy
        assert [one.fixed for one in mended.findings] == [True]
        assert await broken(engine) == []
        assert {hit.name for hit in (await engine.search("words")).hits} == {"a.md", "b.md"}

    home.run(work)


def test_chunks_that_belong_to_nothing_are_found_and_removed(home: Home) -> None:
    home.file("a.md", TEXT)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        parts = engine._parts
        document = await engine.document("a.md")
        index = parts.spaces.active.index
        key = ChunkKey(document.owner, document.id, 1, 0)
        vector = (await index.fetch([key]))[key]
        terms = parts.lexicon.document("words")
        for stray in (key._replace(document="nobody"), key._replace(generation=99)):
            await index.upsert([Point(stray, "", vector, terms)])
        assert sorted(await broken(engine)) == ["index a.md", "index nobody"]
        assert (await engine.doctor(fix=True)).healthy
        assert await broken(engine) == []

    home.run(work)


def test_chunks_that_somebody_is_just_taking_out_are_not_told(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.md", TEXT)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        parts = engine._parts
        document = await engine.document("a.md")
        index = parts.spaces.active.index
        key = ChunkKey(document.owner, document.id, 1, 0)
        vector = (await index.fetch([key]))[key]
        old = Point(key._replace(generation=99), "", vector, parts.lexicon.document("words"))
        await index.upsert([old])
        # The second look sees them, and by the next question they are gone and nobody is there.
        gate = hold(monkeypatch, index, "census", 2, after=True)
        looking = asyncio.create_task(engine.doctor())
        await gate.reached.wait()
        await index.delete(document.id, [99])
        gate.opened.set()
        assert (await looking).findings == ()

    home.run(in_time(work))


def test_an_original_that_was_changed_or_lost_is_found(home: Home) -> None:
    home.file("a.md", TEXT)
    home.file("b.md", TEXT + "more")
    home.run(lambda engine: engine.add(home.files))
    first, second = (path for path in (home.folder / "uploads").rglob("[!.]*") if path.is_file())
    first.write_bytes(b"something else")
    second.unlink()

    async def work(engine: Engine) -> None:
        assert sorted(await broken(engine)) == ["original a.md", "original b.md"]
        examined = await engine.doctor(fix=True)
        assert not examined.healthy
        assert examined.documents == 2
        assert await engine.text("a.md") == TEXT

    home.run(work)


def test_originals_and_indexes_that_belong_to_nothing_are_found_and_removed(home: Home) -> None:
    home.file("a.md", TEXT)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        stray = home.file("../stray", "nobody's")
        await engine._parts.blobs.put("x/2020-01-01/y", stray)
        [indexes] = engine._parts.spaces._indexes.values()
        await (await indexes.open(Space("nobody", 8))).flush()
        assert await broken(engine) == ["leftover ", "leftover "]
        assert (await engine.doctor(fix=True)).healthy
        assert await broken(engine) == []

    home.run(work)


def test_a_damaged_text_is_read_again_from_its_original(home: Home) -> None:
    home.file("a.md", TEXT)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)

    home.run(work)
    with sqlite3.connect(home.folder / "catalog.sqlite") as database:
        database.execute("UPDATE texts SET content = ?", (b"gone wrong",))
    database.close()

    async def after(engine: Engine) -> None:
        assert "text a.md" in await broken(engine)
        assert (await engine.doctor(fix=True)).healthy
        assert await broken(engine) == []
        assert await engine.text("a.md") == TEXT

    home.run(after)


@pytest.mark.parametrize("change", ["replaced", "reindexed", "deleted"])
@pytest.mark.parametrize(
    ("where", "method", "call"),
    [
        ("catalog", "remains", 1),
        ("catalog", "remains", 2),
        ("blobs", "keys", 1),
        ("catalog", "find", 1),
        ("catalog", "find", 2),
        ("catalog", "text", 1),
        ("index", "census", 1),
        ("catalog", "find", 3),
    ],
)
def test_what_changes_while_it_is_looked_at_is_neither_told_nor_touched(  # noqa: PLR0917 - the cases
    home: Home, monkeypatch: pytest.MonkeyPatch, where: str, method: str, call: int, change: str
) -> None:
    path = home.file("a.md", TEXT)

    async def work(engine: Engine) -> None:
        await engine.add(path)
        with monkeypatch.context() as patch:
            gate = hold(patch, part(engine, where), method, call, after=True)
            looking = asyncio.create_task(engine.doctor(fix=True))
            await gate.reached.wait()
        if change == "deleted":
            assert (await engine.delete("a.md")).clean
        elif change == "reindexed":
            await engine.reindex("a.md")
        else:
            home.file("a.md", TEXT + "more")
            assert [one.result for one in await engine.add(path)] == ["replaced"]
        generations = [one.live and one.live.generation for one in await engine.documents()]
        gate.opened.set()
        assert (await looking).findings == ()
        after = [one.live and one.live.generation for one in await engine.documents()]
        assert after == generations
        assert await broken(engine) == []

    home.run(in_time(work))


def test_what_cannot_be_mended_now_is_told_and_the_rest_is_mended(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.md", TEXT)
    home.file("b.md", "# Another one")

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        parts = engine._parts
        stray = home.file("../stray", "nobody's")
        await parts.blobs.put("x/2020-01-01/y", stray)
        for name in ("a.md", "b.md"):
            await parts.spaces.active.index.delete((await engine.document(name)).id)
        # Of the other one all vectors are known.
        await parts.cache.drop((await engine.document("a.md")).id)
        with monkeypatch.context() as patch:
            down = ProviderUnavailableError("the provider is down")
            break_off(patch, part(engine, "embedder"), "embed", down)
            break_off(patch, parts.blobs, "delete", OutputError("it cannot be deleted"))
            findings = (await engine.doctor(fix=True)).findings
        assert [(one.kind, one.document, one.fixed) for one in findings] == [
            ("leftover", "", False),
            ("index", "a.md", False),
            ("index", "b.md", True),
        ]
        assert "it cannot be deleted" in findings[0].message
        assert "the provider is down" in findings[1].message
        assert (await engine.doctor(fix=True)).healthy
        assert await broken(engine) == []

    home.run(in_time(work))
