"""Who works on which document: one at a time, and none on what was deleted.

Within this process locks tell it; where several share a library, leases do, too. Neither makes
anything right by itself, for a process may sleep through the end of its lease: the generations
of the catalog do. What is told here saves work, and bounds waiting.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from logging import ERROR
from traceback import format_exc

from unchunk.domain import DocumentId
from unchunk.errors import NotFoundError, TransientError, UnchunkError
from unchunk.ports import DISMISSED, Bell, Leases
from unchunk.telemetry import log

PROCESS = "process/"
"""What every process that has a shared library open holds all the time, behind it its name."""

_FIRST, _LONGEST = 0.01, 0.5
_BEATS = 5


class Desk:
    """Locks by name, as long as somebody holds or wants them.

    Without `leases` nobody else works on this library. With them, `seconds` is how long one
    lasts; all are kept up together, from `open` to `close`.
    """

    def __init__(
        self, leases: Leases | None = None, bell: Bell | None = None, seconds: float = 15.0
    ) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: dict[str, int] = {}
        self._dismissed: set[str] = set()
        self._leases, self._bell, self._seconds = leases, bell, seconds
        # What is leased, each with a number of its own, and what is being taken.
        self._leased: dict[str, int] = {}
        self._taken = 0
        self._changing: set[str] = set()
        self._lost: set[str] = set()
        self._beaten = 0.0
        self._beating: asyncio.Task[None] | None = None

    @property
    def is_shared(self) -> bool:
        """Whether other processes may work on the same library."""
        return self._leases is not None

    async def open(self) -> None:
        """From now on other processes can tell that this one is there."""
        if self._leases is not None:
            await self._leases.take([self._own])
            self._beaten = _now()
            self._beating = asyncio.create_task(self._beat_on(self._leases))

    async def close(self) -> None:
        if self._beating is not None and self._leases is not None:
            self._beating.cancel()
            with suppress(asyncio.CancelledError):
                await self._beating
            # It runs out by itself where that cannot be.
            with suppress(UnchunkError):
                await self._leases.give_up([self._own, *self._leased])

    @asynccontextmanager
    async def hold(self, *names: str) -> AsyncIterator[None]:
        """Be the only one, anywhere, who works on some documents, or things that have a name.

        Nobody holds some while they wait for others: two would wait for each other for ever.
        """
        async with self._locked(names):
            if self._leases is None or not names:
                yield
                return
            pause = _FIRST
            while not await self._take(self._leases, names):
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST)
            try:
                yield
            finally:
                await self._give_up(self._leases, names)

    @asynccontextmanager
    async def hold_if_free(self, *names: str) -> AsyncIterator[bool]:
        """Hold them if nobody does, and tell whether that is so."""
        if any(name in self._locks for name in names):
            yield False
            return
        async with self._locked(names):
            if self._leases is None:
                yield True
            elif not await self._take(self._leases, names):
                yield False
            else:
                try:
                    yield True
                finally:
                    await self._give_up(self._leases, names)

    @asynccontextmanager
    async def hold_here(self, name: str) -> AsyncIterator[None]:
        """Be the only one in this process who works on a thing; others do not matter to it."""
        async with self._locked([name]):
            yield

    async def is_held(self, name: str) -> bool:
        return bool(await self.held([name]))

    async def held(self, names: Sequence[str]) -> set[str]:
        """Those that anybody holds or wants here, or holds elsewhere."""
        here = {name for name in names if name in self._locks}
        others = [name for name in names if name not in here]
        if self._leases is None or not others:
            return here
        return here | await self._leases.held(others)

    async def dismiss(self, *documents: DocumentId) -> None:
        """Whoever works on these documents is to stop: they were deleted."""
        self._dismissed.update(one for one in documents if one in self._locks)
        if self._leases is not None:
            await self._leases.dismiss(documents)

    def check(self, document: DocumentId) -> None:
        """Raise if there is no more to work for, or if another may work on it by now."""
        if document in self._dismissed:
            raise NotFoundError("it was deleted meanwhile")
        if self._leases is None:
            return
        if document in self._lost or _now() - self._beaten > self._seconds:
            raise TransientError(
                "the database did not answer for so long that another process may work on it now"
            )

    @property
    def _own(self) -> str:
        assert self._leases is not None
        return f"{PROCESS}{self._leases.holder}"

    @asynccontextmanager
    async def _locked(self, names: Sequence[str]) -> AsyncIterator[None]:
        names = sorted(set(names))
        for name in names:
            self._locks.setdefault(name, asyncio.Lock())
            self._wanted[name] = self._wanted.get(name, 0) + 1
        try:
            async with AsyncExitStack() as stack:
                # In one order, so that no two wait for each other.
                for name in names:
                    await stack.enter_async_context(self._locks[name])
                yield
        finally:
            for name in names:
                self._wanted[name] -= 1
                if not self._wanted[name]:
                    del self._locks[name], self._wanted[name]
                    self._dismissed.discard(name)

    async def _take(self, leases: Leases, names: Sequence[str]) -> bool:
        self._changing.update(names)
        try:
            taken = await leases.take(names)
        finally:
            # If nobody knows whether it was taken, it is not ours, and the next beat gives it up.
            self._changing.difference_update(names)
        if taken:
            self._lost.difference_update(names)
            self._dismissed.difference_update(names)
            self._taken += 1
            self._leased |= dict.fromkeys(names, self._taken)
        return taken

    async def _give_up(self, leases: Leases, names: Sequence[str]) -> None:
        for name in names:
            self._leased.pop(name, None)
            self._lost.discard(name)
        # Goes on if whoever waits here is cancelled: others may wait for the names.
        await asyncio.shield(asyncio.ensure_future(_given_up(leases, names)))

    async def _beat_on(self, leases: Leases) -> None:
        while True:
            pause = self._seconds / _BEATS
            if self._bell is None:
                await asyncio.sleep(pause)
            else:
                await self._bell.wait(DISMISSED, pause)
            try:
                await self._beat(leases)
            except UnchunkError as error:
                log("this process cannot keep up what it works on: %s", error)
            except Exception:  # noqa: BLE001 - the edge of this task: the next time may be better
                log("this process cannot keep up what it works on: %s", format_exc(), level=ERROR)

    async def _beat(self, leases: Leases) -> None:
        begun, before, busy = _now(), dict(self._leased), set(self._changing)
        mine = await leases.beat()
        if self._own not in mine:
            await leases.take([self._own])
        self._beaten = begun
        self._dismissed.update(it for it, is_asked in mine.items() if is_asked)
        self._dismissed.intersection_update(self._locks)
        self._lost.update(
            name
            for name, number in before.items()
            if name not in mine and self._leased.get(name) == number
        )
        known = busy | self._changing | before.keys() | self._leased.keys() | {self._own}
        # Taken for somebody who went away meanwhile.
        await _given_up(leases, [name for name in mine if name not in known])


async def _given_up(leases: Leases, names: Sequence[str]) -> None:
    # Where that cannot be now, the next beat does it, or the end of the lease.
    with suppress(UnchunkError):
        if names:
            await leases.give_up(names)


def _now() -> float:
    return asyncio.get_running_loop().time()
