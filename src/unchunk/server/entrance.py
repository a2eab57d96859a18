"""Nobody comes past here unknown, but to the few places that are open to all.

Whatever is not named here is closed, also what others mount: a new route need not think of it.
Knows nothing of what the routes do.
"""

from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from logging import WARNING
from typing import cast

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from unchunk.engine import Engine
from unchunk.errors import InvalidSettingError, UnchunkError
from unchunk.server.access import House, house_of, owner_of
from unchunk.server.addresses import is_loopback, neighbourhood
from unchunk.server.faults import RefusedError, foreseen
from unchunk.server.identity import Asker, check_csrf, identify, key_needed
from unchunk.server.options import Options
from unchunk.telemetry import log

SESSION = "/api/session"
METRICS = "/metrics"
# The page itself, and whether the server is well.
_HEALTH = {"/health", "/health/live", "/health/ready", "/api/health"}
OPEN = frozenset({"/", "/favicon.ico", SESSION, *_HEALTH})
OPEN_FOLDER = "/page/"
# Whoever is told this is not known: the reason, which may name a place, is for the log.
_UNKNOWN = "who is asking cannot be found out now: try again"


async def check_keys(engine: Engine, options: Options) -> None:
    """Raises where others could reach a server that nobody can be told apart on."""
    if is_loopback(options.host):
        return
    if not any(key.scope == "all" for key in await engine.keyring.all()):
        raise InvalidSettingError(
            f"{options.host!r} can be reached from elsewhere, and there are no keys yet that tell"
            " users apart: make one with `unchunk keys new NAME`, or listen on 127.0.0.1"
        )


class Entrance:
    """`uploads` are the paths that take files, which one owner may send only some of at once."""

    def __init__(self, app: ASGIApp, uploads: frozenset[str]) -> None:
        self._app, self._uploads = app, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        house = cast("House", scope["app"].state.house)
        async with AsyncExitStack() as stack:
            try:
                asker = await _admitted(scope, house)
                await stack.enter_async_context(self._slot(scope, house, asker))
            except UnchunkError as error:
                if not isinstance(error, RefusedError):
                    log("who is asking cannot be found out: %s", error, level=WARNING)
                response = foreseen(error, scope["state"]["request_id"], _UNKNOWN)
                await response(scope, receive, send)
                return
            scope["state"]["asker"] = asker
            await self._app(scope, receive, send)

    def _slot(
        self, scope: Scope, house: House, asker: Asker | None
    ) -> AbstractAsyncContextManager[None]:
        is_upload = scope.get("method") == "POST" and scope["path"] in self._uploads
        if asker and is_upload:
            return house.limits.uploads.one(asker.owner)
        if asker and asker.limited and scope["type"] == "websocket":
            return house.limits.sockets.one(asker.limited)
        return nullcontext()


async def _admitted(scope: Scope, house: House) -> Asker | None:
    """Raises for whoever may not go on; None goes only where everybody may."""
    try:
        asker = await identify(scope, house.engine, house.options, house.sessions)
    except RefusedError:
        await _count(scope, house, None)
        # There it is told in the reply.
        if scope["path"] == SESSION:
            return None
        raise
    except UnchunkError as error:
        await _count(scope, house, None)
        # Of a session, nothing that is not known is told or done.
        if is_open(scope["path"]) and scope["path"] != SESSION:
            log("who is asking cannot be found out: %s", error, level=WARNING)
            return None
        raise
    await _count(scope, house, asker)
    if asker is None:
        if is_open(scope["path"]):
            return None
        raise key_needed()
    signs_in = scope["path"] == SESSION and scope.get("method") == "POST"
    if asker.session is not None and not signs_in:
        await check_csrf(scope, house.engine.keyring, asker.session)
    if asker.key is not None and (asker.key.scope == "metrics") != (scope["path"] == METRICS):
        _refuse_elsewhere(scope["path"])
        return None
    return asker


async def admit_again(connection: HTTPConnection) -> None:
    """For one more question over a line that is open: by now a key may be revoked, and it counts."""
    house = house_of(connection)
    asker = await identify(connection.scope, house.engine, house.options, house.sessions)
    if asker is None or asker.owner != owner_of(connection):
        raise key_needed()
    await _count(connection.scope, house, asker)


def is_open(path: str) -> bool:
    return path in OPEN or path.startswith(OPEN_FOLDER)


def _refuse_elsewhere(path: str) -> None:
    """A key for the figures alone is nobody's anywhere else; and no other one is good for them."""
    if is_open(path):
        return
    if path == METRICS:
        message = "this takes a key for it alone: `unchunk keys new NAME --metrics` makes one"
    else:
        message = "this key is good for /metrics alone"
    raise RefusedError(403, "forbidden", message)


async def _count(scope: Scope, house: House, asker: Asker | None) -> None:
    """The user of this machine may ask as often as they like."""
    if asker is None:
        await house.limits.requests.take(f"address {address_of(scope)}")
    elif asker.key is not None:
        await house.limits.requests.take(f"owner {asker.owner}")


def address_of(scope: Scope) -> str:
    client = scope.get("client")
    return neighbourhood(client[0]) if client else ""
