"""Searching somebody else's chunks by words: what is read for it, kept, and done in threads."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from unchunk.adapters.lexicon.bm25 import Bm25Lexicon
from unchunk.adapters.sources import words
from unchunk.adapters.sources.fields import LANGCHAIN, PAGES, Fields
from unchunk.adapters.sources.qdrant_words import IndexedWords, Place
from unchunk.adapters.sources.reading import Record
from unchunk.adapters.sources.words import Row, ScannedWords, WordIndex
from unchunk.ports import Among

LEXICON = Bm25Lexicon("english")


def row(at: int, **payload: object) -> Row:
    return at, Record(str(at), {"parent_id": "d", "chunk_index": at, **payload})


class Collection:
    """A collection of many pages, each of a hundred rows; it counts those that are read."""

    def __init__(self, make: Callable[[int], Row], pages: int = 50) -> None:
        self._make, self._pages, self.read = make, pages, 0

    async def pages(self) -> AsyncIterator[Sequence[Row]]:
        for page in range(self._pages):
            self.read += 1
            yield [self._make(page * 100 + at) for at in range(100)]


@pytest.mark.parametrize(
    ("bound", "most", "more"),
    [
        ("MOST_CHUNKS", 1_000, {}),
        ("MOST_CHUNKS", 1_000, {"content": "the lamp"}),
        ("MOST_READ", 1_000_000, {"content": "the lamp", "html": "y" * 1_000}),
        ("MOST_CHARACTERS", 100_000, {"content": "the lamp", "tags": ["harbour"] * 10}),
    ],
)
def test_a_scan_ends_by_what_it_reads_and_by_what_it_keeps(
    bound: str, most: int, more: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, bound, most)
    collection = Collection(lambda at: row(at, **more))
    scan = ScannedWords(collection.pages, LEXICON, PAGES, "the collection")
    found = asyncio.run(scan.rank("lamp", Among(), 5))
    assert 10 <= collection.read <= 20
    assert len(found.scores) == (5 if more else 0)
    [note] = found.notes
    assert "the collection is large: only" in note


def test_long_values_are_not_kept() -> None:
    kept, long = "short", "y" * 50_000
    payload = {"a": kept, "b": long, "deep": {"a": kept, "b": long}, "some": [kept, long]}
    index = WordIndex(LEXICON, PAGES)
    index.add([row(1, content="the lamp", raw=long, **payload)])

    def has(name: str, value: str) -> bool:
        return bool(index.best("lamp", Among(fields=((name, value),)), 1))

    for name in ("a", "deep.a", "some"):
        assert has(name, kept)
    for name in ("b", "raw", "deep.b", "some"):
        assert not has(name, long)


@pytest.mark.parametrize(
    ("fields", "payload"),
    [
        (PAGES, {"mongo_id": "m", "content": "the lamp", "title": "T" * 2_000}),
        (
            LANGCHAIN,
            {"page_content": "the lamp", "metadata": {"source": "m", "title": "T" * 2_000}},
        ),
        (
            Fields(("node.ref",), title=("node.name",), text=("node.text",)),
            {"node": '{"ref": "m", "name": "%s", "text": "the lamp"}' % ("T" * 2_000)},
        ),
    ],
)
def test_documents_and_titles_narrow_it_down_wherever_they_stand(
    fields: Fields, payload: dict[str, Any]
) -> None:
    index = WordIndex(LEXICON, fields)
    index.add([(1, Record("1", payload))])
    for among in (Among(documents=("m",)), Among(titles=("T" * 2_000,))):
        assert index.best("lamp", among, 1)
    for among in (Among(documents=("n",)), Among(titles=("T",))):
        assert not index.best("lamp", among, 1)


def test_a_scan_serves_one_event_loop_after_another() -> None:
    collection = Collection(lambda at: row(at, content="the lamp"), pages=1)
    scan = ScannedWords(collection.pages, LEXICON, PAGES, "the collection", cache_seconds=0)

    async def many() -> None:
        found = await asyncio.gather(*(scan.rank("lamp", Among(), 5) for _ in range(5)))
        assert all(one.scores for one in found)

    for _ in range(3):
        asyncio.run(many())


def test_what_a_text_index_finds_is_ranked_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    class Noted(WordIndex):
        def add(self, rows: Sequence[Row]) -> None:
            threads.append(threading.get_ident())
            super().add(rows)

    monkeypatch.setattr("unchunk.adapters.sources.qdrant_words.WordIndex", Noted)
    points = [
        SimpleNamespace(id=at, payload=record.payload)
        for at, record in (row(1, content="the lamp"), row(2, content="the tide"))
    ]

    async def query_batch_points(_: str, requests: Sequence[object]) -> list[object]:
        return [SimpleNamespace(points=points) for _ in requests]

    client = SimpleNamespace(query_batch_points=query_batch_points)
    indexed = IndexedWords(Place(client, "c", PAGES, "the collection"), "content", 2, LEXICON)
    assert [*asyncio.run(indexed.rank("lamp", Among(), 5)).scores] == [1]
    assert len(threads) == 1
    assert threading.get_ident() not in threads
