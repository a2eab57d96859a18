"""The index on this machine: Qdrant Edge, in a child process of its own.

Its heavy calls hold the interpreter, and no second process may open its files, so this one
only speaks to it. Vectors and terms lie in the same point; the engine counts how rare a term
is. A write is in the engine's log at once and outlives a killed child; it outlives a power cut
after `flush`.
"""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from unchunk.adapters.index.child import Child
from unchunk.adapters.index.edge_home import Home
from unchunk.adapters.index.lock import FolderLock
from unchunk.adapters.index.packing import pack, pack_ids, pack_query
from unchunk.adapters.index.spaces import (
    check_kept,
    check_texts,
    checked_name,
    checked_query,
    finds_nothing,
)
from unchunk.adapters.index.wire import Found
from unchunk.domain import ChunkKey, DocumentId, Scored, Space, Terms, Within
from unchunk.errors import IntegrityError
from unchunk.ports import Point, Vectors

_PROCESS = "unchunk.adapters.index.edge_process"
_AT_ONCE = 512  # points, lest a search wait for more


class EdgeIndex:
    """`Index` in a folder; nothing is started before `start` or the first call.

    With 0 dimensions it holds terms only.
    """

    def __init__(
        self, folder: Path, space: Space, lock: FolderLock, enough: int, closed: Callable[[], None]
    ) -> None:
        arguments = (str(folder), str(space.dimensions), str(enough))
        self.space = space
        self._lock = lock
        self._closed = closed
        self._child = Child(_PROCESS, arguments, lock.fd, space.name)

    @property
    def pid(self) -> int | None:
        """The process that holds the engine; None before it is started."""
        return self._child.pid

    async def start(self) -> None:
        self._child.start()

    async def upsert(self, points: Sequence[Point]) -> None:
        starts = range(0, len(points), _AT_ONCE)
        for batch in [pack(points[at : at + _AT_ONCE], self.space) for at in starts]:
            await self._child.call("upsert", batch)

    async def flush(self) -> None:
        await self._child.call("flush")

    async def search(self, query: Vectors | Terms, within: Within, limit: int) -> list[Scored]:
        [found] = await self.search_many([query], within, limit)
        return found

    async def search_many(
        self, queries: Sequence[Vectors | Terms], within: Within, limit: int
    ) -> list[list[Scored]]:
        checked = [checked_query(query, within, self.space) for query in queries]
        asked = {
            at: pack_query(query, within, limit)
            for at, query in enumerate(checked)
            if not finds_nothing(query, within, limit)
        }
        found: list[Found] = await self._child.call("search", *asked.values()) if asked else []
        scored = dict(zip(asked, map(_scored, found), strict=True))
        return [scored.get(at, []) for at in range(len(checked))]

    async def fetch(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vectors]:
        if not keys:
            return {}
        wanted = list(dict.fromkeys(keys))
        there, data = await self._child.call("fetch", pack_ids(wanted))
        rows = np.frombuffer(data, np.float32).reshape(len(there), self.space.dimensions)
        return {wanted[at]: row for at, row in zip(there, rows, strict=True)}

    async def delete(self, document: DocumentId, generations: Sequence[int] | None = None) -> None:
        check_texts(document)
        if generations is None or generations:
            await self._child.call("delete", document, generations)

    async def census(self, document: DocumentId | None = None) -> dict[tuple[DocumentId, int], int]:
        check_texts(document or "")
        counts: dict[tuple[DocumentId, int], int] = await self._child.call("census", document)
        return counts

    async def close(self) -> None:
        await self._child.close()
        if self._lock.fd >= 0:
            self._lock.release()
            self._closed()


def _scored(found: Found) -> list[Scored]:
    keys = map(ChunkKey, found.owners, found.documents, found.generations, found.chunk_indices)
    return list(map(Scored, keys, found.scores))


class EdgeIndexes:
    """`Indexes` as sub-folders of one folder, each open in one process at a time.

    `enough` rows written make a space worth optimizing; by default as many as fill 64 MB.
    """

    def __init__(self, folder: Path, enough: int = 0) -> None:
        self._folder = folder
        self._enough = enough
        self._open: dict[str, EdgeIndex] = {}
        self._guard = asyncio.Lock()

    async def open(self, space: Space) -> EdgeIndex:
        """Raises `LibraryInUseError` where another process has it open.

        Opened twice, it is the same index, and closed for both.
        """
        name = checked_name(space.name)
        async with self._guard:
            if name not in self._open:
                lock = await asyncio.to_thread(FolderLock, self._lock_of(name))
                try:
                    self._check(space)
                    (self._folder / name).mkdir(exist_ok=True)
                except BaseException:
                    lock.release()
                    raise
                self._open[name] = EdgeIndex(
                    self._folder / name, space, lock, self._enough, lambda: self._forget(name)
                )
            index = self._open[name]
        check_kept(space, index.space.dimensions)
        return index

    async def drop(self, name: str) -> None:
        checked_name(name)
        if name in self._open:
            await self._open[name].close()
        if (self._folder / name).exists():
            lock = await asyncio.to_thread(FolderLock, self._lock_of(name))
            try:
                await asyncio.to_thread(shutil.rmtree, self._folder / name)
            finally:
                lock.release(remove=True)

    async def names(self) -> list[str]:
        if not self._folder.exists():
            return []
        return sorted(each.name for each in self._folder.iterdir() if each.is_dir())

    def _lock_of(self, name: str) -> Path:
        return self._folder / f"{name}.lock"

    def _forget(self, name: str) -> None:
        del self._open[name]

    def _check(self, space: Space) -> None:
        folder = self._folder / space.name
        try:
            dimensions = Home(folder).dimensions
        except ValueError as error:
            raise IntegrityError(
                f"the index at {folder} is damaged: remove it and index anew"
            ) from error
        if dimensions is not None:
            check_kept(space, dimensions)
