"""What every keeper of the files of vector stores must do."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from unchunk.domain import ChunkingStrategy
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import Attribute, Batch, FileNote, MemberCounts, MemberStatus, Page, StoreFile
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
            is_cancelled=True,
        )
        plain = StoreFile("vs_a", other, NOON)
        await kept.members.put("me", [odd, plain])
        for file in (odd, plain):
            found = await kept.members.get("me", "vs_a", file.document, NOON)
            assert found.file == file
            assert found.document == await kept.catalog.get("me", file.document)
        kinds = (await kept.members.get("me", "vs_a", one, NOON)).file.attributes
        assert [type(it) for it in kinds.values()] == [str, float, int, bool]
        await kept.members.put("me", [])

    @on_shelves
    async def test_a_file_that_is_put_again_keeps_when_it_came(self, kept: Shelves) -> None:
        await a_store(kept)
        [one] = await live(kept, 1)
        first = StoreFile("vs_a", one, NOON, attributes={"a": 1}, is_cancelled=True)
        again = StoreFile(
            "vs_a", one, NOON + timedelta(days=1), ChunkingStrategy("tokens", 200, 0), {"b": "c"}
        )
        await kept.members.put("me", [first])
        await kept.members.put("me", [again])
        found = await kept.members.get("me", "vs_a", one, NOON)
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
        bad = replace(good, attributes={"a": float("nan")})
        with pytest.raises(InvalidInputError):
            await kept.members.put("me", [good, bad])
        for name in ("a\0", "\ud800"):
            with pytest.raises(InvalidInputError):
                await kept.members.put("me", [good], Batch(name, "vs_a", NOON))
        assert await kept.members.page("me", "vs_a", Page(), NOON) == ([], False)
        assert await kept.members.page("you", "vs_b", Page(), NOON) == ([], False)

    @on_shelves
    async def test_files_are_found_by_what_became_of_them(self, kept: Shelves) -> None:
        await a_store(kept)
        found = await in_each_state(kept, "vs_a")
        states: tuple[MemberStatus, ...] = ("in_progress", "completed", "failed", "cancelled")
        for status in states:
            members, _ = await kept.members.page("me", "vs_a", Page(), NOON, status=status)
            also = {found["replaced"]} if status == "completed" else set()
            assert {it.document.id for it in members} == {found[status]} | also
            assert {it.status for it in members} == {status}
            for it in members:
                assert await kept.members.get("me", "vs_a", it.document.id, NOON) == it

    @on_shelves
    async def test_what_was_cancelled_stays_so_until_it_is_put_again(self, kept: Shelves) -> None:
        await a_store(kept)
        draft = await drafted(kept.catalog, "a.txt", "text")
        one = draft.document

        async def check(status: MemberStatus, counts: MemberCounts) -> None:
            assert (await kept.members.get("me", "vs_a", one, NOON)).status == status
            assert await kept.stores.counts("me", ["vs_a"], NOON) == {"vs_a": counts}
            found, _ = await kept.members.page("me", "vs_a", Page(), NOON, status=status)
            assert [it.document.id for it in found] == [one]
            there = [one] if status == "completed" else []
            assert await kept.members.searchable("me", ["vs_a"], NOON) == there
            files = await kept.members.completed("me", ["vs_a"], NOON)
            assert [it.document for it in files] == there

        await kept.members.put("me", [StoreFile("vs_a", one, NOON, is_cancelled=True)])
        await check("cancelled", MemberCounts(cancelled=1))
        await kept.catalog.fail(one, draft.generation, "damaged", "it is")
        await check("cancelled", MemberCounts(cancelled=1))
        await kept.catalog.go_live([whole_of(draft, "text")])
        await check("cancelled", MemberCounts(cancelled=1))
        await kept.members.put("me", [StoreFile("vs_a", one, NOON)])
        await check("completed", MemberCounts(completed=1, size=4))

    @on_shelves
    async def test_attributes_are_replaced_and_nothing_else_is(self, kept: Shelves) -> None:
        await a_store(kept)
        one, other = await live(kept, 2)
        strategy = ChunkingStrategy("tokens", 100, 50)
        file = StoreFile("vs_a", one, NOON, strategy, {"a": 1, "b": 2}, is_cancelled=True)
        batch = Batch("vsfb_a", "vs_a", NOON)
        await kept.members.put("me", [file, replace(file, document=other)], batch)
        says: list[dict[str, Attribute]] = [{ODD: ODD, "n": 1.5}, {}]
        for said in says:
            told = await kept.members.describe("me", "vs_a", one, said, NOON)
            assert told.file == replace(file, attributes=said)
            assert await kept.members.get("me", "vs_a", one, NOON) == told
        assert (await kept.members.get("me", "vs_a", other, NOON)).file.attributes == {
            "a": 1,
            "b": 2,
        }
        assert (await kept.batches.get("me", "vs_a", "vsfb_a", NOON))[1].total == 2
        with pytest.raises(InvalidInputError):
            await kept.members.describe("me", "vs_a", one, {"a": float("nan")}, NOON)

    @on_shelves
    async def test_nothing_is_said_of_a_file_that_is_not_there(self, kept: Shelves) -> None:
        await a_store(kept)
        gone, over = await live(kept, 2)
        await kept.members.put("me", [StoreFile("vs_a", it, NOON) for it in (gone, over)])
        await kept.members.remove("me", "vs_a", gone)
        await kept.notes.note("me", FileNote(over, "a", expires_at=NOON))
        for document in (gone, over, *NOBODY):
            with pytest.raises(NotFoundError, match="in vector store 'vs_a'"):
                await kept.members.describe("me", "vs_a", document, {"a": 1}, NOON)
        before = NOON - timedelta(seconds=1)
        [left] = (await kept.members.page("me", "vs_a", Page(), before))[0]
        assert (left.document.id, left.file.attributes) == (over, {})

    @on_shelves
    async def test_a_file_whose_time_is_over_is_in_no_store(self, kept: Shelves) -> None:
        await a_store(kept)
        await a_store(kept, "vs_b")
        stays, goes = await live(kept, 2)
        both = [StoreFile("vs_a", it, NOON) for it in (stays, goes)]
        await kept.members.put("me", both, Batch("vsfb_a", "vs_a", NOON))
        await kept.members.put("me", [StoreFile("vs_b", goes, NOON)])
        await kept.notes.note("me", FileNote(goes, "a", expires_at=NOON))
        await kept.notes.note("me", FileNote(stays, "a", expires_at=NOON + timedelta(days=1)))
        members, stores = kept.members, ["vs_a", "vs_b"]
        for now, there in ((NOON - timedelta(seconds=1), {stays, goes}), (NOON, {stays})):
            for batch in ("", "vsfb_a"):
                page, _ = await members.page("me", "vs_a", Page(), now, batch=batch)
                assert {it.document.id for it in page} == there
            assert set(await members.searchable("me", stores, now)) == there
            for named in (None, [stays, goes]):
                found = await members.completed("me", stores, now, named)
                assert {it.document for it in found} == there
            counts = MemberCounts(completed=len(there), size=4 * len(there))
            alone = MemberCounts(completed=len(there) - 1, size=4 * (len(there) - 1))
            assert await kept.stores.counts("me", stores, now) == {"vs_a": counts, "vs_b": alone}
            assert (await kept.batches.get("me", "vs_a", "vsfb_a", now))[1] == counts
        with pytest.raises(NotFoundError, match="in vector store 'vs_b'"):
            await members.get("me", "vs_b", goes, NOON)
        # It is a place in the list yet, and can be taken out.
        page, _ = await members.page("me", "vs_a", Page(after=goes), NOON)
        assert {it.document.id for it in page} <= {stays}
        await members.remove("me", "vs_b", goes)

    @on_shelves
    async def test_files_are_read_a_part_at_a_time_though_many_are_as_old(
        self, kept: Shelves
    ) -> None:
        await a_store(kept)
        await a_store(kept, "vs_b")
        ids = await live(kept, 14)
        coming = (await drafted(kept.catalog, "coming", "text")).document
        # The later half of the ids came first, seven at a time.
        when = {one: NOON + timedelta(seconds=number < 7) for number, one in enumerate(ids)}
        some = [one for number, one in enumerate(ids) if number % 2]
        files = {one: StoreFile("vs_a", one, at) for one, at in when.items()}
        await kept.members.put("me", list(files.values()))
        batch = Batch("vsfb_a", "vs_a", NOON)
        await kept.members.put("me", [files[one] for one in some], batch)
        await kept.members.put("me", [StoreFile("vs_b", one, NOON) for one in (*ids, coming)])
        expected = ids[7:] + ids[:7]

        async def read(
            part: Page, status: MemberStatus | None = None, batch: str = ""
        ) -> tuple[list[str], bool]:
            found, has_more = await kept.members.page(
                "me", "vs_a", part, NOON, status=status, batch=batch
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
        for nothing in filter(None, NOBODY):
            with pytest.raises(NotFoundError, match="there is no batch"):
                await read(Page(), batch=nothing)

    @on_shelves
    async def test_files_may_be_removed_or_deleted_while_they_are_read(self, kept: Shelves) -> None:
        ids = await live(kept, 14)
        for store in ("vs_a", "vs_b"):
            await a_store(kept, store)
            when = [NOON + timedelta(seconds=number // 5) for number in range(14)]
            files = [StoreFile(store, one, at) for one, at in zip(ids, when, strict=True)]
            await kept.members.put("me", files)

        async def read(store: str, part: Page) -> tuple[list[str], bool]:
            found, has_more = await kept.members.page("me", store, part, NOON)
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
            both = [StoreFile(name, one, NOON) for one in (gone, stays)]
            await kept.members.put("me", both, Batch("vsfb_a", name, NOON))
        await kept.catalog.bury("me", gone)
        for name in ("vs_a", "vs_b"):
            found, _ = await kept.members.page("me", name, Page(), NOON)
            assert [it.document.id for it in found] == [stays]
            assert (await kept.batches.get("me", name, "vsfb_a", NOON))[1].total == 1
            with pytest.raises(NotFoundError):
                await kept.members.get("me", name, gone, NOON)
        assert {
            it.document for it in await kept.members.completed("me", ["vs_a", "vs_b"], NOON)
        } == {stays}

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
        assert {it.document for it in await members.completed("me", ["vs_a"], NOON)} == here
        several = await members.completed("me", ["vs_b", "vs_a", "vs_b", "vs_c", *NOBODY], NOON)
        places = sorted((it.store, it.document) for it in several)
        in_b = [more, found["completed"]]
        assert places == sorted([("vs_a", it) for it in here] + [("vs_b", it) for it in in_b])
        assert file in several
        assert await members.completed("me", ["vs_b", "vs_a"], NOON, [more, *NOBODY]) == [file]
        assert await members.completed("me", ["vs_a"], NOON, [more, theirs, found["failed"]]) == []
        assert await members.searchable("me", ["vs_a"], NOON) == sorted(here)
        every = await members.searchable("me", ["vs_b", "vs_a", "vs_b", "vs_c", *NOBODY], NOON)
        assert every == sorted({more, *here})
        assert await members.searchable("me", [], NOON) == []
        assert await members.searchable("me\0", ["vs_a"], NOON) == []
        assert (
            await members.completed("me", ["vs_a"], NOON, [])
            == await members.completed("me", [], NOON)
            == []
        )

    @on_shelves
    async def test_a_file_that_is_removed_leaves_this_store_only(self, kept: Shelves) -> None:
        one, other = await live(kept, 2)
        for name in ("vs_a", "vs_b"):
            await a_store(kept, name)
            await kept.members.put("me", [StoreFile(name, it, NOON) for it in (one, other)])
        await kept.members.remove("me", "vs_a", one)
        uses: list[Callable[[str], Coroutine[None, None, object]]] = [
            lambda it: kept.members.get("me", "vs_a", it, NOON),
            lambda it: kept.members.remove("me", "vs_a", it),
        ]
        for use in uses:
            for document in (one, *NOBODY):
                with pytest.raises(NotFoundError, match="in vector store 'vs_a'"):
                    await use(document)
        for name, document in (("vs_a", other), ("vs_b", one), ("vs_b", other)):
            assert (await kept.members.get("me", name, document, NOON)).document.id == document
        assert (await kept.catalog.get("me", one)).status == "live"

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
            left = set(await kept.members.searchable("me", [store], NOON))
            assert left in ([set()] if number % 2 else [set(), {ids[1]}])

    @on_shelves
    async def test_what_is_said_of_a_file_meanwhile_undoes_nothing(self, kept: Shelves) -> None:
        members, other = kept.members, ChunkingStrategy("tokens", 100, 0)
        for number in range(6):
            store = await a_store(kept, f"vs_{number}")
            one = (await drafted(kept.catalog, f"{number}", "text")).document
            file = StoreFile(store, one, NOON)
            await members.put("me", [file], Batch("vsfb_a", store, NOON))
            uses: list[Coroutine[None, None, object]] = [
                members.describe("me", store, one, {"n": number}, NOON)
            ]
            if number % 3 == 0:
                uses.append(members.remove("me", store, one))
            elif number % 3 == 1:
                uses.append(members.put("me", [replace(file, strategy=other)]))
            else:
                uses.append(kept.batches.cancel("me", store, "vsfb_a", NOON))
            await asyncio.gather(*uses, return_exceptions=True)
            found, _ = await members.page("me", store, Page(), NOON)
            assert len(found) == (number % 3 != 0)
            for it in found:
                assert it.file.strategy == (other if number % 3 == 1 else file.strategy)
                assert it.file.is_cancelled == (number % 3 == 2)
