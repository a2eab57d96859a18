"""Connections: how many at once, and how long one may keep us waiting for nothing.

What uvicorn leaves open: a client that sends its request head in drops, and one that takes nothing
of its reply, would each hold a connection for as long as they like.
"""

import asyncio
import json
from typing import Any, cast

import h11
from fastapi import FastAPI
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from unchunk.server.options import Options
from unchunk.server.shielding import HEADERS

# How often is looked whether a client takes something, in the time that it has for that.
_LOOKS = 4


class Connection(H11Protocol):
    """One of h11, which knows a limit for heads; of the application's options it heeds its own."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._options = cast("Options", cast("FastAPI", config.app).state.options)
        self._head: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._has_begun = False
        self._unread, self._unmoved = 0, 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if len(self.connections) > self._options.max_connections:
            self.logger.warning("Too many connections.")
            self._refuse(503, "busy", "too many connections: try again later")
            return
        self._wait_for_head()
        self._look_again()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._has_begun = True
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._stop_waiting()
        elif self._head is None:
            self._wait_for_head()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._stop_waiting()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        self._has_begun = False
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        # There is none yet before the first request.
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and cycle.response_started and not cycle.response_complete:
            # Amid a reply, another one would be read as a part of it.
            self.transport.close()
        else:
            self._refuse(400, "invalid", msg)

    def _wait_for_head(self) -> None:
        self._head = self.loop.call_later(self._options.head_seconds, self._leave)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _leave(self) -> None:
        self._head = None
        if self._has_begun:
            self._refuse(408, "too-slow", "the head of the request comes too slowly")
        else:
            # Opened in advance, as browsers do, and not used: nothing is waited for.
            self.transport.close()

    def _look_again(self) -> None:
        seconds = self._options.stall_seconds / _LOOKS
        self._looking = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Closing waits for what is unread, too: only to break the line off ends it."""
        unread = self.transport.get_write_buffer_size()
        self._unmoved = self._unmoved + 1 if unread and unread == self._unread else 0
        self._unread = unread
        if self._unmoved >= _LOOKS:
            self.transport.abort()
        elif unread or not self.transport.is_closing():
            self._look_again()

    def _refuse(self, status: int, kind: str, message: str) -> None:
        """A reply from before there is a request."""
        error = {"type": kind, "message": message, "request_id": ""}
        body = json.dumps({"error": error, "detail": message}).encode()
        headers = HEADERS | {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
        }
        lines = [f"HTTP/1.1 {status} {STATUS_PHRASES[status].decode()}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self.transport.close()
