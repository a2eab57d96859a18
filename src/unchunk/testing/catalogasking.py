"""What every catalog must tell of its documents."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any

import pytest

from unchunk.errors import NotFoundError
from unchunk.ports import Catalog
from unchunk.testing.drafting import (
    CatalogSuite,
    added,
    drafted,
    live_of,
    on_a_catalog,
    rewritten,
    whole_of,
)


class AskingContract(CatalogSuite):
    """What is found, opened, browsed and counted."""

    # Asking.

    @on_a_catalog
    async def test_the_document_of_another_owner_is_not_there(self, catalog: Catalog) -> None:
        document = await added(catalog, "a.txt", "text")
        messages = []
        for name in (document.id, "nobody"):
            with pytest.raises(NotFoundError) as refused:
                await catalog.get("you", name)
            messages.append(str(refused.value).replace(name, "it"))
            with pytest.raises(NotFoundError):
                await catalog.bury("you", name)
        assert messages[0] == messages[1]
        assert await catalog.get("me", document.id) == document

    @on_a_catalog
    async def test_documents_are_found_by_owner_folder_and_name_in_order(
        self, catalog: Catalog
    ) -> None:
        places = [
            ("", "B", "me"),
            ("", "a", "me"),
            ("", "a", "you"),
            ("", "ä", "me"),
            ("in", "a", "me"),
        ]
        for folder, name, owner in reversed(places):
            await drafted(catalog, name, "text", owner, folder)

        async def found(
            owner: str | None = None, folder: str | None = None, name: str | None = None
        ) -> Sequence[tuple[str, str, str]]:
            documents = await catalog.find(owner, folder, name)
            return [(it.folder, it.name, it.owner) for it in documents]

        assert await found() == places
        assert await found("me") == [place for place in places if place[2] == "me"]
        assert await found("me", "") == [*places[:2], places[3]]
        assert await found(None, None, "a") == [*places[1:3], places[4]]
        assert await found("me", "in", "a") == places[4:]
        assert await found("nobody") == []

    @on_a_catalog
    async def test_documents_are_found_by_the_bytes_that_are_live(self, catalog: Catalog) -> None:
        document = await added(catalog, "a.txt", "text")
        same = await added(catalog, "b.txt", "text", "you")
        await added(catalog, "c.txt", "other")
        await drafted(catalog, "d.txt", "text")
        checksum = live_of(document).checksum
        assert await catalog.find(checksum=checksum) == [document, same]
        assert await catalog.find("me", checksum=checksum) == [document]
        assert await catalog.find("me", "", "c.txt", checksum) == []

    @on_a_catalog
    async def test_only_live_versions_are_live_however_many_are_asked_for(
        self, catalog: Catalog
    ) -> None:
        documents = [await added(catalog, f"{n}.txt", "text") for n in range(3)]
        draft = await drafted(catalog, "draft.txt", "text")
        ids = [*(it.id for it in documents), draft.document, *map(str, range(2000))]
        assert await catalog.live(ids * 2) == {it.id: it.live for it in documents}
        assert await catalog.live([]) == {}

    @on_a_catalog
    async def test_documents_are_opened_with_the_chunks_that_are_wanted(
        self, catalog: Catalog
    ) -> None:
        text = "".join(f"{n:09} " for n in range(5000))
        long, short = await added(catalog, "a.txt", text), await added(catalog, "b.txt", "short")
        wanted = [0, 1638, 1639, 4999, 5000, -1, 0]
        opened = await catalog.open("me", {long.id: wanted, short.id: [0]})
        whole = whole_of(live_of(long), text)
        assert opened[long.id].document == long
        assert opened[long.id].version == long.live
        assert opened[long.id].chunks == {
            at: (whole.chunks[at], f"{at:09} ") for at in (0, 1638, 1639, 4999)
        }
        assert [says for _, says in opened[short.id].chunks.values()] == ["short"]
        assert (await catalog.open("me", {long.id: []}))[long.id].chunks == {}
        assert await catalog.open("me", {}) == {}

    @on_a_catalog
    async def test_only_what_is_live_and_ones_own_is_opened(self, catalog: Catalog) -> None:
        mine, theirs = await added(catalog, "a", "text"), await added(catalog, "a", "text", "you")
        draft, gone = await drafted(catalog, "b", "text"), await added(catalog, "c", "text")
        await catalog.bury("me", gone.id)
        ids = [mine.id, theirs.id, draft.document, gone.id, *map(str, range(2000))]
        assert list(await catalog.open("me", {it: [0] for it in ids})) == [mine.id]
        [newer] = await catalog.go_live([await rewritten(catalog, live_of(mine), "other text")])
        opened = (await catalog.open("me", {newer: [0]}))[newer]
        assert opened.version.generation > live_of(mine).generation
        assert opened.chunks[0][1] == "other text"

    @on_a_catalog
    async def test_documents_are_chosen_by_what_they_are(self, catalog: Catalog) -> None:
        one = await added(catalog, "a.txt", "text", "me", "in")
        two = await added(catalog, "b_c.txt", "text", "me", "out")
        await added(catalog, "a.txt", "text", "you", "in")
        await drafted(catalog, "a.txt", "text")
        both = sorted([one.id, two.id])
        assert await catalog.matching("me") == both
        assert await catalog.matching("me", folders=["in", "up"]) == [one.id]
        assert await catalog.matching("me", folders=[]) == []
        assert await catalog.matching("me", names=["b_c.txt"], folders=["out"]) == [two.id]
        assert await catalog.matching("me", names=["bxc.txt"]) == []
        assert await catalog.matching("me", media_types=["text/plain"]) == both
        assert await catalog.matching("me", media_types=["image/", "text/"]) == both
        assert await catalog.matching("me", media_types=["text", "t%/", "plain"]) == []
        assert await catalog.matching("me", since=two.updated_at) == [two.id]
        assert await catalog.matching("me", until=one.updated_at) == [one.id]
        assert await catalog.matching("me", since=one.updated_at, until=two.updated_at) == both
        zone = timezone(timedelta(hours=9))
        assert await catalog.matching("me", since=two.updated_at.astimezone(zone)) == [two.id]

    @on_a_catalog
    async def test_documents_are_browsed_the_newest_first_some_at_a_time(
        self, catalog: Catalog
    ) -> None:
        assert await catalog.browse("me") == ([], 0)
        for at in range(4):
            await added(catalog, f"Übung {at}", f"text {at}", folder="in" if at % 2 else "")
        await added(catalog, "Übung 9", "text", "you")
        await drafted(catalog, "on its way", "text")
        broken = await drafted(catalog, "broken", "text", folder="in")
        await catalog.fail(broken.document, broken.generation, "damaged", "no")
        newer = await drafted(catalog, "Übung 0", "another text")
        await catalog.fail(newer.document, newer.generation, "damaged", "no")

        async def names(**wanted: Any) -> tuple[list[str], int]:  # noqa: ANN401 - what `browse` takes
            found, total = await catalog.browse("me", **wanted)
            assert all(one.owner == "me" for one in found)
            return [one.name for one in found], total

        newest = ["broken", "on its way", "Übung 3", "Übung 2", "Übung 1", "Übung 0"]
        assert await names() == (newest, 6)
        assert await names(limit=2) == (newest[:2], 6)
        assert await names(limit=2, offset=3) == (newest[3:5], 6)
        assert await names(offset=9) == ([], 6)
        assert await names(folder="in") == (["broken", "Übung 3", "Übung 1"], 3)
        assert await names(folder="a\0b") == ([], 0)
        assert await names(status="pending") == (["on its way"], 1)
        assert await names(status="failed") == (["broken"], 1)
        # What is live stays so, whatever becomes of its next version.
        assert await names(status="live") == (newest[2:], 4)
        assert await names(status="live", folder="in", limit=1) == (["Übung 3"], 2)
        assert await names(part="üBUNG", limit=1, offset=1) == (["Übung 2"], 4)
        assert await names(part="%") == await names(part="_") == ([], 0)
        [found], _ = await catalog.browse("me", part="Übung 3")
        assert found == await catalog.get("me", found.id)

    @on_a_catalog
    async def test_folders_are_counted(self, catalog: Catalog) -> None:
        assert await catalog.folders("me") == []
        await added(catalog, "a", "text")
        await added(catalog, "a", "text", folder="in")
        await drafted(catalog, "b", "text", folder="in")
        broken = await drafted(catalog, "c", "text", folder="in")
        await catalog.fail(broken.document, broken.generation, "damaged", "no")
        await added(catalog, "a", "text", "you", "theirs")
        assert await catalog.folders("me") == [("", 1, 0, 0), ("in", 3, 1, 1)]
        await catalog.bury("me", (await catalog.find("me", ""))[0].id)
        assert await catalog.folders("me") == [("in", 3, 1, 1)]

    @on_a_catalog
    async def test_tokens_are_kept_with_a_version_or_counted_later(self, catalog: Catalog) -> None:
        draft = await drafted(catalog, "a", "some text")
        whole = whole_of(draft, "some text")
        await catalog.go_live([replace(whole, version=replace(whole.version, tokens=2))])
        assert live_of(await catalog.get("me", draft.document)).tokens == 2
        assert await catalog.uncounted(10) == []
        late = live_of(await added(catalog, "b", "another text", "you"))
        later = live_of(await added(catalog, "c", "one more text"))
        await drafted(catalog, "d", "on its way")
        assert late.tokens is None
        assert {one.document for one in await catalog.uncounted(10)} == {
            late.document,
            later.document,
        }
        assert len(await catalog.uncounted(1)) == 1
        await catalog.count_tokens(late, 5_000_000_000)
        assert await catalog.uncounted(10) == [later]
        found = await catalog.get("you", late.document)
        assert found.live == replace(late, tokens=5_000_000_000)

    @on_a_catalog
    async def test_a_tally_counts_what_is_live_pending_and_failed(self, catalog: Catalog) -> None:
        assert await catalog.tally() == await catalog.tally("me") == (0, 0, 0, 0)
        await added(catalog, "a", "x" * 25)
        live = await added(catalog, "b", "x" * 5)
        await added(catalog, "a", "x" * 5, "you")
        await drafted(catalog, "c", "on its way")
        broken = await drafted(catalog, "d", "broken")
        await catalog.fail(broken.document, broken.generation, "damaged", "no")
        assert await catalog.tally("me") == (2, 4, 1, 1)
        assert await catalog.tally("you") == (1, 1, 0, 0)
        assert await catalog.tally() == (3, 5, 1, 1)
        # What is live stays so, whatever becomes of its next version.
        newer = await drafted(catalog, "a", "something else")
        await catalog.fail(newer.document, newer.generation, "damaged", "no")
        assert await catalog.tally("me") == (2, 4, 1, 1)
        await catalog.bury("me", live.id)
        assert await catalog.tally("me") == (1, 3, 1, 1)
