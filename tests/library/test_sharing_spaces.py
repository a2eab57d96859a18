"""A library that one process migrates while another uses it."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from gates import Gate, break_off, hold, part
from sharers import Town, assert_agreed, fall_asleep
from unchunk.adapters.index.qdrant import QdrantIndex
from unchunk.engine import Engine
from unchunk.errors import IndexUnavailableError, MigrationNeededError, OutputError
from unchunk.library.spaces import Spaces
from unchunk.ports import ACTIVE

TEXTS = {f"{number}.md": f"# Part {number}\n\nA word of {number}." for number in range(12)}


def test_what_one_migrates_the_other_finds_all_the_time(town: Town) -> None:
    for name, text in TEXTS.items():
        town.file(name, text)

    async def scene() -> None:
        async with asyncio.timeout(200), town.opened(1) as one:
            await one.add(town.files)
            async with town.opened(2, embedder="hashing:128") as other:
                searched, searching = 0, True

                async def search(engine: Engine) -> None:
                    nonlocal searched
                    while searching:
                        found = await engine.search("word", limit=100)
                        assert {hit.name for hit in found.hits} == set(TEXTS)
                        searched += 1

                readers = [asyncio.create_task(search(engine)) for engine in (one, other)]
                assert (await other.migrate()).documents == len(TEXTS)
                seen = searched
                while searched < seen + 4:  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.01)
                searching = False
                await asyncio.gather(*readers)
                assert [space.spec for space in one._parts.spaces.all] == ["hashing:128"]
                await assert_agreed([one, other], TEXTS)
                with pytest.raises(MigrationNeededError, match="reindex --all"):
                    await one.add(town.files)

    asyncio.run(scene())


def test_an_index_that_nobody_gets_is_closed(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    async def close(index: QdrantIndex) -> None:
        closed.append(index)
        await really(index)

    really = QdrantIndex.close

    async def scene() -> None:
        async with town.opened() as engine:
            gone = OutputError("the disk is full")
            break_off(monkeypatch, part(engine, "catalog"), "notes", gone)
            monkeypatch.setattr(QdrantIndex, "close", close)
            [space] = engine._parts.spaces.all
            with pytest.raises(OutputError):
                await space.index.census()
            assert len(closed) == 1

    asyncio.run(scene())


@pytest.mark.parametrize("step", ["upsert", "go_live"])
def test_a_file_that_comes_in_while_another_migrates_comes_in_once_more(
    town: Town, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path, later = town.file("a.md", "A word of one."), town.file("b.md", "A word of two.")

    async def scene() -> None:
        async with asyncio.timeout(200), town.opened(1) as one:
            await one.add(path)
            async with town.opened(2, embedder="hashing:128") as other:
                where = part(one, "index" if step == "upsert" else "catalog")
                coming = hold(monkeypatch, where, step)
                adding = asyncio.create_task(one.add(later))
                await coming.reached.wait()
                # It does not wait for who writes elsewhere, and drops what they write into.
                assert len((await other.migrate()).dropped) == 1
                coming.opened.set()
                assert [outcome.result for outcome in await adding] == ["added"]
                await assert_agreed(
                    [one, other], {"a.md": "A word of one.", "b.md": "A word of two."}
                )

    asyncio.run(scene())


def test_of_two_who_begin_a_library_one_makes_its_index(town: Town) -> None:
    paths = [town.file(f"{at}.md", f"A word of {at}.") for at in (1, 2)]

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            opening = (stack.enter_async_context(town.opened(at)) for at in (1, 2))
            engines = await asyncio.gather(*opening)
            await asyncio.gather(
                *(engine.add(path) for engine, path in zip(engines, paths, strict=True))
            )
            await assert_agreed(engines, {f"{at}.md": f"A word of {at}." for at in (1, 2)})

    asyncio.run(scene())


def test_who_is_late_to_drop_an_index_drops_none_that_is_in_use_again(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in TEXTS.items():
        town.file(name, text)

    async def scene() -> None:
        async with asyncio.timeout(200), AsyncExitStack() as stack:
            other = await stack.enter_async_context(town.opened(1))
            await other.add(town.files)
            first = other._parts.spaces.active.name
            options: dict[str, str | float] = {"embedder": "hashing:128", "lease_seconds": 2.0}
            late = await stack.enter_async_context(town.opened(2, **options))
            dropping = hold(monkeypatch, late._parts.spaces, "_drop_former")
            migrating = asyncio.create_task(late.migrate())
            await dropping.reached.wait()
            fall_asleep(late)
            assert (await other.migrate()).documents == len(TEXTS)
            assert other._parts.spaces.active.name == f"{first}-1"
            dropping.opened.set()
            assert (await migrating).dropped == (first,)
            await assert_agreed([other, late], TEXTS)

    asyncio.run(scene())


def test_who_looks_for_new_indexes_waits_for_who_does_so_already(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        town.file(f"{number}.md", f"A word of {number}.")

    async def scene() -> None:
        async with asyncio.timeout(200), town.opened(1) as one:
            await one.add(town.files)
            async with town.opened(2, embedder="hashing:128") as other:
                retiring = hold(monkeypatch, other._parts.spaces, "retire")
                migrating = asyncio.create_task(other.migrate())
                await retiring.reached.wait()
                loading = hold(monkeypatch, one._parts.spaces, "_make")
                searches = [asyncio.create_task(one.search("word"))]
                await loading.reached.wait()
                searches += [asyncio.create_task(one.search("word")) for _ in range(3)]
                deleting = asyncio.create_task(one.delete("0.md"))
                # Whoever does not wait is done by then.
                await asyncio.wait({*searches, deleting}, timeout=1.0)
                loading.opened.set()
                for found in await asyncio.gather(*searches):
                    assert {hit.name for hit in found.hits} >= {f"{at}.md" for at in (1, 2, 3)}
                assert (await deleting).clean
                retiring.opened.set()
                await migrating
                await assert_agreed([one, other], {f"{n}.md": f"A word of {n}." for n in (1, 2, 3)})

    asyncio.run(scene())


def test_the_index_in_use_is_not_dropped_though_nothing_is_in_it_yet(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = town.file("a.md", "A word.")

    async def scene() -> None:
        async with asyncio.timeout(200), town.opened(1) as one:
            async with town.opened(2, embedder="hashing:128") as other:
                adopting = hold(monkeypatch, other._parts.catalog, "adopt_space", after=True)
                migrating = asyncio.create_task(other.migrate())
                await adopting.reached.wait()
                fall_asleep(other)
                # Whoever retires does not know yet which one is in use by now.
                assert not await one._parts.catalog.retire_space(
                    (await one._parts.catalog.notes())[ACTIVE]
                )
                adopting.opened.set()
                await migrating
                assert (await other.add(path))[0].result == "added"
            async with town.opened(3, embedder="hashing:128") as third:
                await assert_agreed([one, third], {"a.md": "A word."})

    asyncio.run(scene())


def test_a_document_is_written_into_the_index_that_is_kept_for_it(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = town.file("a.md", "A word.")

    async def scene() -> None:
        async with asyncio.timeout(200), town.opened(1) as one:
            await one.add(path)
            spaces = one._parts.spaces
            old = spaces.active.name
            writing = hold(monkeypatch, one._parts.catalog, "next_generation", after=True)
            reindexing = asyncio.create_task(one.reindex("a.md"))
            await writing.reached.wait()
            async with town.opened(2, embedder="hashing:128") as other:
                await other._parts.spaces.adopt()
                await spaces.refresh()
                assert spaces.active.name != old
                writing.opened.set()
                assert (await reindexing).documents == 1
                live = (await one.document("a.md")).live
                assert live is not None
                assert live.space == old
                assert (await other.migrate()).documents == 1
                await assert_agreed([other], {"a.md": "A word."})

    asyncio.run(scene())


def test_what_a_process_left_goes_when_the_next_one_begins(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = town.file("a.md", "A word.")

    async def scene() -> None:
        async with asyncio.timeout(200), AsyncExitStack() as stack:
            one = await stack.enter_async_context(town.opened(1))
            await one.add(path)
            break_off(monkeypatch, part(one, "index"), "delete", IndexUnavailableError("away"))
            assert not (await one.delete("a.md")).clean
            assert await one._parts.catalog.remains()
            other = await stack.enter_async_context(town.opened(2))
            assert await other._parts.catalog.remains() == []
            await assert_agreed([other], {})

    asyncio.run(scene())


def test_a_collection_that_is_to_be_made_otherwise_is_made_anew_by_a_migration(town: Town) -> None:
    for name, text in TEXTS.items():
        town.file(name, text)

    async def scene() -> None:
        async with asyncio.timeout(200), town.opened(1) as one:
            await one.add(town.files)
            first = one._parts.spaces.active.name
            async with town.opened(2, qdrant_shards=3) as other:
                assert other._parts.spaces.active.name == first
                done = await other.migrate()
                assert (done.documents, done.dropped) == (len(TEXTS), (first,))
                assert other._parts.spaces.active.name == f"{first}-1"
                # It is as wanted now: what is written anew stays there, with either settings.
                for engine in (other, one):
                    assert [one.result for one in await engine.add(town.files)] == (
                        ["unchanged"] * len(TEXTS)
                    )
                assert (await other.migrate()).dropped == ()
                assert other._parts.spaces.active.name == f"{first}-1"
                await assert_agreed([one, other], TEXTS)

    asyncio.run(scene())


def test_a_library_that_cannot_be_opened_leaves_nothing_open_and_holds_nothing(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Spaces] = []
    real = Spaces.open

    async def fails(self: Spaces) -> None:
        tried.append(self)
        # Whatever it holds from here on is kept up.
        assert self._desk._beating is not None
        await real(self)
        monkeypatch.setattr(self.active.embedder, "close", closing.wait, raising=False)
        raise IndexUnavailableError("on purpose")

    async def scene() -> None:
        async with asyncio.timeout(200), town.opened(1) as one:
            monkeypatch.setattr(Spaces, "open", fails)
            closing.opened.set()
            with pytest.raises(IndexUnavailableError, match="on purpose"):
                async with town.opened(2):
                    pass
            assert closing.reached.is_set()
            [spaces] = tried
            assert await one._parts.desk.held([spaces._desk._own]) == set()

    closing = Gate()
    asyncio.run(scene())
