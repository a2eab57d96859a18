"""Many documents at a time: what bounds them, and how they become live together."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

from unchunk.domain import DocumentId, Whole
from unchunk.library.parts import Parts
from unchunk.library.writing import commit

T = TypeVar("T")
R = TypeVar("R")
_Entry = tuple[Whole, asyncio.Future[set[DocumentId]]]


class Committer:
    """Makes written documents live in groups: a flush costs the same for one as for many.

    While a group is on its way, the next one gathers; a document alone does not wait.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._waiting: list[_Entry] = []
        self._group: asyncio.Future[None] | None = None
        self._turn = asyncio.Lock()

    async def commit(self, whole: Whole) -> bool:
        """Return when the version is live; False if its document was deleted meanwhile."""
        entry = whole, asyncio.get_running_loop().create_future()
        self._waiting.append(entry)
        try:
            async with self._turn:
                if not entry[1].done():
                    # Goes on if whoever waits here is cancelled: others are in the group, too.
                    self._group = asyncio.ensure_future(self._commit_all())
                    await asyncio.shield(self._group)
        except asyncio.CancelledError:
            await self._withdraw(entry)
            raise
        return whole.version.document in await entry[1]

    async def _withdraw(self, entry: _Entry) -> None:
        """Take back what nobody began. What is on its way is waited for: what it works with is let
        go of afterwards.
        """
        if any(one is entry for one in self._waiting):
            self._waiting = [one for one in self._waiting if one is not entry]
        elif self._group is not None:
            await asyncio.wait([self._group])

    async def _commit_all(self) -> None:
        group, self._waiting = self._waiting, []
        try:
            live = await commit(self._parts, [whole for whole, _ in group]) if group else set()
        except Exception as error:  # noqa: BLE001 - each of the group raises it itself
            for _, done in group:
                if not done.done():  # cancelled, with whoever waited
                    done.set_exception(error)
                    done.exception()  # seen, also where nobody waits any more
        else:
            for _, done in group:
                if not done.done():
                    done.set_result(live)


class Room:
    """Lets in as many bytes at a time as memory is to hold; a larger one goes in alone."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def hold(self, size: int) -> AsyncIterator[None]:
        size = min(size, self._size)
        async with self._changed:
            await self._changed.wait_for(lambda: self._used + size <= self._size)
            self._used += size
        try:
            yield
        finally:
            async with self._changed:
                self._used -= size
                self._changed.notify_all()


class Flow:
    """What bounds and groups all that comes into one open library, whoever brings it.

    `width` files at a time, which is more than cores: they wait for the disk, the embedder
    and each other's flush; and no more bytes of them than memory is to hold.
    """

    def __init__(self, parts: Parts, width: int = 16, size: int = 64_000_000) -> None:
        self.width = width
        self.committer = Committer(parts)
        self.room = Room(size)


async def each(items: Iterable[T], width: int, work: Callable[[T], Awaitable[R]]) -> list[R]:
    """`work` on every item, `width` at a time; results in order. The first error ends all."""
    results: dict[int, R] = {}
    numbered = iter(enumerate(items))

    async def worker() -> None:
        for at, item in numbered:
            results[at] = await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(width):
                group.create_task(worker())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [results[at] for at in sorted(results)]
