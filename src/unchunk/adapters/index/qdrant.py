"""The index in a Qdrant server or cluster, for several processes or machines at once.

The same engine as the edge index, so both give the same answers. Each call waits until the
server has done it: what was written is in its log, and is found. The server has no call that
makes it sync its disk; it does so by itself every few seconds, so against a power cut of one
machine a library needs replicas. `flush` has nothing left to do.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import numpy as np

from unchunk.adapters.index.spaces import (
    check_kept,
    check_texts,
    checked_name,
    checked_query,
    finds_nothing,
    keys_by_id,
    matrix,
)
from unchunk.domain import ChunkKey, DocumentId, Scored, Space, Terms, Within
from unchunk.errors import (
    IndexUnavailableError,
    InvalidInputError,
    MissingPartError,
    ProviderRefusedError,
    UnchunkError,
)
from unchunk.ports import Point, Vectors

try:
    import grpc  # type: ignore[import-untyped]  # has no types of its own
    from qdrant_client import AsyncQdrantClient, models
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
except ImportError as missing:
    raise MissingPartError(
        "the Qdrant client is not installed: pip install 'unchunk[qdrant]'"
    ) from missing

_DENSE, _TERMS = "dense", "terms"
_AT_ONCE = 256
_ALL = 2**31 - 1
_KEYWORD = models.PayloadSchemaType.KEYWORD
_FIELDS: dict[str, Any] = {
    "owner": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    "document": _KEYWORD,
    "folder": _KEYWORD,
    "generation": models.PayloadSchemaType.INTEGER,
}


class QdrantIndex:
    """`Index` in one collection."""

    def __init__(self, client: AsyncQdrantClient, collection: str, space: Space) -> None:
        self._client = client
        self._collection = collection
        self._space = space

    async def upsert(self, points: Sequence[Point]) -> None:
        rows = matrix(points, self._space)
        structs = [_struct(point, row) for point, row in zip(points, rows, strict=True)]
        with _ours():
            for at in range(0, len(structs), _AT_ONCE):
                await self._client.upsert(self._collection, structs[at : at + _AT_ONCE], wait=True)

    async def flush(self) -> None:
        """Nothing to do: see above."""

    async def search(self, query: Vectors | Terms, within: Within, limit: int) -> list[Scored]:
        query = checked_query(query, within, self._space)
        if finds_nothing(query, within, limit):
            return []
        with _ours():
            found = await self._client.query_points(
                self._collection,
                query=_sparse(query) if isinstance(query, Terms) else query.tolist(),
                using=_TERMS if isinstance(query, Terms) else _DENSE,
                query_filter=_filter(within),
                limit=limit,
                with_payload=True,
            )
        return [Scored(_key(hit.payload or {}), hit.score) for hit in found.points]

    async def fetch(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vectors]:
        wanted = keys_by_id(keys)
        if not wanted:
            return {}
        with _ours():
            records = await self._client.retrieve(
                self._collection,
                list(wanted),
                with_payload=False,
                with_vectors=[_DENSE] if self._space.dimensions else False,
            )
        found: dict[ChunkKey, Vectors] = {}
        for record in records:
            vectors: Any = record.vector or {}
            found[wanted[str(record.id)]] = np.asarray(vectors.get(_DENSE, ()), np.float32)
        return found

    async def delete(self, document: DocumentId, generations: Sequence[int] | None = None) -> None:
        check_texts(document)
        chosen: list[Any] = [_any("document", [document])]
        if generations is not None:
            if not generations:
                return
            chosen.append(_any("generation", list(generations)))
        these = models.FilterSelector(filter=models.Filter(must=chosen))
        with _ours():
            await self._client.delete(self._collection, these, wait=True)

    async def census(self, document: DocumentId | None = None) -> dict[tuple[DocumentId, int], int]:
        check_texts(document or "")
        only = [] if document is None else [_any("document", [document])]
        counts: dict[tuple[DocumentId, int], int] = {}
        for generation in await self._facet("generation", only):
            these = [*only, _any("generation", [int(generation)])]
            for name, count in (await self._facet("document", these)).items():
                counts[str(name), int(generation)] = count
        return counts

    async def close(self) -> None:
        with _ours():
            await self._client.close()

    async def _facet(self, field: str, chosen: list[Any]) -> dict[Any, int]:
        these = models.Filter(must=chosen) if chosen else None
        with _ours():
            reply = await self._client.facet(
                self._collection, field, facet_filter=these, limit=_ALL, exact=True
            )
        return {hit.value: hit.count for hit in reply.hits}


class QdrantIndexes:
    """`Indexes` as collections of one server, each named by the prefix and the space.

    It is spoken to by gRPC if that port can be reached, else by the REST address.
    `shards` and `replicas` are for a cluster, and for collections yet to be made. An open
    index belongs to the event loop that it was opened in.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        prefix: str = "unchunk_",
        *,
        grpc_port: int = 6334,
        timeout: int = 30,
        shards: int | None = None,
        replicas: int | None = None,
    ) -> None:
        self._url = url
        self._api_key = api_key
        self._prefix = prefix
        self._grpc_port = grpc_port
        self._timeout = timeout
        self._shards = shards
        self._replicas = replicas

    async def open(self, space: Space) -> QdrantIndex:
        collection = self._prefix + checked_name(space.name)
        with _ours():
            client = await self._connected()
            try:
                await self._ensure(client, collection, space)
            except BaseException:
                await client.close()
                raise
        return QdrantIndex(client, collection, space)

    async def drop(self, name: str) -> None:
        async with self._briefly() as client:
            await client.delete_collection(self._prefix + checked_name(name))

    async def names(self) -> list[str]:
        async with self._briefly() as client:
            found = (await client.get_collections()).collections
        prefix = self._prefix
        return sorted(each.name[len(prefix) :] for each in found if each.name.startswith(prefix))

    async def _ensure(self, client: AsyncQdrantClient, collection: str, space: Space) -> None:
        if not await client.collection_exists(collection):
            cosine = models.Distance.COSINE
            dense = models.VectorParams(size=space.dimensions or 1, distance=cosine)
            terms = models.SparseVectorParams(modifier=models.Modifier.IDF)
            try:
                await client.create_collection(
                    collection,
                    vectors_config={_DENSE: dense} if space.dimensions else {},
                    sparse_vectors_config={_TERMS: terms},
                    shard_number=self._shards,
                    replication_factor=self._replicas,
                )
            except (grpc.aio.AioRpcError, UnexpectedResponse):
                # Another process may have been quicker.
                if not await client.collection_exists(collection):
                    raise
        info = await client.get_collection(collection)
        vectors: Any = info.config.params.vectors or {}
        check_kept(space, vectors[_DENSE].size if _DENSE in vectors else 0)
        for field, schema in _FIELDS.items():
            if field not in info.payload_schema:
                await client.create_payload_index(collection, field, schema, wait=True)

    async def _connected(self) -> AsyncQdrantClient:
        """By gRPC, which is quicker; by REST where only that gets through."""
        client = self._client(by_grpc=True)
        try:
            await client.get_collections()
        except grpc.aio.AioRpcError as error:
            await client.close()
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            return self._client(by_grpc=False)
        return client

    def _client(self, *, by_grpc: bool) -> AsyncQdrantClient:
        return AsyncQdrantClient(
            url=self._url,
            api_key=self._api_key,
            grpc_port=self._grpc_port,
            prefer_grpc=by_grpc,
            timeout=self._timeout,
            check_compatibility=False,
        )

    @asynccontextmanager
    async def _briefly(self) -> AsyncIterator[AsyncQdrantClient]:
        with _ours():
            client = await self._connected()
            try:
                yield client
            finally:
                await client.close()


@contextmanager
def _ours() -> Iterator[None]:
    """Their errors as ours."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise _error(error.code(), str(error.details())) from error
    except UnexpectedResponse as error:
        raise _error(error.status_code, str(error)) from error
    except ResponseHandlingException as error:
        raise _error(None, str(error)) from error


def _error(code: object, detail: str) -> UnchunkError:
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED, 401, 403):
        return ProviderRefusedError(f"the Qdrant server refuses: {detail}. Check its API key")
    if code in (grpc.StatusCode.INVALID_ARGUMENT, 400, 422):
        return InvalidInputError(f"the Qdrant server cannot use this: {detail}")
    return IndexUnavailableError(f"the Qdrant server cannot be used: {detail}")


def _struct(point: Point, row: Vectors) -> models.PointStruct:
    vectors: dict[str, Any] = {_DENSE: row.tolist()} if row.size else {}
    if point.terms.ids:
        vectors[_TERMS] = _sparse(point.terms)
    note = dict(zip(ChunkKey._fields, point.key, strict=True))
    return models.PointStruct(
        id=str(point.key.id), vector=vectors, payload=note | {"folder": point.folder}
    )


def _sparse(terms: Terms) -> models.SparseVector:
    return models.SparseVector(indices=list(terms.ids), values=list(terms.weights))


def _key(note: dict[str, Any]) -> ChunkKey:
    return ChunkKey(note["owner"], note["document"], note["generation"], note["chunk_index"])


def _filter(within: Within) -> models.Filter:
    chosen: list[Any] = [_any("owner", [within.owner])]
    if within.documents is not None:
        chosen.append(_any("document", list(within.documents)))
    if within.folders is not None:
        chosen.append(_any("folder", list(within.folders)))
    return models.Filter(must=chosen)


def _any(field: str, values: list[Any]) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchAny(any=values))
