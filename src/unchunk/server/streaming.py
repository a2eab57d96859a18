"""An event stream as server-sent events, for one reader among others.

Several may read a stream at once, each from its own place. A reader that takes nothing for too
long is left, and can come back.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import TypeVar, cast

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from unchunk.domain import OwnerId
from unchunk.errors import TransientError
from unchunk.server.options import Options
from unchunk.server.stream import Stream
from unchunk.server.streams import LAST_WORDS, SHUTTING_DOWN, Streams
from unchunk.telemetry import log

T = TypeVar("T")

STREAM = "X-Stream-ID"
# What nobody reads: its client is gone.
NOBODY = 499
_FIRST_EVENT = 2.0


class EventStream(Response):
    """What follows event `after`."""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams, stream: Stream, options: Options, after: int = 0) -> None:
        self._streams, self._stream, self._options, self._after = streams, stream, options, after
        self.status_code = 200
        self.background = None
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        self.init_headers(headers if stream.is_for_one else {**headers, STREAM: stream.id})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        gone = asyncio.ensure_future(left(receive))
        try:
            with self._streams.reading(self._stream):
                await self._send(send, gone)
        finally:
            gone.cancel()
            if self._stream.is_for_one:
                await self._streams.stop(self._stream)

    async def _send(self, send: Send, gone: "asyncio.Future[None]") -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        pieces = self._stream.pieces(self._after, self._options.heartbeat_seconds, gone)
        async with aclosing(cast("AsyncGenerator[bytes]", pieces)) as opened:
            async for piece in opened:
                try:
                    async with asyncio.timeout(self._options.stall_seconds):
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                except TimeoutError:
                    log("a reader of the stream %s takes nothing: it is left", self._stream.id)
                    return
        if not gone.done():
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def reply_of(streams: Streams, stream: Stream, options: Options) -> Response:
    """A stream as the reply, when its first event is there or slow to come.

    What is wrong with a question is known at once, and is then no stream but an error.
    """
    with streams.reading(stream):
        await stream.begun(min(_FIRST_EVENT, options.heartbeat_seconds))
    if stream.error is not None:
        await streams.stop(stream)
        raise stream.error
    return EventStream(streams, stream, options)


async def done_for(
    receive: Receive, streams: Streams, owner: OwnerId, work: Coroutine[None, None, T]
) -> T | None:
    """What `work` gives for one who waits for it, and stops it by leaving: then there is nothing."""
    task = asyncio.create_task(work)
    streams.follow(cast("asyncio.Task[object]", task), owner)
    await attended(receive, task)
    if task.done() and not task.cancelled():
        return task.result()
    if streams.is_closing:
        raise TransientError(SHUTTING_DOWN.message)
    return None


async def attended(receive: Receive, work: "asyncio.Task[T]") -> None:
    """Wait for what somebody asked for; whoever goes away stops it."""
    gone = asyncio.create_task(left(receive))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait([work], timeout=LAST_WORDS)


async def left(receive: Receive) -> None:
    """Wait until the client is gone; its body must have been read before."""
    while (await receive())["type"] != "http.disconnect":
        pass
