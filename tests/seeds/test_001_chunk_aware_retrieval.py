"""Document 001: whole passages from chunks, out of a library and out of anybody's Qdrant."""

import ast
import asyncio
import contextlib
import inspect
import io
import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from click.testing import CliRunner
from qdrant_client import QdrantClient, models

import servers
import unchunk
from adapters.sources.stores import (
    Chunkenizer,
    as_result,
    chroma_client,
    chunkenizer,
    fill_chroma,
    fill_qdrant,
    vectors,
)
from agents.clients import over_http, run, told
from collections_of_others import (
    NAME,
    CountingClient,
    Model,
    Page,
    client_of,
    dictionaries,
    filled,
    words,
)
from seed_documents import code_block, needs_documents
from server.houses import house
from unchunk import ChunkAwareRetriever, ReconstructedDocument
from unchunk.cli import main

pytestmark = needs_documents

QUERY = "authentication methods"
KINDS = [
    f"{style} {where}" for style in ("sync", "async") for where in ("memory", "folder", "server")
]


# Settings of a library that is cut as document 001 cuts pages.
LIKE_PAGES: dict[str, Any] = {
    "embedder": "hashing:256",
    "chunk_unit": "words",
    "chunk_size": 320,
    "chunk_overlap": 80,
    "chunk_boundaries": "window",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.qdrant(tmp_path_factory.mktemp("qdrant")) as running:
        yield running.url


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of two long documents."""
    folder = tmp_path_factory.mktemp("library")
    lines = "Authentication by OAuth 2.0 wants a client id. Auth is checked by the gateway. "
    for name, seed in (("oauth.md", 1), ("saml.md", 2)):
        (folder / name).write_text(f"# {name} authentication\n\n{words(900, seed)} {lines}")
    with unchunk.open(folder / "home", embedder="hashing:256") as opened:
        opened.add(folder / "oauth.md", folder / "saml.md")
    return folder / "home"


@pytest.fixture
def library(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That library, as the one that is opened where none is named."""
    monkeypatch.setenv("UNCHUNK_HOME", str(home))
    monkeypatch.setenv("UNCHUNK_EMBEDDER", "hashing:256")


def search(
    retriever: ChunkAwareRetriever,
    query: str = QUERY,
    **options: Any,  # noqa: ANN401 - as the retriever has them
) -> list[ReconstructedDocument]:
    return asyncio.run(retriever.search_with_context(query=query, **options))


def searched(*pages: Page, **options: Any) -> list[ReconstructedDocument]:  # noqa: ANN401
    """What is found in a collection of these pages."""
    client, model = filled(*pages)
    return search(ChunkAwareRetriever(client, model), **options)


def marks(document: ReconstructedDocument) -> list[str]:
    return re.findall(r"^\[\.\.\. .* omitted \.\.\.\]$", document.full_content, re.MULTILINE)


# The example, and what it may be given


@pytest.mark.statement("001-01", "001-02")
@pytest.mark.parametrize("kind", KINDS)
def test_the_example_runs_unchanged_with_any_qdrant_client(
    kind: str, tmp_path: Path, server: str
) -> None:
    page = Page("507f1f77bcf86cd799439011", {2: 0.9}, title="Authentication Architecture")
    other = Page("other", {0: 0.95}, content_type="work_item", chunks=1)
    code = code_block("001", 290).replace("from qdrant.", "from unchunk.")
    compiled = compile(code, "<document>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    async def example() -> str:
        async with client_of(kind, tmp_path, server, page, other) as (client, model):
            names: dict[str, Any] = {"client": client, "model": model}
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                running = eval(compiled, names)  # noqa: S307 - the document's own code
                assert inspect.isawaitable(running)
                await running
            assert [one.mongo_id for one in names["docs"]] == [page.mongo_id]
            return printed.getvalue()

    lines = asyncio.run(example()).splitlines()
    assert lines[0] == "Title: Authentication Architecture"
    assert float(lines[1].removeprefix("Score: ")) == pytest.approx(0.9, abs=1e-3)
    assert lines[2] == "Coverage: chunks 1-3 of 10"
    content = "\n".join(lines[3:]).removeprefix("Content: ")
    assert content in page.text


def _callable(model: Model) -> Any:  # noqa: ANN401 - whatever a model is
    return model.encode


def _asynchronous(model: Model) -> Any:  # noqa: ANN401
    async def embed(texts: list[str]) -> Any:  # noqa: ANN401
        return np.asarray(model.encode(texts))

    return embed


class _Fast:
    """As fastembed has it: a generator of arrays."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def embed(self, documents: list[str]) -> Iterator[Any]:
        return (np.asarray(row) for row in self._model.encode(documents))


class _AsynchronousEmbed:
    def __init__(self, model: Model) -> None:
        self._model = model

    async def embed(self, texts: list[str]) -> Any:  # noqa: ANN401
        return self._model.encode(texts)


@pytest.mark.statement("001-03")
@pytest.mark.parametrize(
    "style", [lambda model: model, _callable, _asynchronous, _Fast, _AsynchronousEmbed]
)
def test_the_model_is_an_object_with_encode_or_embed_or_a_function(
    style: Callable[[Model], Any],
) -> None:
    client, model = filled(Page("a", {2: 0.9}))
    [found] = search(ChunkAwareRetriever(client, style(model)), collection_name=NAME, min_score=0.5)
    assert found.chunk_coverage == "chunks 1-3 of 10"


@pytest.mark.statement("001-03")
def test_what_blocks_runs_in_a_thread_so_that_others_go_on() -> None:
    client, model = filled(Page("a", {2: 0.9}))
    threads: list[int] = []

    def encode(texts: list[str]) -> list[list[float]]:
        threads.append(threading.get_ident())
        return model.encode(texts)

    inner = client.query_points

    def query_points(*args: Any, **named: Any) -> models.QueryResponse:  # noqa: ANN401 - theirs
        threads.append(threading.get_ident())
        return inner(*args, **named)

    client.query_points = query_points  # type: ignore[method-assign]  # to see where it runs
    assert search(ChunkAwareRetriever(client, encode), collection_name=NAME)
    assert len(threads) >= 3
    assert threading.get_ident() not in threads


@pytest.mark.statement("001-03")
def test_what_is_no_client_and_no_model_is_refused_with_what_would_be() -> None:
    client, model = filled(Page("a", {}, chunks=1))
    wrong: list[tuple[Any, Any, str]] = [
        (object(), model, "pass a QdrantClient or an AsyncQdrantClient"),
        (client, object(), "'object' has neither encode nor embed"),
        (client, "all-MiniLM-L6-v2", "pass a model object, not its name"),
        (client, b"all-MiniLM-L6-v2", "pass a model object, not its name"),
        (client, lambda texts: [[1.0, 0.0, 0.0] for _ in texts], "have 2 dimensions"),
        (client, lambda texts: [[[1.0]]], "one vector for each text"),  # noqa: ARG005
    ]
    for one, other, says in wrong:
        with pytest.raises(unchunk.UnchunkError, match=says):
            search(ChunkAwareRetriever(one, other), collection_name=NAME)
    with pytest.raises(unchunk.UnchunkError, match="'absent' does not exist"):
        search(ChunkAwareRetriever(client, model), collection_name="absent")
    with pytest.raises(unchunk.UnchunkError, match="it has one unnamed vector"):
        search(ChunkAwareRetriever(client, model), collection_name=NAME, vector_name="text")


@pytest.mark.statement("001-04")
def test_a_vector_with_a_name_is_taken_if_it_is_the_only_one_and_else_by_its_name() -> None:
    model, page = Model(), Page("a", {2: 0.9})
    rows = [
        models.PointStruct(
            id=at,
            vector={"text": Model._vector(score), "title": Model._vector(0.3)},
            payload=payload,
        )
        for at, (payload, score) in enumerate(page.payloads())
    ]
    parameters = models.VectorParams(size=2, distance=models.Distance.COSINE)
    client = QdrantClient(":memory:")
    client.create_collection("two", vectors_config={"text": parameters, "title": parameters})
    client.upsert("two", rows)
    retriever = ChunkAwareRetriever(client, model)
    with pytest.raises(unchunk.UnchunkError, match="name one of 'text', 'title'"):
        search(retriever, collection_name="two", min_score=0.5)
    [found] = search(retriever, collection_name="two", min_score=0.5, vector_name="text")
    assert [one.chunk_index for one in found.chunks] == [2]
    assert search(retriever, collection_name="two", min_score=0.5, vector_name="title") == []
    only = [
        models.PointStruct(id=it.id, vector={"text": it.vector["text"]}, payload=it.payload)  # type: ignore[index,call-overload]  # theirs is a union
        for it in rows
    ]
    client.create_collection("one", vectors_config={"text": parameters})
    client.upsert("one", only)
    assert search(retriever, collection_name="one", min_score=0.5)


@pytest.mark.statement("001-04")
def test_a_collection_that_is_opened_by_its_place_is_searched_by_the_vector_that_is_named(
    tmp_path: Path,
) -> None:
    parts = [words(40, seed=at) for at in range(3)]
    rows = vectors(parts)
    parameters = models.VectorParams(size=256, distance=models.Distance.COSINE)
    with contextlib.closing(QdrantClient(path=str(tmp_path / "qdrant"))) as client:
        client.create_collection("named", vectors_config={"body": parameters, "next": parameters})
        points = [
            models.PointStruct(
                id=at,
                vector={"body": rows[at].tolist(), "next": rows[at - 1].tolist()},
                payload={"mongo_id": f"d{at}", "chunk_index": 0, "content": part},
            )
            for at, part in enumerate(parts)
        ]
        client.upsert("named", points)
    place, nearest = f"qdrant:{tmp_path / 'qdrant'}#named", {"body": "d0", "next": "d1"}
    with (
        pytest.raises(unchunk.UnchunkError, match="name one of 'body', 'next'"),
        unchunk.open_collection(place, tmp_path, embedder="hashing:256"),
    ):
        pass
    for name, document in nearest.items():
        settings: dict[str, Any] = {"embedder": "hashing:256", "vector": name}
        with unchunk.open_collection(place, tmp_path, **settings) as collection:
            scores = {it.document: it.score for it in collection.search(parts[0]).hits}
            [found, *_] = collection.search_with_context(parts[0], min_score=0.99)
        assert max(scores, key=lambda it: scores[it]) == found.mongo_id == document
        text = unchunk.rag_search(parts[0], home=tmp_path, collection=place, **settings)
        assert f"#0({scores[document]:.2f})" in text


@pytest.mark.statement("001-05")
def test_the_options_as_the_document_gives_them_are_taken() -> None:
    client, model = filled(Page("a", {1: 0.9, 2: 0.45}))
    retriever = ChunkAwareRetriever(client, model)
    code = code_block("001", 141).strip()
    search_with_context = retriever.search_with_context
    # It names no collection: the client has just one.
    found = asyncio.run(eval(code, {"search_with_context": search_with_context}))  # noqa: S307
    assert [[one.chunk_index for one in it.chunks] for it in found] == [[1]]
    client.create_collection("more", vectors_config={})
    with pytest.raises(unchunk.UnchunkError, match=f"2 collections.*{NAME}"):
        search(ChunkAwareRetriever(client, model))


# Chunks, as they are cut and stored


@pytest.mark.statement("001-06", "001-07", "001-08")
def test_a_page_is_cut_and_stored_as_the_document_says() -> None:
    content = words(2000, seed=5)
    names: dict[str, Any] = {"chunk_text": unchunk.chunk_text, "content": content}
    exec(code_block("001", 34), names)  # noqa: S102 - the document's own code
    chunks = [chunk.split() for chunk in names["chunks"]]
    assert len(chunks) == 8
    assert {len(chunk) for chunk in chunks} == {320}
    # A quarter of each chunk is in the next one, too.
    assert all(a[-80:] == b[:80] for a, b in pairwise(chunks))
    assert len(unchunk.chunk_text("A short work item.", max_words=320, overlap_words=80)) == 1

    [stored] = dictionaries("001", 34, {})
    client, model = CountingClient(), Model()
    client.create_collection(
        NAME, vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE)
    )
    client.upsert(NAME, [models.PointStruct(id=1, vector=[1.0, 0.0], payload=stored)])
    [found] = search(ChunkAwareRetriever(client, model), content_type="page", min_score=0.5)
    assert (found.mongo_id, found.title) == (stored["mongo_id"], stored["title"])
    assert (found.content_type, found.full_content) == ("page", stored["content"])
    assert found.chunk_coverage == "chunks 2 of 8"


@pytest.mark.statement("001-09")
def test_a_library_cuts_its_own_documents_as_its_settings_say(tmp_path: Path) -> None:
    path, text = tmp_path / "long.txt", words(1500, seed=6)
    path.write_text(text)
    cut = []
    for number, options in enumerate(({}, LIKE_PAGES)):
        home = tmp_path / f"home{number}"
        with unchunk.open(home, **{"embedder": "hashing:256", **options}) as library:
            library.add(path)
            cut.append([part for _, part in library.chunks("long.txt")])
    assert cut[1] == unchunk.chunk_text(text, max_words=320, overlap_words=80)
    assert len(cut[0]) > len(cut[1])


# The four steps


@pytest.mark.statement("001-10", "001-11", "001-12", "001-13")
def test_matches_2_5_and_7_bring_their_neighbours_and_are_merged() -> None:
    page = Page("a", {2: 0.9, 5: 0.8, 7: 0.7})
    [found] = searched(page, limit=5, chunks_per_doc=3, include_adjacent=True, min_score=0.5)
    assert [one.chunk_index for one in found.chunks] == [2, 5, 7]
    [passage] = found.passages
    # 1, 3, 4, 6 and 8 stand around them, and have no score.
    assert (passage.first_chunk, passage.last_chunk) == (1, 8)
    assert [one.chunk_index for one in passage.chunks] == list(range(1, 9))
    assert found.chunk_coverage == "chunks 1-8 of 10"
    assert found.full_content in page.text
    assert len(found.full_content.split()) == 320 + 7 * 240


@pytest.mark.statement("001-12")
def test_a_match_that_is_weak_beside_the_best_one_brings_its_neighbours_too() -> None:
    # The best match has the words of the question too, so the other one is worth little beside it.
    best = Page("a", {0: 0.9}, text=f"{QUERY} {words(200, 1)}", chunks=1)
    [_, weak] = searched(best, Page("b", {5: 0.7}), min_score=0.5)
    assert weak.chunk_coverage == "chunks 4-6 of 10"


@pytest.mark.statement("001-11", "001-14")
def test_chunks_are_grouped_by_their_document_whose_scores_are_told() -> None:
    found = searched(Page("a", {2: 0.86, 3: 0.82, 4: 0.73}), Page("b", {0: 0.6}), min_score=0.5)
    assert [one.mongo_id for one in found] == ["a", "b"]
    first = found[0]
    assert first.max_score == pytest.approx(0.86, abs=1e-3)
    assert first.avg_score == pytest.approx((0.86 + 0.82 + 0.73) / 3, abs=1e-3)
    assert [round(one.score, 2) for one in first.chunks] == [0.86, 0.82, 0.73]
    assert all(one.content in first.full_content for one in first.chunks)


@pytest.mark.statement("001-15")
def test_gaps_are_marked_with_the_chunks_that_are_missing() -> None:
    matched = dict.fromkeys((1, 2, 3, 8, 9, 10), 0.9)
    [bare] = searched(
        Page("a", matched, chunks=12), chunks_per_doc=6, include_adjacent=False, min_score=0.5
    )
    assert bare.chunk_coverage == "chunks 1-3,8-10 of 12"
    assert marks(bare) == ["[... chunks 4-7 omitted ...]"]
    [gap] = bare.gaps
    assert bare.full_content[gap.at : gap.end].strip() == marks(bare)[0]
    [wide] = searched(Page("a", {1: 0.9, 9: 0.9}, chunks=12), min_score=0.5)
    assert wide.chunk_coverage == "chunks 0-2,8-10 of 12"
    assert marks(wide) == ["[... chunks 3-7 omitted ...]"]


@pytest.mark.statement("001-16")
def test_a_document_of_one_chunk_comes_whole() -> None:
    page = Page("a", {0: 0.9}, chunks=1)
    [found] = searched(page, min_score=0.5)
    assert found.full_content == page.text
    assert found.chunk_coverage == "chunks 0 of 1"


@pytest.mark.statement("001-17", "001-18")
def test_chunks_below_the_threshold_are_left_out_unless_they_stand_beside_one() -> None:
    page = Page("a", {2: 0.9, 3: 0.45, 7: 0.49})
    [found] = searched(page, min_score=0.5)
    assert [one.chunk_index for one in found.chunks] == [2]
    assert found.chunk_coverage == "chunks 1-3 of 10"
    assert searched(page, min_score=0.95) == []
    [all_of_it] = searched(page, min_score=0.4)
    assert [one.chunk_index for one in all_of_it.chunks] == [2, 3, 7]


@pytest.mark.statement("001-18")
def test_without_a_threshold_half_is_enough_or_half_of_the_words() -> None:
    named = "The authentication methods of the gateway are three."
    pages = (
        Page("near", {0: 0.6}, chunks=1),
        Page("far", {0: 0.4}, chunks=1),
        Page("named", {0: 0.2}, text=named),
    )
    assert [one.mongo_id for one in searched(*pages)] == ["near", "named"]


@pytest.mark.statement("001-19")
def test_a_scored_neighbour_beyond_chunks_per_doc_is_kept() -> None:
    page = Page("a", {2: 0.86, 3: 0.82, 4: 0.73, 5: 0.71, 9: 0.7})
    [found] = searched(page, chunks_per_doc=3, min_score=0.5)
    assert [one.chunk_index for one in found.chunks] == [2, 3, 4, 5]


@pytest.mark.statement("001-19")
def test_a_neighbour_beyond_chunks_per_doc_that_has_the_words_is_kept() -> None:
    rest = "Authentication methods of the gateway. " + words(640, seed=9)
    page = Page("a", {1: 0.86, 2: 0.82, 3: 0.2, 4: 0.2}, text=f"{words(880, seed=8)} {rest}")
    assert ["methods of" in one for one in page.chunks[:5]] == [False, False, False, True, False]
    [found] = searched(page, chunks_per_doc=2)
    shown = [(one.chunk_index, one.found_by) for one in found.chunks]
    assert shown == [(1, "meaning"), (2, "meaning"), (3, "words")]


@pytest.mark.statement("001-20")
def test_limit_counts_documents_and_without_neighbours_there_are_only_matches() -> None:
    pages = [Page(name, {2: 0.9 - at / 10, 5: 0.55}) for at, name in enumerate("abc")]
    assert [one.mongo_id for one in searched(*pages, limit=2, min_score=0.5)] == ["a", "b"]
    [found] = searched(*pages, limit=1, include_adjacent=False, min_score=0.5)
    assert found.chunk_coverage == "chunks 2,5 of 10"


# What it costs


@pytest.mark.statement("001-10", "001-21", "001-22")
def test_one_search_and_one_scroll_do_for_a_hundred_pages() -> None:
    """Not a scroll for each neighbour, and far more text than previews have."""
    best = {f"page{at}": at % 4 + 1 for at in range(100)}
    pages = [
        Page(name, {chunk: 0.9 - at / 1000, 7: 0.7}, chunks=8)
        for at, (name, chunk) in enumerate(best.items())
    ]
    client, model = filled(*pages)
    retriever = ChunkAwareRetriever(client, model)
    search(retriever, min_score=0.5, limit=5)
    client.calls.clear()
    found = search(retriever, "authentication implementation", min_score=0.5, limit=5)
    assert len(found) == 5
    [query] = [one for one in client.of("query") if one["query"] == [1.0, 0.0]]
    assert 30 <= query["limit"] <= 50
    [scroll] = client.of("scroll")
    scrolled = defaultdict(set)
    for one in client.scroll(NAME, scroll_filter=scroll["scroll_filter"], limit=1000)[0]:
        assert one.payload is not None
        scrolled[one.payload["mongo_id"]].add(one.payload["chunk_index"])
    assert {one.mongo_id for one in found} <= set(scrolled)
    assert scrolled == {name: {best[name] - 1, best[name], best[name] + 1} for name in scrolled}
    assert all(len(one.full_content) >= 3000 for one in found)


@pytest.mark.statement("001-23", "001-24")
def test_the_same_question_is_answered_from_memory_for_five_minutes() -> None:
    for seconds, remembered in ((300.0, True), (0.0, False)):
        client, model = filled(Page("a", {2: 0.9}))
        retriever = ChunkAwareRetriever(client, model, cache_seconds=seconds)
        first = search(retriever, content_type="page", limit=5)
        calls = len(client.calls)
        assert search(retriever, content_type="page", limit=5) == first
        assert (len(client.calls) == calls) is remembered
        # Another question, kind or limit is another search.
        for query, kind, limit in (
            (f"{QUERY}?", "page", 5),
            (QUERY, "note", 5),
            (QUERY, "page", 4),
        ):
            calls = len(client.calls)
            search(retriever, query, content_type=kind, limit=limit)
            assert len(client.calls) > calls
    signature = inspect.signature(ChunkAwareRetriever)
    assert signature.parameters["cache_seconds"].default == 300


@pytest.mark.statement("001-24")
@pytest.mark.parametrize(("seconds", "is_found"), [(300.0, False), (0.0, True)])
def test_texts_that_are_searched_by_words_are_remembered_as_long(
    seconds: float, is_found: bool
) -> None:
    model = Model()
    client = _worded(model)
    retriever = ChunkAwareRetriever(client, model, cache_seconds=seconds)
    search(retriever, "XK4711 order", limit=5)
    payload = {"mongo_id": "new", "chunk_index": 0, "content": "ZEBRA9 came by the morning tide."}
    client.upsert(NAME, [models.PointStruct(id=9_999, vector=[-1.0, 0.1], payload=payload)])
    found = search(retriever, "ZEBRA9", limit=5)
    assert ("new" in {one.mongo_id for one in found}) is is_found


@pytest.mark.statement("001-25")
def test_neighbours_may_be_fetched_for_the_best_three_documents_only() -> None:
    pages = [Page(name, {2: 0.9 - at / 10}) for at, name in enumerate("abcd")]
    found = searched(*pages, min_score=0.5, adjacent_documents=3)
    coverage = [one.chunk_coverage.split()[1] for one in found]
    assert coverage == ["1-3", "1-3", "1-3", "2"]
    every = searched(*pages, min_score=0.5)
    assert {one.chunk_coverage for one in every} == {"chunks 1-3 of 10"}


# What comes back


@pytest.mark.statement("001-26", "001-27")
def test_a_document_has_all_that_the_document_shows() -> None:
    [shown] = dictionaries("001", 227, {"ChunkResult": unchunk.ChunkResult})
    page = Page(
        shown["mongo_id"],
        {one.chunk_index: one.score for one in shown["chunks"]},
        chunks=12,
        title=shown["title"],
        **shown["metadata"],
    )
    [found] = searched(page, include_adjacent=False, min_score=0.5)
    record = found.as_dict()
    assert set(shown) <= set(record)
    for name in ("mongo_id", "title", "content_type", "chunk_coverage", "metadata"):
        assert record[name] == getattr(found, name) == shown[name]
    assert record["max_score"] == pytest.approx(shown["max_score"], abs=1e-3)
    assert record["avg_score"] == pytest.approx(shown["avg_score"], abs=5e-3)
    assert record["full_content"] == found.full_content
    assert found.full_content in page.text
    assert record["chunks"] == [asdict(one) for one in found.chunks]
    for ours, theirs in zip(found.chunks, shown["chunks"], strict=True):
        assert isinstance(ours, unchunk.ChunkResult)
        assert (ours.chunk_index, round(ours.score, 2)) == (theirs.chunk_index, theirs.score)
    assert json.loads(json.dumps(record))["chunks"] == record["chunks"]


@pytest.mark.statement("001-28", "001-29")
def test_the_text_for_a_model_is_laid_out_as_the_document_shows() -> None:
    shown = code_block("001", 251).splitlines()
    scores = {2: 0.86, 3: 0.82, 4: 0.73, 5: 0.71}
    metadata = {"project_name": "Security Framework", "visibility": "PUBLIC"}
    pages = [
        Page("a", scores, chunks=12, title="Authentication Architecture", **metadata),
        Page("b", {0: 0.6}, chunks=1),
        Page("c", {0: 0.55}, chunks=1),
    ]
    client, model = filled(*pages)
    text = asyncio.run(ChunkAwareRetriever(client, model).rag_search(QUERY))
    lines = text.splitlines()
    assert lines[0].split(" ", 1)[1] == shown[0].split(" ", 1)[1]
    assert lines[2] == shown[2] == "[1] PAGE: Authentication Architecture"
    assert lines[3] == "    Relevance: 0.860 (avg: 0.780)"
    assert lines[4] == "    Coverage: chunks 1-6 of 12"
    assert lines[5:9] == [line.rstrip() for line in shown[5:9]]
    assert lines[9].startswith("    ")
    assert "[2] PAGE: Page b" in lines
    # 0-based, as chunks are stored.
    assert "    Coverage: chunks 0 of 1" in lines


@pytest.mark.statement("001-30")
def test_what_is_noted_on_a_search_stands_once_above_its_documents() -> None:
    rules = (f"{words(200, 1)} The office opens at {hour}." for hour in ("six", "seven"))
    pages = (Page(str(at), {0: 0.9 - at / 100}, text=it, chunks=1) for at, it in enumerate(rules))
    retriever = ChunkAwareRetriever(*filled(*pages))
    [note] = search(retriever)[0].notes
    text = asyncio.run(retriever.rag_search(QUERY))
    assert text.startswith(f"({note})\n🔍 CHUNK-AWARE RETRIEVAL: 2 document(s)")
    assert text.count(note) == 1


# rag_search over a library


@pytest.mark.statement("001-30", "001-31", "001-32")
@pytest.mark.usefixtures("library")
def test_rag_search_runs_as_the_document_calls_it() -> None:
    names: dict[str, Any] = {"rag_search": unchunk.rag_search}
    text = str(eval(code_block("001", 130).strip(), names))  # noqa: S307 - the document's own code
    assert "CHUNK-AWARE RETRIEVAL: 2 document(s) reconstructed" in text
    assert "Content:" in text
    for line in (271, 278):
        exec(code_block("001", line), names)  # noqa: S102
    # With `use_chunk_aware=False`, previews of single chunks, as it was before.
    assert re.search(
        r"^\[1\] MARKDOWN: .*\n    Score: \d\.\d{3}\n    Preview: \"", names["result"], re.MULTILINE
    )
    previews = re.findall(r'Preview: "(.*)"', names["result"])
    assert all(len(one) <= 203 for one in previews)
    assert unchunk.rag_search("auth") == unchunk.rag_search("auth", use_chunk_aware=True)
    assert "1 document(s)" in unchunk.rag_search("auth", limit=1)
    without = unchunk.rag_search("auth", show_content=False)
    assert "Coverage:" in without
    assert "Content:" not in without


@pytest.mark.statement("001-33")
@pytest.mark.usefixtures("library")
def test_with_a_budget_what_scores_least_leaves_first_and_is_named() -> None:
    with unchunk.open() as opened:
        whole = opened.retrieve("authentication gateway", amount=unchunk.Amount(2))
        least = opened.retrieve("authentication gateway", amount=unchunk.Amount(2, budget=900))
    assert sum(len(one.full_content) for one in least.documents) <= 900
    assert least.documents[0].max_score == max(one.max_score for one in whole.documents)
    assert least.omitted


@pytest.mark.statement("001-34")
def test_related_documents_are_named_beside_the_evidence(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.txt").write_text(f"The {name} guide: authentication at the gateway.")
    with unchunk.open(tmp_path / "home", embedder="hashing:256") as opened:
        opened.add(tmp_path / "one.txt", tmp_path / "two.txt", tmp_path / "three.txt")
        found = opened.retrieve("authentication one guide", amount=unchunk.Amount(1))
    assert len(found.documents) == 1
    assert {one.name for one in found.also_see} == {"two.txt", "three.txt"}
    assert all(one.reason for one in found.also_see)


@pytest.mark.statement("001-35")
def test_chunks_of_a_library_end_where_sections_do(tmp_path: Path) -> None:
    sections = [f"## Part {at}\n\n{words(60, seed=at)}\n\n" for at in range(4)]
    (tmp_path / "parts.md").write_text("".join(sections))
    options: dict[str, Any] = {"chunk_unit": "words", "chunk_size": 100, "chunk_overlap": 0}
    with unchunk.open(tmp_path / "home", embedder="hashing:256", **options) as library:
        library.add(tmp_path / "parts.md")
        chunks = library.chunks("parts.md")
    assert [text.strip() for _, text in chunks] == [one.strip() for one in sections]


# Meaning and words


def _worded(model: Model, *, sparse: bool = False) -> QdrantClient:
    """A chunk that only the words tell, among many that are nearer in meaning."""
    pages = [Page(f"page{at}", {0: 0.8}, chunks=1) for at in range(60)]
    pages.append(Page("part", {0: 0.3}, text="Order XK4711 was sent back to Lisbon."))
    client, made = filled(*pages)
    model.scores |= made.scores
    if sparse:
        _add_sparse(client)
    return client


def _add_sparse(client: QdrantClient) -> None:
    """Sparse vectors as Qdrant's own BM25 makes them, and no text that could be scanned."""
    from qdrant_edge import Bm25, Bm25Config

    bm25 = Bm25(Bm25Config(language="english"))
    records, _ = client.scroll(NAME, limit=100, with_vectors=True)
    client.delete_collection(NAME)
    client.create_collection(
        NAME,
        vectors_config={"dense": models.VectorParams(size=2, distance=models.Distance.COSINE)},
        sparse_vectors_config={"bm25": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    rows = []
    for one in records:
        made = bm25.embed_document((one.payload or {})["content"])
        vector = models.SparseVector(indices=list(made.indices), values=list(made.values))
        both: dict[str, Any] = {"dense": one.vector, "bm25": vector}
        rows.append(models.PointStruct(id=one.id, vector=both, payload=one.payload))
    client.upsert(NAME, rows)


@pytest.mark.statement("001-36", "001-37")
@pytest.mark.parametrize("sparse", [False, True], ids=["scanned", "sparse vectors"])
def test_a_collection_is_searched_by_words_too(sparse: bool) -> None:
    model = Model()
    client = _worded(model, sparse=sparse)
    retriever = ChunkAwareRetriever(client, model)
    found = search(retriever, "XK4711 order", limit=5)
    assert "part" in {one.mongo_id for one in found}
    evidence = asyncio.run(retriever.retrieve("XK4711 order"))
    ways = {one.place.document: [it.name for it in one.ways] for one in evidence.found}
    assert ways["part"] == ["lexical"]
    # Texts are read from the collection where it has no sparse vectors to ask.
    assert isinstance(client, CountingClient)
    scanned = [
        one
        for one in client.of("scroll")
        if one.get("limit") == 1000 and one.get("scroll_filter") is None
    ]
    assert bool(scanned) is not sparse


@pytest.mark.statement("001-37")
def test_sparse_vectors_of_another_kind_are_searched_with_their_model() -> None:
    def sparse(texts: list[str]) -> list[models.SparseVector]:
        """Each word is a number that no BM25 gives it."""
        rows = [sorted({crc32(word.encode()) % 1000 for word in text.split()}) for text in texts]
        return [models.SparseVector(indices=row, values=[1.0] * len(row)) for row in rows]

    model = Model()
    client = _worded(model, sparse=True)
    for one in client.scroll(NAME, limit=100)[0]:
        [vector] = sparse([(one.payload or {})["content"]])
        client.update_vectors(NAME, [models.PointVectors(id=one.id, vector={"bm25": vector})])
    retriever = ChunkAwareRetriever(client, model, sparse_embedding_model=sparse)
    evidence = asyncio.run(retriever.retrieve("XK4711 Order"))
    ways = {one.place.document: [it.name for it in one.ways] for one in evidence.found}
    assert ways["part"] == ["lexical"]


@pytest.mark.statement("001-37")
def test_of_several_sparse_vectors_one_is_searched_by_its_name() -> None:
    def sparse(texts: list[str]) -> list[models.SparseVector]:
        return [models.SparseVector(indices=[7], values=[float("XK4711" in it)]) for it in texts]

    model = Model()
    client = _worded(model)
    records, _ = client.scroll(NAME, limit=100, with_vectors=True)
    parameters = models.SparseVectorParams()
    client.create_collection(
        "several",
        vectors_config={"": models.VectorParams(size=2, distance=models.Distance.COSINE)},
        sparse_vectors_config={"body": parameters, "anything": parameters},
    )
    for one in records:
        assert one.payload is not None
        other = models.SparseVector(indices=[8], values=[1.0])
        vectors: Any = {"": one.vector, "anything": other}
        vectors["body"] = sparse([one.payload["content"]])[0]
        point = models.PointStruct(id=one.id, vector=vectors, payload=one.payload)
        client.upsert("several", [point])
    options: dict[str, Any] = {"sparse_embedding_model": sparse, "collection_name": "several"}
    retriever = ChunkAwareRetriever(client, model, **options)
    with pytest.raises(unchunk.UnchunkError, match="name one of 'anything', 'body'"):
        search(retriever, "XK4711 order")
    with pytest.raises(unchunk.UnchunkError, match=r"no sparse vector 'text'.*'anything', 'body'"):
        search(retriever, "XK4711 order", sparse_vector_name="text")
    for chosen in (
        search(retriever, "XK4711 order", sparse_vector_name="body"),
        search(
            ChunkAwareRetriever(client, model, sparse_vector_name="body", **options),
            "XK4711 order",
        ),
    ):
        assert "part" in {one.mongo_id for one in chosen}
    wrong = search(retriever, "XK4711 order", sparse_vector_name="anything")
    assert "part" not in {one.mongo_id for one in wrong}


@pytest.mark.statement("001-37")
def test_a_full_text_index_is_asked_instead_of_reading_all_texts(server: str) -> None:
    model = Model()
    pages = [Page(f"page{at}", {0: 0.8}, chunks=1) for at in range(60)]
    pages.append(Page("part", {0: 0.3}, text="Order XK4711 was sent back to Lisbon."))

    async def find(*, indexed: bool) -> tuple[set[str], list[str]]:
        async with client_of("sync server", Path(), server, *pages) as (client, model):
            assert isinstance(client, QdrantClient)
            if indexed:
                client.create_payload_index(
                    NAME, "content", models.PayloadSchemaType.TEXT, wait=True
                )
            asked: list[str] = []
            inner = client.query_batch_points

            def noted(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - theirs
                asked.append("batch")
                return inner(*args, **named)

            client.query_batch_points = noted  # type: ignore[method-assign]  # to count calls
            retriever = ChunkAwareRetriever(client, model)
            found = await retriever.search_with_context("XK4711 order", limit=5)
            return {one.mongo_id for one in found}, asked

    del model
    without, no_calls = asyncio.run(find(indexed=False))
    found, calls = asyncio.run(find(indexed=True))
    assert "part" in found & without
    assert (len(no_calls), len(calls)) == (0, 1)


# Everywhere the same


SAID = {
    "saml": "SAML badge of staff at the gateway. " * 30,
    "badge": "Badge of staff at the gateway. " * 25,
    "staff": "Staff at the gateway. " * 20,
}
ORDER = [*SAID]
SAML = "SAML badge staff gateway"
# So few long documents that a search among them is widened.
TEXTS = {
    name: f"{words(1500, seed)} {said}{words(1200, -seed)}"
    for seed, (name, said) in enumerate(SAID.items(), 1)
}


def _payloads() -> list[dict[str, Any]]:
    return [
        payload | {"title": name, "project_name": "Security Framework"}
        for name, text in TEXTS.items()
        for payload, _ in Page(name, {}, text=text).payloads()
    ]


@pytest.fixture(scope="module", params=["qdrant", "chroma", "chunkenizer"])
def foreign(
    request: pytest.FixtureRequest, server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Where a collection of these texts is that was embedded by the hashing embedder."""
    if request.param == "qdrant":
        fill_qdrant(server, "everywhere", _payloads())
        yield f"qdrant:{server}#everywhere"
    elif request.param == "chroma":
        folder = tmp_path_factory.mktemp("chroma")
        with chroma_client(folder) as client:
            fill_chroma(client, "everywhere", _payloads())
        yield f"chroma:{folder}#everywhere"
    else:
        kept = Chunkenizer([as_result(one) for one in _payloads()])
        # As many as `unchunk serve` returns at once.
        kept.most = 200
        with chunkenizer(kept) as url:
            yield f"chunkenizer:{url}"


@pytest.fixture(scope="module")
def same(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of the same texts, cut likewise."""
    folder = tmp_path_factory.mktemp("same")
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text)
    with unchunk.open(folder / "home", **LIKE_PAGES) as library:
        library.add(*(folder / f"{name}.txt" for name in TEXTS))
    return folder / "home"


def documents_in(text: str) -> list[str]:
    """The documents or chunks that a text for a model lists."""
    return re.findall(r"^\[\d+\] [A-Z]+: (\w+)", text, re.MULTILINE)


def chunks_in(text: str) -> list[tuple[str, ...]]:
    """The documents with their matched chunks, or the chunks, that it lists."""
    return re.findall(
        r"^\[\d+\] [A-Z]+: (\w+)(?:\.txt)?(?:, chunk (\d+))?$|(#\d+\(.*\)$)", text, re.MULTILINE
    )


@pytest.mark.statement("001-30", "001-31", "001-32", "001-38", "001-39")
@pytest.mark.parametrize("limit", [1, 2, 10, 100])
def test_rag_search_finds_in_a_collection_what_it_finds_in_a_library(
    foreign: str, same: Path, tmp_path: Path, limit: int
) -> None:
    with (
        unchunk.open(same, **LIKE_PAGES) as library,
        unchunk.open_collection(foreign, tmp_path, embedder="hashing:256") as collection,
    ):
        for chunk_aware in (True, False):
            asked = (SAML, chunk_aware, limit)
            wanted, text = library.rag_search(*asked), collection.rag_search(*asked)
            assert "could not be extended" not in text
            if not foreign.startswith("chunkenizer"):
                # What follows has nothing of the question, and is as good as its neighbours.
                assert chunks_in(text)[:10] == chunks_in(wanted)[:10]
            if chunk_aware:
                assert documents_in(text) == documents_in(wanted) == ORDER[:limit]
            assert documents_in(text)[:2] == documents_in(wanted)[:2] == ORDER[: min(limit, 2)]
            label = "Content:" if chunk_aware else "Preview:"
            bare = collection.rag_search(*asked, show_content=False)
            assert (label in text, label in bare) == (True, False)
            assert documents_in(bare) == documents_in(text)


@pytest.mark.statement("001-38", "001-39")
@pytest.mark.parametrize("limit", [1, 2])
def test_every_way_in_finds_the_same_in_a_collection(
    foreign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setenv("UNCHUNK_EMBEDDER", "hashing:256")
    wanted, home = ORDER[:limit], tmp_path / "none"
    with unchunk.open_collection(foreign, home) as collection:
        text = collection.rag_search(SAML, limit=limit)
        found = collection.search_with_context(SAML, limit)
        assert [one.document for one in collection.search(SAML, limit=limit).hits] == wanted
    assert documents_in(text) == [one.mongo_id for one in found] == wanted
    assert "SAML badge of staff at the gateway." in text
    assert unchunk.rag_search(SAML, limit=limit, home=home, collection=foreign) == text

    # As `chat_source`: whatever searches the library searches the collection.
    settings = {"embedder": "hashing:256", "chat_source": foreign}
    with unchunk.open(tmp_path / "chat", **settings) as library:
        assert library.rag_search(SAML, limit=limit) == text
        coverage = [one.chunk_coverage for one in library.search_with_context(SAML, limit)]
        assert coverage == [one.chunk_coverage for one in found]
        assert [one.document for one in library.search(SAML, limit=limit).hits] == wanted
    (tmp_path / "served").mkdir()
    with house(tmp_path / "served", settings=settings) as served:
        client = served["local"]
        sources = client.post("/api/retrieve", json={"message": SAML}).json()["sources"]
        reply = client.post("/search", json={"query": SAML, "top_k": limit}).json()
        url = served.served.url

        async def tool() -> list[str]:
            async with over_http(url) as agent:
                asked = {"query": SAML, "limit": limit}
                return [
                    await told(agent, "rag_search", **asked),
                    await told(agent, "rag_search", **asked, use_chunk_aware=False),
                    await told(agent, "rag_search", **asked, show_content=False),
                ]

        aware, plain, bare = run(tool)
    assert sources[0]["document"] == ORDER[0]
    assert [one["document_id"] for one in reply["results"]] == wanted
    assert reply["results"][0]["metadata"]["project_name"] == "Security Framework"
    assert documents_in(aware) == documents_in(plain) == documents_in(bare) == wanted
    assert "CHUNK-AWARE" in aware
    assert "SAML badge of staff at the gateway." in aware
    assert f"{limit} chunk(s) found" in plain
    assert "Preview:" in plain
    assert "Content:" not in bare

    for chosen in (["--collection", foreign], []):
        environment = {} if chosen else {"UNCHUNK_CHAT_SOURCE": foreign}
        arguments = ["--home", str(tmp_path / "chat"), "search", SAML, "--json", *chosen]
        arguments += ["--limit", str(limit)]
        done = CliRunner().invoke(main, arguments, env=environment)
        assert done.exit_code == 0, done.output
        assert [one["mongo_id"] for one in json.loads(done.stdout)["documents"]] == wanted
        snippets = CliRunner().invoke(main, [*arguments, "--snippets"], env=environment)
        assert [one["document"] for one in json.loads(snippets.stdout)["hits"]] == wanted


@pytest.mark.statement("001-40")
def test_chunk_aware_is_what_is_done_by_default() -> None:
    for call in (unchunk.rag_search, unchunk.Collection.rag_search, unchunk.Engine.rag_search):
        parameters = inspect.signature(call).parameters
        assert parameters["use_chunk_aware"].default is True
        assert (parameters["limit"].default, parameters["show_content"].default) == (10, True)
    parameters = inspect.signature(ChunkAwareRetriever.search_with_context).parameters
    defaults = {name: it.default for name, it in parameters.items()}
    assert (defaults["limit"], defaults["chunks_per_doc"]) == (10, 3)
    assert defaults["include_adjacent"] is True
