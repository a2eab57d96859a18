"""The port `Bell`: LISTEN and NOTIFY of PostgreSQL; with SQLite, within this process."""

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from unchunk.adapters.catalog.database import Database
from unchunk.telemetry import log

# Who waits for the first time may have looked so long ago.
_BEFORE = 1.0
_MOST = 10_000


class SqlBell:
    """Belongs to one event loop. Its connection to PostgreSQL is made when somebody first waits,
    and made again whenever it is lost; meanwhile, and when it is closed, only rings of this
    process are heard.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rung: dict[str, float] = {}
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._heard: WeakKeyDictionary[asyncio.Task[Any], dict[str, float]] = WeakKeyDictionary()
        self._listening: asyncio.Task[None] | None = None
        self._closed = False
        database.on_ring(self._ring)

    async def wait(self, topic: str, seconds: float) -> bool:
        """Each task hears for itself: many may wait for one topic."""
        # Nobody rings from elsewhere at a file.
        if self._database.is_shared and not self._closed:
            self._listen()
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        heard = {} if task is None else self._heard.setdefault(task, {})
        since = heard.get(topic, loop.time() - _BEFORE)
        rang = self._rung.get(topic, since) > since or await self._waited(topic, seconds)
        if len(heard) > _MOST:
            heard.clear()
        heard[topic] = loop.time()
        return rang

    async def ring(self, topic: str) -> None:
        """Work that changes something rings by itself when it is committed: `Database.write`."""
        await self._database.write(lambda _: None, repeatable=True, rings=(topic,))

    async def close(self) -> None:
        self._closed = True
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait({self._listening})
            if not self._listening.cancelled() and (why := self._listening.exception()):
                log("the bell was broken: %s", why)

    def _listen(self) -> None:
        if self._listening is None or self._listening.done():
            from unchunk.adapters.catalog.listening import listen  # noqa: PLC0415

            self._listening = asyncio.create_task(
                listen(self._database.engine, self._ring, lambda: list(self._waiting))
            )

    async def _waited(self, topic: str, seconds: float) -> bool:
        rings = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(topic, set())
        waiting.add(rings)
        try:
            async with asyncio.timeout(seconds):
                await rings
        except TimeoutError:
            return False
        finally:
            waiting.discard(rings)
            if not waiting and self._waiting.get(topic) is waiting:
                del self._waiting[topic]
        return True

    def _ring(self, topic: str) -> None:
        """In the event loop."""
        # The newest stand last, and those that rang longest ago are forgotten first.
        self._rung.pop(topic, None)
        self._rung[topic] = asyncio.get_running_loop().time()
        if len(self._rung) > _MOST:
            del self._rung[next(iter(self._rung))]
        for one in self._waiting.get(topic, ()):
            if not one.done():
                one.set_result(None)
