"""An event stream as server-sent events, for one reader among others.

Several may read a stream at once, each from its own place. A reader that takes nothing for too
long is left, and can come back.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar, cast

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from unchunk.server.options import Options
from unchunk.server.streams import LAST_WORDS, Stream, Streams
from unchunk.telemetry import log

T = TypeVar("T")

STREAM = "X-Stream-ID"
# What nobody reads: its client is gone.
NOBODY = 499


class EventStream(Response):
    """What follows event `after`."""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams, stream: Stream, options: Options, after: int = 0) -> None:
        self._streams, self._stream, self._options, self._after = streams, stream, options, after
        self.status_code = 200
        self.background = None
        self.init_headers(
            {"Cache-Control": "no-store", "X-Accel-Buffering": "no", STREAM: stream.id}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        gone = asyncio.ensure_future(left(receive))
        try:
            with self._streams.reading(self._stream):
                await self._send(send, gone)
        finally:
            gone.cancel()

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
