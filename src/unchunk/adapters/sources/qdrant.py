"""Somebody else's collection in a Qdrant server. It is read, and never written."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from unchunk.adapters.sources.fields import PAGES, Fields, Names, look_up
from unchunk.adapters.sources.reading import Record, first_chunks, read
from unchunk.adapters.sources.vectors import checked, cosines, doubts
from unchunk.domain import DocumentId
from unchunk.errors import (
    IndexUnavailableError,
    InvalidInputError,
    InvalidSettingError,
    MissingPartError,
    NotFoundError,
    ProviderRefusedError,
    UnchunkError,
)
from unchunk.ports import Among, Embedder, ForeignChunks, ForeignDocument, SourceNature, Vectors

try:
    import grpc  # type: ignore[import-untyped]  # has no types of its own
    from qdrant_client import AsyncQdrantClient, models
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
except ImportError as missing:
    raise MissingPartError(
        "the Qdrant client is not installed: pip install 'unchunk[qdrant]'"
    ) from missing

_PAGE, _MOST = 1_000, 10_000


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
) -> "QdrantSource":
    """The collection, after a look at whether `embedder` can have made its vectors.

    For that one of the chunks is embedded, whosever it is, unless `sample` is false.

    `vector` names one of them, where they have names and there are several. With `grpc_port`
    the server is spoken to by gRPC; it has `seconds` for an answer. The source belongs to the event loop that it was opened in;
    the embedder stays the caller's.
    """
    where = f"the Qdrant collection {collection!r}"
    try:
        client = AsyncQdrantClient(
            url=url,
            api_key=api_key,
            grpc_port=grpc_port or 6334,
            prefer_grpc=grpc_port is not None,
            timeout=seconds,
            check_compatibility=False,
        )
    except ValueError as error:
        raise InvalidSettingError(f"{url!r} is no URL of a Qdrant server: {error}") from error
    try:
        with _ours(where):
            info = await client.get_collection(collection)
            using, parameters = _dense(info.config.params.vectors, vector, where)
            embedder = checked(embedder, parameters.size, where)
            some, _ = await client.scroll(collection, limit=1, with_vectors=True)
        notes: list[str] = []
        for record in some if sample else ():
            text, kept = look_up(record.payload or {}, fields.text), _kept(record.vector, using)
            if isinstance(text, str) and kept:
                notes = await doubts(embedder, text, kept, where)
    except BaseException:
        await client.close()
        raise
    is_cosine = parameters.distance == models.Distance.COSINE
    return QdrantSource(
        client, collection, embedder, fields, using=using, is_cosine=is_cosine, notes=tuple(notes)
    )


class QdrantSource:
    """`ChunkSource` over one collection, by one of its dense vectors. Scores are cosines."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        collection: str,
        embedder: Embedder,
        fields: Fields,
        *,
        using: str,
        is_cosine: bool,
        notes: tuple[str, ...] = (),
    ) -> None:
        self._client = client
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
        these = _filter(self._fields, among, wanted, self._where)
        if among.is_empty or limit < 1 or not self._can_have(wanted):
            return ForeignChunks()
        (row,) = await self._embedder.embed([question], "query")
        with _ours(self._where):
            reply = await self._client.query_points(
                self._collection,
                query=row.tolist(),
                using=self._using or None,
                query_filter=these,
                limit=limit,
                with_payload=True,
                with_vectors=not self._is_cosine,
            )
        records = [
            Record(str(point.id), point.payload or {}, self._score(point, row))
            for point in reply.points
        ]
        if not self._is_cosine:
            records.sort(key=lambda record: -(record.score or 0.0))
        found = read(records, self._fields, among, self._where, wanted)
        return ForeignChunks(found.chunks, self._doubts + found.notes)

    async def fetch(
        self, wanted: Mapping[DocumentId, Sequence[int]], among: Among
    ) -> ForeignChunks:
        """One call; more only where a thousand chunks and more are wanted, or many are double."""
        these = _filter(self._fields, among, wanted, self._where)
        if among.is_empty or not self._can_have(wanted):
            return ForeignChunks()
        records = await self._scroll(these, sum(map(len, wanted.values())), payload=True)
        return read(records, self._fields, among, self._where, wanted)

    async def documents(self, among: Among) -> list[ForeignDocument]:
        these = _filter(self._fields, among, None, self._where)
        if among.is_empty or not self._fields.chunk_index:
            return []
        these = models.Filter(must=[these, _within(self._fields, 0, 0)])
        but_texts = models.PayloadSelectorExclude(exclude=list(self._fields.text))
        records = await self._scroll(these, _PAGE, payload=but_texts, most=_MOST)
        return first_chunks(records, self._fields, among, self._where)

    async def close(self) -> None:
        with _ours(self._where):
            await self._client.close()

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
        with _ours(self._where):
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
    have = ", ".join(map(repr, sorted(dense)))
    wish = f"has no dense vector {wanted!r}" if wanted is not None else "has several dense vectors"
    raise InvalidInputError(f"{where} {wish}: name one of {have}")


def _filter(
    fields: Fields,
    among: Among,
    wanted: Mapping[DocumentId, Sequence[int]] | None,
    where: str,
) -> models.Filter:
    must: list[Any] = [
        models.FieldCondition(key=name, match=models.MatchValue(value=value))
        for name, value in among.fields
    ]
    for what in ("documents", "titles", "content_types"):
        if (values := getattr(among, what)) is not None:
            names = getattr(fields, what[:-1])
            if not names:
                raise InvalidInputError(f"{where} cannot be searched by {what}: no field has them")
            must.append(_one_of(names, values))
    if wanted is not None:
        must += _places(fields, wanted)
    return models.Filter(must=must)


def _places(fields: Fields, wanted: Mapping[DocumentId, Sequence[int]]) -> list[Any]:
    """That it is one of those places.

    Without indexes the server reads every chunk, and each condition costs again: so most chunks
    are told apart by two simple ones, and only what is left is compared with each place.
    """
    asked = {document: sorted(set(indices)) for document, indices in wanted.items() if indices}
    if not asked:
        return []
    every = sorted({at for indices in asked.values() for at in indices})
    pairs: list[Any] = [
        models.Filter(must=[_any_of(fields.document, [document]), _between(fields, indices)])
        for document, indices in asked.items()
    ]
    return [
        _any_of(fields.document, list(asked)),
        _within(fields, every[0], every[-1]),
        models.Filter(should=pairs),
    ]


def _one_of(names: Names, values: Sequence[str]) -> models.Filter:
    """That the first of the fields that is there has one of the values."""
    either: list[Any] = []
    for at, name in enumerate(names):
        absent: list[Any] = [
            models.IsEmptyCondition(is_empty=models.PayloadField(key=before))
            for before in names[:at]
        ]
        either.append(models.Filter(must=[*absent, _any_of((name,), values)]))
    return models.Filter(should=either)


def _any_of(names: Names, values: Sequence[str]) -> models.Filter:
    """That any of the fields has one of the values, as text or as number."""
    numbers = [int(value) for value in values if value.isdecimal() and len(value) < 19]
    return models.Filter(
        should=[
            models.FieldCondition(key=name, match=models.MatchAny(any=some))
            for name in names
            for some in (list(values), numbers)
            if some
        ]
    )


def _within(fields: Fields, first: int, last: int) -> models.Filter:
    """By a range: it finds an index that is kept as a fraction, too."""
    return models.Filter(
        should=[
            models.FieldCondition(key=name, range=models.Range(gte=first, lte=last))
            for name in fields.chunk_index
        ]
    )


def _between(fields: Fields, indices: Sequence[int]) -> models.Filter:
    runs: list[list[int]] = []
    for at in indices:
        if runs and runs[-1][1] == at - 1:
            runs[-1][1] = at
        else:
            runs.append([at, at])
    return models.Filter(should=[_within(fields, first, last) for first, last in runs])


@contextmanager
def _ours(where: str) -> Iterator[None]:
    """Their errors as ours."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise _error(error.code(), str(error.details()), where) from error
    except UnexpectedResponse as error:
        raise _error(error.status_code, str(error), where) from error
    except ResponseHandlingException as error:
        raise _error(None, str(error), where) from error


def _error(code: object, detail: str, where: str) -> UnchunkError:
    detail = " ".join(detail.split())
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED, 401, 403):
        return ProviderRefusedError(f"{where}: the server refuses: {detail}. Check its API key")
    if code in (grpc.StatusCode.NOT_FOUND, 404):
        return NotFoundError(f"{where} is not there: {detail}")
    if code in (grpc.StatusCode.INVALID_ARGUMENT, 400, 422):
        return InvalidInputError(f"{where} cannot be asked this: {detail}")
    return IndexUnavailableError(f"{where} cannot be reached: {detail}")
