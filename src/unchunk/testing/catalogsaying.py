"""What owners say of their documents, in every catalog, and texts of any kind."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from unchunk.domain import (
    Chunk,
    Heading,
    Whole,
)
from unchunk.errors import InvalidInputError, NotFoundError
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


class SayingContract(CatalogSuite):
    """Attributes, notes, and what a text may hold."""

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
