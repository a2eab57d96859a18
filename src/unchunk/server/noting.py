"""Tells other processes what is written here: all answers in one call, a few times a second.

Nobody waits for it. While the place that they share is away, an answer can only be read on here.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from logging import ERROR, WARNING
from traceback import format_exc
from typing import NamedTuple

from unchunk.errors import UnchunkError
from unchunk.ports import News, StreamLog
from unchunk.server.stream import Stream
from unchunk.telemetry import log

_EVERY = 0.15
# Of an answer that has no news, it is told that it is still written.
_STILL = 0.5
_LATER = 1.0
_LAST_WORDS = 4.0


class Watched(NamedTuple):
    """What is done here with what others say of a stream: that it is to stop, that they read it,
    and that all of it is known to them.
    """

    stop: Callable[[Stream], None]
    read: Callable[[Stream], None]
    known: Callable[[Stream], None]


@dataclass(slots=True)
class _Entry:
    stream: Stream
    begun_at: float
    noted: int = 0
    told_at: float = 0.0

    def news(self) -> News:
        stream = self.stream
        events = stream.events(self.noted)
        kept = not stream.is_left
        return News(stream.owner, stream.id, self.noted + 1, events, stream.is_over, kept)

    def is_due(self, now: float) -> bool:
        has_news = self.stream.is_over or self.stream.count > self.noted
        return has_news or now - self.told_at >= _STILL


class Noting:
    """Belongs to one event loop. What is over is tried to be told for `kept` seconds."""

    def __init__(self, shared: StreamLog, watched: Watched, kept: float) -> None:
        self._shared, self._watched, self._kept = shared, watched, kept
        self._entries: dict[str, _Entry] = {}
        self._begun = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self, stream: Stream) -> None:
        self._entries[stream.id] = _Entry(stream, _now())
        self._begun.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def has(self, name: str) -> bool:
        return name in self._entries

    async def close(self) -> None:
        """Tell what is left, unless that takes long. Closing twice is closing once."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait([self._task])
        self._task = None
        with suppress(TimeoutError, UnchunkError):
            async with asyncio.timeout(_LAST_WORDS):
                await self._tell()

    async def _run(self) -> None:
        while True:
            await self._begun.wait()
            await asyncio.sleep(_EVERY)
            try:
                await self._tell()
            except UnchunkError as error:
                log("others cannot read on what is answered here: %s", error, level=WARNING)
                await self._wait()
            except Exception:  # noqa: BLE001 - the edge of this task: the next time may be better
                log("answers could not be told to others: %s", format_exc(), level=ERROR)
                await self._wait()

    async def _tell(self) -> None:
        now = _now()
        due = [one for one in self._entries.values() if one.is_due(now)]
        news = [one.news() for one in due]
        stopped, read = await self._shared.note(news)
        for entry, told in zip(due, news, strict=True):
            entry.noted, entry.told_at = entry.noted + len(told.events), now
            if told.is_over:
                self._drop(entry)
                self._watched.known(entry.stream)
            elif told.stream in stopped:
                self._watched.stop(entry.stream)
            elif told.stream in read:
                self._watched.read(entry.stream)

    def _drop(self, entry: _Entry) -> None:
        del self._entries[entry.stream.id]
        if not self._entries:
            self._begun.clear()

    async def _wait(self) -> None:
        """Nothing is held for others that this process itself would not keep."""
        await asyncio.sleep(_LATER)
        oldest = _now() - self._kept
        for entry in list(self._entries.values()):
            if entry.stream.is_over and max(entry.begun_at, entry.told_at) < oldest:
                self._drop(entry)


def _now() -> float:
    return asyncio.get_running_loop().time()
