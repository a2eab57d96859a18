"""Who may come in: keys, and what sessions are signed with."""

from datetime import date, datetime
from typing import Protocol

from unchunk.domain import Key, KeyId


class Keys(Protocol):
    """The keys of all owners. Every method is one transaction, durable when it returns.

    Whoever else has the same place open sees a change at once.
    """

    async def add(self, key: Key) -> None:
        """Its id is random: one that is there already is a bug of the caller's."""
        ...

    async def get(self, key: KeyId) -> Key:
        """`NotFoundError` if there is none, or no longer one."""
        ...

    async def all(self) -> list[Key]:
        """The oldest first."""
        ...

    async def used(self, key: KeyId, day: date) -> None:
        """Note a day of use; an earlier one, or that of a key that is gone, changes nothing."""
        ...

    async def revoke(self, key: KeyId) -> None:
        """Nothing of it is kept; `NotFoundError` if there is none."""
        ...

    async def end_session(self, key: KeyId, mark: bytes, until: datetime) -> None:
        """Note that a session of this key was ended before its time, which is over at `until`.

        What is over is forgotten; of more than a thousand of one key, those that are over first.
        """
        ...

    async def is_ended(self, key: KeyId, mark: bytes) -> bool:
        """Whether that was noted; of one that is over, either may be told."""
        ...

    async def secret(self) -> bytes:
        """Thirty-two random bytes to sign with: made once, and then the same for everybody."""
        ...
