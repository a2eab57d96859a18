"""Vectors in Chroma, in a folder or on a server. It ranks no words: see `beside`.

Its calls block, so each runs in a thread; a large write can hold up the other threads for a
moment, so writes go in small parts. Each is committed to disk when it returns. Two processes
on one folder would read stale rows and not know it, so a second one is refused.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unchunk.adapters.chroma_clients import HTTPError, connected, disconnect, errors, folder_of
from unchunk.adapters.index.lock import FolderLock
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
    ProviderRefusedError,
)
from unchunk.ports import Point, Vectors

_AT_ONCE = 250
_PAGE = 5_000
_PATIENCE = 60.0


class ChromaIndex:
    """`Index` in one collection, by vectors alone: a search by terms is refused."""

    def __init__(
        self,
        client: Any,  # noqa: ANN401 theirs
        collection: Any,  # noqa: ANN401 theirs
        space: Space,
        leave: Callable[[Any], Awaitable[None]],
    ) -> None:
        self._client = client
        self._collection = collection
        self._space = space
        self._leave = leave

    async def upsert(self, points: Sequence[Point]) -> None:
        rows = matrix(points, self._space)
        # The last of two points of one key counts; Chroma would refuse both.
        last = dict(zip((str(point.key.id) for point in points), range(len(points)), strict=True))
        ids = list(last)
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE]
            chosen = [points[last[each]] for each in part]
            await _in_thread(
                self._collection.upsert,
                ids=part,
                embeddings=rows[[last[each] for each in part]],
                metadatas=[point.key._asdict() | {"folder": point.folder} for point in chosen],
            )

    async def flush(self) -> None:
        """Nothing to do: every write was committed."""

    async def search(self, query: Vectors | Terms, within: Within, limit: int) -> list[Scored]:
        if isinstance(query, Terms):
            raise InvalidInputError("Chroma finds no terms: ask the index beside it")
        query = checked_query(query, within, self._space)
        if finds_nothing(query, within, limit):
            return []
        found = await _in_thread(
            self._collection.query,
            query_embeddings=[query],
            n_results=limit,
            where=_where(within),
            include=["metadatas", "distances"],
        )
        notes, distances = found["metadatas"][0], found["distances"][0]
        return [
            Scored(_key(note), 1.0 - distance)
            for note, distance in zip(notes, distances, strict=True)
        ]

    async def fetch(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vectors]:
        wanted = keys_by_id(keys)
        if not wanted:
            return {}
        found = await _in_thread(self._collection.get, ids=list(wanted), include=["embeddings"])
        rows = np.asarray(found["embeddings"], np.float32)
        return {wanted[each]: row for each, row in zip(found["ids"], rows, strict=True)}

    async def delete(self, document: DocumentId, generations: Sequence[int] | None = None) -> None:
        check_texts(document)
        where: dict[str, Any] = {"document": document}
        if generations is not None:
            if not generations:
                return
            where = {"$and": [where, {"generation": {"$in": list(generations)}}]}
        await _in_thread(self._collection.delete, where=where)

    async def census(self, document: DocumentId | None = None) -> dict[tuple[DocumentId, int], int]:
        """Reads the notes of every chunk: Chroma cannot count by groups."""
        check_texts(document or "")
        counts: dict[tuple[DocumentId, int], int] = {}
        where = None if document is None else {"document": document}
        for offset in range(0, 2**62, _PAGE):
            page = await _in_thread(
                self._collection.get, where=where, include=["metadatas"], limit=_PAGE, offset=offset
            )
            for note in page["metadatas"]:
                version = note["document"], note["generation"]
                counts[version] = counts.get(version, 0) + 1
            if len(page["ids"]) < _PAGE:
                break
        return counts

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await self._leave(client)


class ChromaIndexes:
    """`Indexes` as collections, each named by the prefix and the space.

    `where` is a folder, or the address of a server as http://HOST:PORT. A folder is kept from
    other processes while any of its indexes is in use.
    """

    def __init__(
        self, where: str | Path, api_key: str | None = None, prefix: str = "unchunk_"
    ) -> None:
        self._where = where
        self._api_key = api_key
        self._prefix = prefix
        self._lock: FolderLock | None = None
        self._users = 0
        self._guard = asyncio.Lock()

    async def open(self, space: Space) -> ChromaIndex:
        if not space.dimensions:
            raise InvalidInputError(f"Chroma keeps vectors, and {space.name!r} has none")
        name = self._prefix + checked_name(space.name)
        client = await self._enter()
        try:
            collection = await _in_thread(_collection, client, name, space)
        except BaseException:
            await self._leave(client)
            raise
        return ChromaIndex(client, collection, space, self._leave)

    async def drop(self, name: str) -> None:
        name = self._prefix + checked_name(name)
        client = await self._enter()
        try:
            if name in await _in_thread(_names, client):
                await _in_thread(client.delete_collection, name)
        finally:
            await self._leave(client)

    async def names(self) -> list[str]:
        client = await self._enter()
        try:
            found = await _in_thread(_names, client)
        finally:
            await self._leave(client)
        prefix = self._prefix
        return sorted(each[len(prefix) :] for each in found if each.startswith(prefix))

    async def _enter(self) -> Any:  # noqa: ANN401 theirs
        async with self._guard:
            folder = folder_of(self._where)
            if folder is not None and self._lock is None:
                path = folder.with_name(f"{folder.name}.lock")
                self._lock = await asyncio.to_thread(FolderLock, path)
            self._users += 1
        try:
            return await _in_thread(connected, self._where, self._api_key, _PATIENCE)
        except BaseException:
            await self._leave(None)
            raise

    async def _leave(self, client: Any) -> None:  # noqa: ANN401 theirs
        if client is not None:
            await _in_thread(disconnect, client)
        async with self._guard:
            self._users -= 1
            if not self._users and self._lock is not None:
                self._lock.release()
                self._lock = None


def _collection(client: Any, name: str, space: Space) -> Any:  # noqa: ANN401 theirs
    try:
        # No function that embeds: it would fetch a model.
        kept = client.get_collection(name, embedding_function=None)
    except errors.NotFoundError:
        return client.get_or_create_collection(
            name,
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine"}},
            metadata={"dimensions": space.dimensions},
        )
    check_kept(space, (kept.metadata or {}).get("dimensions", 0))
    return kept


def _names(client: Any) -> list[str]:  # noqa: ANN401 theirs
    return [each.name for each in client.list_collections()]


async def _in_thread(call: Callable[..., Any], *arguments: object, **named: object) -> Any:  # noqa: ANN401 theirs
    """Their call in a thread, their errors as ours."""
    try:
        return await asyncio.to_thread(call, *arguments, **named)
    except (errors.InvalidArgumentError, errors.InvalidDimensionException) as error:
        raise InvalidInputError(f"Chroma cannot use this: {error}") from error
    except (errors.ChromaAuthError, errors.AuthorizationError) as error:
        raise ProviderRefusedError(f"Chroma refuses: {error}. Check its API key") from error
    except (errors.ChromaError, HTTPError) as error:
        raise IndexUnavailableError(f"Chroma cannot be used: {error}") from error


def _where(within: Within) -> dict[str, Any]:
    chosen: list[dict[str, Any]] = [{"owner": within.owner}]
    if within.documents is not None:
        chosen.append({"document": {"$in": list(within.documents)}})
    if within.folders is not None:
        chosen.append({"folder": {"$in": list(within.folders)}})
    return chosen[0] if len(chosen) == 1 else {"$and": chosen}


def _key(note: dict[str, Any]) -> ChunkKey:
    return ChunkKey(note["owner"], note["document"], note["generation"], note["chunk_index"])
