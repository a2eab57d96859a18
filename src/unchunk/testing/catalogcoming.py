"""How documents come into every catalog: anew, again, and not at all."""

import asyncio
from dataclasses import replace

from unchunk.domain import (
    LONGEST_NAME,
    Chunk,
    Document,
    Remains,
    Version,
    Whole,
)
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


class ComingContract(CatalogSuite):
    """Drafts, and what becomes of them."""

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
