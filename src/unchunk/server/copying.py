"""Answers that another process writes, for readers that came here."""

import asyncio
from collections.abc import Iterable

from unchunk.chat.events import Failed
from unchunk.domain import OwnerId
from unchunk.errors import NotFoundError, UnchunkError
from unchunk.ports import Logged, StreamLog
from unchunk.server.faults import GoneError
from unchunk.server.stream import Stream
from unchunk.telemetry import log

INTERRUPTED = Failed("interrupted", "whoever wrote this answer is gone: ask again", True)
# The number of that event: none that was sent before can be higher.
_LAST = 999_999_999
_EVERY = 0.15
# A stream may be begun, and its id be told, a moment before others know of it.
_KNOWN = 2.0
# Whoever was away is heard of again by then; and where nobody is, events that were sent and not
# told to others are not waited for any longer.
_BACK = 1.5
_TOLD = 10.0
_UNREAD = 5.0
_AWAY = 30.0


class Copy(Stream):
    """As far as it is logged. It ends without a last word where another process may know more."""

    __slots__ = ("is_lost",)

    def __init__(self, name: str, owner: OwnerId) -> None:
        super().__init__(name, owner)
        self.is_lost = False

    def take(self, events: Iterable[bytes]) -> None:
        for one in events:
            self._append(one)

    def lose(self) -> None:
        """Tell that no more will come."""
        self.is_lost = True
        self._append(self._shown(INTERRUPTED, _LAST))
        self.end()

    async def place(self, number: int) -> int | None:
        """Waits for what was sent already, and is not known here."""
        if number == _LAST:
            raise GoneError(f"the stream {self.id} was interrupted: ask again")
        try:
            with self.reading() as news:
                async with asyncio.timeout(_TOLD):
                    while number > self.count and not self.is_over:
                        news.clear()
                        await news.wait()
        except TimeoutError:
            pass
        if self.is_lost:
            return min(number, self.count - 1)
        return number if number <= self.count else None


class Copies:
    """Those that are read here. Belongs to one event loop."""

    def __init__(self, shared: StreamLog) -> None:
        self._shared = shared
        self._open: dict[str, Copy] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def find(self, owner: OwnerId, name: str) -> Stream:
        """`NotFoundError` for one that nobody has, or that was stopped."""
        if (known := self._open.get(name)) is not None and known.owner == owner:
            return known
        logged = await self._first(owner, name)
        copy = Copy(name, owner)
        copy.take(logged.events)
        while logged.events and not logged.is_over:
            logged = await self._shared.read(owner, name, copy.count)
            copy.take(logged.events)
        if logged.is_over:
            copy.end()
            return copy
        self._open[name] = copy
        task = asyncio.create_task(self._follow(copy))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return copy

    async def stop(self, owner: OwnerId, name: str) -> None:
        """`NotFoundError` as above. Whoever reads it is told how it ends."""
        await self._first(owner, name)
        await self._shared.stop(owner, name)
        self._open.pop(name, None)

    async def close(self) -> None:
        """Readers lose the line, and go on where another process takes it up."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _first(self, owner: OwnerId, name: str) -> Logged:
        deadline = _now() + _KNOWN
        while True:
            try:
                logged = await self._shared.read(owner, name, 0)
            except NotFoundError:
                if _now() > deadline:
                    raise
                await asyncio.sleep(_EVERY)
                continue
            if logged.is_stopped:
                raise NotFoundError(f"the stream {name} was stopped")
            return logged

    async def _follow(self, copy: Copy) -> None:
        try:
            await self._read_on(copy)
        except NotFoundError:
            pass
        except UnchunkError as error:
            log("the stream %s cannot be read on here: %s", copy.id, error)
        finally:
            if self._open.get(copy.id) is copy:
                del self._open[copy.id]
            if not copy.is_over:
                copy.end()

    async def _read_on(self, copy: Copy) -> None:
        read_at = heard_at = answered_at = _now()
        while True:
            await asyncio.sleep(_EVERY)
            now = _now()
            read_at = now if copy.has_readers else read_at
            if now - read_at > _UNREAD:
                return
            try:
                logged = await self._shared.read(copy.owner, copy.id, copy.count)
            except NotFoundError:
                raise
            except UnchunkError:
                if now - answered_at > _AWAY:
                    raise
                heard_at = _now()
                continue
            copy.take(logged.events)
            answered_at = _now()
            if logged.is_over:
                copy.end()
                return
            if not logged.is_lost:
                heard_at = now
            elif now - heard_at > _BACK:
                copy.lose()
                return


def _now() -> float:
    return asyncio.get_running_loop().time()
