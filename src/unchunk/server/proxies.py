"""A proxy before this server, where the settings say that there is one and only one way in.

It says who asks and by which scheme. Only what it added itself is believed, which is the last:
what stands before that may come from anybody.
"""

import ipaddress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

_BY_SCHEME = {
    ("http", "http"): "http",
    ("http", "https"): "https",
    ("websocket", "http"): "ws",
    ("websocket", "https"): "wss",
    ("websocket", "ws"): "ws",
    ("websocket", "wss"): "wss",
}


class Proxied:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            headers = Headers(scope=scope)
            if address := _address(_last(headers, "x-forwarded-for")):
                scope["client"] = (address, 0)
            said = _last(headers, "x-forwarded-proto").lower()
            scope["scheme"] = _BY_SCHEME.get((scope["type"], said), scope["scheme"])
        await self._app(scope, receive, send)


def _last(headers: Headers, name: str) -> str:
    return ",".join(headers.getlist(name)).rpartition(",")[2].strip()


def _address(said: str) -> str:
    """Without its port; empty for what is no address."""
    if said.startswith("["):
        said = said[1:].partition("]")[0]
    elif said.count(":") == 1:
        said = said.partition(":")[0]
    try:
        return str(ipaddress.ip_address(said))
    except ValueError:
        return ""
