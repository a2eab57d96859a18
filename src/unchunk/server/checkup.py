"""How the server is, for probes: they come often, from many sides, and are to cost nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from unchunk.engine import Counts, Engine
from unchunk.server.streams import SHUTTING_DOWN, Streams
from unchunk.telemetry import Condition

T = TypeVar("T")
# A question goes on without the others: by words alone, or with quotes for an answer.
_NEEDED = ("catalog", "index")


class Fresh(Generic[T]):
    """What many ask for: made once at a time, and good for some seconds."""

    def __init__(self, make: Callable[[], Awaitable[T]], seconds: float) -> None:
        self._make, self._seconds = make, seconds
        self._made: asyncio.Task[T] | None = None
        self._until = 0.0

    async def get(self) -> T:
        if self._made is None or (self._made.done() and self._now() >= self._until):
            self._made = asyncio.create_task(self._once())
        # Whoever goes away does not take it from the others.
        return await asyncio.shield(self._made)

    async def _once(self) -> T:
        try:
            return await self._make()
        finally:
            self._until = self._now() + self._seconds

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


class Readiness(NamedTuple):
    """Whether questions can be answered from documents. `reasons` also tell what is only worse."""

    ready: bool
    parts: dict[str, Condition]
    reasons: list[str]


class Checkup:
    """Asks the engine at most once in `seconds`."""

    def __init__(self, engine: Engine, streams: Streams, seconds: float) -> None:
        self._engine, self._streams = engine, streams
        self._health = Fresh(self._asked, seconds)
        self._counts = Fresh(self._counted, seconds)

    async def readiness(self) -> Readiness:
        parts = await self._health.get()
        reasons = [f"{name}: {it.reason}" for name, it in parts.items() if not it.ok]
        ready = all(parts[name].ok for name in _NEEDED)
        if self._streams.is_closing:
            ready, reasons = False, [SHUTTING_DOWN.message, *reasons]
        return Readiness(ready, parts, reasons)

    async def counts(self) -> Counts:
        """All owners' together."""
        return await self._counts.get()

    async def _asked(self) -> dict[str, Condition]:
        return await self._engine.health()

    async def _counted(self) -> Counts:
        return await self._engine.counts()
