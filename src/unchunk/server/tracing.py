"""A request's id, taken from the client or made: in every log line, every reply and every call of a
provider. And what became of the request, for the log, the counters and the trace.
"""

import re
import time
from dataclasses import dataclass, field
from logging import DEBUG, ERROR, INFO
from traceback import format_exc
from typing import cast
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unchunk.server.faults import unforeseen
from unchunk.server.metrics import Metrics
from unchunk.telemetry import Fact, Telemetry, job, log

HEADER = "X-Request-ID"
_LONGEST = 64
_ODD = re.compile(r"[^A-Za-z0-9._:-]")
_STARTS = ("http.response.start", "websocket.accept", "websocket.http.response.start")
# They come every few seconds, and say nothing while all is well.
_PROBES = frozenset({"/health", "/api/health", "/health/live", "/health/ready", "/metrics"})


class Tracing:
    """Around all but the shield: what nobody foresaw ends here, too."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers, request = Headers(scope=scope), _Request(scope)
        given = _ODD.sub("", headers.get(HEADER, ""))[:_LONGEST]

        async def traced(message: Message) -> None:
            if message["type"] in _STARTS:
                request.begins(message)
                MutableHeaders(scope=message)[HEADER] = name
            await send(message)

        with (
            job(given or uuid4().hex) as name,
            _telemetry(scope).span(request.method, asked=headers) as span,
            self._metrics.answering(),
        ):
            scope.setdefault("state", {})["request_id"] = name
            try:
                await self._app(scope, receive, traced)
            except Exception:  # noqa: BLE001 - the edge: whoever asked learns nothing of the inside
                log("%s: %s", request.line("failed"), format_exc(), level=ERROR)
                if not request.status:
                    await unforeseen(name)(scope, receive, traced)
            finally:
                request.ends()
                if span is not None:
                    span.note(request.as_span, f"{request.method} {request.route}".strip())
                    span.end(str(request.status) if request.status >= 500 else "")
                self._metrics.answered(
                    request.method, request.route, request.status, request.measured
                )
            is_probe = request.route in _PROBES and request.status == 200
            line = request.line(f"{request.status} in {request.seconds:.3f} s")
            log("%s", line, level=DEBUG if is_probe else INFO, facts=request.facts)


@dataclass(slots=True)
class _Request:
    """What is known of a request, and of its reply as far as that has come."""

    scope: Scope
    status: int = 0
    seconds: float = 0.0
    _began: float = field(default_factory=time.perf_counter)
    _replied: float | None = None

    @property
    def method(self) -> str:
        return str(self.scope.get("method", "WEBSOCKET"))

    @property
    def route(self) -> str:
        """The template of the path; empty where there is no such route."""
        path: str = self.scope["path"]
        parameters = self.scope.get("path_params", {})
        template = getattr(self.scope.get("route"), "path_format", None)
        if template is None:
            # What is no route of FastAPI's has a name that does not vary, or is not there.
            return path if "endpoint" in self.scope and not parameters else ""
        # A router may be included under several prefixes, which its routes do not know.
        return path[: len(path) - len(template.format(**parameters))] + str(template)

    @property
    def measured(self) -> float:
        """How long it took; an answer as it is written takes as long as there is to say."""
        return self.seconds if self._replied is None else self._replied

    @property
    def facts(self) -> dict[str, Fact]:
        return {
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "seconds": round(self.seconds, 6),
        }

    @property
    def as_span(self) -> dict[str, Fact]:
        return {
            "http.request.method": self.method,
            "http.route": self.route,
            "http.response.status_code": self.status,
        }

    def begins(self, message: Message) -> None:
        self.status = message.get("status", 101)
        message.setdefault("headers", [])
        kind = Headers(scope=message).get("content-type", "")
        if self.status == 101 or kind.startswith("text/event-stream"):
            self._replied = time.perf_counter() - self._began

    def ends(self) -> None:
        self.seconds = time.perf_counter() - self._began

    def line(self, end: str) -> str:
        """Without the query, which may hold what somebody asked; escaped, as it came."""
        path = self.scope.get("raw_path") or b"-"
        method = "WebSocket" if self.method == "WEBSOCKET" else self.method
        return f"{method} {path.decode('ascii', 'replace')} {end}"


def request_id(connection: HTTPConnection) -> str:
    return str(connection.state.request_id)


def _telemetry(scope: Scope) -> Telemetry:
    return cast("Telemetry", scope["app"].state.house.engine.telemetry)
