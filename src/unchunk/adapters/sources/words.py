"""BM25 over somebody else's chunks, held in memory for a few minutes. Does no I/O of its own."""

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from unchunk.adapters.sources.fields import Fields, Payload, look_up
from unchunk.adapters.sources.reading import Record, matches
from unchunk.ports import Among, Lexicon

# A collection that is larger needs a text index of its own. Of each chunk, its text and what it can
# be filtered by are kept; other fields, such as a page's HTML, only have to be read.
MOST_CHUNKS = 20_000
MOST_CHARACTERS = 64_000_000
MOST_READ = 256_000_000
# Nobody filters by the exact value of a longer text.
_LONGEST_VALUE = 1_000
CACHE_SECONDS = 300.0
_WORD = re.compile(r"\w+")
_MOST_WORDS = 16

Row = tuple[Any, Record]
"""A chunk under the id that its store knows it by."""


class Ranked(NamedTuple):
    """Ids of chunks with their BM25 scores, best first."""

    scores: Mapping[Any, float]
    notes: tuple[str, ...] = ()


class WordIndex:
    """BM25 over chunks. Statistics are those of the chunks that a search may see, no others.

    `is_full` tells that no more should be added: rows without a text count as well.
    """

    def __init__(self, lexicon: Lexicon, fields: Fields) -> None:
        self._lexicon, self._fields = lexicon, fields
        self._texts = {name.partition(".")[0] for name in fields.text}
        self._added = self._characters = self._read = 0
        self._rows: list[tuple[Any, Payload]] = []
        self._postings: dict[int, list[tuple[int, float]]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def is_full(self) -> bool:
        return (
            self._added >= MOST_CHUNKS
            or self._characters >= MOST_CHARACTERS
            or self._read >= MOST_READ
        )

    def add(self, rows: Sequence[Row]) -> None:
        for key, record in rows:
            self._added += 1
            self._read += _size(record.payload) + len(record.text or "")
            text = look_up(record.payload, self._fields.text) or record.text
            if not isinstance(text, str):
                continue
            for term, weight in zip(*self._lexicon.document(text), strict=True):
                self._postings.setdefault(term, []).append((len(self._rows), weight))
            kept = self._kept(record.payload)
            self._characters += len(text) + _size(kept)
            self._rows.append((key, kept))

    def _kept(self, payload: Payload) -> Payload:
        """What the chunk can be filtered by."""
        rest = {name: it for name, it in payload.items() if name not in self._texts}
        kept = dict(_short(rest))
        fields = self._fields
        for name in (*fields.document, *fields.title, *fields.content_type):
            # It may be long, or stand in the same JSON as the text.
            if isinstance(value := look_up(payload, (name,)), str | int | float):
                kept[name] = value
        return kept

    def best(
        self,
        question: str,
        among: Among,
        limit: int,
        *,
        total: int | None = None,
        frequencies: Mapping[int, int] | None = None,
    ) -> dict[Any, float]:
        """The best chunks with their scores. `total` and `frequencies`, of chunks by term, are
        those of the collection where only a part of it is in here.
        """
        seen = self._seen(among)
        count = total or (len(self._rows) if seen is None else len(seen))
        scores: dict[int, float] = {}
        for term, wanted in zip(*self._lexicon.query(question), strict=True):
            found = self._postings.get(term, [])
            if seen is not None:
                found = [one for one in found if one[0] in seen]
            frequency = max(len(found), (frequencies or {}).get(term, 0))
            rarity = math.log((max(count, frequency) + 1) / (frequency + 0.5))
            for row, weight in found:
                scores[row] = scores.get(row, 0.0) + wanted * rarity * weight
        order = sorted(scores, key=lambda row: -scores[row])
        return {self._rows[row][0]: scores[row] for row in order[:limit]}

    def _seen(self, among: Among) -> set[int] | None:
        """The rows that are meant; None where all are."""
        if among == Among():
            return None
        return {at for at, (_, payload) in enumerate(self._rows) if self._is_meant(payload, among)}

    def _is_meant(self, payload: Payload, among: Among) -> bool:
        fields = self._fields
        groups = (
            (among.documents, fields.document),
            (among.titles, fields.title),
            (among.content_types, fields.content_type),
        )
        return all(
            values is None or str(look_up(payload, names)) in values for values, names in groups
        ) and all(
            (value := look_up(payload, (name,))) is not None and matches(value, asked)
            for name, asked in among.fields
        )


class ScannedWords:
    """All of a collection's text, read again every `cache_seconds` and searched here.

    `pages` reads the collection page by page. What is beyond the bounds is not searched by words,
    and the notes say so.
    """

    def __init__(
        self,
        pages: Callable[[], AsyncIterator[Sequence[Row]]],
        lexicon: Lexicon,
        fields: Fields,
        where: str,
        *,
        advice: str = "",
        cache_seconds: float = CACHE_SECONDS,
    ) -> None:
        self._pages, self._lexicon, self._fields = pages, lexicon, fields
        self._where, self._advice = where, advice
        self._cache_seconds = cache_seconds
        self._reading = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._index: WordIndex | None = None
        self._notes: tuple[str, ...] = ()
        self._until = -math.inf

    async def rank(self, question: str, among: Among, limit: int) -> Ranked:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # A lock belongs to one event loop, and a retriever may be used in several.
            self._reading, self._loop = asyncio.Lock(), loop
        async with self._reading:
            if self._index is None or time.monotonic() >= self._until:
                self._index, self._notes = await self._read()
                self._until = time.monotonic() + self._cache_seconds
        found = await asyncio.to_thread(self._index.best, question, among, limit)
        return Ranked(found, self._notes)

    async def _read(self) -> tuple[WordIndex, tuple[str, ...]]:
        index = WordIndex(self._lexicon, self._fields)
        async for rows in self._pages():
            if index.is_full:
                note = f"{self._where} is large: only {len(index):,} chunks are searched by words"
                return index, (f"{note}{self._advice}",)
            await asyncio.to_thread(index.add, rows)
        return index, ()


def words_of(question: str, lexicon: Lexicon) -> dict[str, int]:
    """The words of a question that mean something, each with its term."""
    found: dict[str, int] = {}
    for word in _WORD.findall(question):
        terms = lexicon.query(word).ids
        if terms and len(found) < _MOST_WORDS:
            found.setdefault(word.lower(), terms[0])
    return found


def _short(payload: Payload, before: str = "") -> Iterator[tuple[str, object]]:
    """The values that are not long, those in others under names with dots."""
    for name, value in payload.items():
        if isinstance(value, Mapping):
            yield from _short(value, f"{before}{name}.")
        elif isinstance(value, list | tuple):
            yield f"{before}{name}", tuple(one for one in value if _is_short(one))
        elif _is_short(value):
            yield f"{before}{name}", value


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_VALUE
    return isinstance(value, int | float)


def _size(value: object) -> int:
    """About how many characters a value takes; a number as many as a short text."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(len(name) + _size(one) for name, one in value.items())
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return 8
