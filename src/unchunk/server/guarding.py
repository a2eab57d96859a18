"""Who may speak to the server at all, before anything else is looked at.

A page of somebody else, open in the browser of whoever runs this, can send requests to 127.0.0.1,
and by rebinding its name even read the replies. So a request must be addressed to a name that is
ours, and what changes something must come from our own page or from no page. Knows no keys.
"""

from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unchunk.server.faults import problem
from unchunk.server.options import Options

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": 80, "https": 443}
# What stands around a file in an upload.
_ENVELOPE = 1_000_000
_DIGITS = 15


class Guard:
    """`uploads` are the paths that take files; what others are sent is held in memory."""

    def __init__(self, app: ASGIApp, options: Options, uploads: frozenset[str]) -> None:
        self._app = app
        self._hosts = LOOPBACK | {one.lower() for one in options.hosts}
        self._origins = frozenset(options.origins)
        self._max_body = options.max_body
        self._max_upload = options.max_upload + _ENVELOPE
        self._uploads = uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        most = self._max_upload if scope["path"] in self._uploads else self._max_body
        if refusal := self._refusal(scope, headers, most):
            status, kind, message = refusal
            name = scope["state"]["request_id"]
            # What is left of the body is not waited for.
            response = problem(status, kind, message, name, headers={"Connection": "close"})
            await response(scope, receive, send)
            return
        limited = _limited(receive, most) if scope["type"] == "http" else receive
        await self._app(scope, limited, send)

    def _refusal(self, scope: Scope, headers: Headers, most: int) -> tuple[int, str, str] | None:
        host = _split(f"//{headers.get('host', '')}")
        if host is None or (host.hostname or "") not in self._hosts:
            return 421, "wrong-host", "this server does not answer under that name"
        if scope["type"] == "websocket" or scope["method"] not in _SAFE:
            origin = headers.get("origin")
            is_foreign = headers.get("sec-fetch-site") == "cross-site"
            if is_foreign if origin is None else not self._is_ours(origin, host):
                return 403, "wrong-origin", "pages of other sites may not use this server"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > _DIGITS or int(length) > most:
            return 413, "too-big", _too_big(most)
        return None

    def _is_ours(self, origin: str, host: SplitResult) -> bool:
        given = _split(origin)
        if given is None or given.scheme not in _PORTS:
            return False
        usual = _PORTS[given.scheme]
        same = (given.hostname, given.port or usual) == (host.hostname, host.port or usual)
        return same or origin in self._origins


def _limited(receive: Receive, most: int) -> Receive:
    """The same, with an end to what comes without saying how long it is."""
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message = await receive()
        if message["type"] == "http.request":
            taken += len(message.get("body", b""))
            if taken > most:
                raise HTTPException(413, _too_big(most), {"Connection": "close"})
        return message

    return limited


def _too_big(most: int) -> str:
    return f"the request is longer than {most} bytes: send less"


def _split(url: str) -> SplitResult | None:
    """The parts of a URL; None if a port or an address in it cannot be."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts
