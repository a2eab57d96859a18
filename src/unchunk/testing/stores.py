"""What every keeper of vector stores must do."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta

import pytest

from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import Batch, MemberCounts, Page, StoreFile, VectorStore
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


class StoresContract(OnShelves):
    @on_shelves
    async def test_a_store_is_there_as_it_was_added(self, kept: Shelves) -> None:
        plain = VectorStore("vs_a", "me", "", NOON, NOON)
        after = timedelta(days=7, microseconds=1)
        later = NOON + timedelta(hours=1)
        odd = VectorStore("vs_b", "ß 日本", ODD, NOON, later, ODD, {ODD: ODD, "b": ""}, after)
        for one in (plain, odd):
            await kept.stores.add(one)
            assert await kept.stores.get(one.owner, one.id) == one
        assert plain.expires_at is None
        assert odd.expires_at == later + after

    @on_shelves
    async def test_what_is_new_of_a_store_is_kept_but_not_when_it_was_made(
        self, kept: Shelves
    ) -> None:
        await a_store(kept)
        other = await kept.stores.get("me", await a_store(kept, "vs_b"))
        later, metadata = NOON + timedelta(days=1), {"team": "red"}
        changed = VectorStore("vs_a", "me", "new", later, later, "Why", metadata, timedelta(1))
        await kept.stores.save(changed)
        assert await kept.stores.get("me", "vs_a") == replace(changed, created_at=NOON)
        await kept.stores.save(VectorStore("vs_a", "me", "", later, NOON))
        assert await kept.stores.get("me", "vs_a") == VectorStore("vs_a", "me", "", NOON, later)
        assert await kept.stores.get("me", "vs_b") == other

    @on_shelves
    async def test_a_store_that_is_gone_does_not_come_back_by_saving_it(
        self, kept: Shelves
    ) -> None:
        await a_store(kept)
        store = await kept.stores.get("me", "vs_a")
        await kept.stores.delete("me", "vs_a")
        with pytest.raises(NotFoundError, match="no vector store 'vs_a'"):
            await kept.stores.save(store)
        await kept.stores.touch("me", ["vs_a"], NOON)
        assert await kept.stores.page("me", Page()) == ([], False)

    @on_shelves
    async def test_when_a_store_was_used_never_goes_back(self, kept: Shelves) -> None:
        for name, owner in (("vs_a", "me"), ("vs_b", "me"), ("vs_c", "you")):
            await a_store(kept, name, owner)
        for hours, last in ((2, 2), (1, 2), (3, 3)):
            at = NOON + timedelta(hours=hours)
            await kept.stores.touch("me", ["vs_a", "vs_c", "vs_a", *NOBODY], at)
            used = (await kept.stores.get("me", "vs_a")).last_active_at
            assert used == NOON + timedelta(hours=last)
        await kept.stores.touch("me", [], NOON + timedelta(hours=4))
        await kept.stores.touch("me\0", ["vs_b"], NOON + timedelta(hours=4))
        for name, owner in (("vs_b", "me"), ("vs_c", "you")):
            assert (await kept.stores.get(owner, name)).last_active_at == NOON

    @on_shelves
    async def test_a_store_cannot_expire_after_the_end_of_time(self, kept: Shelves) -> None:
        store = VectorStore("vs_a", "me", "", NOON, NOON, expires_after=timedelta.max)
        with pytest.raises(InvalidInputError, match="later than any date"):
            await kept.stores.add(store)

    @on_shelves
    async def test_stores_are_read_a_part_at_a_time_though_many_are_as_old(
        self, kept: Shelves
    ) -> None:
        names = [f"vs_{letter}" for letter in "fbdaceg"]
        for number, name in enumerate(names):
            await a_store(kept, name, second=number // 3)
        theirs = await a_store(kept, "vs_0", "you", 1)
        expected = [*sorted(names[:3]), *sorted(names[3:6]), names[6]]

        async def read(part: Page) -> tuple[list[str], bool]:
            found, has_more = await kept.stores.page("me", part)
            assert all([one == await kept.stores.get("me", one.id) for one in found])
            return [one.id for one in found], has_more

        await check_pages(read, expected)
        with pytest.raises(InvalidInputError, match="is not there"):
            await read(Page(after=theirs))
        for nobody in ("nobody", "me\0", "\ud800"):
            assert await kept.stores.page(nobody, Page()) == ([], False)

    @on_shelves
    async def test_stores_may_be_deleted_while_they_are_read(self, kept: Shelves) -> None:
        for number in range(20):
            await a_store(kept, f"vs_{number}", second=number // 5)

        async def read(part: Page) -> tuple[list[str], bool]:
            found, has_more = await kept.stores.page("me", part)
            return [one.id for one in found], has_more

        await check_removing(read, lambda store: kept.stores.delete("me", store))
        with pytest.raises(InvalidInputError, match="is not there"):
            await kept.stores.page("you", Page(after="vs_12"))

    @on_shelves
    async def test_files_are_counted_by_what_became_of_them(self, kept: Shelves) -> None:
        for name, owner in (("vs_a", "me"), ("vs_b", "me"), ("vs_c", "me"), ("vs_d", "you")):
            await a_store(kept, name, owner)
        await in_each_state(kept, "vs_a")
        [one] = await live(kept, 1)
        await kept.members.put("me", [StoreFile("vs_b", one, NOON)])
        counts = await kept.stores.counts("me", ["vs_c", "vs_a", "vs_b", "vs_d", *NOBODY], NOON)
        assert counts == {
            "vs_a": MemberCounts(1, 2, 1, 1, size=4 + 7),
            "vs_b": MemberCounts(0, 1, 0, 0, size=4),
            "vs_c": MemberCounts(),
        }
        assert [it.total for it in (counts["vs_a"], counts["vs_b"], counts["vs_c"])] == [5, 1, 0]
        assert await kept.stores.counts("me", [], NOON) == {}
        assert await kept.stores.counts("me\0", ["vs_a"], NOON) == {}

    @on_shelves
    async def test_a_store_goes_with_its_files_and_batches_and_the_documents_stay(
        self, kept: Shelves
    ) -> None:
        [one] = await live(kept, 1)
        for name in ("vs_a", "vs_b"):
            await a_store(kept, name)
            batch = Batch("vsfb_a", name, NOON)
            await kept.members.put("me", [StoreFile(name, one, NOON)], batch)
        await kept.stores.delete("me", "vs_a")
        await a_store(kept, "vs_a")
        assert await kept.members.page("me", "vs_a", Page(), NOON) == ([], False)
        assert await kept.members.completed("me", ["vs_a"], NOON) == []
        with pytest.raises(NotFoundError):
            await kept.batches.get("me", "vs_a", "vsfb_a", NOON)
        assert (await kept.members.get("me", "vs_b", one, NOON)).status == "completed"
        assert (await kept.batches.get("me", "vs_b", "vsfb_a", NOON))[1].total == 1
        assert (await kept.catalog.get("me", one)).status == "live"

    @on_shelves
    async def test_another_owners_store_is_not_there(self, kept: Shelves) -> None:
        await a_store(kept)
        [theirs], [mine] = await live(kept, 1, "you"), await live(kept, 1)
        batch = Batch("vsfb_a", "vs_a", NOON)
        await kept.members.put("me", [StoreFile("vs_a", mine, NOON)], batch)
        stores, members, batches = kept.stores, kept.members, kept.batches
        uses: list[Callable[[str], Coroutine[None, None, object]]] = [
            lambda it: stores.get("you", it),
            lambda it: stores.save(VectorStore(it, "you", "", NOON, NOON)),
            lambda it: stores.delete("you", it),
            lambda it: members.put("you", [StoreFile(it, theirs, NOON)]),
            lambda it: members.get("you", it, mine, NOON),
            lambda it: members.page("you", it, Page(), NOON),
            lambda it: members.remove("you", it, mine),
            lambda it: members.put("you", [], Batch("vsfb_b", it, NOON)),
            lambda it: members.describe("you", it, mine, {}, NOON),
            lambda it: batches.cancel("you", it, "vsfb_a", NOON),
            lambda it: batches.get("you", it, "vsfb_a", NOON),
        ]
        before = await members.page("me", "vs_a", Page(), NOON)
        for use in uses:
            for name in ("vs_a", *NOBODY):
                with pytest.raises(NotFoundError) as refused:
                    await use(name)
                assert str(refused.value) == f"there is no vector store {name!r}"
        assert await members.completed("you", ["vs_a"], NOON) == []
        assert await members.completed("me\0", ["vs_a"], NOON) == []
        for nobody in ("me\0", "\ud800"):
            with pytest.raises(NotFoundError):
                await stores.get(nobody, "vs_a")
            with pytest.raises(NotFoundError):
                await stores.delete(nobody, "vs_a")
        assert await members.page("me", "vs_a", Page(), NOON) == before
        assert (await batches.get("me", "vs_a", "vsfb_a", NOON))[0].is_cancelled is False

    @on_shelves
    async def test_a_name_that_cannot_be_kept_is_refused(self, kept: Shelves) -> None:
        for name, owner in (("vs_a", "a\0"), ("vs_a", "\ud800"), ("a\0", "me"), ("\ud800", "me")):
            with pytest.raises(InvalidInputError, match="cannot be kept"):
                await a_store(kept, name, owner)
        await a_store(kept)
        for batch in ("a\0", "\ud800"):
            with pytest.raises(InvalidInputError, match="cannot be kept"):
                await kept.members.put("me", [], Batch(batch, "vs_a", NOON))

    def test_everything_is_there_after_reopening(self) -> None:
        async def scene() -> None:
            async with self.opened() as kept:
                await a_store(kept)
                await in_each_state(kept, "vs_a", "vsfb_a")
                before = await kept.members.page("me", "vs_a", Page(), NOON, batch="vsfb_a")
                assert len(before[0]) == 5
            async with self.opened() as kept:
                assert await kept.members.page("me", "vs_a", Page(), NOON, batch="vsfb_a") == before
                assert (await kept.stores.get("me", "vs_a")).created_at == NOON

        asyncio.run(scene())
