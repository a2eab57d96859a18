"""The index in a Qdrant server or cluster, for several processes or machines at once.

The same engine as the edge index, so both give the same answers. Each call waits until the
server has done it: what was written is in its log, and is found. The server has no call that
makes it sync its disk; it does so by itself every few seconds, so against a power cut of one
machine a library needs replicas. `flush` has nothing left to do.

Writes go through one replica of each shard, which orders them (`medium`): else replicas may keep
a delete and an upsert in different order for ever. No answer is partial: where a shard cannot be
reached the server refuses the whole. A call that was given up may yet be carried out, by a node
that slept and wakes: whoever deletes has to do so again later.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from unchunk.adapters.index.qdrant_asking import found
from unchunk.adapters.index.qdrant_collections import Layout, Making, ensure
from unchunk.adapters.index.qdrant_nodes import Address, Nodes, addresses
from unchunk.adapters.index.qdrant_points import (
    DENSE,
    PLACE,
    TERMS,
    any_of,
    filter_of,
    sparse,
    struct,
)
from unchunk.adapters.index.qdrant_tenants import Tenancy
from unchunk.adapters.index.spaces import (
    check_texts,
    checked_name,
    checked_query,
    finds_nothing,
    keys_by_id,
    matrix,
)
from unchunk.domain import ChunkKey, DocumentId, Scored, Space, Terms, Within
from unchunk.errors import InvalidInputError, MissingPartError
from unchunk.ports import Point, Vectors

try:
    from qdrant_client import AsyncQdrantClient, models
except ImportError as missing:
    raise MissingPartError(
        "the Qdrant client is not installed: pip install 'unchunk[qdrant]'"
    ) from missing

_AT_ONCE = 256
_ALL = 2**31 - 1
# What the server says of a field whose index is still being made, and seconds to wait for that.
_NOT_INDEXED, _UNTIL_INDEXED = "No appropriate index", (0.1, 0.3, 1.0, 3.0, 5.0)
_ORDERED = models.WriteOrdering.MEDIUM
# How many more candidates are read from quantized vectors, to be scored again by the whole ones.
_OVERSAMPLING = {"scalar": 2.0, "binary": 4.0}


class QdrantIndex:
    """`Index` in one collection."""

    def __init__(self, nodes: Nodes, collection: str, space: Space, layout: Layout) -> None:
        self._nodes = nodes
        self._collection = collection
        self._space = space
        self._tenancy = Tenancy(nodes, collection, layout)
        self._replicas = layout.replicas
        self._seconds = math.ceil(nodes.timeout)
        more = _OVERSAMPLING.get(layout.quantization)
        quantized = models.QuantizationSearchParams(rescore=True, oversampling=more)
        self._params = models.SearchParams(quantization=quantized) if more else None

    async def upsert(self, points: Sequence[Point]) -> None:
        rows = matrix(points, self._space)
        by_shard: dict[str | None, list[models.PointStruct]] = {}
        for point, row in zip(points, rows, strict=True):
            by_shard.setdefault(self._tenancy.shard(point.key.owner), []).append(struct(point, row))
        for shard, structs in by_shard.items():
            await self._tenancy.ensure(shard)
            for at in range(0, len(structs), _AT_ONCE):
                await self._put(structs[at : at + _AT_ONCE], shard)

    async def _put(self, structs: list[models.PointStruct], shard: str | None) -> None:
        async def put(client: AsyncQdrantClient) -> object:
            return await client.upsert(
                self._collection, structs, wait=True, ordering=_ORDERED, shard_key_selector=shard
            )

        await self._nodes.ask(put, writes=True)

    async def flush(self) -> None:
        """Nothing to do: see above."""

    async def search(self, query: Vectors | Terms, within: Within, limit: int) -> list[Scored]:
        [hits] = await self.search_many([query], within, limit)
        return hits

    async def search_many(
        self, queries: Sequence[Vectors | Terms], within: Within, limit: int
    ) -> list[list[Scored]]:
        """Several searches in one request."""
        checked = [checked_query(query, within, self._space) for query in queries]
        wanted = [not finds_nothing(query, within, limit) for query in checked]
        shard = self._tenancy.shard(within.owner)
        if not any(wanted) or not await self._tenancy.exists(shard):
            return [[] for _ in queries]
        where = filter_of(within)
        requests = [
            models.QueryRequest(
                query=sparse(query) if isinstance(query, Terms) else query.tolist(),
                using=TERMS if isinstance(query, Terms) else DENSE,
                filter=where,
                params=None if isinstance(query, Terms) else self._params,
                limit=limit,
                with_payload=PLACE,
                shard_key=shard,
            )
            for query, is_wanted in zip(checked, wanted, strict=True)
            if is_wanted
        ]
        replies = iter(
            await self._nodes.ask(
                lambda client: found(
                    client, self._collection, requests, within.owner, self._seconds
                )
            )
        )
        return [next(replies) if is_wanted else [] for is_wanted in wanted]

    async def fetch(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vectors]:
        wanted = keys_by_id(keys)
        by_shard: dict[str | None, list[str]] = {}
        for name, key in wanted.items():
            by_shard.setdefault(self._tenancy.shard(key.owner), []).append(name)
        vectors_of: dict[ChunkKey, Vectors] = {}
        for shard, names in by_shard.items():
            if await self._tenancy.exists(shard):
                for record in await self._retrieved(names, shard):
                    vectors: Any = record.vector or {}
                    vectors_of[wanted[str(record.id)]] = np.asarray(
                        vectors.get(DENSE, ()), np.float32
                    )
        return vectors_of

    async def _retrieved(self, names: list[str], shard: str | None) -> list[models.Record]:
        async def retrieved(client: AsyncQdrantClient) -> list[models.Record]:
            return await client.retrieve(
                self._collection,
                names,
                with_payload=False,
                with_vectors=[DENSE] if self._space.dimensions else False,
                shard_key_selector=shard,
                timeout=self._seconds,
            )

        return await self._nodes.ask(retrieved)

    async def delete(self, document: DocumentId, generations: Sequence[int] | None = None) -> None:
        check_texts(document)
        chosen: list[Any] = [any_of("document", [document])]
        if generations is not None:
            if not generations:
                return
            chosen.append(any_of("generation", list(generations)))
        these = models.FilterSelector(filter=models.Filter(must=chosen))
        shards: Any = await self._tenancy.every()
        if shards == []:
            return

        async def deleted(client: AsyncQdrantClient) -> object:
            return await client.delete(
                self._collection, these, wait=True, ordering=_ORDERED, shard_key_selector=shards
            )

        await self._nodes.ask(deleted, writes=True)

    async def census(self, document: DocumentId | None = None) -> dict[tuple[DocumentId, int], int]:
        check_texts(document or "")
        only = [] if document is None else [any_of("document", [document])]
        counts: dict[tuple[DocumentId, int], int] = {}
        shards = await self._tenancy.every()
        if shards == []:
            return counts
        # Generations are counted for each document, so there are few.
        for generation in await self._facet("generation", only, shards):
            these = [*only, any_of("generation", [int(generation)])]
            for name, count in (await self._facet("document", these, shards)).items():
                counts[str(name), int(generation)] = count
        return counts

    async def degraded(self) -> str:
        """What of the cluster is missing while it still answers; empty if nothing is."""
        info = await self._nodes.ask(
            lambda client: client.collection_cluster_info(self._collection)
        )
        told = [f"{url} does not answer" for url in await self._nodes.silent()]
        shards: list[Any] = [*info.local_shards, *info.remote_shards]
        behind = sum(one.state != models.ReplicaState.ACTIVE for one in shards)
        if behind:
            told.append(f"{behind} of {len(shards)} replicas are not up to date")
        return ", ".join(told)

    async def close(self) -> None:
        await self._nodes.close()

    async def _facet(self, field: str, chosen: list[Any], shards: Any) -> dict[Any, int]:  # noqa: ANN401 - their names for shards
        these = models.Filter(must=chosen) if chosen else None

        async def counted(client: AsyncQdrantClient) -> models.FacetResponse:
            return await client.facet(
                self._collection,
                field,
                facet_filter=these,
                limit=_ALL,
                exact=True,
                shard_key_selector=shards,
            )

        for seconds in (*_UNTIL_INDEXED, None):
            try:
                reply = await self._nodes.ask(counted, is_long=True)
            except InvalidInputError as error:
                # Another process has just made the collection: not every node has its fields yet.
                if seconds is None or _NOT_INDEXED not in str(error):
                    raise
                await asyncio.sleep(seconds)
            else:
                break
        return {hit.value: hit.count for hit in reply.hits}


class QdrantIndexes:
    """`Indexes` as collections of one server or cluster, each named by the prefix and the space.

    `url` may be several with commas between them, nodes of one cluster. Each is spoken to by gRPC
    if that port can be reached, else by the REST address. An open index belongs to the event loop
    that it was opened in.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        prefix: str = "unchunk_",
        *,
        grpc_port: int = 6334,
        timeout: float = 30,
        making: Making | None = None,
    ) -> None:
        self._where: list[Address] = addresses(url, grpc_port)
        self._api_key = api_key
        self._prefix = prefix
        self._timeout = timeout
        self._making = making or Making()

    async def open(self, space: Space) -> QdrantIndex:
        collection = self._prefix + checked_name(space.name)
        nodes = self._nodes()
        try:
            layout = await ensure(nodes, collection, space, self._making)
        except BaseException:
            await nodes.close()
            raise
        return QdrantIndex(nodes, collection, space, layout)

    async def drop(self, name: str) -> None:
        collection = self._prefix + checked_name(name)
        nodes = self._nodes()
        try:
            await nodes.ask(lambda client: client.delete_collection(collection), writes=True)
        finally:
            await nodes.close()

    async def names(self) -> list[str]:
        nodes = self._nodes()
        try:
            found = (await nodes.ask(lambda client: client.get_collections())).collections
        finally:
            await nodes.close()
        prefix = self._prefix
        return sorted(each.name[len(prefix) :] for each in found if each.name.startswith(prefix))

    def _nodes(self) -> Nodes:
        return Nodes(self._where, self._api_key, self._timeout)
