"""How documents are written anew in every catalog, and how they go."""

import asyncio

import pytest

from unchunk.domain import (
    Remains,
)
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


class WritingContract(CatalogSuite):
    """Generations, remains, and many at once."""

    # Writing anew.

    @on_a_catalog
    async def test_writing_anew_keeps_the_blob(self, catalog: Catalog) -> None:
        old = live_of(await added(catalog, "a.txt", "text"))
        whole = await rewritten(catalog, old, "text")
        assert await catalog.go_live([whole]) == [old.document]
        document = await catalog.get("me", old.document)
        assert live_of(document) == whole.version
        assert await catalog.remains() == [
            Remains("me", old.document, old.generation, "", old.space, gone=False)
        ]
        await catalog.forget(await catalog.remains())
        assert await catalog.text(whole.version) == "text"
        (last,) = await catalog.bury("me", old.document)
        assert last.blob == old.blob

    @on_a_catalog
    async def test_writing_anew_leaves_other_bytes_on_their_way(self, catalog: Catalog) -> None:
        old = live_of(await added(catalog, "a.txt", "old"))
        draft = await drafted(catalog, "a.txt", "new")
        await catalog.fail(draft.document, draft.generation, "damaged", "no")
        whole = await rewritten(catalog, old, "old")
        assert await catalog.go_live([whole]) == [old.document]
        document = await catalog.get("me", old.document)
        assert document.draft == draft
        assert document.error_code == "damaged"
        # They are the newer ones, though their number is lower.
        assert await catalog.go_live([whole_of(draft, "new")]) == [old.document]
        document = await catalog.get("me", old.document)
        assert await catalog.text(live_of(document)) == "new"
        assert {(it.generation, it.blob) for it in await catalog.remains()} == {
            (old.generation, ""),
            (whole.version.generation, old.blob),
        }

    @on_a_catalog
    async def test_contents_without_an_original_are_told_apart(self, catalog: Catalog) -> None:
        begun = [
            await catalog.begin("me", "", "a.txt", checksum=text, size=1, blob="")
            for text in ("one", "one")
        ]
        assert begun[0] == begun[1]
        one = begun[0].draft
        assert one is not None
        await catalog.go_live([whole_of(one, "one")])
        two = (await catalog.begin("me", "", "a.txt", checksum="two", size=1, blob="")).draft
        assert two is not None
        assert await catalog.go_live([await rewritten(catalog, one, "one")]) == [one.document]
        assert (await catalog.get("me", one.document)).draft == two
        late = await rewritten(catalog, one, "one")
        await catalog.go_live([whole_of(two, "two")])
        assert await catalog.go_live([late]) == []
        assert {remains.blob for remains in await catalog.bury("me", one.document)} == {""}

    @on_a_catalog
    async def test_bytes_of_yesterday_never_come_back(self, catalog: Catalog) -> None:
        for early in (True, False):
            name = f"{early}.txt"
            old = live_of(await added(catalog, name, "old"))
            late = await rewritten(catalog, old, "old") if early else None
            draft = await drafted(catalog, name, "new")
            late = late or await rewritten(catalog, old, "old")
            await catalog.go_live([whole_of(draft, "new")])
            assert await catalog.go_live([late]) == []
            document = await catalog.get("me", old.document)
            assert await catalog.text(live_of(document)) == "new"

    @on_a_catalog
    async def test_the_older_of_two_rewritings_does_not_win(self, catalog: Catalog) -> None:
        old = live_of(await added(catalog, "a.txt", "text"))
        first = await rewritten(catalog, old, "text", "first")
        second = await rewritten(catalog, old, "text", "second")
        assert await catalog.go_live([second]) == [old.document]
        assert await catalog.go_live([first]) == []
        assert live_of(await catalog.get("me", old.document)).space == "second"

    @on_a_catalog
    async def test_a_draft_may_go_live_under_a_new_number(self, catalog: Catalog) -> None:
        draft = await drafted(catalog, "a.txt", "text")
        await catalog.fail(draft.document, draft.generation, "crashed", "try again")
        whole = await rewritten(catalog, draft, "text")
        assert await catalog.go_live([whole]) == [draft.document]
        document = await catalog.get("me", draft.document)
        assert (document.status, document.draft, document.error_code) == ("live", None, "")
        assert await catalog.remains() == [
            Remains("me", draft.document, draft.generation, "", "", gone=False)
        ]
        assert await catalog.go_live([whole_of(draft, "text")]) == []

    @on_a_catalog
    async def test_going_live_twice_is_as_once(self, catalog: Catalog) -> None:
        draft = await drafted(catalog, "a.txt", "text")
        whole = whole_of(draft, "text")
        assert await catalog.go_live([whole, whole]) == [draft.document]
        assert await catalog.go_live([whole]) == [draft.document]
        assert await catalog.remains() == []
        assert await catalog.text(whole.version) == "text"

    @on_a_catalog
    async def test_a_generation_is_given_out_once(self, catalog: Catalog) -> None:
        draft = await drafted(catalog, "a.txt", "text")
        numbers = await asyncio.gather(
            *(catalog.next_generation(draft.document) for _ in range(20))
        )
        assert len({draft.generation, *numbers}) == 21
        newer = await drafted(catalog, "a.txt", "other")
        assert newer.generation > max(numbers)
        with pytest.raises(NotFoundError):
            await catalog.next_generation("nobody")

    # Many at once.

    @on_a_catalog
    async def test_many_go_live_together(self, catalog: Catalog) -> None:
        drafts = [await drafted(catalog, f"{n}.txt", f"text {n}") for n in range(30)]
        await catalog.bury("me", drafts[7].document)
        wholes = [whole_of(draft, f"text {n}") for n, draft in enumerate(drafts)]
        ids = [draft.document for draft in drafts]
        assert await catalog.go_live(wholes) == ids[:7] + ids[8:]
        assert await catalog.go_live([]) == []
        found = await catalog.live(ids)
        assert set(found) == set(ids) - {ids[7]}
        assert await catalog.text(found[ids[9]]) == "text 9"

    @on_a_catalog
    async def test_one_name_begun_by_many_is_one_document(self, catalog: Catalog) -> None:
        begun = await asyncio.gather(
            *(drafted(catalog, "a.txt", f"text {n % 3}", blob=f"blob {n}") for n in range(12))
        )
        assert len({draft.document for draft in begun}) == 1
        document = await catalog.get("me", begun[0].document)
        assert document.draft is not None
        replaced = {remains.blob for remains in await catalog.remains()}
        assert {draft.blob for draft in begun} == replaced | {document.draft.blob}

    # Going.

    @on_a_catalog
    async def test_a_buried_document_is_not_there(self, catalog: Catalog) -> None:
        version = live_of(await added(catalog, "a.txt", "text"))
        other = await added(catalog, "b.txt", "text")
        buried = await catalog.bury("me", version.document)
        with pytest.raises(NotFoundError):
            await catalog.get("me", version.document)
        with pytest.raises(NotFoundError):
            await catalog.bury("me", version.document)
        with pytest.raises(NotFoundError):
            await catalog.next_generation(version.document)
        assert await catalog.find() == [other]
        assert await catalog.live([version.document]) == {}
        assert buried == await catalog.remains()
        assert buried == [
            Remains(
                "me", version.document, version.generation, version.blob, version.space, gone=True
            )
        ]

    @on_a_catalog
    async def test_all_versions_of_a_buried_document_are_remains(self, catalog: Catalog) -> None:
        first = live_of(await added(catalog, "a.txt", "first"))
        second = live_of(await added(catalog, "a.txt", "second"))
        whole = await rewritten(catalog, second, "second")
        await catalog.go_live([whole])
        draft = await drafted(catalog, "a.txt", "third")
        buried = await catalog.bury("me", first.document)
        assert {(it.generation, it.blob) for it in buried} == {
            (first.generation, first.blob),
            (second.generation, ""),
            (whole.version.generation, second.blob),
            (draft.generation, draft.blob),
        }
        assert all(remains.gone is True for remains in buried)
        assert await catalog.remains() == buried

    @on_a_catalog
    async def test_what_is_forgotten_is_gone(self, catalog: Catalog) -> None:
        version = live_of(await added(catalog, "a.txt", "text"))
        other = live_of(await added(catalog, "b.txt", "text"))
        buried = await catalog.bury("me", version.document)
        await catalog.forget(buried)
        assert await catalog.remains() == []
        for ask in (catalog.text, catalog.chunks, catalog.outline):
            with pytest.raises(NotFoundError):
                await ask(version)
        assert await catalog.text(other) == "text"
        await catalog.forget(buried)
        await catalog.forget([])

    @on_a_catalog
    async def test_nothing_but_remains_can_be_forgotten(self, catalog: Catalog) -> None:
        version = live_of(await added(catalog, "a.txt", "text"))
        draft = await drafted(catalog, "b.txt", "text")
        await catalog.forget(
            [
                Remains("me", it.document, it.generation, "", "", gone=True)
                for it in (version, draft)
            ]
        )
        assert await catalog.text(version) == "text"
        assert (await catalog.get("me", draft.document)).draft == draft

    @on_a_catalog
    async def test_a_name_that_was_deleted_is_a_new_document(self, catalog: Catalog) -> None:
        before = await added(catalog, "a.txt", "text")
        buried = await catalog.bury("me", before.id)
        after = await added(catalog, "a.txt", "text")
        assert after.id != before.id
        assert await catalog.remains() == buried
        await catalog.forget(buried)
        assert await catalog.text(live_of(after)) == "text"
