"""A request's id: taken from the client or made, in every log line and every reply."""

import re
import time
from logging import ERROR
from traceback import format_exc
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unchunk.server.faults import unforeseen
from unchunk.telemetry import job, log

HEADER = "X-Request-ID"
_LONGEST = 64
_ODD = re.compile(r"[^A-Za-z0-9._:-]")
_STARTS = ("http.response.start", "websocket.accept", "websocket.http.response.start")


class Tracing:
    """The outermost of the application: what nobody foresaw ends here, too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        given = _ODD.sub("", Headers(scope=scope).get(HEADER, ""))[:_LONGEST]
        began, status = time.perf_counter(), 0

        async def traced(message: Message) -> None:
            nonlocal status
            if message["type"] in _STARTS:
                status = message.get("status", 101)
                message.setdefault("headers", [])
                MutableHeaders(scope=message)[HEADER] = name
            await send(message)

        with job(given or uuid4().hex) as name:
            scope.setdefault("state", {})["request_id"] = name
            try:
                await self._app(scope, receive, traced)
            except Exception:  # noqa: BLE001 - the edge: whoever asked learns nothing of the inside
                log("%s: %s", _line(scope, "failed"), format_exc(), level=ERROR)
                if not status:
                    await unforeseen(name)(scope, receive, traced)
            else:
                seconds = time.perf_counter() - began
                log("%s", _line(scope, f"{status} in {seconds:.3f} s"))


def request_id(connection: HTTPConnection) -> str:
    return str(connection.state.request_id)


def _line(scope: Scope, end: str) -> str:
    """Without the query, which may hold what somebody asked; escaped, as it came."""
    path = scope.get("raw_path") or b"-"
    return f"{scope.get('method', 'WebSocket')} {path.decode('ascii', 'replace')} {end}"
