"""Vectors and terms, kept to be searched."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from unchunk.domain import ChunkKey, DocumentId, EmbedderIdentity, Scored, Space, Terms, Within
from unchunk.ports.reading import Embedder, Vectors


class Point:
    """One chunk as the index holds it. A plain class: a large library makes a million."""

    __slots__ = ("folder", "key", "terms", "vector")

    def __init__(self, key: ChunkKey, folder: str, vector: Vectors, terms: Terms) -> None:
        self.key = key
        self.folder = folder
        self.vector = vector
        self.terms = terms


class Index(Protocol):
    """Vectors and terms of chunks, searched both ways. Derived: it can always be made anew."""

    async def upsert(self, points: Sequence[Point]) -> None:
        """Put points in, over those of the same key. Found at once; kept for good after `flush`."""
        ...

    async def flush(self) -> None:
        """Return when all that was put in and taken out survives a kill and a power cut."""
        ...

    async def search(self, query: Vectors | Terms, within: Within, limit: int) -> list[Scored]:
        """The best chunks, best first: by cosine for a vector, by BM25 for terms.

        By terms only chunks that share one are found.
        """
        ...

    async def fetch(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vectors]:
        """The vectors of those chunks that are there, in one call."""
        ...

    async def delete(self, document: DocumentId, generations: Sequence[int] | None = None) -> None:
        """Take out a document, or only some of its generations."""
        ...

    async def census(self, document: DocumentId | None = None) -> dict[tuple[DocumentId, int], int]:
        """How many chunks there are of each generation of each document, or of just one."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class SearchesMany(Protocol):
    """What an `Index` may be besides: one that takes several searches in one request."""

    async def search_many(
        self, queries: Sequence[Vectors | Terms], within: Within, limit: int
    ) -> list[list[Scored]]:
        """What `search` finds for each of the queries."""
        ...


@runtime_checkable
class Startable(Protocol):
    """What an `Index` may be besides: one that takes a while to begin, and can do so beforehand."""

    async def start(self) -> None:
        """Begin, if that has not happened. What fails is said here or by the next call."""
        ...


@runtime_checkable
class Degradable(Protocol):
    """What an `Index` may be besides: one that answers while a part of it is lost."""

    async def degraded(self) -> str:
        """What is lost; empty if nothing is. Cheap enough to be asked every few seconds."""
        ...


async def search_many(
    index: Index, queries: Sequence[Vectors | Terms], within: Within, limit: int
) -> list[list[Scored]]:
    """In one request, where the index can do that."""
    if isinstance(index, SearchesMany):
        return await index.search_many(queries, within, limit)
    return await asyncio.gather(*(index.search(query, within, limit) for query in queries))


async def start(index: Index) -> None:
    """Beforehand, where the index can do that."""
    if isinstance(index, Startable):
        await index.start()


@dataclass(frozen=True, slots=True)
class OpenSpace:
    """An index in use, and what made its vectors; `spec` is how the settings name that.

    `embedder` is None for an old space whose embedder is no longer to be had:
    such a space is searched by words alone.
    """

    name: str
    spec: str
    identity: EmbedderIdentity
    index: Index
    embedder: Embedder | None

    @property
    def threshold(self) -> float:
        """The cosine below which a hit means nothing: the embedder's.

        It may not have been measured yet.
        """
        return (self.embedder or self).identity.min_score


class Indexes(Protocol):
    """Where the indexes of a library are kept, one for each space."""

    async def open(self, space: Space) -> Index:
        """The index of `space`, made if there is none."""
        ...

    async def drop(self, name: str) -> None:
        """Remove a space with all that is in it; nothing happens if there is none."""
        ...

    async def names(self) -> list[str]: ...
