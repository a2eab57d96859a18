"""Answers that are being written, and those that were a moment ago, for whoever lost the line.

Each is a task of its own that fills a buffer; readers come and go. The buffer is cut off at
`max_stream_bytes`: however slow a reader is, no more than that is held for it. Where several
processes serve one library, each tells the others by a log what it writes. Knows nothing of HTTP.
"""

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from logging import ERROR
from traceback import format_exc

from unchunk.chat.events import Done, Event, Failed
from unchunk.domain import OwnerId
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError, NotFoundError, TransientError, UnchunkError
from unchunk.ports import StreamLog
from unchunk.server.copying import Copies
from unchunk.server.faults import GoneError, failed
from unchunk.server.limits import too_many
from unchunk.server.noting import Noting, Watched
from unchunk.server.options import Options
from unchunk.server.stream import Stream
from unchunk.telemetry import log

SHUTTING_DOWN = Failed("shutting-down", "the server is shutting down: ask again", True)
_TOO_LONG = Failed("too-long", "the answer is longer than the server sends")
# How long whoever writes may take to end what they began.
LAST_WORDS = 5.0
_RANDOM, _SIGNED = 12, 8
_DIGITS = 10
_COME_AGAIN = 5.0


class Streams:
    """All streams of a server. Belongs to one event loop."""

    def __init__(
        self, options: Options, secret: bytes = b"", shared: StreamLog | None = None
    ) -> None:
        """`secret` is the same in all processes that share a log."""
        self._options = options
        self._running: dict[str, Stream] = {}
        self._kept: OrderedDict[str, Stream] = OrderedDict()
        self._others: dict[asyncio.Task[object], OwnerId] = {}
        self._secret = secret or secrets.token_bytes(32)
        self._noting: Noting | None = None
        self._copies: Copies | None = None
        if shared is not None:
            watched = Watched(self._end, self._wait_for_readers, self._forget)
            self._noting = Noting(shared, watched, options.kept_seconds)
            self._copies = Copies(shared)
        self.is_closing = False

    @property
    def running(self) -> int:
        """How many answers are being written, to whomever."""
        return len(self._running) + len(self._others)

    def running_for(self, owner: OwnerId) -> int:
        streams = sum(one.owner == owner for one in self._running.values())
        return streams + sum(one == owner for one in self._others.values())

    @property
    def kept(self) -> int:
        return len(self._kept)

    def begin(
        self,
        owner: OwnerId,
        events: AsyncGenerator[Event],
        limited: OwnerId | None = None,
        make: Callable[[str, OwnerId], Stream] = Stream,
    ) -> Stream:
        """Write an answer; it stops if nobody reads it for as long as the options say.

        `make` is for who reads other bytes than ours.
        """
        self.check(limited)
        stream = make(self._name(owner), owner)
        self._running[stream.id] = stream
        stream.task = asyncio.create_task(self._write(stream, events))
        # A task that is stopped before it began does nothing itself.
        stream.task.add_done_callback(lambda task: self._retire(stream, task))
        self._wait_for_readers(stream)
        if self._noting is not None and not stream.is_for_one:
            self._noting.begin(stream)
        return stream

    def follow(self, task: asyncio.Task[object], owner: OwnerId) -> None:
        """Let a task that writes an answer for one reader end with the server."""
        self._others[task] = owner
        task.add_done_callback(lambda one: self._others.pop(one, None))

    def check(self, limited: OwnerId | None = None) -> None:
        """Raise where no further answer can be begun, or none for this owner."""
        if self.is_closing:
            raise TransientError(SHUTTING_DOWN.message)
        if self.running >= self._options.max_streams:
            raise TransientError(f"{self.running} answers are being written: try again later")
        if limited is not None and self.running_for(limited) >= self._options.max_answers:
            message = "too many answers are being written for you: wait for one to end"
            raise too_many(message, _COME_AGAIN)

    def find(self, owner: OwnerId, name: str) -> Stream:
        """One of this process. Another owner's is not there, as one that never was."""
        stream = self._running.get(name) or self._kept.get(name)
        if stream is not None and stream.owner == owner:
            return stream
        if hmac.compare_digest(self._signed(owner, name[:_RANDOM]).encode(), name.encode()):
            raise GoneError(f"the stream {name} is no longer kept: ask again")
        raise NotFoundError(f"there is no stream {name[:40]!r}")

    async def seek(self, owner: OwnerId, name: str) -> Stream:
        """As `find`, also among those of other processes."""
        try:
            return self.find(owner, name)
        except GoneError as gone:
            if self._copies is None or self._is_ours(name):
                raise
            try:
                return await self._copies.find(owner, name)
            except NotFoundError:
                raise gone from None

    async def place(self, owner: OwnerId, event_id: str) -> tuple[Stream, int] | None:
        """Where a client was that gives the id of the last event it has; None if nothing follows."""
        name, _, number = event_id.rpartition(":")
        stream = await self.seek(owner, name)
        if not (number.isascii() and number.isdecimal() and len(number) < _DIGITS):
            raise InvalidInputError(f"{event_id[:60]!r} is not an event id")
        after = await stream.place(int(number))
        if after is None:
            raise InvalidInputError(f"the stream {name} has no event {int(number)} yet")
        return None if stream.is_over and after == stream.count else (stream, after)

    @contextmanager
    def reading(self, stream: Stream) -> Iterator[None]:
        """Keep a stream going while somebody reads it."""
        if stream.timer is not None and not stream.is_over:
            stream.timer.cancel()
        try:
            with stream.reading():
                yield
        finally:
            self._wait_for_readers(stream)

    async def stop(self, stream: Stream) -> None:
        """End an answer now; its readers are told. Nothing of it is kept."""
        stream.is_left = True
        self._forget(stream)
        if stream.task is not None and not stream.task.done():
            stream.task.cancel()
            await asyncio.wait([stream.task], timeout=LAST_WORDS)

    async def leave(self, owner: OwnerId, name: str) -> None:
        """As `stop`, whichever process writes it; another one's ends a moment later."""
        try:
            await self.stop(self.find(owner, name))
        except GoneError as gone:
            if self._copies is None or self._is_ours(name):
                raise
            try:
                await self._copies.stop(owner, name)
            except NotFoundError:
                raise gone from None

    async def close(self) -> None:
        """End all answers, each with a word to its readers. Closing twice is closing once."""
        self.is_closing = True
        tasks = list(self._others)
        for stream in self._running.values():
            stream.last_word = SHUTTING_DOWN
            if stream.task is not None:
                tasks.append(stream.task)
        for task in tasks:
            task.cancel()
        if tasks:
            log("%d answers are ended, as the server shuts down", len(tasks))
            await asyncio.wait(tasks, timeout=LAST_WORDS)
        if self._noting is not None and self._copies is not None:
            await asyncio.gather(self._noting.close(), self._copies.close())
        for stream in [*self._running.values(), *self._kept.values()]:
            self._forget(stream)

    async def _write(self, stream: Stream, events: AsyncGenerator[Event]) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    stream.add(event)
                    too_long = stream.size > self._options.max_stream_bytes
                    if too_long and not isinstance(event, Done):
                        stream.add(_TOO_LONG)
                        break
        except UnchunkError as error:
            stream.error = None if stream.count else error
            stream.add(failed(error))
        except Exception as error:  # noqa: BLE001 - the edge of this task: its readers are told
            log("the stream %s failed: %s", stream.id, format_exc(), level=ERROR)
            stream.add(failed(error))

    def _wait_for_readers(self, stream: Stream) -> None:
        if stream.is_over or stream.has_readers or stream.id not in self._running:
            return
        if stream.timer is not None:
            stream.timer.cancel()
        loop = asyncio.get_running_loop()
        stream.timer = loop.call_later(self._options.resume_seconds, self._leave, stream)

    def _leave(self, stream: Stream) -> None:
        if not stream.is_over and not stream.has_readers:
            log("nobody reads the stream %s any more: it is stopped", stream.id)
            self._end(stream)

    def _end(self, stream: Stream) -> None:
        """Nothing of it is kept."""
        stream.is_left = True
        if stream.task is not None:
            stream.task.cancel()

    def _is_ours(self, name: str) -> bool:
        """Whether others do not know yet what became of a stream of ours."""
        return self._noting is not None and self._noting.has(name)

    def _retire(self, stream: Stream, task: asyncio.Task[None]) -> None:
        """Keep what is over for a while; of too much, the oldest goes first."""
        if task.cancelled():
            stream.add(stream.last_word)
        stream.end()
        self._forget(stream)
        if stream.is_left or stream.is_for_one or self.is_closing:
            return
        self._kept[stream.id] = stream
        loop = asyncio.get_running_loop()
        stream.timer = loop.call_later(self._options.kept_seconds, self._forget, stream)
        size = sum(one.size for one in self._kept.values())
        while len(self._kept) > self._options.kept_streams or size > self._options.kept_bytes:
            oldest = next(iter(self._kept.values()))
            size -= oldest.size
            self._forget(oldest)

    def _forget(self, stream: Stream) -> None:
        if stream.timer is not None:
            stream.timer.cancel()
            stream.timer = None
        self._running.pop(stream.id, None)
        self._kept.pop(stream.id, None)

    def _name(self, owner: OwnerId) -> str:
        return self._signed(owner, secrets.token_urlsafe(9))

    def _signed(self, owner: OwnerId, name: str) -> str:
        """So that an id of this owner's which is gone can be told from one that never was."""
        digest = hmac.digest(self._secret, f"{name} {owner}".encode(), hashlib.sha256)
        return name + base64.urlsafe_b64encode(digest)[:_SIGNED].decode()


async def streams_of(engine: Engine, options: Options) -> Streams:
    shared = engine.sharing.streams
    if shared is None:
        return Streams(options)
    secret = hmac.digest(await engine.keyring.secret(), b"streams", hashlib.sha256)
    return Streams(options, secret, shared)
