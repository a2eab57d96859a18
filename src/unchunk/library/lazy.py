"""An index that is opened when it is first used: what needs none works without it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from unchunk.domain import ChunkKey, DocumentId, Scored, Terms, Within
from unchunk.errors import IndexUnavailableError, UnchunkError
from unchunk.ports import Degradable, Index, Point, Vectors, search_many, start

T = TypeVar("T")

# How long closing waits for the calls that are under way, in seconds.
_GRACE = 5.0


class LazyIndex:
    """`Index`; each call opens it, if that did not succeed before, and may end before it closes."""

    def __init__(self, open_it: Callable[[], Awaitable[Index]], name: str) -> None:
        self._open_it = open_it
        self._name = name
        self._opening = asyncio.Lock()
        self._index: Index | None = None
        self._started: asyncio.Future[Index] | None = None
        self._closed = False
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self) -> None:
        if self._index is None:
            await self._do(start)

    async def upsert(self, points: Sequence[Point]) -> None:
        await self._do(lambda index: index.upsert(points))

    async def flush(self) -> None:
        await self._do(lambda index: index.flush())

    async def search(self, query: Vectors | Terms, within: Within, limit: int) -> list[Scored]:
        return await self._do(lambda index: index.search(query, within, limit))

    async def search_many(
        self, queries: Sequence[Vectors | Terms], within: Within, limit: int
    ) -> list[list[Scored]]:
        return await self._do(lambda index: search_many(index, queries, within, limit))

    async def degraded(self) -> str:
        return await self._do(_degraded)

    async def fetch(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vectors]:
        return await self._do(lambda index: index.fetch(keys))

    async def delete(self, document: DocumentId, generations: Sequence[int] | None = None) -> None:
        await self._do(lambda index: index.delete(document, generations))

    async def census(self, document: DocumentId | None = None) -> dict[tuple[DocumentId, int], int]:
        return await self._do(lambda index: index.census(document))

    async def close(self) -> None:
        async with self._opening:
            self._closed = True
            if self._started is not None:
                with suppress(UnchunkError):
                    self._index = await self._started
        if self._index is not None:
            try:
                async with asyncio.timeout(_GRACE):
                    await self._idle.wait()
            except TimeoutError:
                pass  # they are told that it was closed
            finally:
                await self._index.close()

    async def _do(self, call: Callable[[Index], Awaitable[T]]) -> T:
        index = await self._opened()
        self._under_way += 1
        self._idle.clear()
        try:
            return await call(index)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

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


async def _degraded(index: Index) -> str:
    return await index.degraded() if isinstance(index, Degradable) else ""
