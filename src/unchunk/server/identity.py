"""Who is asking: by a key, by a session, or as the one user of this machine."""

import hmac
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Scope

from unchunk.domain import Key, OwnerId
from unchunk.engine import Engine
from unchunk.keyring import PREFIX, Keyring
from unchunk.server.addresses import is_loopback
from unchunk.server.faults import RefusedError
from unchunk.server.options import Options
from unchunk.server.sessions import Session, Sessions, cookie_name, csrf_token

_FORWARDED = ("forwarded", "via", "x-real-ip", "cf-connecting-ip", "true-client-ip")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Asker:
    """Without a key it is the user of this machine."""

    owner: OwnerId
    key: Key | None = None
    session: Session | None = None

    @property
    def limited(self) -> OwnerId | None:
        """Whom limits are for; the user of this machine has none."""
        return None if self.key is None else self.owner


def key_needed() -> RefusedError:
    message = "a key is needed here: send it as `Authorization: Bearer KEY`, or sign in on the page"
    return RefusedError(401, "key-needed", message, {"WWW-Authenticate": 'Bearer realm="unchunk"'})


def wrong_key() -> RefusedError:
    challenge = 'Bearer realm="unchunk", error="invalid_token"'
    return RefusedError(
        401, "wrong-key", "this key is not valid here", {"WWW-Authenticate": challenge}
    )


def keys_in_force(scope: Scope, options: Options) -> bool:
    """Whether this request needs one. What came by way of another machine is not local."""
    server = scope.get("server")
    return (
        options.keys_in_force
        or server is None
        or not is_loopback(server[0])
        or any(
            name in _FORWARDED or name.startswith("x-forwarded-") for name in Headers(scope=scope)
        )
    )


async def identify(
    scope: Scope, engine: Engine, options: Options, sessions: Sessions
) -> Asker | None:
    """None for nobody; raises where a key is shown that is none."""
    needs_key = keys_in_force(scope, options)
    shown = _shown(Headers(scope=scope))
    if shown and hmac.compare_digest(shown.encode(), options.run_secret.encode()):
        # A command of whoever started this server.
        return Asker(options.owner)
    # Where none is needed, what is no key of ours was not meant for us.
    if shown is not None and (needs_key or shown.startswith(PREFIX)):
        key = await engine.keyring.check(shown)
        if key is None:
            raise wrong_key()
        return Asker(key.owner, key)
    if asker := await _by_session(scope, engine, sessions):
        return asker
    return None if needs_key else Asker(options.owner)


async def check_csrf(scope: Scope, keyring: Keyring, session: Session) -> None:
    """A browser sends the cookie unasked; what changes something must show more than that."""
    headers = Headers(scope=scope)
    if scope["type"] == "websocket":
        if "origin" not in headers:
            raise RefusedError(403, "wrong-origin", "a socket with a cookie needs an Origin")
    elif scope["method"] not in _SAFE:
        right = csrf_token(await keyring.secret(), session)
        given = headers.get("x-csrf-token", "")
        if not hmac.compare_digest(right.encode(), given.encode()):
            raise RefusedError(
                403,
                "wrong-token",
                "with a cookie, `X-CSRF-Token` must be the `csrf` of GET /api/session",
            )


def _shown(headers: Headers) -> str | None:
    """The key that a request brings; two of them are none."""
    bare = headers.getlist("x-api-key") + headers.getlist("api-key")
    given = headers.getlist("authorization") + bare
    if len(given) != 1:
        return "" if given else None
    if bare:
        return given[0].strip()
    scheme, _, rest = given[0].strip().partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else ""


async def _by_session(scope: Scope, engine: Engine, sessions: Sessions) -> Asker | None:
    cookies = "; ".join(Headers(scope=scope).getlist("cookie"))
    value = cookie_parser(cookies).get(cookie_name(secure=is_secure(scope)))
    if not value:
        return None
    session = sessions.read(await engine.keyring.secret(), value)
    key = await engine.keyring.get(session.key) if session else None
    if session is None or key is None or key.scope != "all":
        return None
    if await engine.keyring.is_ended(key.id, session.value):
        return None
    return Asker(key.owner, key, session)


def is_secure(scope: Scope) -> bool:
    return scope["scheme"] in ("https", "wss")
