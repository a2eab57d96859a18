"""Somebody else's chunks as a shelf: on real stores, with every call counted."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import corpus
import servers
from adapters.sources import stores
from adapters.sources.stores import Payload
from collections_of_others import Page, filled
from retrieval.test_joining import chapters, merged
from unchunk import ChunkAwareRetriever
from unchunk.adapters.lexicon.bm25 import Bm25Lexicon
from unchunk.adapters.sources.chroma import open_chroma
from unchunk.adapters.sources.chunkenizer import ChunkenizerSource
from unchunk.adapters.sources.fields import LANGCHAIN
from unchunk.adapters.sources.qdrant import open_qdrant
from unchunk.errors import InvalidInputError, ProviderUnavailableError
from unchunk.ports import Among, ChunkSource, ForeignChunks, Role, Vectors
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.foreign import ForeignShelf
from unchunk.retrieval.retriever import Retriever
from unchunk.retrieval.shelf import MovedError, Place, Shelf, Where
from unchunk.retrieval.snippets import snippets
from unchunk.text.chunking import chunk_text

_NUMBERS = count()
ENGINES = ("qdrant", "chroma server", "chroma folder", "chunkenizer")
FETCHING = ENGINES[:3]
ANY = Where()


class Running(NamedTuple):
    qdrant: servers.QdrantServer
    chroma: str


class Open(NamedTuple):
    """A shelf, the source behind it, and how often each call was made to the store."""

    shelf: ForeignShelf
    source: ChunkSource
    calls: Counter[str]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with (
        servers.qdrant(tmp_path_factory.mktemp("qdrant")) as qdrant,
        servers.chroma(tmp_path_factory.mktemp("chroma")) as chroma,
    ):
        yield Running(qdrant, chroma)


class _Counting:
    """A Chroma collection of this process, its calls counted."""

    def __init__(self, collection: Any, calls: Counter[str]) -> None:  # noqa: ANN401 theirs
        self._collection, self._calls = collection, calls

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 theirs
        self._calls[name] += 1
        return getattr(self._collection, name)


@asynccontextmanager
async def opened(
    engine: str, running: Running, folder: Path, payloads: Sequence[Payload], owner_field: str = ""
) -> AsyncIterator[Open]:
    """A shelf over a store of that kind which holds chunks as document 001 has them."""
    name, theirs = f"pms{next(_NUMBERS)}", stores.embedder()
    async with AsyncExitStack() as stack:
        source: ChunkSource
        if engine == "qdrant":
            await asyncio.to_thread(stores.fill_qdrant, running.qdrant.url, name, payloads)
            url, calls = stack.enter_context(stores.counted(running.qdrant.url))
            source = await open_qdrant(url, name, theirs)
        elif engine == "chroma server":
            with stores.chroma_client(running.chroma) as client:
                await asyncio.to_thread(stores.fill_chroma, client, name, payloads)
            url, calls = stack.enter_context(stores.counted(running.chroma))
            source = await open_chroma(url, name, theirs)
        elif engine == "chroma folder":
            with stores.chroma_client(folder) as client:
                await asyncio.to_thread(stores.fill_chroma, client, name, payloads)
            made = await open_chroma(folder, name, theirs)
            calls = Counter()
            made._collection = _Counting(made._collection, calls)
            source = made
        else:
            kept = await asyncio.to_thread(stores.Chunkenizer, [*map(stores.as_result, payloads)])
            url, calls = stack.enter_context(
                stores.counted(stack.enter_context(stores.chunkenizer(kept)))
            )
            source = ChunkenizerSource(url)
        shelf = ForeignShelf(source, owner_field=owner_field)
        _: Shelf = shelf
        stack.push_async_callback(shelf.close)
        calls.clear()
        yield Open(shelf, source, calls)


def page(name: str, text: str, **more: str | int) -> list[Payload]:
    """A page, cut and described as document 001 says."""
    parts = chunk_text(text, max_words=320, overlap_words=80)
    return [
        {
            "mongo_id": name,
            "parent_id": name,
            "chunk_index": at,
            "chunk_count": len(parts),
            "content": part,
            "title": f"Page {name}",
            "content_type": "page",
            **more,
        }
        for at, part in enumerate(parts)
    ]


def books() -> dict[str, str]:
    if not corpus.DATA.exists():
        servers.missing(corpus.MISSING)
    longest = sorted(chapters(), key=len)[-4:]
    return {f"chapter-{at}": text for at, text in enumerate(longest)}


def neighbours(places: Sequence[Place]) -> dict[tuple[str, int], list[int]]:
    wanted: dict[tuple[str, int], list[int]] = {}
    for document, generation, at in places:
        wanted.setdefault((document, generation), []).extend((at - 1, at, at + 1))
    return wanted


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await scene()

    asyncio.run(run())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_query_is_one_search_and_one_fetch_and_gives_slices_of_the_texts(
    engine: str, running: Running, tmp_path: Path
) -> None:
    texts = books()
    payloads = [one for name, text in texts.items() for one in page(name, text, team="blue")]
    others = [one | {"team": "red"} for one in page("chapter-9", texts["chapter-0"])]

    async def scene() -> None:
        async with opened(engine, running, tmp_path, payloads + others, owner_field="team") as it:
            where = Where(fields=(("content_type", "page"),))
            found = await it.shelf.find(
                "the white whale and his brow", "blue", where, limit=12, min_score=0.0
            )
            assert len(found.candidates) == 12
            places = [one.place for one in found.candidates]
            wanted = neighbours(places)
            sheets = await it.shelf.open("blue", wanted, where)
            if engine == "chunkenizer":
                assert it.calls == {"search": 1}
                assert found.notes == ()
            else:
                search, fetch = ("query", "scroll") if engine == "qdrant" else ("query", "get")
                assert it.calls == {search: 1, fetch: 1}
                assert {place.generation for place in places} == {0}
            assert set(sheets) == {place.document for place in places}
            hits = {(one.document, one.chunk_index) for one in places}
            for name, sheet in sheets.items():
                passages = merged(sheet.pieces)
                assert all(one in texts[name] for one in passages)
                assert len(passages) == sum(at - 1 not in sheet.pieces for at in sheet.pieces)
                assert sheet.doubts == ()
                expected = {at for one in wanted if one[0] == name for at in wanted[one]}
                if engine == "chunkenizer":
                    expected = {at for document, at in hits if document == name}
                    assert sheet.chunk_count is None
                else:
                    assert sheet.chunk_count == len(chunk_text(texts[name]))
                    assert sheet.metadata["team"] == "blue"
                inside = {at for at in expected if 0 <= at < len(chunk_text(texts[name]))}
                assert set(sheet.pieces) == inside
                assert (sheet.name, sheet.title) == (f"Page {name}", f"Page {name}")

    play(scene)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_retriever_reads_them_in_as_few_calls(
    engine: str, running: Running, tmp_path: Path
) -> None:
    texts = books()
    payloads = [one for name, text in texts.items() for one in page(name, text, team="blue")]

    async def scene() -> None:
        async with opened(engine, running, tmp_path, payloads, owner_field="team") as it:
            retriever = Retriever(it.shelf, owner="blue")
            made = await retriever.search_with_context("the white whale and his brow", 3)
            assert sum(it.calls.values()) == (1 if engine == "chunkenizer" else 2)
            assert made
            for document in made:
                assert all(one.text in texts[document.document] for one in document.passages)
                assert document.title == f"Page {document.document}"
                assert document.chunk_coverage.startswith("chunks ")
            evidence = await retriever.retrieve('source:"Page chapter-1" what of the whale?')
            (shown,) = evidence.documents
            assert shown.document == "chapter-1"
            assert all(one.text in texts["chapter-1"] for one in shown.passages)
            assert (await retriever.search_with_context("whale", 3, owner="red")) == []

    play(scene)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_owner_never_sees_anothers_chunk_not_even_beside_their_own(
    engine: str, running: Running, tmp_path: Path
) -> None:
    """The two even share a document's id and its numbers."""
    words = [f"secret {word} of the harbour" for word in ("tide", "lamp", "rope", "sail", "mast")]
    payloads = [
        {
            "parent_id": "shared",
            "chunk_index": at,
            "content": text,
            "title": "Harbour",
            "content_type": "page",
            "user": "a" if at % 2 else "b",
        }
        for at, text in enumerate(words)
    ]

    async def scene() -> None:
        async with opened(engine, running, tmp_path, payloads, owner_field="user") as it:
            found = await it.shelf.find(
                "secret tide of the harbour", "a", ANY, limit=9, min_score=0.0
            )
            places = [one.place for one in found.candidates]
            assert sorted(place.chunk_index for place in places) == [1, 3]
            sheets = await it.shelf.open("a", neighbours(places), ANY)
            assert sorted(sheets["shared"].pieces) == [1, 3]
            everything = {("shared", 0): [0, 1, 2, 3, 4]}
            assert all(
                set(sheet.pieces) <= {1, 3}
                for sheet in (await it.shelf.open("a", everything, ANY)).values()
            )
            # Whoever claims to be somebody else in the filter gets nothing at all.
            posing = Where(fields=(("user", "b"),))
            try:
                assert (
                    await it.shelf.find("tide", "a", posing, limit=9, min_score=0.0)
                ).candidates == ()
                assert await it.shelf.open("a", everything, posing) == {}
            except InvalidInputError as refused:
                assert "one value for each field" in str(refused)  # noqa: PT017 -- one of two ways
            nobody = await it.shelf.find("tide", "", ANY, limit=9, min_score=0.0)
            assert nobody.candidates == ()

    play(scene)


def test_a_server_that_ignores_filters_shows_nothing_of_others() -> None:
    result = {"document_name": "n", "token_count": 1, "chunk_text": "the tide of the harbour"}
    results = [
        result | {"document_id": "mine", "chunk_index": 0, "metadata": {"user": "a"}},
        result | {"document_id": "yours", "chunk_index": 0, "metadata": {"user": "b"}},
        result | {"document_id": "whose", "chunk_index": 0, "metadata": {}},
    ]
    kept = stores.Chunkenizer(results)
    kept.heeds_filters = False

    async def scene() -> None:
        with stores.chunkenizer(kept) as url:
            shelf = ForeignShelf(ChunkenizerSource(url), owner_field="user")
            found = await shelf.find("the tide", "a", ANY, limit=9, min_score=None)
            assert [one.place.document for one in found.candidates] == ["mine"]
            assert any("does not keep to the filter on 'user'" in note for note in found.notes)
            await shelf.close()

    play(scene)


def test_a_limit_that_is_cut_by_the_server_is_told_and_a_wide_net_is_not() -> None:
    result = {"document_id": "d", "document_name": "n", "chunk_index": 0, "metadata": {}}
    kept = stores.Chunkenizer([result | {"chunk_text": "the tide", "token_count": 2}])
    kept.most = 20
    told = "the source refuses large searches: it was asked for 20 chunks instead of 30"

    async def scene() -> None:
        with stores.chunkenizer(kept) as url:
            shelf = ForeignShelf(ChunkenizerSource(url))
            retriever = Retriever(shelf)
            wide = Amount(10, include_adjacent=False)
            assert (await retriever.passages("tide", amount=wide))[1] == ()
            assert kept.asked[0]["top_k"] > 20
            for amount in (
                replace(wide, limit=30),
                replace(wide, hits=30),
                replace(wide, depth=30),
            ):
                assert (await retriever.passages("tide", amount=amount))[1] == (told,)
            for limit, notes in ((20, ()), (30, (told,))):
                found = await snippets(shelf, "tide", "me", ANY, limit=limit)
                assert (len(found.hits), found.notes) == (1, notes)
            await shelf.close()

    play(scene)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_found_by_one_is_not_opened_for_another(
    engine: str, running: Running, tmp_path: Path
) -> None:
    payloads = page("p", "a tide in the harbour", user="a")

    async def scene() -> None:
        async with opened(engine, running, tmp_path, payloads, owner_field="user") as it:
            (one,) = (await it.shelf.find("tide", "a", ANY, limit=9, min_score=0.0)).candidates
            wanted = {(one.place.document, one.place.generation): [0]}
            assert list(await it.shelf.open("a", wanted, ANY)) == ["p"]
            if one.place.generation:
                for owner, where in (("b", ANY), ("a", Where(names=("other",)))):
                    with pytest.raises(MovedError):
                        await it.shelf.open(owner, wanted, where)
            else:
                assert await it.shelf.open("b", wanted, ANY) == {}
            nothing = {(one.place.document, one.place.generation): ()}
            assert (await it.shelf.open("a", nothing, ANY))["p"].name == "Page p"
            assert await it.shelf.open("b", nothing, ANY) == {}
            assert [card.name for card in await it.shelf.cards("a")] == ["Page p"]
            assert await it.shelf.cards("b") == []
            assert await it.shelf.related("a", ANY, one.place, 3) == []

    play(scene)


@pytest.mark.parametrize("engine", ENGINES)
def test_documents_names_and_media_types_are_searched_by(
    engine: str, running: Running, tmp_path: Path
) -> None:
    payloads = [*page("one", "the tide comes in"), *page("two", "the tide goes out")]
    payloads[1]["content_type"] = "text/plain"

    async def scene() -> None:
        async with opened(engine, running, tmp_path, payloads) as it:

            async def found(where: Where) -> list[str]:
                ranked = await it.shelf.find("the tide", "me", where, limit=9, min_score=0.0)
                return sorted(one.place.document for one in ranked.candidates)

            assert await found(Where()) == ["one", "two"]
            assert await found(Where(documents=("two",))) == ["two"]
            assert await found(Where(names=("Page one",))) == ["one"]
            assert await found(Where(media_types=("text/plain",))) == ["two"]
            assert await found(Where(names=("Page one",), documents=("two",))) == []
            it.calls.clear()
            assert await found(Where(documents=())) == []
            assert await it.shelf.open("me", {("one", 0): [0]}, Where(documents=())) == {}
            assert not it.calls
            if engine != "chunkenizer":
                assert await found(Where(documents=("two", "one", "x"))) == ["one", "two"]

    play(scene)


@pytest.mark.parametrize(
    ("where", "named"),
    [
        (Where(folders=("a",)), "folders"),
        (Where(pages=(1, 2)), "pages"),
        (Where(since=datetime(2026, 1, 1, tzinfo=UTC)), "since"),
        (Where(until=datetime(2026, 1, 1, tzinfo=UTC), folders=("a",)), "folders, until"),
        (Where(media_types=("image/",)), "media type 'image/'"),
    ],
)
def test_what_chunks_do_not_carry_is_refused_by_name(where: Where, named: str) -> None:
    shelf = ForeignShelf(ChunkenizerSource("http://127.0.0.1:9"))

    async def scene() -> None:
        for call in (
            shelf.find("q", "me", where, limit=5, min_score=None),
            shelf.open("me", {}, where),
        ):
            with pytest.raises(InvalidInputError, match=f"cannot be searched by {named}: "):
                await call

    play(scene)


@pytest.mark.parametrize("engine", FETCHING)
def test_scores_below_the_threshold_are_dropped_and_listed(
    engine: str, running: Running, tmp_path: Path
) -> None:
    payloads = [*page("one", "the tide comes in"), *page("two", "0123 4567 8901")]

    async def scene() -> None:
        async with opened(engine, running, tmp_path, payloads) as it:
            for least in (None, 0.5):
                ranked = await it.shelf.find(
                    "the tide comes in", "me", ANY, limit=9, min_score=least
                )
                assert [one.place.document for one in ranked.candidates] == ["one"]
                assert ranked.candidates[0].score == pytest.approx(1.0, abs=1e-5)
                assert [one.place.document for one in ranked.dropped] == ["two"]
                assert "below" in ranked.dropped[0].reason
            assert (
                len(
                    (await it.shelf.find("the tide", "me", ANY, limit=9, min_score=-1.0)).candidates
                )
                == 2
            )

    play(scene)


def langchain(texts: Sequence[str], source: str) -> list[Payload]:
    """As LangChain's store for Qdrant writes them: without a number."""
    return [{"page_content": text, "metadata": {"source": source}} for text in texts]


def test_chunks_without_a_number_are_passages_of_their_own(running: Running) -> None:
    name = f"lc{next(_NUMBERS)}"
    payloads = langchain(["the tide comes in at six", "the tide goes out at noon"], "a/tides.md")
    payloads += langchain(["the lamp is lit"], "b/lamps.md")
    stores.fill_qdrant(running.qdrant.url, name, payloads)

    async def scene() -> None:
        source = await open_qdrant(running.qdrant.url, name, stores.embedder(), LANGCHAIN)
        shelf = ForeignShelf(source)
        found = await shelf.find("the tide comes in at six", "me", ANY, limit=2, min_score=0.0)
        places = [one.place for one in found.candidates]
        assert len({place.document for place in places}) == 2
        sheets = await shelf.open("me", neighbours(places), ANY)
        for place in places:
            sheet = sheets[place.document]
            assert list(sheet.pieces) == [0]
            assert sheet.pieces[0].text.startswith("the tide ")
            assert (sheet.name, sheet.title, sheet.chunk_count) == ("a/tides.md", "", None)
        # Asked for by its own id, the document that it is from is searched.
        again = Where(documents=(places[0].document,))
        found = await shelf.find("the lamp", "me", again, limit=9, min_score=0.0)
        assert {one.place.document for one in found.candidates} == {one.document for one in places}
        await shelf.close()

    play(scene)


def test_what_is_kept_from_a_search_is_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    result = {"document_id": "d", "document_name": "n", "chunk_index": 0, "metadata": {}}
    kept = stores.Chunkenizer([result | {"chunk_text": "the tide", "token_count": 2}])

    async def scene() -> None:
        with stores.chunkenizer(kept) as url:
            source = ChunkenizerSource(url)
            shelf = ForeignShelf(source)
            (one,) = (await shelf.find("tide", "me", ANY, limit=1)).candidates
            wanted = {(one.place.document, one.place.generation): [-1, 0, 1]}
            assert list((await shelf.open("me", wanted, ANY))["d"].pieces) == [0]
            monkeypatch.setattr(shelf._kept, "_clock", lambda: 1e12)
            with pytest.raises(MovedError):
                await shelf.open("me", wanted, ANY)
            await shelf.find("tide", "me", ANY, limit=1)
            assert list(await shelf.open("me", wanted, ANY)) == ["d"]
            await source.close()

    play(scene)


@pytest.mark.parametrize("engine", ENGINES)
def test_chunks_that_are_wanted_anyway_are_among_what_is_found(
    engine: str, running: Running, tmp_path: Path
) -> None:
    payloads = [*page("one", "the tide comes in"), *page("two", "0123 4567 8901")]
    others = [one | {"user": "b"} for one in page("three", "0123 4567")]
    payloads = [one | {"user": "a"} for one in payloads] + others

    async def scene() -> None:
        async with opened(engine, running, tmp_path, payloads, owner_field="user") as it:
            also = (("two", 0), ("three", 0), ("absent", 4))
            found = await it.shelf.find("the tide", "a", ANY, limit=1, min_score=0.4, also=also)
            documents = [one.place.document for one in found.candidates]
            if engine == "chunkenizer":
                assert documents == ["one"]
                assert it.calls == {"search": 1}
            else:
                assert documents == ["one", "two"]
                assert it.calls == {"query": 2}
            it.calls.clear()
            await it.shelf.find("the tide", "a", ANY, limit=1, also=(("one", 0),))
            assert sum(it.calls.values()) == 1

    play(scene)


def test_a_document_whose_chunks_do_not_tell_their_number_is_found_by_its_name(
    tmp_path: Path,
) -> None:
    texts = ["The tide comes in at six.", "The tide goes out at noon."]
    payloads = [
        {"parent_id": "d", "title": "tides.md", "chunk_index": at, "content": text}
        for at, text in enumerate(texts)
    ]
    with stores.chroma_client(tmp_path) as client:
        stores.fill_chroma(client, "pages", payloads)

    async def scene() -> None:
        shelf = ForeignShelf(await open_chroma(tmp_path, "pages", stores.embedder()))
        evidence = await Retriever(shelf).retrieve("When does it turn? source: tides.md")
        assert not [one for one in evidence.notes if "no document" in one]
        [document] = evidence.documents
        assert (document.name, document.kind, document.chunk_count) == ("tides.md", "excerpt", None)
        assert all(text in document.full_content for text in texts)
        await shelf.close()

    play(scene)


def test_chunks_that_disagree_on_their_number_are_named(running: Running) -> None:
    name = f"odd{next(_NUMBERS)}"
    payloads = page("d", "the tide")
    payloads += [payloads[0] | {"chunk_index": 1, "chunk_count": 4, "tags": ["x", "y"]}]
    payloads[0]["tags"] = ["x", "y"]
    stores.fill_qdrant(running.qdrant.url, name, payloads)

    async def scene() -> None:
        shelf = ForeignShelf(await open_qdrant(running.qdrant.url, name, stores.embedder()))
        sheet = (await shelf.open("me", {("d", 0): [0, 1]}, ANY))["d"]
        assert sheet.chunk_count == 4
        assert "disagree on how many there are" in [one.statement for one in sheet.doubts]
        assert sheet.metadata == {"tags": "x, y"}
        await shelf.close()

    play(scene)


def test_an_owner_may_be_one_of_several(running: Running) -> None:
    name = f"acl{next(_NUMBERS)}"
    payloads = [one | {"readers": ["a", "b"]} for one in page("d", "the tide")]
    payloads += [one | {"readers": ["b"]} for one in page("e", "the tide")]
    stores.fill_qdrant(running.qdrant.url, name, payloads)

    async def scene() -> None:
        source = await open_qdrant(running.qdrant.url, name, stores.embedder())
        shelf = ForeignShelf(source, owner_field="readers")
        for owner, seen in (("a", {"d"}), ("b", {"d", "e"}), ("c", set[str]())):
            found = await shelf.find("the tide", owner, ANY, limit=9, min_score=0.0)
            assert {one.place.document for one in found.candidates} == seen
        await shelf.close()

    play(scene)


class Away:
    """An embedder that answers no question."""

    def __init__(self) -> None:
        self._embedder = stores.embedder()
        self.identity = self._embedder.identity

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        if role == "query":
            raise ProviderUnavailableError("no answer")
        return await self._embedder.embed(texts, role)

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("engine", ["qdrant", "chroma"])
def test_without_its_embedder_a_collection_is_searched_by_words_alone(
    engine: str, running: Running
) -> None:
    name, lexicon = f"odd{next(_NUMBERS)}", Bm25Lexicon()
    payloads = [*page("one", "the tide comes in"), *page("two", "the lamp is lit")]
    if engine == "qdrant":
        stores.fill_qdrant(running.qdrant.url, name, payloads)
    else:
        with stores.chroma_client(running.chroma) as client:
            stores.fill_chroma(client, name, payloads)

    async def scene() -> None:
        source: ChunkSource
        if engine == "qdrant":
            source = await open_qdrant(running.qdrant.url, name, Away(), lexicon=lexicon)
        else:
            source = await open_chroma(running.chroma, name, Away(), lexicon=lexicon)
        shelf = ForeignShelf(source, lexicon=lexicon)
        found = await shelf.find("a lamp", "me", ANY, limit=5, min_score=0.9)
        assert [one.place.document for one in found.candidates] == ["two"]
        assert [one.name for one in found.candidates[0].ways] == ["lexical"]
        assert found.notes == ("searched by words only: no answer",)
        also = (("one", 0),)
        found = await shelf.find("a lamp", "me", ANY, limit=5, also=also)
        assert {one.place.document for one in found.candidates} == {"one", "two"}
        with pytest.raises(ProviderUnavailableError):
            await ForeignShelf(source).find("a lamp", "me", ANY, limit=5)
        await shelf.close()

    play(scene)


def test_where_words_cannot_be_searched_meaning_is_and_it_is_said(running: Running) -> None:
    name, lexicon = f"odd{next(_NUMBERS)}", Bm25Lexicon()
    stores.fill_qdrant(running.qdrant.url, name, page("one", "the tide comes in"))

    async def scene() -> None:
        source = await open_qdrant(running.qdrant.url, name, stores.embedder(), lexicon=lexicon)

        async def refused(*_: object) -> ForeignChunks:
            raise InvalidInputError("strict mode")

        source.search_words = refused  # type: ignore[method-assign,assignment]  # as a server may
        shelf = ForeignShelf(source, lexicon=lexicon)
        found = await shelf.find("the tide", "me", ANY, limit=5, min_score=0.0)
        assert [one.place.document for one in found.candidates] == ["one"]
        assert found.notes == ("searched by meaning only: strict mode",)
        await shelf.close()

    play(scene)


def test_words_of_another_owner_are_not_found_nor_counted(running: Running) -> None:
    name, lexicon = f"acl{next(_NUMBERS)}", Bm25Lexicon()
    payloads = [one | {"user": "a"} for one in page("mine", "the lamp is lit")]
    alone = f"acl{next(_NUMBERS)}"
    stores.fill_qdrant(running.qdrant.url, alone, payloads)
    theirs = [page(f"theirs{at}", f"the lamp of house {at}") for at in range(20)]
    payloads += [one | {"user": "b"} for some in theirs for one in some]
    stores.fill_qdrant(running.qdrant.url, name, payloads)

    async def scene() -> None:
        scores = []
        for collection in (alone, name):
            source = await open_qdrant(
                running.qdrant.url, collection, stores.embedder(), lexicon=lexicon
            )
            shelf = ForeignShelf(source, owner_field="user", lexicon=lexicon)
            [one] = (await shelf.find("lamp", "a", ANY, limit=9, min_score=0.0)).candidates
            assert one.place.document == "mine"
            scores.append(one.ways[-1])
            await shelf.close()
        # How rare a word is with others does not show.
        assert scores[0] == scores[1]
        assert scores[0].name == "lexical"

    play(scene)


def test_of_a_large_collection_a_part_is_searched_by_words_and_it_is_said(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unchunk.adapters.sources.words.MOST_CHUNKS", 1000)
    name, lexicon = f"odd{next(_NUMBERS)}", Bm25Lexicon()
    many = [one for at in range(1200) for one in page(f"d{at}", f"the lamp of house {at}")]
    stores.fill_qdrant(running.qdrant.url, name, many)

    async def scene() -> None:
        source = await open_qdrant(running.qdrant.url, name, stores.embedder(), lexicon=lexicon)
        found = await source.search_words("house 7", Among(), 3)
        assert found.chunks[0].document == "d7"
        [note] = found.notes
        assert "only 1,000 chunks are searched by words; create a full-text index" in note
        assert (await source.search_words("1150", Among(), 3)).chunks == ()
        await asyncio.to_thread(stores.index_texts, running.qdrant.url, name)
        await source.close()
        source = await open_qdrant(running.qdrant.url, name, stores.embedder(), lexicon=lexicon)
        found = await source.search_words("house 1150", Among(), 3)
        assert found.chunks[0].document == "d1150"
        assert found.notes == ()
        await source.close()

    play(scene)


def test_documents_that_carry_the_same_checksum_are_not_taken_for_one_file() -> None:
    pages = [Page(name, {0: 0.9 - at / 10}, checksum="n/a") for at, name in enumerate("abc")]
    client, model = filled(*pages)
    found = asyncio.run(ChunkAwareRetriever(client, model).search_with_context("the tide"))
    assert [one.mongo_id for one in found] == ["a", "b", "c"]
    assert found[0].metadata["checksum"] == "n/a"


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_best_chunk_is_the_same_however_few_are_wanted(limit: int) -> None:
    pages = [
        Page("near", {0: 0.9}, text="The shipment left on Tuesday with nine crates."),
        Page("both", {0: 0.88}, text="The order was refunded by the clerk after a long call."),
        Page("words", {0: 0.1}, text="Order, order: refunded, refunded."),
    ]
    client, model = filled(*pages, *(Page(f"p{at}", {0: 0.3}, chunks=1) for at in range(60)))

    async def scene() -> None:
        collection = await ChunkAwareRetriever(client, model).collection()
        found = await collection.search("order refunded", limit=limit)
        assert [one.document for one in found.hits] == ["both", "near", "words"][:limit]

    play(scene)
