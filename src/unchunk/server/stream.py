"""One answer that is being written, or was a moment ago, for any number of readers.

The buffer ends with the answer, which the model's limits bound. Knows nothing of HTTP.
"""

import asyncio
from array import array
from asyncio import TimerHandle
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import ClassVar

from unchunk.chat.events import Event, Failed
from unchunk.domain import OwnerId
from unchunk.errors import UnchunkError
from unchunk.server.rendering import rendered

PING = b": ping\n\n"
STOPPED = Failed("stopped", "the answer was stopped")
_PIECE = 64 * 1024


class Stream:
    """One answer as the bytes of an event stream; `error` is why it never began.

    One that `is_for_one` reader ends when that one leaves, and cannot be read again.
    """

    is_for_one: ClassVar[bool] = False
    __slots__ = (
        "_buffer",
        "_ends",
        "_news",
        "error",
        "id",
        "is_left",
        "is_over",
        "last_word",
        "owner",
        "task",
        "timer",
    )

    def __init__(self, name: str, owner: OwnerId) -> None:
        self.id, self.owner = name, owner
        self.error: UnchunkError | None = None
        self.is_over, self.is_left = False, False
        self.last_word = STOPPED
        self.task: asyncio.Task[None] | None = None
        self.timer: TimerHandle | None = None
        self._buffer = bytearray()
        self._ends = array("Q")
        self._news: set[asyncio.Event] = set()

    @property
    def count(self) -> int:
        return len(self._ends)

    @property
    def size(self) -> int:
        return len(self._buffer)

    @property
    def has_readers(self) -> bool:
        return bool(self._news)

    def add(self, event: Event) -> None:
        """Events count from 1, as their ids do."""
        self._append(self._shown(event, self.count + 1))

    def events(self, after: int) -> tuple[bytes, ...]:
        """Each one behind event `after`, as it is sent."""
        begins = [self._begin_of(after + 1), *self._ends[after:]]
        return tuple(bytes(self._buffer[at:end]) for at, end in pairwise(begins))

    async def place(self, number: int) -> int | None:
        """Behind which event it goes on for who has all up to that number; None if that is none."""
        return number if number <= self.count else None

    def end(self) -> None:
        self.is_over = True
        self._tell()

    async def begun(self, patience: float) -> None:
        """Wait for the first event, but not for long."""
        with self.reading() as news:
            try:
                async with asyncio.timeout(patience):
                    while not (self.count or self.is_over):
                        await news.wait()
            except TimeoutError:
                pass

    @contextmanager
    def reading(self) -> Iterator[asyncio.Event]:
        """What is set whenever there is something new."""
        news = asyncio.Event()
        self._news.add(news)
        try:
            yield news
        finally:
            self._news.discard(news)

    async def pieces(
        self, after: int, heartbeat: float, gone: "asyncio.Future[None]"
    ) -> AsyncIterator[bytes]:
        """What follows event `after`, and a comment while nothing does, until the end or `gone`.

        A reader that is behind gets many events at once.
        """
        at = self._begin_of(after + 1)
        with self.reading() as news:
            gone.add_done_callback(lambda _: news.set())
            while not gone.done():
                news.clear()
                while at < len(self._buffer) and not gone.done():
                    piece = bytes(memoryview(self._buffer)[at : at + _PIECE])
                    at += len(piece)
                    yield piece
                if self.is_over and at == len(self._buffer):
                    return
                try:
                    async with asyncio.timeout(heartbeat):
                        await news.wait()
                except TimeoutError:
                    yield PING

    def _shown(self, event: Event, number: int) -> bytes:
        data = rendered(event.as_dict())
        end = f"\nid: {self.id}:{number}\n\n".encode()
        return b"event: %b\ndata: %b%b" % (event.kind.encode(), data, end)

    def _begin_of(self, number: int) -> int:
        return self._ends[number - 2] if number > 1 else 0

    def _append(self, data: bytes) -> None:
        self._buffer += data
        self._ends.append(len(self._buffer))
        self._tell()

    def _tell(self) -> None:
        for news in self._news:
            news.set()
