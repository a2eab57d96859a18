"""What every keeper of notes on files, and of responses, must do."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from unchunk.domain import NewFile
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import FileNote, KeptResponse, Page
from unchunk.testing.catalogs import added, drafted, whole_of
from unchunk.testing.shelves import (
    NOBODY,
    NOON,
    ODD,
    OnShelves,
    Shelves,
    check_pages,
    check_removing,
    live,
    on_shelves,
)

_BEFORE = NOON - timedelta(microseconds=1)


class FileNotesContract(OnShelves):
    @on_shelves
    async def test_a_document_without_a_note_is_an_assistants_file_of_its_own_name(
        self, kept: Shelves
    ) -> None:
        document = await added(kept.catalog, "a.txt", "text", folder="in")
        expected = (document, FileNote(document.id, "a.txt", "assistants", None))
        assert await kept.notes.get("me", [document.id], NOON) == {document.id: expected}
        assert await kept.notes.page("me", Page(), NOON) == ([expected], False)

    @on_shelves
    async def test_a_note_is_kept_and_the_last_one_counts(self, kept: Shelves) -> None:
        [one], [theirs] = await live(kept, 1), await live(kept, 1, "you")
        elsewhere = NOON.astimezone(timezone(timedelta(hours=5)))
        for note in (
            FileNote(one, ODD, "user_data", NOON),
            FileNote(one, "b.txt", ODD, elsewhere),
            FileNote(one, "", "vision"),
        ):
            await kept.notes.note("me", note)
            assert (await kept.notes.get("me", [one], _BEFORE))[one][1] == note
        assert (await kept.notes.get("you", [theirs], NOON))[theirs][1].purpose == "assistants"

    @on_shelves
    async def test_documents_are_looked_up_many_at_a_time(self, kept: Shelves) -> None:
        ids, [theirs] = await live(kept, 3), await live(kept, 1, "you")
        await kept.notes.note("me", FileNote(ids[1], "b"))
        others = [f"nobody {number}" for number in range(1000)]
        found = await kept.notes.get("me", [*NOBODY, theirs, *ids, *others, *ids], NOON)
        assert sorted(found) == ids
        for one, (document, note) in found.items():
            assert document == await kept.catalog.get("me", one)
            assert note == FileNote(one, "b" if one == ids[1] else document.name)
        assert await kept.notes.get("me", [], NOON) == await kept.notes.get("me\0", ids, NOON) == {}

    @on_shelves
    async def test_all_documents_are_read_a_part_at_a_time(self, kept: Shelves) -> None:
        await live(kept, 4)
        drafts = await asyncio.gather(
            *(drafted(kept.catalog, f"draft {number}", "text") for number in range(12))
        )
        for number, draft in enumerate(drafts):
            note = FileNote(draft.document, "x", "assistants" if number % 3 else "vision")
            await kept.notes.note("me", note)
        [theirs] = await live(kept, 1, "you")
        made = sorted((it.created_at, it.id) for it in await kept.catalog.find("me"))
        expected = [one for _, one in made]
        for_vision = {draft.document for draft in drafts[::3]}

        async def read(part: Page, purpose: str = "") -> tuple[list[str], bool]:
            found, has_more = await kept.notes.page("me", part, NOON, purpose=purpose)
            return [document.id for document, _ in found], has_more

        await check_pages(read, expected)
        others = [one for one in expected if one not in for_vision]
        await check_pages(lambda part: read(part, "assistants"), others)
        vision = [one for one in expected if one in for_vision]
        assert await read(Page(9, order="asc"), "vision") == (vision, False)
        assert await read(Page(1, after=vision[2], order="desc"), "vision") == (vision[1:2], True)
        for purpose in filter(None, NOBODY):
            assert await read(Page(), purpose) == ([], False)
        with pytest.raises(InvalidInputError, match="is not there"):
            await read(Page(after=theirs))
        for nobody in ("nobody", "me\0", "\ud800"):
            assert await kept.notes.page(nobody, Page(), NOON) == ([], False)

    @on_shelves
    async def test_what_is_said_of_a_file_as_it_comes_in_is_noted_with_it(
        self, kept: Shelves
    ) -> None:
        day = timedelta(days=1)
        for number, said in enumerate(
            (NewFile(ODD, "vision", day), NewFile("b.txt"), NewFile(purpose="user_data"))
        ):
            made = await kept.catalog.begin(
                "me", "", "a.txt", checksum="c", size=1, blob="", distinct=True, said=said
            )
            name = "a.txt" if number == 0 else f"a ({number + 1}).txt"
            until = None if said.expires_after is None else made.created_at + day
            note = FileNote(made.id, said.filename or name, said.purpose, until)
            assert await kept.notes.get("me", [made.id], NOON) == {made.id: (made, note)}
        with pytest.raises(InvalidInputError):
            await kept.catalog.begin(
                "a\0", "", "a.txt", checksum="c", size=1, blob="", distinct=True, said=NewFile()
            )

    @on_shelves
    async def test_a_document_that_gets_other_bytes_does_not_expire_any_more(
        self, kept: Shelves
    ) -> None:
        async def bring(checksum: str, owner: str = "me") -> list[str]:
            """Which documents still expire."""
            await kept.catalog.begin(owner, "", "a.txt", checksum=checksum, size=1, blob="")
            return [it.id for it in await kept.notes.expired(NOON)]

        for is_live in (True, False):
            one = await drafted(kept.catalog, "a.txt", "text")
            if is_live:
                await kept.catalog.go_live([whole_of(one, "text")])
            note = FileNote(one.document, ODD, "vision", NOON)
            await kept.notes.note("me", note)
            assert await bring(one.checksum) == [one.document]
            assert await bring("other", "you") == [one.document]
            assert await bring("other") == []
            found = await kept.notes.get("me", [one.document], NOON)
            assert found[one.document][1] == replace(note, expires_at=None)
            await kept.catalog.bury("me", one.document)

    @on_shelves
    async def test_the_same_bytes_again_that_failed_at_first_still_expire(
        self, kept: Shelves
    ) -> None:
        one = await drafted(kept.catalog, "a.txt", "text")
        await kept.notes.note("me", FileNote(one.document, "a.txt", expires_at=NOON))
        await kept.catalog.fail(one.document, one.generation, "damaged", "it is")
        again = await drafted(kept.catalog, "a.txt", "text")
        assert again.generation > one.generation
        assert [it.id for it in await kept.notes.expired(NOON)] == [one.document]

    @on_shelves
    async def test_a_file_whose_time_is_over_is_not_there(self, kept: Shelves) -> None:
        ids = await live(kept, 6)
        for one in ids[1:5]:
            await kept.notes.note("me", FileNote(one, "a", expires_at=NOON))
        there = [ids[0], ids[5]]
        assert sorted(await kept.notes.get("me", ids, NOON)) == there
        assert sorted(await kept.notes.get("me", ids, _BEFORE)) == ids
        order = [it.id for it, _ in (await kept.notes.page("me", Page(), _BEFORE))[0]]
        assert sorted(order) == ids
        expected = [it for it in order if it in there]
        for purpose in ("", "assistants"):
            found, more = await kept.notes.page("me", Page(2), NOON, purpose=purpose)
            assert ([it.id for it, _ in found], more) == (expected, False)
        # Who has read as far as one of them can go on.
        found, _ = await kept.notes.page("me", Page(after=order[2]), NOON)
        assert [it.id for it, _ in found] == [it for it in order[3:] if it in there]

    @on_shelves
    async def test_documents_may_be_deleted_while_they_are_read(self, kept: Shelves) -> None:
        await live(kept, 12)

        async def read(part: Page) -> tuple[list[str], bool]:
            found, has_more = await kept.notes.page("me", part, NOON)
            return [document.id for document, _ in found], has_more

        await check_removing(read, lambda one: kept.catalog.bury("me", one))

    @on_shelves
    async def test_a_note_goes_with_its_document(self, kept: Shelves) -> None:
        gone = await added(kept.catalog, "a.txt", "text")
        await kept.notes.note("me", FileNote(gone.id, "b.txt", "vision", NOON))
        await kept.catalog.forget(await kept.catalog.bury("me", gone.id))
        assert await kept.notes.get("me", [gone.id], NOON) == {}
        assert await kept.notes.page("me", Page(), NOON) == ([], False)
        assert await kept.notes.expired(NOON) == []
        with pytest.raises(NotFoundError, match="there is no document"):
            await kept.notes.note("me", FileNote(gone.id, "b.txt"))

    @on_shelves
    async def test_all_owners_documents_whose_time_is_over_are_told(self, kept: Shelves) -> None:
        ids, [theirs] = await live(kept, 3), await live(kept, 1, "you")
        ends = {ids[0]: 2, ids[1]: 5}
        for one, days in ends.items():
            await kept.notes.note("me", FileNote(one, "a", expires_at=NOON + timedelta(days=days)))
        await kept.notes.note("me", FileNote(ids[2], "never"))
        await kept.notes.note("you", FileNote(theirs, "a", expires_at=NOON + timedelta(days=1)))

        async def over(after: timedelta) -> list[str]:
            return [it.id for it in await kept.notes.expired(NOON + after)]

        day, instant = timedelta(days=1), timedelta(microseconds=1)
        assert await over(day - instant) == []
        assert await over(day) == [theirs]
        assert await over(2 * day) == [theirs, ids[0]]
        assert await over(1000 * day) == [theirs, ids[0], ids[1]]
        assert await kept.notes.expired(NOON + day) == [await kept.catalog.get("you", theirs)]

    @on_shelves
    async def test_nobody_notes_anything_on_anothers_document(self, kept: Shelves) -> None:
        [mine] = await live(kept, 1)
        before = await kept.notes.get("me", [mine], NOON)
        for owner, document in (("you", mine), ("me\0", mine), *(("me", it) for it in NOBODY)):
            with pytest.raises(NotFoundError) as refused:
                await kept.notes.note(owner, FileNote(document, "b"))
            assert str(refused.value) == f"there is no document {document!r}"
        assert await kept.notes.get("me", [mine], NOON) == before
        assert await kept.notes.get("you", [mine], NOON) == {}


class KeptResponsesContract(OnShelves):
    @on_shelves
    async def test_a_response_is_there_as_it_was_kept(self, kept: Shelves) -> None:
        body = {"id": "resp_a", ODD: [ODD, {"deep": [1, 2.5, None, True]}], "text": ODD * 10_000}
        one = KeptResponse("resp_a", "ß 日本", NOON, body)
        await kept.responses.keep(one)
        assert await kept.responses.get("ß 日本", "resp_a") == one

    @on_shelves
    async def test_the_last_of_an_id_counts_for_each_owner(self, kept: Shelves) -> None:
        first = KeptResponse("resp_a", "me", NOON, {"status": "in_progress"})
        last = replace(first, created_at=NOON + timedelta(1), body={"status": "completed"})
        theirs = replace(first, owner="you")
        for one in (first, theirs, last):
            await kept.responses.keep(one)
        assert await kept.responses.get("me", "resp_a") == last
        assert await kept.responses.get("you", "resp_a") == theirs

    @on_shelves
    async def test_a_response_that_is_not_there_is_not_found(self, kept: Shelves) -> None:
        for name in ("resp_a", "resp_b"):
            await kept.responses.keep(KeptResponse(name, "me", NOON, {}))
        await kept.responses.delete("me", "resp_a")
        uses: list[Callable[[str, str], Coroutine[None, None, object]]] = [
            kept.responses.get,
            kept.responses.delete,
        ]
        places = [("me", "resp_a"), ("you", "resp_b"), ("me\0", "resp_b"), ("\ud800", "resp_b")]
        for use in uses:
            for owner, name in (*places, *(("me", it) for it in NOBODY)):
                with pytest.raises(NotFoundError) as refused:
                    await use(owner, name)
                assert str(refused.value) == f"there is no response {name!r}"
        assert (await kept.responses.get("me", "resp_b")).body == {}

    @on_shelves
    async def test_all_owners_older_responses_are_forgotten(self, kept: Shelves) -> None:
        for number, owner in enumerate(("me", "you", "me", "you")):
            made_at = NOON + timedelta(days=number)
            await kept.responses.keep(KeptResponse(f"resp_{number}", owner, made_at, {}))
        assert await kept.responses.forget(NOON) == 0
        assert await kept.responses.forget(NOON + timedelta(days=2)) == 2
        assert await kept.responses.forget(NOON + timedelta(days=2)) == 0
        for number, owner in ((2, "me"), (3, "you")):
            assert (await kept.responses.get(owner, f"resp_{number}")).owner == owner
        with pytest.raises(NotFoundError):
            await kept.responses.get("me", "resp_0")

    @on_shelves
    async def test_what_cannot_be_kept_is_refused(self, kept: Shelves) -> None:
        good = KeptResponse("resp_a", "me", NOON, {})
        for bad in (
            replace(good, id="a\0"),
            replace(good, owner="\ud800"),
            replace(good, body={"a": float("inf")}),
            replace(good, body={"a": object()}),
        ):
            with pytest.raises(InvalidInputError):
                await kept.responses.keep(bad)
        with pytest.raises(NotFoundError):
            await kept.responses.get("me", "resp_a")

    def test_everything_is_there_after_reopening(self) -> None:
        async def scene() -> None:
            async with self.opened() as kept:
                [one] = await live(kept, 1)
                await kept.notes.note("me", FileNote(one, "b.txt", "vision", NOON))
                await kept.responses.keep(KeptResponse("resp_a", "me", NOON, {"a": 1}))
                noted = await kept.notes.get("me", [one], NOON)
            async with self.opened() as kept:
                assert await kept.notes.get("me", [one], NOON) == noted
                assert (await kept.responses.get("me", "resp_a")).body == {"a": 1}

        asyncio.run(scene())
