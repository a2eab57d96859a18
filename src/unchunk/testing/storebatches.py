"""What every keeper of batches must do: files that were put into a vector store together."""

import pytest

from unchunk.errors import NotFoundError
from unchunk.ports import Batch, MemberCounts, Page, StoreFile
from unchunk.testing.catalogs import drafted, whole_of
from unchunk.testing.shelves import (
    NOBODY,
    NOON,
    OnShelves,
    Shelves,
    a_store,
    in_each_state,
    live,
    on_shelves,
)


class BatchesContract(OnShelves):
    @on_shelves
    async def test_a_batch_counts_its_own_files(self, kept: Shelves) -> None:
        for name in ("vs_a", "vs_b"):
            await a_store(kept, name)
        empty, batch = Batch("vsfb_0", "vs_a", NOON), Batch("vsfb_a", "vs_a", NOON)
        await kept.members.put("me", [], empty)
        assert await kept.batches.get("me", "vs_a", "vsfb_0", NOON) == (empty, MemberCounts())
        await in_each_state(kept, "vs_a", "vsfb_a")
        [more] = await live(kept, 1)
        await kept.members.put("me", [StoreFile("vs_a", more, NOON)])
        found = await kept.batches.get("me", "vs_a", "vsfb_a", NOON)
        assert found == (batch, MemberCounts(1, 2, 1, 1, size=4 + 7))
        for store, name in (("vs_b", "vsfb_a"), *(("vs_a", it) for it in NOBODY)):
            for use in (kept.batches.get, kept.batches.cancel):
                with pytest.raises(NotFoundError, match="there is no batch"):
                    await use("me", store, name, NOON)

    @on_shelves
    async def test_a_file_that_is_put_again_is_still_of_its_batch(self, kept: Shelves) -> None:
        await a_store(kept)
        one, other = await live(kept, 2)
        both = [StoreFile("vs_a", it, NOON) for it in (one, other)]

        async def check(batch: str, *files: str) -> None:
            page, _ = await kept.members.page("me", "vs_a", Page(), NOON, batch=batch)
            assert {it.document.id for it in page} == set(files)
            _, counts = await kept.batches.get("me", "vs_a", batch, NOON)
            assert counts == MemberCounts(completed=len(files), size=4 * len(files))

        await kept.members.put("me", both, Batch("vsfb_a", "vs_a", NOON))
        await kept.members.put("me", both[:1])
        await kept.members.put("me", both, Batch("vsfb_b", "vs_a", NOON))
        for batch in ("vsfb_a", "vsfb_b"):
            await check(batch, one, other)
        # One that leaves the store leaves its batches, also where it comes back.
        await kept.members.remove("me", "vs_a", one)
        await kept.members.put("me", both[:1])
        for batch in ("vsfb_a", "vsfb_b"):
            await check(batch, other)

    @on_shelves
    async def test_only_what_is_on_its_way_in_a_batch_is_cancelled(self, kept: Shelves) -> None:
        await a_store(kept)
        found = await in_each_state(kept, "vs_a", "vsfb_a")
        other = (await drafted(kept.catalog, "other", "text")).document
        batch = Batch("vsfb_b", "vs_a", NOON)
        await kept.members.put("me", [StoreFile("vs_a", other, NOON)], batch)
        expected = Batch("vsfb_a", "vs_a", NOON, is_cancelled=True)
        for _ in range(2):
            told = await kept.batches.cancel("me", "vs_a", "vsfb_a", NOON)
            assert told == (expected, MemberCounts(0, 2, 1, 2, size=4 + 7))
            assert await kept.batches.get("me", "vs_a", "vsfb_a", NOON) == told
        for name, was in found.items():
            now = (await kept.members.get("me", "vs_a", was, NOON)).file.is_cancelled
            assert now == (name in ("in_progress", "cancelled"))
        assert (await kept.members.get("me", "vs_a", other, NOON)).status == "in_progress"

    @on_shelves
    async def test_a_batch_that_is_done_stays_as_it_is(self, kept: Shelves) -> None:
        await a_store(kept)
        [one] = await live(kept, 1)
        batch = Batch("vsfb_a", "vs_a", NOON)
        await kept.members.put("me", [StoreFile("vs_a", one, NOON)], batch)
        told = await kept.batches.cancel("me", "vs_a", "vsfb_a", NOON)
        assert told == (batch, MemberCounts(completed=1, size=4))

    @on_shelves
    async def test_what_was_put_again_since_is_not_cancelled_with_its_batch(
        self, kept: Shelves
    ) -> None:
        await a_store(kept)
        drafts = [await drafted(kept.catalog, name, "text") for name in "abc"]
        files = [StoreFile("vs_a", it.document, NOON) for it in drafts]
        await kept.members.put("me", files, Batch("vsfb_a", "vs_a", NOON))
        await kept.members.put("me", files[:1])
        await kept.members.put("me", files[1:2], Batch("vsfb_b", "vs_a", NOON))
        _, counts = await kept.batches.cancel("me", "vs_a", "vsfb_a", NOON)
        assert counts == MemberCounts(in_progress=2, cancelled=1)
        await kept.catalog.go_live([whole_of(it, "text") for it in drafts])
        _, counts = await kept.batches.get("me", "vs_a", "vsfb_a", NOON)
        assert counts == MemberCounts(completed=2, cancelled=1, size=8)
