"""Sessions of the page: who is signed in, signing in with a key, and out."""

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from unchunk.server.access import AskerOrNobody, House, InHouse
from unchunk.server.documented import told
from unchunk.server.entrance import SESSION, address_of
from unchunk.server.identity import Asker, is_secure, wrong_key
from unchunk.server.rendering import reply
from unchunk.server.sessions import csrf_token, no_cookie

router = APIRouter(tags=["session"])


class KeyBody(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"key": "uk_..."}]})

    key: Annotated[str, Field(min_length=1, max_length=200)]


class SessionReply(BaseModel):
    """`csrf` goes into `X-CSRF-Token` with whatever changes something, if there is a cookie."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "owner": "local",
                    "needs_key": False,
                    "signed_in": False,
                    "csrf": "",
                    "version": "0.1.0",
                }
            ]
        }
    )

    owner: str | None
    needs_key: bool
    signed_in: bool
    csrf: str
    version: str


@router.get(SESSION, responses=told(SessionReply))
async def get_session(house: InHouse, asker: AskerOrNobody) -> Response:
    """Who is asking, and whether a key is needed first."""
    return reply(await _told(house, asker))


@router.post(SESSION, responses=told(SessionReply))
async def sign_in(request: Request, body: KeyBody, house: InHouse) -> Response:
    """Begin a session with a key; the reply sets its cookie."""
    await house.limits.sign_ins.take(address_of(request.scope))
    keyring = house.engine.keyring
    key = await keyring.check(body.key.strip())
    if key is None or key.scope != "all":
        raise wrong_key()
    session = house.sessions.begin(await keyring.secret(), key.id)
    cookie = house.sessions.cookie(session, secure=is_secure(request.scope))
    told_of = await _told(house, Asker(key.owner, key, session))
    return reply(told_of, headers={"Set-Cookie": cookie})


@router.delete(SESSION, status_code=204, responses=told(None))
async def sign_out(request: Request, house: InHouse, asker: AskerOrNobody) -> Response:
    """End the session, if there is one; its cookie is worth nothing from now on, for good."""
    if asker is not None and asker.session is not None:
        session = asker.session
        await house.engine.keyring.end_session(session.key, session.value, session.ends_at)
    cookie = no_cookie(secure=is_secure(request.scope))
    return Response(status_code=204, headers={"Set-Cookie": cookie})


async def _told(house: House, asker: Asker | None) -> dict[str, object]:
    session = asker.session if asker else None
    secret = await house.engine.keyring.secret() if session else b""
    return {
        "owner": asker.owner if asker else None,
        "needs_key": asker is None,
        "signed_in": session is not None,
        "csrf": csrf_token(secret, session) if session else "",
        "version": house.options.version,
    }
