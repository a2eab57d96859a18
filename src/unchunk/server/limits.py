"""How much one may ask in which time. What is remembered of whom is bounded."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import ceil

from unchunk.errors import UnchunkError
from unchunk.ports import Rates
from unchunk.server.faults import RefusedError
from unchunk.server.options import Options
from unchunk.telemetry import log

_REMEMBERED = 10_000
_MOMENT, _ALONE = 0.5, 5.0


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
            raise _too_often((1 - left) / rate)

    def __len__(self) -> int:
        return len(self._left)


class Rate:
    """So many a minute of each name among all processes, or in this one where it is alone.

    Where those that are shared cannot be had in a moment, this process decides, and goes on doing
    so for a while. Who was told when to come again is told by it, too.
    """

    def __init__(self, what: str, per_minute: int, shared: Rates | None = None) -> None:
        self._what, self._per_minute, self._shared = what, per_minute, shared
        self.local = Buckets(per_minute)
        self._alone_until = 0.0
        self._refused: OrderedDict[str, float] = OrderedDict()

    async def take(self, name: str) -> None:
        """Raises as `Buckets.take` does."""
        if self._shared is None or not self._per_minute or _now() < self._alone_until:
            self.local.take(name)
            return
        if (seconds := self._refused.get(name, 0.0) - _now()) <= 0:
            try:
                async with asyncio.timeout(_MOMENT):
                    seconds = await self._shared.take(f"{self._what} {name}", self._per_minute)
            except (TimeoutError, UnchunkError) as error:
                log(
                    "rates are counted by each process alone for now: %s", str(error) or "no answer"
                )
                self._alone_until = _now() + _ALONE
                self.local.take(name)
                return
        if seconds > 0:
            self._refuse(name, seconds)

    def _refuse(self, name: str, seconds: float) -> None:
        self._refused[name] = _now() + seconds
        self._refused.move_to_end(name)
        if len(self._refused) > _REMEMBERED:
            self._refused.popitem(last=False)
        raise _too_often(seconds)


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
    """Those of one server; rates are `shared` with others, what is under way at once is not."""

    def __init__(self, options: Options, shared: Rates | None = None) -> None:
        self.requests = Rate("request", options.rate_limit, shared)
        self.sign_ins = Rate("sign-in", options.sign_in_limit, shared)
        self.uploads = Slots(options.max_uploads, options.upload_patience)
        self.sockets = Slots(options.max_sockets, 0, "sockets are open")


def _too_often(seconds: float) -> RefusedError:
    return too_many("too many requests: wait a moment", seconds)


def _now() -> float:
    return asyncio.get_running_loop().time()


def too_many(message: str, seconds: float) -> RefusedError:
    return RefusedError(429, "too-many", message, {"Retry-After": str(max(1, ceil(seconds)))})
