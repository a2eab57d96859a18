"""BM25 over somebody else's chunks, held in memory for a few minutes. Does no I/O of its own."""

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from unchunk.adapters.sources.fields import Fields, Payload, look_up
from unchunk.adapters.sources.reading import Record, matches
from unchunk.ports import Among, Lexicon

# A collection that is larger needs a text index of its own.
MOST_CHUNKS = 20_000
MOST_CHARACTERS = 64_000_000
_SECONDS = 300.0
_WORD = re.compile(r"\w+")
_MOST_WORDS = 16

Row = tuple[Any, Record]
"""A chunk under the id that its store knows it by."""


class Ranked(NamedTuple):
    """Ids of chunks with their BM25 scores, best first."""

    scores: Mapping[Any, float]
    notes: tuple[str, ...] = ()


class WordIndex:
    """BM25 over chunks. Statistics are those of the chunks that a search may see, no others."""

    def __init__(self, lexicon: Lexicon, fields: Fields) -> None:
        self._lexicon, self._fields = lexicon, fields
        self._texts = {name.partition(".")[0] for name in fields.text}
        self._rows: list[tuple[Any, Payload]] = []
        self._postings: dict[int, list[tuple[int, float]]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, rows: Sequence[Row]) -> int:
        """How many characters these are."""
        size = 0
        for key, record in rows:
            text = look_up(record.payload, self._fields.text) or record.text
            if not isinstance(text, str):
                continue
            size += len(text)
            for term, weight in zip(*self._lexicon.document(text), strict=True):
                self._postings.setdefault(term, []).append((len(self._rows), weight))
            rest = {name: it for name, it in record.payload.items() if name not in self._texts}
            self._rows.append((key, rest))
        return size

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
    """All of a collection's text, read once in a while and searched here.

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
    ) -> None:
        self._pages, self._lexicon, self._fields = pages, lexicon, fields
        self._where, self._advice = where, advice
        self._reading = asyncio.Lock()
        self._index: WordIndex | None = None
        self._notes: tuple[str, ...] = ()
        self._until = -math.inf

    async def rank(self, question: str, among: Among, limit: int) -> Ranked:
        async with self._reading:
            if self._index is None or time.monotonic() >= self._until:
                self._index, self._notes = await self._read()
                self._until = time.monotonic() + _SECONDS
        found = await asyncio.to_thread(self._index.best, question, among, limit)
        return Ranked(found, self._notes)

    async def _read(self) -> tuple[WordIndex, tuple[str, ...]]:
        index, characters = WordIndex(self._lexicon, self._fields), 0
        async for rows in self._pages():
            if len(index) >= MOST_CHUNKS or characters >= MOST_CHARACTERS:
                note = f"{self._where} is large: only {len(index):,} chunks are searched by words"
                return index, (f"{note}{self._advice}",)
            characters += await asyncio.to_thread(index.add, rows)
        return index, ()


def words_of(question: str, lexicon: Lexicon) -> dict[str, int]:
    """The words of a question that mean something, each with its term."""
    found: dict[str, int] = {}
    for word in _WORD.findall(question):
        terms = lexicon.query(word).ids
        if terms and len(found) < _MOST_WORDS:
            found.setdefault(word.lower(), terms[0])
    return found
