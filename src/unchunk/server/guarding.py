"""Who may speak to the server at all, before anything else is looked at.

A page of somebody else, open in the browser of whoever runs this, can send requests to 127.0.0.1,
and by rebinding its name even read the replies. So a request must be addressed to a name that is
ours, and what changes something must come from our own page or from no page. Knows no keys.
"""

from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from unchunk.server.addresses import LOOPBACK, is_wildcard
from unchunk.server.faults import RefusedError, refused
from unchunk.server.identity import is_secure
from unchunk.server.options import Options
from unchunk.server.receiving import longest, too_big

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": 80, "https": 443}
_DIGITS = 15


class Guard:
    """`uploads` are the paths that take files."""

    def __init__(self, app: ASGIApp, options: Options, uploads: frozenset[str]) -> None:
        self._app, self._options, self._uploads = app, options, uploads
        own = () if is_wildcard(options.host) else (options.host,)
        self._hosts = LOOPBACK | {one.lower() for one in (*own, *options.hosts)}
        self._origins = frozenset(options.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            try:
                self._check(scope, Headers(scope=scope))
            except RefusedError as error:
                response = refused(error, scope["state"]["request_id"])
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope, headers: Headers) -> None:
        host = _split(f"//{headers.get('host', '')}")
        if host is None or not self._is_our_name(host.hostname or "", scope):
            message = (
                "this server does not answer under that name: `hosts` in its settings adds one"
            )
            raise RefusedError(421, "wrong-host", message)
        if scope["type"] == "websocket" or scope["method"] not in _SAFE:
            origin = headers.get("origin")
            is_foreign = headers.get("sec-fetch-site") == "cross-site"
            if is_foreign if origin is None else not self._is_ours(origin, host, scope):
                message = "pages of other sites may not use this server"
                raise RefusedError(403, "wrong-origin", message)
        length = headers.get("content-length", "0")
        most = longest(self._options, self._uploads, scope["path"])
        if not length.isdecimal() or len(length) > _DIGITS or int(length) > most:
            raise RefusedError(413, "too-big", too_big(most))

    def _is_our_name(self, name: str, scope: Scope) -> bool:
        """The address itself will do: nobody can make another name of it."""
        server = scope.get("server")
        return name in self._hosts or (server is not None and name == server[0])

    def _is_ours(self, origin: str, host: SplitResult, scope: Scope) -> bool:
        given = _split(origin)
        if given is None or given.scheme not in _PORTS:
            return False
        if is_secure(scope) and given.scheme != "https":
            return False
        usual = _PORTS[given.scheme]
        same = (given.hostname, given.port or usual) == (host.hostname, host.port or usual)
        return same or origin in self._origins


def _split(url: str) -> SplitResult | None:
    """The parts of a URL; None if a port or an address in it cannot be."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts
