"""Bodies of requests: how long they may be, and how slowly they may come.

A reply that is given before its request has come whole closes the connection, but not at once: a
client that is still sending would see a broken line in the place of the reply. What it sends is
read on for a while, and thrown away.
"""

import asyncio
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unchunk.server.options import Options

# What stands around a file in an upload.
_ENVELOPE = 1_000_000
_THROWN_AWAY, _LINGERING = 64_000_000, 5.0
_CLOSE = {"Connection": "close"}


def longest(options: Options, uploads: frozenset[str], path: str) -> int:
    """Files go to the disk; what other paths are sent is held in memory."""
    return options.max_upload + _ENVELOPE if path in uploads else options.max_body


def too_big(most: int) -> str:
    return f"the request is longer than {most} bytes: send less"


class Receiving:
    """`uploads` are the paths that take files."""

    def __init__(self, app: ASGIApp, options: Options, uploads: frozenset[str]) -> None:
        self._app, self._options, self._uploads = app, options, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = longest(self._options, self._uploads, scope["path"])
        body = _Body(scope, receive, send, most, self._options)
        await self._app(scope, body.receive, body.send)


class _Body:
    def __init__(
        self, scope: Scope, receive: Receive, send: Send, most: int, options: Options
    ) -> None:
        self._receive, self._send, self._most = receive, send, most
        self._stall, self._slowest = options.body_seconds, options.slowest_body
        self._taken, self._waited = 0, 0.0
        self._lingers = True
        headers = Headers(scope=scope)
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        self._is_over = not has_body

    async def receive(self) -> Message:
        if self._is_over:
            return await self._receive()
        message = await self._in_time()
        self._note(message)
        if self._taken > self._most:
            raise HTTPException(413, too_big(self._most), _CLOSE)
        return message

    async def send(self, message: Message) -> None:
        if self._is_over:
            await self._send(message)
        elif message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_CLOSE)
            await self._send(message)
        elif message.get("more_body", False) or not self._lingers:
            await self._send(message)
        else:
            # All of the reply, but for its end.
            await self._send({**message, "more_body": True})
            await self._throw_away()
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _in_time(self) -> Message:
        """What comes in drops for ever is no better than what does not come."""
        loop = asyncio.get_running_loop()
        left = self._stall + self._taken / self._slowest - self._waited
        began = loop.time()
        try:
            async with asyncio.timeout(min(self._stall, left)):
                return await self._receive()
        except TimeoutError:
            self._lingers = False
            raise HTTPException(408, "the body of the request comes too slowly", _CLOSE) from None
        finally:
            self._waited += loop.time() - began

    async def _throw_away(self) -> None:
        most = self._taken + _THROWN_AWAY
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGERING):
                while not self._is_over and self._taken < most:
                    self._note(await self._receive())

    def _note(self, message: Message) -> None:
        self._taken += len(message.get("body", b""))
        self._is_over = message["type"] != "http.request" or not message.get("more_body", False)
