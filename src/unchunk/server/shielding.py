"""What every reply tells the browser that it must not do with it."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# A route that knows better sets its own. No reply says that other sites may read it.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
_ONLY_SECURE = "max-age=31536000"
_STARTS = ("http.response.start", "websocket.http.response.start")


class Shield:
    """The outermost of the application: what is refused is shielded, too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def shielded(message: Message) -> None:
            if message["type"] in _STARTS:
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                # By now it is known how the request came to whoever stands before this server.
                if scope["scheme"] in ("https", "wss"):
                    headers.setdefault("Strict-Transport-Security", _ONLY_SECURE)
            await send(message)

        await self._app(scope, receive, shielded)
