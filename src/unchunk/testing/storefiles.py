"""What every keeper of the files of vector stores must do."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from unchunk.domain import ChunkingStrategy
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import Batch, MemberCounts, MemberStatus, Page, StoreFile
from unchunk.testing.catalogs import added, drafted, whole_of
from unchunk.testing.shelves import (
    NOBODY,
    NOON,
    ODD,
    OnShelves,
    Shelves,
    a_store,
    check_pages,
    check_removing,
    in_each_state,
    live,
    on_shelves,
)


class MembersContract(OnShelves):
    @on_shelves
    async def test_a_file_is_in_its_store_as_it_was_put(self, kept: Shelves) -> None:
        await a_store(kept)
        one, other = await live(kept, 2)
        odd = StoreFile(
            "vs_a",
            one,
            NOON,
            ChunkingStrategy("tokens", 100, 50),
            {ODD: ODD, "n": 1.5, "whole": 2, "yes": True},
            "vsfb_a",
            is_cancelled=True,
        )
        plain = StoreFile("vs_a", other, NOON)
        await kept.members.put("me", [odd, plain])
        for file in (odd, plain):
            found = await kept.members.get("me", "vs_a", file.document)
            assert found.file == file
            assert found.document == await kept.catalog.get("me", file.document)
        kinds = (await kept.members.get("me", "vs_a", one)).file.attributes
        assert [type(it) for it in kinds.values()] == [str, float, int, bool]
        await kept.members.put("me", [])

    @on_shelves
    async def test_a_file_that_is_put_again_keeps_when_it_came(self, kept: Shelves) -> None:
        await a_store(kept)
        [one] = await live(kept, 1)
        first = StoreFile("vs_a", one, NOON, attributes={"a": 1}, batch="b", is_cancelled=True)
        again = StoreFile(
            "vs_a", one, NOON + timedelta(days=1), ChunkingStrategy("tokens", 200, 0), {"b": "c"}
        )
        await kept.members.put("me", [first])
        await kept.members.put("me", [again])
        found = await kept.members.get("me", "vs_a", one)
        assert found.file == replace(again, created_at=NOON)

    @on_shelves
    async def test_files_are_put_all_or_none(self, kept: Shelves) -> None:
        await a_store(kept)
        await a_store(kept, "vs_b", "you")
        [mine], [theirs] = await live(kept, 1), await live(kept, 1, "you")
        good = StoreFile("vs_a", mine, NOON)
        for document in (theirs, *NOBODY):
            with pytest.raises(NotFoundError, match="there is no document"):
                await kept.members.put("me", [good, StoreFile("vs_a", document, NOON)])
        for store in ("vs_b", *NOBODY):
            with pytest.raises(NotFoundError, match="there is no vector store"):
                await kept.members.put("me", [good, StoreFile(store, mine, NOON)])
        bad = (replace(good, attributes={"a": float("nan")}), replace(good, batch="a\0"))
        for one in bad:
            with pytest.raises(InvalidInputError):
                await kept.members.put("me", [good, one])
        assert await kept.members.page("me", "vs_a", Page()) == ([], False)
        assert await kept.members.page("you", "vs_b", Page()) == ([], False)

    @on_shelves
    async def test_files_are_found_by_what_became_of_them(self, kept: Shelves) -> None:
        await a_store(kept)
        found = await in_each_state(kept, "vs_a")
        states: tuple[MemberStatus, ...] = ("in_progress", "completed", "failed", "cancelled")
        for status in states:
            members, _ = await kept.members.page("me", "vs_a", Page(), status=status)
            also = {found["replaced"]} if status == "completed" else set()
            assert {it.document.id for it in members} == {found[status]} | also
            assert {it.status for it in members} == {status}
            for it in members:
                assert await kept.members.get("me", "vs_a", it.document.id) == it

    @on_shelves
    async def test_what_was_cancelled_and_comes_nevertheless_is_completed(
        self, kept: Shelves
    ) -> None:
        await a_store(kept)
        draft = await drafted(kept.catalog, "a.txt", "text")
        one = draft.document

        async def counts() -> MemberCounts:
            return (await kept.stores.counts("me", ["vs_a"]))["vs_a"]

        await kept.members.put("me", [StoreFile("vs_a", one, NOON, is_cancelled=True)])
        assert (await kept.members.get("me", "vs_a", one)).status == "cancelled"
        await kept.catalog.fail(one, draft.generation, "damaged", "it is")
        assert (await kept.members.get("me", "vs_a", one)).status == "cancelled"
        assert await counts() == MemberCounts(cancelled=1)
        await kept.catalog.go_live([whole_of(draft, "text")])
        assert (await kept.members.get("me", "vs_a", one)).status == "completed"
        assert await counts() == MemberCounts(completed=1, size=4)
        assert await kept.members.page("me", "vs_a", Page(), status="cancelled") == ([], False)

    @on_shelves
    async def test_files_are_read_a_part_at_a_time_though_many_are_as_old(
        self, kept: Shelves
    ) -> None:
        await a_store(kept)
        await a_store(kept, "vs_b")
        await kept.members.save_batch("me", Batch("vsfb_a", "vs_a", NOON))
        ids = await live(kept, 14)
        coming = (await drafted(kept.catalog, "coming", "text")).document
        # The later half of the ids came first, seven at a time.
        when = {one: NOON + timedelta(seconds=number < 7) for number, one in enumerate(ids)}
        some = [one for number, one in enumerate(ids) if number % 2]
        await kept.members.put(
            "me",
            [
                StoreFile("vs_a", one, at, batch="vsfb_a" if one in some else "")
                for one, at in when.items()
            ],
        )
        await kept.members.put("me", [StoreFile("vs_b", one, NOON) for one in (*ids, coming)])
        expected = ids[7:] + ids[:7]

        async def read(
            part: Page, status: MemberStatus | None = None, batch: str = ""
        ) -> tuple[list[str], bool]:
            found, has_more = await kept.members.page(
                "me", "vs_a", part, status=status, batch=batch
            )
            return [one.document.id for one in found], has_more

        await check_pages(read, expected)
        await check_pages(lambda part: read(part, "completed"), expected)
        in_batch = [one for one in expected if one in some]
        await check_pages(lambda part: read(part, batch="vsfb_a"), in_batch)
        # A cursor is any file of the store, but none of another store.
        behind = await read(Page(2, after=expected[0], order="asc"), batch="vsfb_a")
        assert behind == ([it for it in in_batch if it != expected[0]][:2], True)
        with pytest.raises(InvalidInputError, match="is not there"):
            await read(Page(after=coming))
        for batch in filter(None, NOBODY):
            with pytest.raises(NotFoundError, match="there is no batch"):
                await read(Page(), batch=batch)

    @on_shelves
    async def test_files_may_be_removed_or_deleted_while_they_are_read(self, kept: Shelves) -> None:
        ids = await live(kept, 14)
        for store in ("vs_a", "vs_b"):
            await a_store(kept, store)
            when = [NOON + timedelta(seconds=number // 5) for number in range(14)]
            files = [StoreFile(store, one, at) for one, at in zip(ids, when, strict=True)]
            await kept.members.put("me", files)

        async def read(store: str, part: Page) -> tuple[list[str], bool]:
            found, has_more = await kept.members.page("me", store, part)
            return [one.document.id for one in found], has_more

        await check_removing(
            partial(read, "vs_a"), lambda one: kept.members.remove("me", "vs_a", one)
        )
        assert (await read("vs_b", Page()))[0] == ids[::-1]
        await check_removing(partial(read, "vs_b"), lambda one: kept.catalog.bury("me", one))

    @on_shelves
    async def test_a_document_that_is_deleted_leaves_all_stores(self, kept: Shelves) -> None:
        gone, stays = await live(kept, 2)
        for name in ("vs_a", "vs_b"):
            await a_store(kept, name)
            await kept.members.save_batch("me", Batch("vsfb_a", name, NOON))
            both = [StoreFile(name, one, NOON, batch="vsfb_a") for one in (gone, stays)]
            await kept.members.put("me", both)
        await kept.catalog.bury("me", gone)
        for name in ("vs_a", "vs_b"):
            found, _ = await kept.members.page("me", name, Page())
            assert [it.document.id for it in found] == [stays]
            assert (await kept.members.batch("me", name, "vsfb_a"))[1].total == 1
            with pytest.raises(NotFoundError):
                await kept.members.get("me", name, gone)
        assert {it.document for it in await kept.members.live("me", ["vs_a", "vs_b"])} == {stays}

    @on_shelves
    async def test_only_live_files_are_to_be_searched(self, kept: Shelves) -> None:
        for name, owner in (("vs_a", "me"), ("vs_b", "me"), ("vs_c", "you")):
            await a_store(kept, name, owner)
        found = await in_each_state(kept, "vs_a")
        here = {found["completed"], found["replaced"]}
        [more], [theirs] = await live(kept, 1), await live(kept, 1, "you")
        file = StoreFile("vs_b", more, NOON, attributes={"a": 1})
        await kept.members.put("me", [file, StoreFile("vs_b", found["completed"], NOON)])
        await kept.members.put("you", [StoreFile("vs_c", theirs, NOON)])
        members = kept.members
        assert {it.document for it in await members.live("me", ["vs_a"])} == here
        several = await members.live("me", ["vs_b", "vs_a", "vs_b", "vs_c", *NOBODY])
        places = sorted((it.store, it.document) for it in several)
        in_b = [more, found["completed"]]
        assert places == sorted([("vs_a", it) for it in here] + [("vs_b", it) for it in in_b])
        assert file in several
        assert await members.live("me", ["vs_b", "vs_a"], [more, *NOBODY]) == [file]
        assert await members.live("me", ["vs_a"], [more, theirs, found["failed"]]) == []
        assert await members.live("me", ["vs_a"], []) == await members.live("me", []) == []

    @on_shelves
    async def test_a_file_that_is_removed_leaves_this_store_only(self, kept: Shelves) -> None:
        one, other = await live(kept, 2)
        for name in ("vs_a", "vs_b"):
            await a_store(kept, name)
            await kept.members.put("me", [StoreFile(name, it, NOON) for it in (one, other)])
        await kept.members.remove("me", "vs_a", one)
        uses: list[Callable[[str], Coroutine[None, None, object]]] = [
            lambda it: kept.members.get("me", "vs_a", it),
            lambda it: kept.members.remove("me", "vs_a", it),
        ]
        for use in uses:
            for document in (one, *NOBODY):
                with pytest.raises(NotFoundError, match="in vector store 'vs_a'"):
                    await use(document)
        for name, document in (("vs_a", other), ("vs_b", one), ("vs_b", other)):
            assert (await kept.members.get("me", name, document)).document.id == document
        assert (await kept.catalog.get("me", one)).status == "live"

    # Batches.

    @on_shelves
    async def test_a_batch_counts_its_own_files(self, kept: Shelves) -> None:
        for name in ("vs_a", "vs_b"):
            await a_store(kept, name)
        batch = Batch("vsfb_a", "vs_a", NOON)
        await kept.members.save_batch("me", batch)
        assert await kept.members.batch("me", "vs_a", "vsfb_a") == (batch, MemberCounts())
        await in_each_state(kept, "vs_a", "vsfb_a")
        [more] = await live(kept, 1)
        await kept.members.put("me", [StoreFile("vs_a", more, NOON)])
        found = await kept.members.batch("me", "vs_a", "vsfb_a")
        assert found == (batch, MemberCounts(1, 2, 1, 1, size=4 + 7))
        for store, name in (("vs_b", "vsfb_a"), *(("vs_a", it) for it in NOBODY)):
            with pytest.raises(NotFoundError, match="there is no batch"):
                await kept.members.batch("me", store, name)

    @on_shelves
    async def test_only_what_is_on_its_way_in_a_batch_is_cancelled(self, kept: Shelves) -> None:
        await a_store(kept)
        for name in ("vsfb_a", "vsfb_b"):
            await kept.members.save_batch("me", Batch(name, "vs_a", NOON))
        found = await in_each_state(kept, "vs_a", "vsfb_a")
        other = (await drafted(kept.catalog, "other", "text")).document
        await kept.members.put("me", [StoreFile("vs_a", other, NOON, batch="vsfb_b")])
        cancelled = Batch("vsfb_a", "vs_a", NOON + timedelta(days=1), is_cancelled=True)
        for _ in range(2):
            await kept.members.save_batch("me", cancelled)
            batch, counts = await kept.members.batch("me", "vs_a", "vsfb_a")
            assert batch == replace(cancelled, created_at=NOON)
            assert counts == MemberCounts(0, 2, 1, 2, size=4 + 7)
        for name, was in found.items():
            now = (await kept.members.get("me", "vs_a", was)).file.is_cancelled
            assert now == (name in ("in_progress", "cancelled"))
        assert (await kept.members.get("me", "vs_a", other)).status == "in_progress"
        await kept.members.put("me", [StoreFile("vs_a", found["in_progress"], NOON)])
        again = await kept.members.get("me", "vs_a", found["in_progress"])
        assert again.status == "in_progress"

    # At once.

    @on_shelves
    async def test_putting_and_deleting_at_once_leaves_all_or_nothing(self, kept: Shelves) -> None:
        for number in range(6):
            store = await a_store(kept, f"vs_{number}")
            names = [f"{number} {it}" for it in "ab"]
            ids = [(await added(kept.catalog, name, "text")).id for name in names]
            files = [StoreFile(store, one, NOON) for one in ids]
            goes = (
                kept.stores.delete("me", store) if number % 2 else kept.catalog.bury("me", ids[0])
            )
            done = await asyncio.gather(kept.members.put("me", files), goes, return_exceptions=True)
            assert isinstance(done[0], (type(None), NotFoundError))
            assert not isinstance(done[1], BaseException)
            left = {it.document for it in await kept.members.live("me", [store])}
            assert left in ([set()] if number % 2 else [set(), {ids[1]}])
