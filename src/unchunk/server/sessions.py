"""Sessions of the page: a signed cookie that names a key, and when it ends.

Nothing is kept of a session, but that it was ended before its time, and that among the keys. Its
key is looked up with each request, so one that is revoked ends its sessions, too.
"""

import base64
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from unchunk.domain import KeyId

COOKIE = "unchunk"
# A browser takes this name only with Secure, for the whole host, and from no other one.
_SECURE_COOKIE = "__Host-unchunk"
_PARTS, _LONGEST = 4, 200


@dataclass(frozen=True, slots=True)
class Session:
    """`value` is what the cookie holds."""

    key: KeyId
    ends_at: int
    value: str


class Sessions:
    """Signs and reads them; each lasts `seconds`."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.time) -> None:
        self._seconds, self._now = seconds, now

    def begin(self, secret: bytes, key: KeyId) -> Session:
        ends_at = int(self._now() + self._seconds)
        text = f"{key}.{ends_at}.{secrets.token_urlsafe(12)}"
        return Session(key, ends_at, f"{text}.{_signature(secret, 'session', text)}")

    def read(self, secret: bytes, value: str) -> Session | None:
        """None for what was not signed here, or is over; whether it was ended, the keyring knows."""
        parts = value.split(".")
        if len(parts) != _PARTS or len(value) > _LONGEST:
            return None
        text, _, signature = value.rpartition(".")
        right = _signature(secret, "session", text)
        if not hmac.compare_digest(right.encode(), signature.encode()):
            return None
        session = Session(parts[0], int(parts[1]), value)
        return None if session.ends_at <= self._now() else session

    def cookie(self, session: Session, *, secure: bool) -> str:
        return _cookie(session.value, session.ends_at - int(self._now()), secure=secure)


def no_cookie(*, secure: bool) -> str:
    """What takes the cookie away."""
    return _cookie("", 0, secure=secure)


def cookie_name(*, secure: bool) -> str:
    return _SECURE_COOKIE if secure else COOKIE


def csrf_token(secret: bytes, session: Session) -> str:
    """What only our own page can read, and has to send with whatever changes something."""
    return _signature(secret, "csrf", session.value)


def _cookie(value: str, seconds: int, *, secure: bool) -> str:
    flags = "; Path=/; HttpOnly; SameSite=Strict"
    end = "; Secure" if secure else ""
    return f"{cookie_name(secure=secure)}={value}; Max-Age={max(0, seconds)}{flags}{end}"


def _signature(secret: bytes, what: str, text: str) -> str:
    digest = hmac.digest(secret, f"{what} {text}".encode(), sha256)
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
