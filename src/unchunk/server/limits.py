"""How much one may ask in which time. What is remembered of whom is bounded."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import ceil

from unchunk.server.faults import RefusedError
from unchunk.server.options import Options

_REMEMBERED = 10_000


class Buckets:
    """A bucket of tokens for each name: full at first, and filled again at an even rate.

    0 a minute is no limit. Of too many names, the one that was quiet longest is forgotten, whose
    bucket is most likely full.
    """

    def __init__(
        self, per_minute: int, most: int = _REMEMBERED, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_minute, self._most, self._now = per_minute, most, now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> None:
        """Raises where the bucket is empty; the refusal says when to come again."""
        if not self._per_minute:
            return
        moment, rate = self._now(), self._per_minute / 60
        left, since = self._left.pop(name, (float(self._per_minute), moment))
        left = min(float(self._per_minute), left + (moment - since) * rate)
        is_empty = left < 1
        self._left[name] = (left if is_empty else left - 1, moment)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        if is_empty:
            raise too_many("too many requests: wait a moment", (1 - left) / rate)

    def __len__(self) -> int:
        return len(self._left)


class Slots:
    """So many at once for each name; one more waits for `patience` seconds."""

    def __init__(self, most: int, patience: float, what: str = "uploads are under way") -> None:
        self._most, self._patience, self._what = most, patience, what
        self._slots: dict[str, tuple[asyncio.Semaphore, list[None]]] = {}

    @asynccontextmanager
    async def one(self, name: str) -> AsyncIterator[None]:
        slots, users = self._slots.setdefault(name, (asyncio.Semaphore(self._most), []))
        users.append(None)
        try:
            await self._wait_for(slots)
            try:
                yield
            finally:
                slots.release()
        finally:
            users.pop()
            if not users:
                del self._slots[name]

    async def _wait_for(self, slots: asyncio.Semaphore) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await slots.acquire()
        except TimeoutError:
            message = f"{self._most} {self._what} already: wait for one to end"
            raise too_many(message, self._patience) from None

    def __len__(self) -> int:
        return len(self._slots)


class Limits:
    """Those of one server."""

    def __init__(self, options: Options) -> None:
        self.requests = Buckets(options.rate_limit)
        self.sign_ins = Buckets(options.sign_in_limit)
        self.uploads = Slots(options.max_uploads, options.upload_patience)
        self.sockets = Slots(options.max_sockets, 0, "sockets are open")


def too_many(message: str, seconds: float) -> RefusedError:
    return RefusedError(429, "too-many", message, {"Retry-After": str(max(1, ceil(seconds)))})
