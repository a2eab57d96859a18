"""An index that is opened when it is first used: what needs none works without it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from unchunk.domain import ChunkKey, DocumentId, Scored, Terms, Within
from unchunk.errors import IndexUnavailableError, UnchunkError
from unchunk.ports import Degradable, Index, Point, Vectors, search_many, start


class LazyIndex:
    """`Index`; each call opens it, if that did not succeed before."""

    def __init__(self, open_it: Callable[[], Awaitable[Index]], name: str) -> None:
        self._open_it = open_it
        self._name = name
        self._opening = asyncio.Lock()
        self._index: Index | None = None
        self._started: asyncio.Future[Index] | None = None
        self._closed = False

    async def start(self) -> None:
        if self._index is None:
            await start(await self._opened())

    async def upsert(self, points: Sequence[Point]) -> None:
        await (await self._opened()).upsert(points)

    async def flush(self) -> None:
        await (await self._opened()).flush()

    async def search(self, query: Vectors | Terms, within: Within, limit: int) -> list[Scored]:
        return await (await self._opened()).search(query, within, limit)

    async def search_many(
        self, queries: Sequence[Vectors | Terms], within: Within, limit: int
    ) -> list[list[Scored]]:
        return await search_many(await self._opened(), queries, within, limit)

    async def degraded(self) -> str:
        index = await self._opened()
        return await index.degraded() if isinstance(index, Degradable) else ""

    async def fetch(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vectors]:
        return await (await self._opened()).fetch(keys)

    async def delete(self, document: DocumentId, generations: Sequence[int] | None = None) -> None:
        await (await self._opened()).delete(document, generations)

    async def census(self, document: DocumentId | None = None) -> dict[tuple[DocumentId, int], int]:
        return await (await self._opened()).census(document)

    async def close(self) -> None:
        async with self._opening:
            self._closed = True
            if self._started is not None:
                with suppress(UnchunkError):
                    self._index = await self._started
            if self._index is not None:
                await self._index.close()

    async def _opened(self) -> Index:
        async with self._opening:
            if self._closed:
                raise IndexUnavailableError(f"the index {self._name!r} was closed")
            if self._index is None:
                if self._started is None:
                    self._started = asyncio.ensure_future(self._open_it())
                # Goes on if the caller is cancelled: what it holds must not be forgotten.
                started = self._started
                try:
                    self._index = await asyncio.shield(started)
                finally:
                    if started.done():
                        self._started = None
            return self._index
