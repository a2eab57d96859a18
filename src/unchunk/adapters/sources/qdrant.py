"""Somebody else's collection in Qdrant: a server's or a local folder's. It is never written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unchunk.adapters.sources.fields import PAGES, Fields, look_up
from unchunk.adapters.sources.qdrant_clients import as_ours, awaited, connected, models
from unchunk.adapters.sources.qdrant_filters import filter_of, within
from unchunk.adapters.sources.qdrant_words import Place, SparseQuery, Words, words_by
from unchunk.adapters.sources.reading import Record, first_chunks, read
from unchunk.adapters.sources.vectors import checked, cosines, doubts
from unchunk.adapters.sources.words import CACHE_SECONDS
from unchunk.domain import DocumentId
from unchunk.errors import (
    InvalidInputError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.ports import (
    Among,
    Embedder,
    ForeignChunks,
    ForeignDocument,
    Lexicon,
    SourceNature,
    Vectors,
)

_PAGE, _MOST = 1_000, 10_000
# So many chunks are looked at to tell what made their vectors.
_SAMPLE = 8


async def open_qdrant(
    url: str,
    collection: str,
    embedder: Embedder | None,
    fields: Fields = PAGES,
    *,
    vector: str | None = None,
    api_key: str | None = None,
    grpc_port: int | None = None,
    seconds: int = 30,
    sample: bool = True,
    lexicon: Lexicon | None = None,
    sparse_vector: str | None = None,
    cache_seconds: float = CACHE_SECONDS,
) -> "QdrantSource":
    """The collection of a server, or of a local folder where `url` is a path.

    With `grpc_port` the server is spoken to by gRPC; it has `seconds` for an answer. The source
    belongs to the event loop that it was opened in. The rest is as for `over_client`.
    """
    client = await connected(url, api_key, grpc_port, seconds)
    try:
        return await over_client(
            client,
            collection,
            embedder,
            fields,
            vector=vector,
            sample=sample,
            lexicon=lexicon,
            sparse_vector=sparse_vector,
            cache_seconds=cache_seconds,
            owns_client=True,
        )
    except BaseException:
        await client.close()
        raise


async def over_client(
    client: Any,  # noqa: ANN401 theirs
    collection: str,
    embedder: Embedder | None,
    fields: Fields = PAGES,
    *,
    vector: str | None = None,
    sample: bool = True,
    lexicon: Lexicon | None = None,
    sparse: SparseQuery | None = None,
    sparse_vector: str | None = None,
    cache_seconds: float = CACHE_SECONDS,
    owns_client: bool = False,
) -> "QdrantSource":
    """The collection, by a client of the caller's, synchronous or not.

    Looks whether `embedder` can have made its vectors. For that one of the chunks is embedded,
    whosever it is, unless `sample` is false. `vector` names one of the collection's vectors,
    where there are several. With a `lexicon` it can be searched by words, too; `sparse` makes
    the questions for its sparse vectors, where the lexicon's words are not those in there, and
    `sparse_vector` names one of them. Texts that have to be read for that are read again after
    `cache_seconds`. The embedder and, without `owns_client`, the client stay the caller's.
    """
    where = f"the Qdrant collection {collection!r}"
    client = awaited(client)
    with as_ours(where):
        info = await client.get_collection(collection)
        using, parameters = _dense(info.config.params.vectors, vector, where)
        embedder = checked(embedder, parameters.size, where)
        some, _ = await client.scroll(collection, limit=_SAMPLE, with_vectors=True)
    notes: list[str] = []
    for record in some[:1] if sample else ():
        text, kept = look_up(record.payload or {}, fields.text), _kept(record.vector, using)
        if isinstance(text, str) and kept:
            notes = await doubts(embedder, text, kept, where)
    return QdrantSource(
        client,
        collection,
        embedder,
        fields,
        using=using,
        is_cosine=parameters.distance == models.Distance.COSINE,
        notes=tuple(notes),
        words=words_by(
            Place(client, collection, fields, where),
            info,
            some,
            lexicon,
            sparse,
            sparse_vector=sparse_vector,
            cache_seconds=cache_seconds,
        ),
        owns_client=owns_client,
    )


class QdrantSource:
    """`ChunkSource` over one collection, by one of its dense vectors. Scores are cosines."""

    def __init__(
        self,
        client: Any,  # noqa: ANN401 theirs
        collection: str,
        embedder: Embedder,
        fields: Fields,
        *,
        using: str,
        is_cosine: bool,
        notes: tuple[str, ...] = (),
        words: Words | None = None,
        owns_client: bool = True,
    ) -> None:
        self._client, self._owns_client = client, owns_client
        self._words = words
        self._collection = collection
        self._where = f"the Qdrant collection {collection!r}"
        self._embedder = embedder
        self._fields = fields
        self._using = using
        self._is_cosine = is_cosine
        self._doubts = notes

    @property
    def nature(self) -> SourceNature:
        return SourceNature(self._where, True, self._embedder.identity.min_score)

    async def search(
        self,
        question: str,
        among: Among,
        limit: int,
        wanted: Mapping[DocumentId, Sequence[int]] | None = None,
    ) -> ForeignChunks:
        these = filter_of(self._fields, among, wanted, self._where)
        if among.is_empty or limit < 1 or not self._can_have(wanted):
            return ForeignChunks()
        records = list((await self._scored(question, these, limit)).values())
        records.sort(key=lambda record: -(record.score or 0.0))
        found = read(records, self._fields, among, self._where, wanted)
        return ForeignChunks(found.chunks, self._doubts + found.notes)

    async def search_words(self, question: str, among: Among, limit: int) -> ForeignChunks:
        """One call more than finding them takes: for their cosines and what they say now."""
        if self._words is None or among.is_empty or limit < 1:
            return ForeignChunks()
        with as_ours(self._where):
            ranked = await self._words.rank(question, among, limit)
        if not ranked.scores:
            return ForeignChunks((), ranked.notes)
        these = filter_of(self._fields, among, None, self._where)
        ids = list(ranked.scores)
        these = models.Filter(must=[these, models.HasIdCondition(has_id=ids)])
        try:
            records = await self._scored(question, these, len(ids))
        except (ProviderUnavailableError, ProviderRefusedError):
            every = await self._scroll(these, len(ids), payload=True)
            records = {record.id: record for record in every}
        best = {str(one): score for one, score in ranked.scores.items() if str(one) in records}
        found = read([records[one] for one in best], self._fields, among, self._where)
        chunks = (replace(one, word_score=best[one.id]) for one in found.chunks)
        return ForeignChunks(tuple(chunks), ranked.notes + found.notes)

    async def fetch(
        self, wanted: Mapping[DocumentId, Sequence[int]], among: Among
    ) -> ForeignChunks:
        """One call; more only where a thousand chunks and more are wanted, or many are double."""
        these = filter_of(self._fields, among, wanted, self._where)
        if among.is_empty or not self._can_have(wanted):
            return ForeignChunks()
        records = await self._scroll(these, sum(map(len, wanted.values())), payload=True)
        return read(records, self._fields, among, self._where, wanted)

    async def documents(self, among: Among) -> list[ForeignDocument]:
        these = filter_of(self._fields, among, None, self._where)
        if among.is_empty or not self._fields.chunk_index:
            return []
        these = models.Filter(must=[these, within(self._fields, 0, 0)])
        but_texts = models.PayloadSelectorExclude(exclude=list(self._fields.text))
        records = await self._scroll(these, _PAGE, payload=but_texts, most=_MOST)
        return first_chunks(records, self._fields, among, self._where)

    async def close(self) -> None:
        if self._owns_client:
            with as_ours(self._where):
                await self._client.close()

    async def _scored(self, question: str, these: models.Filter, limit: int) -> dict[str, Record]:
        """Chunks by their ids with their cosines, the nearest ones where there are more."""
        (row,) = await self._embedder.embed([question], "query")
        with as_ours(self._where):
            reply = await self._client.query_points(
                self._collection,
                query=row.tolist(),
                using=self._using or None,
                query_filter=these,
                limit=limit,
                with_payload=True,
                with_vectors=not self._is_cosine,
            )
        return {
            str(point.id): Record(str(point.id), point.payload or {}, self._score(point, row))
            for point in reply.points
        }

    def _can_have(self, wanted: Mapping[DocumentId, Sequence[int]] | None) -> bool:
        return wanted is None or bool(self._fields.chunk_index and any(wanted.values()))

    async def _scroll(
        self,
        these: models.Filter,
        page: int,
        *,
        payload: bool | models.PayloadSelectorExclude,
        most: int | None = None,
    ) -> list[Record]:
        records: list[Record] = []
        offset: Any = None
        with as_ours(self._where):
            while True:
                some, offset = await self._client.scroll(
                    self._collection,
                    scroll_filter=these,
                    limit=min(page, _PAGE),
                    offset=offset,
                    with_payload=payload,
                )
                records += [Record(str(each.id), each.payload or {}) for each in some]
                if offset is None or (most is not None and len(records) >= most):
                    return records

    def _score(self, point: models.ScoredPoint, question: Vectors) -> float:
        if self._is_cosine:
            return point.score
        kept = np.asarray([_kept(point.vector, self._using)], np.float32)
        return float(cosines(kept, question)[0])


def _kept(vector: Any, using: str) -> list[float]:  # noqa: ANN401 theirs
    if isinstance(vector, dict):
        vector = vector.get(using)
    return vector if isinstance(vector, list) else []


def _dense(kept: Any, wanted: str | None, where: str) -> tuple[str, models.VectorParams]:  # noqa: ANN401 theirs
    """The name of a dense vector, empty where it has none, and how it is kept."""
    named = kept if isinstance(kept, dict) else {"": kept} if kept else {}
    dense = {name: one for name, one in named.items() if not one.multivector_config}
    if wanted is None and len(dense) == 1:
        return next(iter(dense.items()))
    if wanted is not None and wanted in dense:
        return wanted, dense[wanted]
    if not dense:
        raise InvalidInputError(f"{where} has no dense vectors to search by")
    if [*dense] == [""]:
        raise InvalidInputError(
            f"{where} has no dense vector {wanted!r}: it has one unnamed vector, so name none"
        )
    have = ", ".join(map(repr, sorted(dense)))
    wish = f"has no dense vector {wanted!r}" if wanted is not None else "has several dense vectors"
    raise InvalidInputError(f"{where} {wish}: name one of {have}")
