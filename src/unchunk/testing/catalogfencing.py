"""How every catalog keeps out who comes too late."""

import asyncio

import pytest

from unchunk.domain import Remains
from unchunk.errors import NotFoundError
from unchunk.ports import ACTIVE, SPACE, Catalog
from unchunk.testing.drafting import (
    CatalogSuite,
    added,
    drafted,
    live_of,
    on_a_catalog,
    rewritten,
    whole_of,
)


class FencingContract(CatalogSuite):
    """Drafts that are taken up, numbers that are given out, and spaces that are retired."""

    @on_a_catalog
    async def test_a_draft_that_nobody_took_up_stays_as_it_is(self, catalog: Catalog) -> None:
        draft = await drafted(catalog, "a.txt", "text")
        document = await catalog.renew(draft.document, draft.generation)
        assert document.draft == draft
        assert await catalog.remains() == []
        assert await catalog.go_live([whole_of(draft, "text")]) == [draft.document]

    @on_a_catalog
    async def test_who_takes_a_draft_up_again_shuts_out_whoever_did_before(
        self, catalog: Catalog
    ) -> None:
        first = await drafted(catalog, "a.txt", "text")
        await catalog.renew(first.document, first.generation)
        document = await catalog.renew(first.document, first.generation)
        second = document.draft
        assert second is not None
        assert second.generation > first.generation
        assert (second.checksum, second.blob) == (first.checksum, first.blob)
        assert await catalog.remains() == [
            Remains("me", first.document, first.generation, "", "", gone=False)
        ]
        assert await catalog.go_live([whole_of(first, "text")]) == []
        await catalog.forget(await catalog.remains())
        assert await catalog.go_live([whole_of(first, "text")]) == []
        assert await catalog.go_live([whole_of(second, "text")]) == [first.document]
        assert live_of(await catalog.get("me", first.document)).blob == first.blob

    @on_a_catalog
    async def test_a_draft_that_was_begun_as_taken_is_renewed_at_once(
        self, catalog: Catalog
    ) -> None:
        document = await catalog.begin(
            "me", "", "a.txt", checksum="one", size=1, blob="blob", taken=True
        )
        draft = document.draft
        assert draft is not None
        renewed = (await catalog.renew(document.id, draft.generation)).draft
        assert renewed is not None
        assert renewed.generation > draft.generation

    @on_a_catalog
    async def test_a_failure_stays_with_a_draft_that_is_renewed(self, catalog: Catalog) -> None:
        draft = await drafted(catalog, "a.txt", "text")
        for _ in range(2):
            await catalog.fail(draft.document, draft.generation, "damaged", "no")
            document = await catalog.renew(draft.document, draft.generation)
            assert document.draft is not None
            assert document.error_code == "damaged"
            draft = document.draft
        assert await catalog.go_live([whole_of(draft, "text")]) == [draft.document]
        assert (await catalog.get("me", draft.document)).error_code == ""

    @on_a_catalog
    async def test_only_the_draft_of_a_document_can_be_taken_up(self, catalog: Catalog) -> None:
        live = live_of(await added(catalog, "a.txt", "text"))
        old = await drafted(catalog, "b.txt", "old")
        await drafted(catalog, "b.txt", "new")
        for document, generation in (
            (live.document, live.generation),
            (old.document, old.generation),
            ("nobody", 1),
        ):
            with pytest.raises(NotFoundError):
                await catalog.renew(document, generation)

    @on_a_catalog
    async def test_of_many_who_take_up_one_draft_one_goes_live(self, catalog: Catalog) -> None:
        draft = await drafted(catalog, "a.txt", "text")

        async def take_up() -> list[str]:
            try:
                mine = (await catalog.renew(draft.document, draft.generation)).draft
            except NotFoundError:
                return []
            assert mine is not None
            return await catalog.go_live([whole_of(mine, "text")])

        done = await asyncio.gather(*(take_up() for _ in range(10)))
        assert max(done) == [draft.document]
        document = await catalog.get("me", draft.document)
        assert (document.status, document.draft) == ("live", None)
        generations = {one.generation for one in await catalog.remains()}
        assert live_of(document).generation not in generations

    @on_a_catalog
    async def test_a_number_that_was_given_out_is_to_go_until_it_is_live(
        self, catalog: Catalog
    ) -> None:
        old = live_of(await added(catalog, "a.txt", "text"))
        whole = await rewritten(catalog, old, "text")
        listed = Remains("me", old.document, whole.version.generation, "", "", gone=False)
        assert await catalog.remains() == [listed]
        assert await catalog.go_live([whole]) == [old.document]
        assert listed not in await catalog.remains()

    @on_a_catalog
    async def test_what_was_forgotten_cannot_go_live(self, catalog: Catalog) -> None:
        old = live_of(await added(catalog, "a.txt", "text"))
        whole = await rewritten(catalog, old, "text")
        await catalog.forget(await catalog.remains())
        assert await catalog.go_live([whole]) == []
        document = await catalog.get("me", old.document)
        assert live_of(document) == old
        assert await catalog.text(old) == "text"

    @on_a_catalog
    async def test_what_is_about_to_be_taken_out_cannot_go_live(self, catalog: Catalog) -> None:
        olds = [live_of(await added(catalog, f"{name}.txt", "text")) for name in ("a", "b")]
        revoked, quick = [await rewritten(catalog, old, "text") for old in olds]
        listed = await catalog.remains()
        assert await catalog.go_live([quick]) == [olds[1].document]
        [left] = await catalog.revoke(listed)
        assert (left.document, left.generation) == (olds[0].document, revoked.version.generation)
        assert await catalog.go_live([revoked]) == []
        assert await catalog.revoke([left]) == [left]
        assert left in await catalog.remains()
        gone = await catalog.bury("me", olds[0].document)
        assert await catalog.revoke(gone) == gone

    @on_a_catalog
    async def test_of_two_numbers_the_last_counts(self, catalog: Catalog) -> None:
        old = live_of(await added(catalog, "a.txt", "text"))
        first = await rewritten(catalog, old, "text")
        second = await rewritten(catalog, old, "text")
        assert await catalog.go_live([first]) == []
        assert await catalog.go_live([second]) == [old.document]

    @on_a_catalog
    async def test_what_was_read_before_something_else_went_live_is_refused(
        self, catalog: Catalog
    ) -> None:
        old = live_of(await added(catalog, "a.txt", "old"))
        late = await rewritten(catalog, old, "old")
        draft = await drafted(catalog, "a.txt", "new")
        await catalog.go_live([whole_of(draft, "new")])
        assert await catalog.go_live([late]) == []

    @on_a_catalog
    async def test_a_number_goes_with_its_document(self, catalog: Catalog) -> None:
        old = live_of(await added(catalog, "a.txt", "text"))
        whole = await rewritten(catalog, old, "text")
        buried = await catalog.bury("me", old.document)
        assert {(one.generation, one.gone) for one in buried} == {
            (old.generation, True),
            (whole.version.generation, True),
        }
        assert {one.blob for one in buried} == {old.blob, ""}
        assert await catalog.go_live([whole]) == []

    @on_a_catalog
    async def test_a_space_in_which_something_lives_is_not_retired(self, catalog: Catalog) -> None:
        await catalog.adopt_space("space", "its recipe")
        document = await added(catalog, "a.txt", "text")
        assert not await catalog.retire_space("space")
        assert (await catalog.notes())[SPACE + "space"] == "its recipe"
        await catalog.bury("me", document.id)
        assert await catalog.retire_space("space")
        assert (await catalog.notes())[SPACE + "space"] == ""

    @on_a_catalog
    async def test_nothing_goes_live_in_a_space_that_was_retired(self, catalog: Catalog) -> None:
        for name in ("space", "other"):
            await catalog.adopt_space(name, name)
        drafts = [await drafted(catalog, f"{name}.txt", "text") for name in ("a", "b")]
        assert await catalog.retire_space("space")
        late, early = drafts
        wholes = [whole_of(late, "text"), whole_of(early, "text", "other")]
        assert await catalog.go_live(wholes) == [early.document]
        assert (await catalog.get("me", late.document)).draft == late
        assert await catalog.go_live([whole_of(late, "text", "other")]) == [late.document]

    @on_a_catalog
    async def test_the_name_of_a_space_that_was_retired_never_comes_back(
        self, catalog: Catalog
    ) -> None:
        assert await catalog.adopt_space("space", "first")
        old = live_of(await added(catalog, "b.txt", "text"))
        moved = await rewritten(catalog, old, "text", "other")
        await catalog.go_live([moved])
        again = await rewritten(catalog, moved.version, "text", "space")
        draft = await drafted(catalog, "a.txt", "text")
        await catalog.renew(draft.document, draft.generation)
        assert await catalog.retire_space("space")
        assert not await catalog.adopt_space("space", "second", {ACTIVE: "space"})
        notes = await catalog.notes()
        assert (notes[SPACE + "space"], notes.get(ACTIVE)) == ("", None)
        # What was on its way into it is not in the one that takes its place.
        assert await catalog.adopt_space("space-1", "second")
        assert await catalog.go_live([whole_of(draft, "text"), again]) == []
        assert (await catalog.get("me", draft.document)).draft == draft
        late = whole_of(draft, "text", "space-1")
        assert await catalog.go_live([late]) == [draft.document]

    @on_a_catalog
    async def test_a_name_that_nobody_noted_is_retired_all_the_same(self, catalog: Catalog) -> None:
        assert await catalog.retire_space("stray")
        assert not await catalog.adopt_space("stray", "recipe")

    @on_a_catalog
    async def test_the_space_in_use_is_not_retired(self, catalog: Catalog) -> None:
        said = {ACTIVE: "space", "chunking": "so"}
        assert await catalog.adopt_space("space", "its recipe", said)
        assert (await catalog.notes()).items() >= (said | {SPACE + "space": "its recipe"}).items()
        assert not await catalog.retire_space("space")
        assert await catalog.adopt_space("other", "its recipe", {ACTIVE: "other"})
        assert await catalog.retire_space("space")

    @on_a_catalog
    async def test_of_many_who_change_the_space_in_use_none_retires_it(
        self, catalog: Catalog
    ) -> None:
        for name in ("space", "other"):
            await catalog.adopt_space(name, "recipe", {ACTIVE: name})
        for number in range(10):
            name = f"space {number}"
            await catalog.adopt_space(name, "recipe")
            adopted, retired = await asyncio.gather(
                catalog.adopt_space(name, "recipe", {ACTIVE: name}), catalog.retire_space(name)
            )
            assert adopted != retired
            notes = await catalog.notes()
            assert notes[SPACE + notes[ACTIVE]] == "recipe"

    @on_a_catalog
    async def test_adopting_a_space_again_leaves_all_as_it_is(self, catalog: Catalog) -> None:
        await catalog.adopt_space("space", "first")
        draft = await drafted(catalog, "a.txt", "text")
        await catalog.renew(draft.document, draft.generation)
        await catalog.adopt_space("space", "second")
        assert (await catalog.notes())[SPACE + "space"] == "second"
        assert await catalog.go_live([whole_of(draft, "text")]) == [draft.document]

    @on_a_catalog
    async def test_a_space_is_retired_or_something_goes_live_there_and_never_both(
        self, catalog: Catalog
    ) -> None:
        for number in range(20):
            name = f"space {number}"
            await catalog.adopt_space(name, "recipe")
            draft = await drafted(catalog, f"{number}.txt", "text")
            live, retired = await asyncio.gather(
                catalog.go_live([whole_of(draft, "text", name)]), catalog.retire_space(name)
            )
            assert bool(live) != retired

    @on_a_catalog
    async def test_of_many_notes_that_are_made_once_one_is_kept(self, catalog: Catalog) -> None:
        made = await asyncio.gather(*(catalog.note_once("key", str(it)) for it in range(10)))
        assert len(set(made)) == 1
        assert (await catalog.notes())["key"] == made[0]
