"""Two indexes as one: vectors in an engine that ranks no words, terms in one that does.

A chunk is written to the vectors first and taken out of the terms first, so what the terms
hold the vectors hold too, but for a crash in between. A generation that the two do not agree
on is counted as the smaller of the two says, though that be 0: it is neither whole nor gone,
and whoever compares the census with the catalog sees that it must be written or deleted again.
"""

import asyncio
from collections.abc import Sequence

from unchunk.domain import ChunkKey, DocumentId, Scored, Space, Terms, Within
from unchunk.ports import Index, Indexes, Point, Vectors


class Beside:
    """`Index` made of two: `dense` for vectors, `lexical` for terms."""

    def __init__(self, dense: Index, lexical: Index) -> None:
        self._dense = dense
        self._lexical = lexical

    async def upsert(self, points: Sequence[Point]) -> None:
        await self._dense.upsert(points)
        await self._lexical.upsert(points)

    async def flush(self) -> None:
        await self._dense.flush()
        await self._lexical.flush()

    async def search(self, query: Vectors | Terms, within: Within, limit: int) -> list[Scored]:
        index = self._lexical if isinstance(query, Terms) else self._dense
        return await index.search(query, within, limit)

    async def fetch(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vectors]:
        return await self._dense.fetch(keys)

    async def delete(self, document: DocumentId, generations: Sequence[int] | None = None) -> None:
        await self._lexical.delete(document, generations)
        await self._dense.delete(document, generations)

    async def census(self, document: DocumentId | None = None) -> dict[tuple[DocumentId, int], int]:
        dense, lexical = await asyncio.gather(
            self._dense.census(document), self._lexical.census(document)
        )
        return {
            version: min(dense.get(version, 0), lexical.get(version, 0))
            for version in dense.keys() | lexical.keys()
        }

    async def close(self) -> None:
        try:
            await self._dense.close()
        finally:
            await self._lexical.close()


class BesideIndexes:
    """`Indexes` made of two; a space is there if either has it."""

    def __init__(self, dense: Indexes, lexical: Indexes) -> None:
        self._dense = dense
        self._lexical = lexical

    async def open(self, space: Space) -> Beside:
        dense = await self._dense.open(space)
        try:
            return Beside(dense, await self._lexical.open(Space(space.name, 0)))
        except BaseException:
            await dense.close()
            raise

    async def drop(self, name: str) -> None:
        await self._lexical.drop(name)
        await self._dense.drop(name)

    async def names(self) -> list[str]:
        return sorted({*await self._dense.names(), *await self._lexical.names()})
