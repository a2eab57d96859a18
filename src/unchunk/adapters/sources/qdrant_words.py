"""Searching a Qdrant collection by words: by its own sparse vectors, its text index, or a scan."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from qdrant_client import models

from unchunk.adapters.sources.fields import Fields, Payload, look_up
from unchunk.adapters.sources.qdrant_filters import filter_of
from unchunk.adapters.sources.reading import Record
from unchunk.adapters.sources.words import (
    CACHE_SECONDS,
    Ranked,
    Row,
    ScannedWords,
    WordIndex,
    words_of,
)
from unchunk.domain import Terms
from unchunk.errors import InvalidInputError
from unchunk.ports import Among, Lexicon

SparseQuery = Callable[[str], Awaitable[Terms]]
"""A question as a sparse vector."""

_PAGE = 1_000
# Chunks that are read for one word of a question; a word that is in more of them tells little.
_EACH = 256
# Sparse vectors are BM25 over words like ours if they share this part of a text's terms.
_ALIKE = 0.5


class Place(NamedTuple):
    """A collection: by which client, under which name, stored how, and called what in messages."""

    client: Any
    collection: str
    fields: Fields
    where: str

    def filter(self, among: Among) -> models.Filter:
        return filter_of(self.fields, among, None, self.where)


class Words(Protocol):
    async def rank(self, question: str, among: Among, limit: int) -> Ranked: ...


def words_by(
    place: Place,
    info: models.CollectionInfo,
    sample: Sequence[models.Record],
    lexicon: Lexicon | None,
    sparse: SparseQuery | None = None,
    *,
    sparse_vector: str | None = None,
    cache_seconds: float = CACHE_SECONDS,
) -> Words | None:
    """The best way there is to search a collection by words; None if there is no lexicon.

    `sparse_vector` names one of its sparse vectors, which is BM25 unless `sparse` is given.
    """
    if lexicon is None and sparse is None:
        return None
    names = sorted(info.config.params.sparse_vectors or {})
    using = _named(names, sparse_vector, place.where, is_needed=sparse is not None)
    if not using and lexicon is not None:
        using = _like_ours(names, sample, place.fields, lexicon)
    if using:

        async def by_lexicon(question: str) -> Terms:
            assert lexicon is not None, "without one, `sparse` is given"
            return lexicon.query(question)

        return SparseWords(place, using, sparse or by_lexicon)
    if lexicon is None:
        return None
    for name in place.fields.text:
        indexed = (info.payload_schema or {}).get(name)
        if indexed is not None and indexed.data_type == models.PayloadSchemaType.TEXT:
            total = info.points_count or 0
            return IndexedWords(place, name, total, lexicon)
    text = place.fields.text
    advice = f"; create a full-text index on {text[0]!r} to search them all" if text else ""
    scan = _Scan(place)
    return ScannedWords(
        scan.pages,
        lexicon,
        place.fields,
        place.where,
        advice=advice,
        cache_seconds=cache_seconds,
    )


def _named(names: Sequence[str], wanted: str | None, where: str, *, is_needed: bool) -> str:
    """The sparse vector of that name, or the only one if one `is_needed`; empty if there is none."""
    if wanted is not None and wanted in names:
        return wanted
    if wanted is None and not (is_needed and len(names) > 1):
        return names[0] if is_needed and names else ""
    wish = (
        f"has no sparse vector {wanted!r}" if wanted is not None else "has several sparse vectors"
    )
    have = f"name one of {', '.join(map(repr, names))}" if names else "it has none"
    raise InvalidInputError(f"{where} {wish}: {have}")


def _like_ours(
    names: Sequence[str], sample: Sequence[models.Record], fields: Fields, lexicon: Lexicon
) -> str:
    """The sparse vector that is BM25 over words like ours; empty if there is none."""
    for name in names:
        shared = total = 0
        for record in sample:
            text = look_up(record.payload or {}, fields.text)
            vector = record.vector.get(name) if isinstance(record.vector, dict) else None
            if isinstance(text, str) and isinstance(vector, models.SparseVector):
                terms = set(lexicon.document(text).ids)
                total += len(terms)
                shared += len(terms.intersection(vector.indices))
        if total and shared >= _ALIKE * total:
            return name
    return ""


class SparseWords:
    """By the collection's sparse vectors, in one call."""

    def __init__(self, place: Place, using: str, query: SparseQuery) -> None:
        self._place, self._using, self._query = place, using, query

    async def rank(self, question: str, among: Among, limit: int) -> Ranked:
        terms = await self._query(question)
        if not terms.ids:
            return Ranked({})
        reply = await self._place.client.query_points(
            self._place.collection,
            query=models.SparseVector(indices=list(terms.ids), values=list(terms.weights)),
            using=self._using,
            query_filter=self._place.filter(among),
            limit=limit,
            with_payload=False,
        )
        return Ranked({point.id: point.score for point in reply.points})


class IndexedWords:
    """By a full-text index, which finds chunks and does not rank them: that is done here.

    One request reads some chunks for each word, a second counts the words that are in more.
    """

    def __init__(self, place: Place, name: str, total: int, lexicon: Lexicon) -> None:
        self._place, self._name = place, name
        self._total, self._lexicon = total, lexicon

    async def rank(self, question: str, among: Among, limit: int) -> Ranked:
        these = self._place.filter(among)
        words = words_of(question, self._lexicon)
        if not words:
            return Ranked({})
        filters = {
            word: models.Filter(
                must=[
                    these,
                    models.FieldCondition(key=self._name, match=models.MatchText(text=word)),
                ]
            )
            for word in words
        }
        requests = [
            models.QueryRequest(filter=one, limit=_EACH, with_payload=True)
            for one in filters.values()
        ]
        replies = await self._place.client.query_batch_points(
            self._place.collection, requests=requests
        )
        found = dict(zip(filters, replies, strict=True))
        full = [word for word, reply in found.items() if len(reply.points) >= _EACH]
        counts = await asyncio.gather(
            *(
                self._place.client.count(
                    self._place.collection, count_filter=filters[word], exact=False
                )
                for word in full
            )
        )
        frequencies = {words[word]: it.count for word, it in zip(full, counts, strict=True)}
        rows = {one.id: one.payload or {} for reply in replies for one in reply.points}
        return await asyncio.to_thread(self._ranked, question, limit, rows, frequencies)

    def _ranked(
        self,
        question: str,
        limit: int,
        rows: Mapping[Any, Payload],
        frequencies: Mapping[int, int],
    ) -> Ranked:
        """Rank what was found, which takes a while where there is much of it."""
        index = WordIndex(self._lexicon, self._place.fields)
        index.add([(key, Record(str(key), payload)) for key, payload in rows.items()])
        best = index.best(question, Among(), limit, total=self._total, frequencies=frequencies)
        return Ranked(best)


class _Scan:
    """All chunks of a collection, page by page."""

    def __init__(self, place: Place) -> None:
        self._place = place

    async def pages(self) -> AsyncIterator[Sequence[Row]]:
        offset: Any = None
        while True:
            some, offset = await self._place.client.scroll(
                self._place.collection, limit=_PAGE, offset=offset, with_payload=True
            )
            yield [(one.id, Record(str(one.id), one.payload or {})) for one in some]
            if offset is None:
                return
