"""A library that is open only while it is used, and a little longer.

An agent's program keeps its tools running all day. A library that they held all that time could
not be used by anybody else: only one process at a time can have its index.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from unchunk.engine import Engine

_IDLE = 20.0
# How long whoever has it may take to put things down.
_LAST_WORDS = 5.0


class Lending:
    """Opens what `opening` opens for whoever borrows it; `idle` seconds after the last it closes."""

    def __init__(self, opening: Callable[[], Awaitable[Engine]], idle: float = _IDLE) -> None:
        self._opening, self._idle = opening, idle
        self._engine: Engine | None = None
        self._door = asyncio.Lock()
        self._borrowers = 0
        self._unused = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        return self._engine is not None

    @asynccontextmanager
    async def borrowed(self) -> AsyncIterator[Engine]:
        async with self._door:
            if self._engine is None:
                self._engine = await self._opening()
            engine = self._engine
            self._borrowers += 1
            self._unused.clear()
        self._stop_waiting()
        try:
            yield engine
        finally:
            self._borrowers -= 1
            if not self._borrowers:
                self._unused.set()
                self._stop_waiting()
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(self._idle, self._leave)

    async def close(self) -> None:
        """Whoever has it is waited for, but not for long. It can be borrowed again."""
        if self._borrowers:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS):
                    await self._unused.wait()
        self._stop_waiting()
        async with self._door:
            engine, self._engine = self._engine, None
            if engine is not None:
                await engine.close()

    def _leave(self) -> None:
        self._closing = asyncio.ensure_future(self._close_if_unused())

    async def _close_if_unused(self) -> None:
        async with self._door:
            if self._engine is not None and not self._borrowers:
                engine, self._engine = self._engine, None
                await engine.close()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
