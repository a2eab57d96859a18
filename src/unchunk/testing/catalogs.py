"""What every catalog must do."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta, timezone
from hashlib import sha256
from typing import Any, TypeVar

import pytest

from unchunk.domain import (
    LONGEST_NAME,
    Chunk,
    Chunking,
    ChunkingStrategy,
    Document,
    Heading,
    Remains,
    Version,
    Whole,
)
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import Catalog

S = TypeVar("S", bound="CatalogContract")


def whole_of(version: Version, text: str, space: str = "space", blob: str | None = None) -> Whole:
    """The version with everything that goes with it, cut into pieces of ten characters."""
    chunks = tuple(
        Chunk(index, start, min(start + 10, len(text)), index + 1, index + 1, ("Part", str(index)))
        for index, start in enumerate(range(0, len(text), 10))
    )
    return Whole(
        replace(
            version,
            blob=version.blob if blob is None else blob,
            media_type="text/plain",
            title=text[:20],
            text_checksum=sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            text_length=len(text),
            page_count=len(chunks),
            chunk_count=len(chunks),
            chunking=Chunking(ChunkingStrategy("chars", 10, 0), "window"),
            space=space,
            notes=("read in full",),
        ),
        text,
        chunks,
        tuple(chunk.start for chunk in chunks),
        (Heading(0, 1, "Part"), Heading(min(10, len(text)), 2, "1")),
    )


async def added(
    catalog: Catalog, name: str, text: str, owner: str = "me", folder: str = ""
) -> Document:
    """A document that is live with this text."""
    draft = await drafted(catalog, name, text, owner, folder)
    assert await catalog.go_live([whole_of(draft, text)]) == [draft.document]
    return await catalog.get(owner, draft.document)


async def drafted(
    catalog: Catalog, name: str, text: str, owner: str = "me", folder: str = "", *, blob: str = ""
) -> Version:
    """The draft of a document whose bytes are `text`."""
    document = await catalog.begin(
        owner,
        folder,
        name,
        checksum=sha256(text.encode()).hexdigest(),
        size=len(text),
        blob=blob or f"uploads/{owner}/{name}/{text[:10]}",
    )
    assert document.draft is not None
    return document.draft


async def rewritten(catalog: Catalog, version: Version, text: str, space: str = "new") -> Whole:
    """The same bytes under a number of their own, as reindexing writes them."""
    generation = await catalog.next_generation(version.document)
    return whole_of(replace(version, generation=generation), text, space)


def live_of(document: Document) -> Version:
    assert document.live is not None
    return document.live


def on_a_catalog(scene: Callable[[S, Catalog], Coroutine[None, None, None]]) -> Callable[[S], None]:
    """The scene as a test, with a fresh catalog."""

    async def play(suite: S) -> None:
        async with suite.opened() as catalog:
            await scene(suite, catalog)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


class CatalogContract:
    """Subclass it as `Test...`, and say how a catalog is opened."""

    def opened(self) -> AbstractAsyncContextManager[Catalog]:
        """A catalog that is empty at first, and the same one each time within one test."""
        raise NotImplementedError

    # Coming in.

    @on_a_catalog
    async def test_new_bytes_are_the_draft_of_a_new_document(self, catalog: Catalog) -> None:
        begun = await catalog.begin("me", "in", "a.txt", checksum="c", size=7, blob="b")
        assert (begun.owner, begun.folder, begun.name) == ("me", "in", "a.txt")
        assert begun.status == "pending"
        assert begun.live is None
        assert begun.draft == Version(begun.id, 1, "c", 7, "b")
        assert begun.created_at == begun.updated_at
        assert begun.created_at.utcoffset() is not None
        assert await catalog.get("me", begun.id) == begun
        assert await catalog.remains() == []

    @on_a_catalog
    async def test_a_name_is_one_document_in_each_folder_of_each_owner(
        self, catalog: Catalog
    ) -> None:
        places = [("me", "", "a"), ("me", "in", "a"), ("you", "", "a"), ("me", "", "A")]
        ids = {
            (await catalog.begin(*place, checksum="c", size=1, blob=str(place))).id
            for place in places
        }
        assert len(ids) == len(places)

    @on_a_catalog
    async def test_what_goes_live_is_kept_whole(self, catalog: Catalog) -> None:
        text = "The first line.\nThe second, in ß and 日本語 and 😀.\n"
        draft = await drafted(catalog, "a.txt", text)
        whole = whole_of(draft, text)
        assert await catalog.go_live([whole]) == [draft.document]
        document = await catalog.get("me", draft.document)
        assert document.status == "live"
        assert document.draft is None
        assert document.live == whole.version
        assert await catalog.text(whole.version) == text
        assert await catalog.chunks(whole.version) == list(whole.chunks)
        assert await catalog.outline(whole.version) == (whole.pages, whole.headings)
        assert await catalog.remains() == []

    @on_a_catalog
    async def test_a_document_without_text_pages_or_headings_can_be_live(
        self, catalog: Catalog
    ) -> None:
        draft = await drafted(catalog, "a.txt", "")
        assert await catalog.go_live([Whole(draft, "", ())]) == [draft.document]
        assert await catalog.text(draft) == ""
        assert await catalog.chunks(draft) == []
        assert await catalog.outline(draft) == ((), ())

    @on_a_catalog
    async def test_chunks_without_pages_have_none(self, catalog: Catalog) -> None:
        draft = await drafted(catalog, "a.txt", "text")
        chunks = (Chunk(0, 0, 2), Chunk(1, 1, 4, 3, 9), Chunk(2, 2**40, 2**41, None, None, ("",)))
        await catalog.go_live([Whole(replace(draft, text_length=4), "text", chunks)])
        assert await catalog.chunks(draft) == list(chunks)

    @on_a_catalog
    async def test_any_part_of_a_long_text_can_be_read(self, catalog: Catalog) -> None:
        text = "".join(f"{number} ü 日本 😀\n" for number in range(20_000))
        version = live_of(await added(catalog, "a.txt", text))
        length = len(text)
        for start, end in (
            (0, None),
            (0, 1),
            (16_383, 16_385),
            (65_535, 65_537),
            (100_000, 104_000),
            (length - 5, None),
            (length - 5, length + 5),
            (length, None),
            (5, 5),
            (9, 3),
            (-7, None),
        ):
            assert await catalog.text(version, start, end) == text[start:end]

    # The same again, or something else.

    @on_a_catalog
    async def test_the_bytes_that_are_live_change_nothing(self, catalog: Catalog) -> None:
        document = await added(catalog, "a.txt", "text")
        again = await catalog.begin(
            "me", "", "a.txt", checksum=live_of(document).checksum, size=4, blob="another"
        )
        assert again == document
        assert await catalog.remains() == []

    @on_a_catalog
    async def test_the_bytes_of_the_draft_go_on_with_its_blob(self, catalog: Catalog) -> None:
        draft = await drafted(catalog, "a.txt", "text", blob="first")
        assert await drafted(catalog, "a.txt", "text", blob="second") == draft
        assert await catalog.remains() == []

    @on_a_catalog
    async def test_the_bytes_of_a_failed_draft_begin_anew(self, catalog: Catalog) -> None:
        draft = await drafted(catalog, "a.txt", "text", blob="first")
        await catalog.fail(draft.document, draft.generation, "damaged", "no")
        again = await drafted(catalog, "a.txt", "text", blob="second")
        assert again.generation > draft.generation
        assert again.blob == "second"
        assert (await catalog.get("me", draft.document)).status == "pending"
        assert await catalog.remains() == [
            Remains("me", draft.document, draft.generation, "first", "", gone=False)
        ]

    @on_a_catalog
    async def test_a_failed_draft_that_began_anew_does_not_come_back(
        self, catalog: Catalog
    ) -> None:
        for name, first, second in (("a.txt", "first", "second"), ("b.txt", "", "")):
            old = (await catalog.begin("me", "", name, checksum="c", size=1, blob=first)).draft
            assert old is not None
            await catalog.fail(old.document, old.generation, "crashed", "no")
            late = await rewritten(catalog, old, "text")
            new = (await catalog.begin("me", "", name, checksum="c", size=1, blob=second)).draft
            assert await catalog.go_live([whole_of(old, "text")]) == []
            if first != second:
                # Its blob is about to go.
                assert await catalog.go_live([late]) == []
            assert (await catalog.get("me", old.document)).draft == new

    @on_a_catalog
    async def test_a_blob_that_is_given_again_is_not_to_go(self, catalog: Catalog) -> None:
        live = await drafted(catalog, "a.txt", "one", blob="same")
        await catalog.go_live([whole_of(live, "one")])
        for text in ("two", "three"):
            await drafted(catalog, "a.txt", text, blob="same")
        assert {remains.blob for remains in await catalog.remains()} == {""}
        last = await drafted(catalog, "a.txt", "four", blob="other")
        assert {remains.blob for remains in await catalog.remains()} == {""}
        await catalog.go_live([whole_of(last, "four")])
        assert {remains.blob for remains in await catalog.remains()} == {"", "same"}
        for text in ("one", "two"):
            draft = await drafted(catalog, "b.txt", text, blob="mine")
        assert "mine" not in {remains.blob for remains in await catalog.remains()}
        assert (await catalog.bury("me", draft.document))[-1].blob == "mine"

    @on_a_catalog
    async def test_other_bytes_replace_the_draft(self, catalog: Catalog) -> None:
        draft = await drafted(catalog, "a.txt", "text", blob="first")
        await drafted(catalog, "a.txt", "other", blob="second")
        assert [remains.blob for remains in await catalog.remains()] == ["first"]
        assert await catalog.go_live([whole_of(draft, "text")]) == []
        assert (await catalog.get("me", draft.document)).status == "pending"

    @on_a_catalog
    async def test_the_live_version_stays_until_the_next_one_is_whole(
        self, catalog: Catalog
    ) -> None:
        before = await added(catalog, "a.txt", "old text")
        draft = await drafted(catalog, "a.txt", "new text")
        waiting = await catalog.get("me", before.id)
        assert waiting.status == "live"
        assert waiting.live == before.live
        assert waiting.draft == draft
        assert await catalog.text(live_of(waiting)) == "old text"
        await catalog.go_live([whole_of(draft, "new text")])
        after = await catalog.get("me", before.id)
        assert await catalog.text(live_of(after)) == "new text"
        assert after.created_at == before.created_at
        assert after.updated_at >= before.updated_at
        old = live_of(before)
        assert await catalog.remains() == [
            Remains("me", old.document, old.generation, old.blob, old.space, gone=False)
        ]
        assert await catalog.text(old) == "old text", "until it is forgotten"

    # Beside one of the same name.

    @on_a_catalog
    async def test_a_distinct_document_is_new_whatever_its_name_and_bytes(
        self, catalog: Catalog
    ) -> None:
        first = await added(catalog, "a.txt", "text")
        await added(catalog, "a.txt", "text", "you", "in")
        checksum = live_of(first).checksum
        begun = [
            await catalog.begin(
                "me", "", "a.txt", checksum=checksum, size=4, blob=str(number), distinct=True
            )
            for number in range(4)
        ]
        names = [f"a ({number}).txt" for number in (2, 3, 4, 5)]
        assert [one.name for one in begun] == names
        for number, one in enumerate(begun):
            assert one.draft == Version(one.id, 1, checksum, 4, str(number))
            assert await catalog.get("me", one.id) == one
        assert await catalog.get("me", first.id) == first
        assert await catalog.remains() == []
        again = await catalog.begin("me", "", names[1], checksum=checksum, size=4, blob="again")
        assert again == begun[1], "a name like any other"
        alone = await catalog.begin(
            "you", "", "a.txt", checksum=checksum, size=4, blob="b", distinct=True
        )
        assert alone.name == "a.txt"

    @on_a_catalog
    async def test_the_number_stands_before_the_ending_and_no_name_gets_too_long(
        self, catalog: Catalog
    ) -> None:
        long = "x" * LONGEST_NAME
        for name, second in (
            ("read me", "read me (2)"),
            ("a.tar.gz", "a.tar (2).gz"),
            (".profile", ".profile (2)"),
            ("a.d/b", "a.d/b (2)"),
            ("a.", "a (2)."),
            ("日本.md", "日本 (2).md"),
            (long, long[:-4] + " (2)"),
            (f"{long[:-4]}.txt", f"{long[:-8]} (2).txt"),
            (f"a.{long[:-2]}", f"a.{long[:-6]} (2)"),
        ):
            begun = [
                await catalog.begin("me", "", name, checksum="c", size=1, blob="", distinct=True)
                for _ in range(2)
            ]
            assert [one.name for one in begun] == [name, second]
            assert len(second) <= LONGEST_NAME
        other = f"{long[:-1]}y"
        begun = [
            await catalog.begin("me", "", other, checksum="c", size=1, blob="", distinct=True)
            for _ in range(2)
        ]
        assert [one.name for one in begun] == [other, long[:-4] + " (3)"]

    @on_a_catalog
    async def test_a_number_that_is_free_again_may_be_given_again(self, catalog: Catalog) -> None:
        async def begin() -> Document:
            return await catalog.begin("me", "", "a", checksum="c", size=1, blob="", distinct=True)

        begun = [await begin() for _ in range(12)]
        left = {one.id: one for one in begun}
        for number in (0, 1, 4, 9):
            await catalog.bury("me", begun[number].id)
            del left[begun[number].id]
        for _ in range(8):
            one = await begin()
            assert one.id not in left
            left[one.id] = one
        found = await catalog.find("me")
        assert {one.id: one for one in found} == left
        assert len({one.name for one in found}) == len(left)

    def test_many_of_one_name_may_come_at_once(self) -> None:
        async def scene() -> None:
            async with self.opened() as one, self.opened() as other:
                begun = await asyncio.gather(
                    *(
                        catalog.begin("me", "", "a", checksum="c", size=1, blob="", distinct=True)
                        for _ in range(15)
                        for catalog in (one, other)
                    )
                )
                assert len({document.id for document in begun}) == 30
                names = {"a", *(f"a ({number})" for number in range(2, 31))}
                assert {document.name for document in begun} == names

        asyncio.run(scene())

    # Failing.

    @on_a_catalog
    async def test_a_failure_is_noted_and_the_live_version_stays(self, catalog: Catalog) -> None:
        before = await added(catalog, "a.txt", "old text")
        draft = await drafted(catalog, "a.txt", "new text")
        await catalog.fail(draft.document, draft.generation, "encrypted", "it is locked")
        document = await catalog.get("me", draft.document)
        assert (document.error_code, document.error) == ("encrypted", "it is locked")
        assert document.live == before.live
        assert document.draft == draft
        assert document.status == "live"

    @on_a_catalog
    async def test_a_document_that_failed_says_so_until_it_goes_live(
        self, catalog: Catalog
    ) -> None:
        draft = await drafted(catalog, "a.txt", "text")
        await catalog.fail(draft.document, draft.generation, "too-slow", "it took too long")
        assert (await catalog.get("me", draft.document)).status == "failed"
        await catalog.go_live([whole_of(draft, "text")])
        document = await catalog.get("me", draft.document)
        assert (document.status, document.error_code, document.error) == ("live", "", "")

    @on_a_catalog
    async def test_what_is_no_draft_any_more_cannot_fail(self, catalog: Catalog) -> None:
        old = await drafted(catalog, "a.txt", "old")
        await drafted(catalog, "a.txt", "new")
        await catalog.fail(old.document, old.generation, "damaged", "late")
        await catalog.fail("nobody", 1, "damaged", "late")
        assert (await catalog.get("me", old.document)).status == "pending"

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
        assert all(remains.gone for remains in buried)
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
    async def test_what_is_on_its_way_in_is_known_whoever_owns_it(self, catalog: Catalog) -> None:
        assert await catalog.coming() == []
        await added(catalog, "a", "text")
        first = await drafted(catalog, "b", "text")
        again = await drafted(catalog, "a", "another text")
        other = await drafted(catalog, "b", "text", "you")
        broken = await drafted(catalog, "c", "text")
        await catalog.fail(broken.document, broken.generation, "damaged", "no")
        # A moment may be the same for two.
        found = await catalog.coming()
        assert {one.id for one in found} == {it.document for it in (first, again, other)}
        assert [one.updated_at for one in found] == sorted(one.updated_at for one in found)
        assert all(one.draft is not None for one in found)
        await catalog.go_live([whole_of(first, "text")])
        assert first.document not in {one.id for one in await catalog.coming()}

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

    # What owners say of their documents.

    @on_a_catalog
    async def test_what_is_said_of_a_document_is_kept_as_it_is_said(self, catalog: Catalog) -> None:
        document = await added(catalog, "a.txt", "text")
        assert document.attributes == {}
        said = {
            "team": "red",
            "": "",
            "a\0b\ud800\ud83d\ude00": "a\0b\ud800\ud83d\ude00\U0001f600",
            "year": 2024,
            "large": 2**900,
            "share": -0.125,
            "done": True,
            "nothing": None,
            "many": [1, "two", {"three": [None, False]}],
            "long": "x" * 20_000,
        }
        described = await catalog.describe("me", document.id, said)
        assert described == replace(document, attributes=said)
        assert await catalog.get("me", document.id) == described
        assert await catalog.find("me") == [described]
        assert (await catalog.open("me", {document.id: []}))[document.id].document == described
        assert hash(described) == hash(document)
        found = described.attributes["done"], described.attributes["year"]
        assert [type(it) for it in found] == [bool, int]
        less = await catalog.describe("me", document.id, {"team": "blue"})
        assert less.attributes == {"team": "blue"}
        assert (await catalog.describe("me", document.id, {})) == document

    @on_a_catalog
    async def test_what_is_no_json_cannot_be_said(self, catalog: Catalog) -> None:
        document = await added(catalog, "a.txt", "text")
        kept = await catalog.describe("me", document.id, {"team": "red"})
        revision = await catalog.revision()
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        for value in (float("nan"), float("inf"), 10**5000, b"", {1: 2}, {1, 2}, deep):
            for said in ({"it": value}, {"it": [value]}):
                with pytest.raises(InvalidInputError, match="attributes"):
                    await catalog.describe("me", document.id, said)
        wrongs: list[Any] = [[], "text", None, {5: "text"}]
        for wrong in wrongs:
            with pytest.raises(InvalidInputError, match="attributes"):
                await catalog.describe("me", document.id, wrong)
        assert await catalog.get("me", document.id) == kept
        assert await catalog.revision() == revision

    @on_a_catalog
    async def test_what_is_said_stays_when_the_content_changes_and_goes_with_the_document(
        self, catalog: Catalog
    ) -> None:
        draft = await drafted(catalog, "a.txt", "text")
        await catalog.describe("me", draft.document, {"team": "red"})
        assert await catalog.matching("me", attributes=[("team", "red")]) == []
        for text in ("text", "other text"):
            document = await added(catalog, "a.txt", text)
            assert document.attributes == {"team": "red"}
        await catalog.go_live([await rewritten(catalog, live_of(document), "other text")])
        failing = await drafted(catalog, "a.txt", "third")
        await catalog.fail(failing.document, failing.generation, "damaged", "no")
        assert (await catalog.get("me", document.id)).attributes == {"team": "red"}
        assert await catalog.matching("me", attributes=[("team", "red")]) == [document.id]
        buried = await catalog.bury("me", document.id)
        assert await catalog.matching("me", attributes=[("team", "red")]) == []
        again = await added(catalog, "a.txt", "text")
        assert again.attributes == {}
        assert await catalog.matching("me", attributes=[("team", "red")]) == []
        await catalog.forget(buried)
        with pytest.raises(NotFoundError):
            await catalog.describe("me", document.id, {})

    @on_a_catalog
    async def test_nobody_describes_or_finds_what_is_anothers(self, catalog: Catalog) -> None:
        mine, yours = [await added(catalog, "a", "text", owner) for owner in ("me", "you")]
        for owner, document in (("me", mine), ("you", yours)):
            await catalog.describe(owner, document.id, {"team": "red"})
        messages = []
        for name in (mine.id, "nobody"):
            with pytest.raises(NotFoundError) as refused:
                await catalog.describe("you", name, {"team": "blue"})
            messages.append(str(refused.value).replace(name, "it"))
        assert messages[0] == messages[1]
        assert (await catalog.get("me", mine.id)).attributes == {"team": "red"}
        assert await catalog.matching("me", attributes=[("team", "red")]) == [mine.id]
        assert await catalog.matching("you", attributes=[("team", "red")]) == [yours.id]
        assert await catalog.matching("they", attributes=[("team", "red")]) == []

    @on_a_catalog
    async def test_documents_are_chosen_by_what_is_said_of_them(self, catalog: Catalog) -> None:
        long, odd = "x" * 20_000, "a\0b\ud800"
        said: dict[str, dict[str, object]] = {
            "one": {"n": 1, "team": "red", "long": long, odd: odd, "in": {"team": "blue"}},
            "one point": {"n": 1.0, "team": "Red", "long": long + "y"},
            "true": {"n": True, "team": "red", "in": ["blue"]},
            "text": {"n": "1", "team": "blue"},
            "half": {"n": 0.5, "zero": -0.0, "big": 2**60, "in": None},
            "nothing": {"": "", "n": False, "zero": 0, "big": float(2**60), "bigger": 2**60 + 1},
        }
        ids = {}
        for name, attributes in said.items():
            document = await added(catalog, name, "text", folder=name[0])
            ids[document.id] = name
            await catalog.describe("me", document.id, attributes)
        await catalog.describe("me", (await drafted(catalog, "draft", "text")).document, {"n": 1})

        async def found(*attributes: tuple[str, str | float]) -> set[str]:
            return {ids[it] for it in await catalog.matching("me", attributes=attributes)}

        assert await found() == set(said)
        assert await found(("n", 1)) == await found(("n", 1.0)) == {"one", "one point"}
        assert await found(("n", True)) == {"true"}
        assert await found(("n", "1")) == {"text"}
        assert await found(("n", 0)) == set()
        assert await found(("n", False)) == {"nothing"}
        assert await found(("n", 0.5)) == {"half"}
        assert await found(("zero", 0.0)) == await found(("zero", 0)) == {"half", "nothing"}
        assert await found(("big", 2**60)) == {"half", "nothing"}
        assert await found(("bigger", 2**60)) == await found(("bigger", float(2**60))) == set()
        assert await found(("bigger", 2**60 + 1)) == {"nothing"}
        assert await found(("team", "red")) == {"one", "true"}
        assert await found(("team", "blue")) == {"text"}
        assert await found(("long", long)) == {"one"}
        assert await found((odd, odd)) == {"one"}
        assert await found(("", "")) == {"nothing"}
        assert await found(("in", "blue")) == await found(("in", "null")) == set()
        assert await found(("team", "red"), ("n", 1)) == {"one"}
        assert await found(("team", "red"), ("team", "red")) == {"one", "true"}
        assert await found(("team", "red"), ("team", "blue")) == set()
        assert await found(*(("team", "red"),) * 2000, ("n", True)) == {"true"}
        assert [
            ids[it]
            for it in await catalog.matching("me", folders=["o"], attributes=[("team", "red")])
        ] == ["one"]
        wrongs: list[Any] = [None, ["red"], float("nan"), 10**5000]
        for wrong in wrongs:
            with pytest.raises(InvalidInputError):
                await catalog.matching("me", attributes=[("team", wrong)])

    @on_a_catalog
    async def test_the_revision_grows_when_something_else_is_said(self, catalog: Catalog) -> None:
        document = await added(catalog, "a", "text")
        seen = [await catalog.revision()]
        for said in ({"n": 1}, {"n": True}, {"n": [1]}, {}):
            for _ in range(2):
                await catalog.describe("me", document.id, said)
            seen.append(await catalog.revision())
            await catalog.describe("me", document.id, dict(said))
            assert await catalog.revision() == seen[-1]
        assert sorted(set(seen)) == seen

    @on_a_catalog
    async def test_many_may_describe_one_document_at_once(self, catalog: Catalog) -> None:
        document = await added(catalog, "a", "text")
        await asyncio.gather(
            *(catalog.describe("me", document.id, {"n": n, "m": n}) for n in range(12))
        )
        last = (await catalog.get("me", document.id)).attributes["n"]
        for n in range(12):
            wanted = [("n", n), ("m", n)]
            found = await catalog.matching("me", attributes=wanted)
            assert found == ([document.id] if n == last else [])

    @on_a_catalog
    async def test_the_revision_grows_when_something_else_is_live_and_only_then(
        self, catalog: Catalog
    ) -> None:
        seen = [await catalog.revision()]
        document = await added(catalog, "a", "text")
        seen.append(await catalog.revision())
        draft = await drafted(catalog, "a", "new text")
        await catalog.fail(draft.document, draft.generation, "damaged", "no")
        await catalog.note("key", "value")
        assert await catalog.revision() == seen[-1]
        await catalog.go_live([whole_of(draft, "new text")])
        seen.append(await catalog.revision())
        buried = await catalog.bury("me", document.id)
        seen.append(await catalog.revision())
        await catalog.forget(buried)
        assert await catalog.revision() == seen[-1]
        assert sorted(set(seen)) == seen

    @on_a_catalog
    async def test_the_last_note_of_a_key_counts(self, catalog: Catalog) -> None:
        assert await catalog.notes() == {}
        for key, value in (("embedder", "one"), ("chunking", "ß"), ("embedder", "two")):
            await catalog.note(key, value)
        assert await catalog.notes() == {"embedder": "two", "chunking": "ß"}

    # Any text.

    @on_a_catalog
    async def test_text_from_files_may_hold_anything(self, catalog: Catalog) -> None:
        odd = "a\0b\ud800c\udc00\U0001f600\r\n\ufeff"
        draft = await drafted(catalog, "日本 ß 😀.txt", "text")
        version = replace(draft, title=odd, notes=(odd, ""), text_length=len(odd))
        chunks = (Chunk(0, 0, len(odd), None, None, (odd, "")),)
        await catalog.go_live([Whole(version, odd, chunks, (), (Heading(0, 1, odd),))])
        failing = await drafted(catalog, "日本 ß 😀.txt", "new")
        await catalog.fail(failing.document, failing.generation, "crashed", odd)
        document = await catalog.get("me", draft.document)
        assert document.name == "日本 ß 😀.txt"
        assert document.live == version
        assert document.error == odd
        assert await catalog.text(version) == odd
        assert await catalog.chunks(version) == list(chunks)
        assert await catalog.outline(version) == ((), (Heading(0, 1, odd),))

    @on_a_catalog
    async def test_a_name_that_cannot_be_kept_is_refused(self, catalog: Catalog) -> None:
        for owner, folder, name in (("a\0", "", "x"), ("me", "\ud800", "x"), ("me", "", "\0")):
            with pytest.raises(InvalidInputError, match="cannot be kept"):
                await drafted(catalog, name, "text", owner, folder)
        assert await catalog.find() == []

    def test_everything_is_there_after_reopening(self) -> None:
        async def scene() -> None:
            async with self.opened() as catalog:
                document = await added(catalog, "a.txt", "text")
                document = await catalog.describe("me", document.id, {"team": "red"})
                draft = await drafted(catalog, "b.txt", "text")
                await catalog.fail(draft.document, draft.generation, "damaged", "no")
                failed = await catalog.get("me", draft.document)
                gone = await added(catalog, "c.txt", "text")
                buried = await catalog.bury("me", gone.id)
                await catalog.note("key", "value")
            async with self.opened() as catalog:
                assert await catalog.find() == [document, failed]
                assert await catalog.matching("me", attributes=[("team", "red")]) == [document.id]
                assert await catalog.text(live_of(document)) == "text"
                assert await catalog.remains() == buried
                assert await catalog.notes() == {"key": "value"}

        asyncio.run(scene())
