"""What goes wrong, as replies of one shape: `error` for programs and people, `detail` as FastAPI
has it, for clients that know no other. Under OpenAI's API it is OpenAI's shape.
"""

import re
from collections.abc import Sequence
from http import HTTPStatus
from math import ceil

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from unchunk.chat.events import Failed
from unchunk.errors import (
    ExtractionError,
    InvalidInputError,
    MigrationNeededError,
    MissingPartError,
    NotFoundError,
    OutputError,
    PermanentError,
    ProviderRefusedError,
    ProviderUnavailableError,
    TransientError,
    UnchunkError,
)
from unchunk.server.openai import faults as openai
from unchunk.server.rendering import rendered, reply


class GoneError(NotFoundError):
    """It was this owner's, and is no longer kept."""

    code = "gone"


class RefusedError(PermanentError):
    """A request that is turned away, whatever it is about."""

    def __init__(
        self, status: int, code: str, message: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, headers or {}


# The first that fits.
_STATUS_OF: tuple[tuple[type[UnchunkError], int], ...] = (
    (InvalidInputError, 400),
    (GoneError, 410),
    (NotFoundError, 404),
    (ExtractionError, 422),
    (MigrationNeededError, 409),
    (MissingPartError, 501),
    (ProviderRefusedError, 502),
    (OutputError, 507),
    (TransientError, 503),
    (UnchunkError, 500),
)
_EXTRACTION = {"too-big": 413, "unsupported": 415}
_STATUSES = {
    400: "invalid",
    401: "key-needed",
    403: "forbidden",
    404: "not-found",
    405: "not-allowed",
    408: "too-slow",
    410: "gone",
    413: "too-big",
    421: "wrong-host",
    429: "too-many",
}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_INTERNAL = "something went wrong inside; the server's log tells what, under this request id"
_JSON = re.compile(r"application/(?:[\w.-]+\+)?json\b", re.IGNORECASE)
# Of a body that is wrong everywhere, not all is told.
_MOST, _LONGEST = 20, 100


def handle_faults(app: FastAPI) -> None:
    app.add_exception_handler(UnchunkError, _foreseen)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)


class _Problem(Response):
    """Which shape it has is known when it is sent: the path that was asked tells."""

    def __init__(
        self,
        status: int,
        body: dict[str, object],
        in_openai: dict[str, object],
        headers: dict[str, str] | None,
    ) -> None:
        super().__init__(rendered(body), status, headers, "application/json")
        self._other = reply(in_openai, openai.status_of(status), headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if openai.is_asked(scope["path"]):
            await self._other(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def problem(
    status: int,
    kind: str,
    message: str,
    request_id: str,
    *,
    detail: object = None,
    param: str = "",
    headers: dict[str, str] | None = None,
) -> Response:
    """`param` is where in a request the fault is, if in one place."""
    error = {"type": kind, "message": message, "request_id": request_id}
    body = {"error": error, "detail": detail or message}
    return _Problem(status, body, openai.fault(status, kind, message, param), headers)


def unforeseen(request_id: str) -> Response:
    return problem(500, "internal", _INTERNAL, request_id)


def refused(error: RefusedError, request_id: str) -> Response:
    return problem(error.status, error.code, str(error), request_id, headers=error.headers)


def foreseen(error: UnchunkError, request_id: str, message: str = "") -> Response:
    """An error as its reply; with a `message`, that is told in the place of its own."""
    if isinstance(error, RefusedError):
        return refused(error, request_id)
    headers = {}
    if isinstance(error, ProviderUnavailableError) and error.retry_after is not None:
        headers["Retry-After"] = str(max(0, ceil(error.retry_after)))
    param = error.param if isinstance(error, openai.WrongFieldError) else ""
    told = message or str(error)
    return problem(_status(error), error.code, told, request_id, param=param, headers=headers)


def failed(error: Exception) -> Failed:
    """An error as the event that ends a stream."""
    if isinstance(error, UnchunkError):
        return Failed(error.code, str(error), isinstance(error, TransientError))
    return Failed("internal", _INTERNAL)


def described(errors: Sequence[object]) -> tuple[str, list[dict[str, object]]]:
    """What is wrong with a body, without repeating the body."""
    told: list[dict[str, object]] = []
    parts = []
    for one in errors[:_MOST]:
        assert isinstance(one, dict)
        where = [part if isinstance(part, int) else str(part)[:_LONGEST] for part in one["loc"]]
        message = str(one["msg"])[:300]
        told.append({"loc": where, "msg": message, "type": str(one["type"])})
        parts.append(f"{'.'.join(map(str, where)) or 'it'}: {message}")
    return "; ".join(parts[:3]), told


async def _foreseen(request: Request, error: Exception) -> Response:
    assert isinstance(error, UnchunkError)
    return foreseen(error, _id(request))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind, message = _STATUSES.get(error.status_code, "refused"), str(error.detail)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_allowed(request))
    if openai.is_asked(request.url.path) and message == HTTPStatus(error.status_code).phrase:
        message = openai.nowhere(request.method, request.url.path)
    return problem(error.status_code, kind, message, _id(request), headers=headers)


def _allowed(request: Request) -> list[str]:
    """All methods of a path: each route knows only its own."""
    routes = request.app.router.routes
    asked = ({**request.scope, "method": method} for method in _METHODS)
    return [
        one["method"]
        for one in asked
        if any(route.matches(one)[0] is Match.FULL for route in routes)
    ]


async def _malformed(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    message, detail = described(error.errors())
    param = ""
    if openai.is_asked(request.url.path):
        message, param = openai.malformed(error.errors()[0])
    sent = request.headers.get("content-type", "")
    if request.method == "POST" and not _JSON.match(sent):
        message = f"send JSON with content-type: application/json, not {sent[:50] or 'nothing'!r}"
    return problem(422, "malformed", message, _id(request), detail=detail, param=param)


def _status(error: UnchunkError) -> int:
    status = next(it for one, it in _STATUS_OF if isinstance(error, one))
    return _EXTRACTION.get(error.code, status) if isinstance(error, ExtractionError) else status


def _id(connection: HTTPConnection) -> str:
    return str(connection.state.request_id)
