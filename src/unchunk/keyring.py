"""Keys: made, shown once, and checked. What is kept cannot be turned into a key again.

A key is `uk_ID_SECRET`. The secret has 256 random bits, so a plain digest of it is as good as a
slow one, and costs a request nothing.
"""

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from hashlib import sha256
from unicodedata import normalize

from unchunk.domain import Key, KeyId, KeyScope, OwnerId
from unchunk.errors import InvalidInputError, NotFoundError, OutputError, TransientError
from unchunk.ports import Keys

PREFIX = "uk_"
_KEY = re.compile(r"uk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)
_ID, _SECRET = 8, 32
_LONGEST = 100
# What an unknown key is compared with.
_NOTHING = bytes(32)


class Keyring:
    """All keys of a library. Closing it closes what it was opened with."""

    def __init__(self, keys: Keys, close: Callable[[], Awaitable[None]]) -> None:
        self._keys, self._close = keys, close
        self._signing: bytes | None = None

    async def new(self, label: str, owner: OwnerId, scope: KeyScope = "all") -> tuple[Key, str]:
        """A key, and what its owner is to show: here and never again."""
        secret = secrets.token_urlsafe(_SECRET)
        key = Key(
            secrets.token_hex(_ID),
            check_owner(owner),
            _checked(label, "the name of a key"),
            scope,
            _digest(secret),
            datetime.now(UTC),
        )
        await self._keys.add(key)
        return key, f"{PREFIX}{key.id}_{secret}"

    async def all(self) -> list[Key]:
        return await self._keys.all()

    async def get(self, key: KeyId) -> Key | None:
        """None if there is none, or no longer one."""
        try:
            return await self._keys.get(key)
        except NotFoundError:
            return None

    async def check(self, given: str) -> Key | None:
        """The key that was shown; None for any other text. Looked up each time."""
        match = _KEY.fullmatch(given)
        if match is None:
            return None
        digest = _digest(match[2])
        key = await self.get(match[1])
        # The same work whether or not there is such an id.
        is_right = hmac.compare_digest(digest, _NOTHING if key is None else key.digest)
        if key is None or not is_right:
            return None
        await self._note_use(key)
        return key

    async def revoke(self, key: str) -> Key:
        """By its id or all of it. Whoever shows it from now on is not let in."""
        match = _KEY.fullmatch(key)
        found = await self._keys.get(match[1] if match else key)
        await self._keys.revoke(found.id)
        return found

    async def end_session(self, key: KeyId, session: str, ends_at: float) -> None:
        """What was given out as `session` is worth nothing from now on, also after a restart."""
        await self._keys.end_session(key, _digest(session), datetime.fromtimestamp(ends_at, UTC))

    async def is_ended(self, key: KeyId, session: str) -> bool:
        return await self._keys.is_ended(key, _digest(session))

    async def secret(self) -> bytes:
        """What sessions are signed with; the same as long as the library lives."""
        if self._signing is None:
            self._signing = await self._keys.secret()
        return self._signing

    async def close(self) -> None:
        await self._close()

    async def _note_use(self, key: Key) -> None:
        today = datetime.now(UTC).date()
        if key.used_on is None or key.used_on < today:
            await self._note(key.id, today)

    async def _note(self, key: KeyId, day: date) -> None:
        # Nobody is kept out because this cannot be written now.
        with suppress(TransientError, OutputError):
            await self._keys.used(key, day)


def check_owner(name: str) -> OwnerId:
    """A name that can stand in a path, in a log and on a screen."""
    name = normalize("NFC", _checked(name, "an owner"))
    if "/" in name or "\\" in name or not name.strip("."):
        raise InvalidInputError(f"an owner cannot be called {name!r}: no slashes, not dots alone")
    return name


def _checked(name: str, what: str) -> str:
    name = name.strip()
    if not name or len(name) > _LONGEST or not name.isprintable():
        raise InvalidInputError(
            f"{what} must be 1 to {_LONGEST} characters that can be printed, not {name[:40]!r}"
        )
    return name


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()
