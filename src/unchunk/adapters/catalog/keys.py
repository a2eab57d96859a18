"""The port `Keys`, in the database of the catalog."""

import secrets
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, or_, select, update

from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import insert_new
from unchunk.adapters.catalog.rows import (
    is_storable,
    kept_text,
    microseconds_of,
    storable,
    text_of,
    time_of,
)
from unchunk.adapters.catalog.schema import ended_sessions, keys, notes
from unchunk.adapters.catalog.terms import SIGNING
from unchunk.domain import Key, KeyId
from unchunk.errors import NotFoundError

_SECRET = 32
_REMEMBERED = 1_000


class SqlKeys:
    """Lives as long as the catalog on the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, key: Key) -> None:
        await self._database.write(partial(_add, key=key))

    async def get(self, key: KeyId) -> Key:
        return await self._database.read(partial(_get, key=key))

    async def all(self) -> list[Key]:
        return await self._database.read(_all)

    async def used(self, key: KeyId, day: date) -> None:
        await self._database.write(partial(_used, key=key, day=day))

    async def revoke(self, key: KeyId) -> None:
        await self._database.write(partial(_revoke, key=key))

    async def end_session(self, key: KeyId, mark: bytes, until: datetime) -> None:
        ending = {"key": key, "mark": mark, "ends_at": microseconds_of(until)}
        await self._database.write(partial(_end_session, ending=ending))

    async def is_ended(self, key: KeyId, mark: bytes) -> bool:
        return await self._database.read(partial(_is_ended, key=key, mark=mark))

    async def secret(self) -> bytes:
        known = await self._database.read(_secret)
        if known is None:
            known = await self._database.write(_make_secret)
        return known


def _add(connection: Connection, key: Key) -> None:
    storable(id=key.id, owner=key.owner)
    made = {
        "id": key.id,
        "owner": key.owner,
        "label": kept_text(key.label, "a label"),
        "scope": key.scope,
        "digest": key.digest,
        "created_at": microseconds_of(key.created_at),
        "used_on": key.used_on.toordinal() if key.used_on else None,
    }
    connection.execute(keys.insert(), made)


def _get(connection: Connection, key: KeyId) -> Key:
    row = (
        connection.execute(select(keys).where(keys.c.id == key)).first()
        if is_storable(key)
        else None
    )
    if row is None:
        raise _nothing_there(key)
    return _key(row)


def _all(connection: Connection) -> list[Key]:
    ordered = select(keys).order_by(keys.c.created_at, keys.c.id)
    return [_key(row) for row in connection.execute(ordered)]


def _used(connection: Connection, key: KeyId, day: date) -> None:
    is_older = or_(keys.c.used_on.is_(None), keys.c.used_on < day.toordinal())
    connection.execute(
        update(keys).where(keys.c.id == key, is_older).values(used_on=day.toordinal())
    )


def _revoke(connection: Connection, key: KeyId) -> None:
    if (
        not is_storable(key)
        or not connection.execute(delete(keys).where(keys.c.id == key)).rowcount
    ):
        raise _nothing_there(key)
    connection.execute(delete(ended_sessions).where(ended_sessions.c.key == key))


def _end_session(connection: Connection, ending: dict[str, Any]) -> None:
    storable(id=ending["key"])
    connection.execute(insert_new(connection.dialect.name, ended_sessions), ending)
    ended = ended_sessions.c
    now = microseconds_of(datetime.now(UTC))
    connection.execute(delete(ended_sessions).where(ended.ends_at <= now))
    last = (
        select(ended.mark)
        .where(ended.key == ending["key"])
        .order_by(ended.ends_at.desc(), ended.mark)
    )
    # One at a time is too many, but for those that another process brought just now.
    surplus = connection.scalars(last.offset(_REMEMBERED)).all()
    for mark in surplus:
        connection.execute(
            delete(ended_sessions).where(ended.key == ending["key"], ended.mark == mark)
        )


def _is_ended(connection: Connection, key: KeyId, mark: bytes) -> bool:
    ended = ended_sessions.c
    found = select(ended.mark).where(ended.key == key, ended.mark == mark)
    return is_storable(key) and connection.scalar(found) is not None


def _secret(connection: Connection) -> bytes | None:
    known = connection.scalar(select(notes.c.value).where(notes.c.key == SIGNING))
    return None if known is None else bytes.fromhex(known)


def _make_secret(connection: Connection) -> bytes:
    made = {"key": SIGNING, "value": secrets.token_hex(_SECRET)}
    connection.execute(insert_new(connection.dialect.name, notes), made)
    # Another process may have been faster.
    kept = _secret(connection)
    assert kept is not None
    return kept


def _key(row: Sequence[Any]) -> Key:
    key, owner, label, scope, digest, created, used = row
    return Key(
        key,
        owner,
        text_of(label),
        scope,
        bytes(digest),
        time_of(created),
        None if used is None else date.fromordinal(used),
    )


def _nothing_there(key: KeyId) -> NotFoundError:
    return NotFoundError(f"there is no key {key[:40]!r}: `unchunk keys ls` lists them")
