"""The port `Stores`, in the database of the catalog."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, case, delete, select, update

from unchunk.adapters.catalog.counting import counts
from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import in_batches
from unchunk.adapters.catalog.leaving import made_at, note_left
from unchunk.adapters.catalog.paging import part_of
from unchunk.adapters.catalog.rows import (
    damaged,
    is_storable,
    json_of,
    kept_json,
    kept_text,
    microseconds_of,
    storable,
    text_of,
    time_of,
)
from unchunk.adapters.catalog.schema import vector_stores
from unchunk.domain import OwnerId, json_object
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import MemberCounts, Page, StoreId, VectorStore

_MICROSECOND = timedelta(microseconds=1)


class SqlStores:
    """Lives as long as the catalog on the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, store: VectorStore) -> None:
        await self._database.write(partial(_add, store=store))

    async def save(self, store: VectorStore) -> None:
        await self._database.write(partial(_save, store=store))

    async def touch(self, owner: OwnerId, stores: Sequence[StoreId], at: datetime) -> None:
        await self._database.write(partial(_touch, owner=owner, stores=stores, at=at))

    async def get(self, owner: OwnerId, store: StoreId) -> VectorStore:
        return _store(await self._database.read(partial(store_row, owner=owner, store=store)))

    async def page(self, owner: OwnerId, part: Page) -> tuple[list[VectorStore], bool]:
        return await self._database.read(partial(_page, owner=owner, part=part))

    async def counts(
        self, owner: OwnerId, stores: Sequence[StoreId], now: datetime
    ) -> dict[StoreId, MemberCounts]:
        return await self._database.read(partial(counts, owner=owner, stores=stores, now=now))

    async def delete(self, owner: OwnerId, store: StoreId) -> None:
        await self._database.write(partial(_delete, owner=owner, store=store))


def store_row(
    connection: Connection, owner: OwnerId, store: StoreId, *, kept: bool = False
) -> Row[Any]:
    """With `kept`, it is not deleted until the end; SQLite keeps other writers off anyway."""
    wanted = select(vector_stores).where(*_is_it(owner, store))
    if kept:
        wanted = wanted.with_for_update(read=True, key_share=True)
    can_be = is_storable(store) and is_storable(owner)
    found = connection.execute(wanted).first() if can_be else None
    if found is None:
        raise _nothing_there(store)
    return found


def _add(connection: Connection, store: VectorStore) -> None:
    storable(id=store.id, owner=store.owner)
    made = {
        "id": store.id,
        "owner": store.owner,
        "created_at": microseconds_of(store.created_at),
        **_said(store),
    }
    connection.execute(vector_stores.insert(), made)


def _save(connection: Connection, store: VectorStore) -> None:
    values = _said(store)
    can_be = is_storable(store.id) and is_storable(store.owner)
    used, moment = vector_stores.c.last_active_at, values["last_active_at"]
    # Somebody may have used it since it was read.
    values["last_active_at"] = case((used > moment, used), else_=moment)
    changed = update(vector_stores).where(*_is_it(store.owner, store.id)).values(values)
    if not can_be or not connection.execute(changed).rowcount:
        raise _nothing_there(store.id)


def _said(store: VectorStore) -> dict[str, Any]:
    """All of it that may change."""
    try:
        _ = store.expires_at
    except OverflowError:
        raise InvalidInputError(
            f"vector store {store.id!r} cannot expire after {store.expires_after}: that is later "
            "than any date; choose less"
        ) from None
    after = store.expires_after
    metadata = json_object(store.metadata, "metadata")
    return {
        "name": kept_text(store.name, "a name"),
        "description": kept_text(store.description, "a description"),
        "metadata": kept_json(metadata, "metadata"),
        "expires_after": None if after is None else after // _MICROSECOND,
        "last_active_at": microseconds_of(store.last_active_at),
    }


def _touch(connection: Connection, owner: OwnerId, stores: Sequence[StoreId], at: datetime) -> None:
    moment = microseconds_of(at)
    # In one order, so that two who touch the same ones do not wait for each other.
    there = sorted({one for one in stores if is_storable(one)}) if is_storable(owner) else []
    for batch in in_batches(there):
        connection.execute(
            update(vector_stores)
            .where(
                vector_stores.c.id.in_(batch),
                vector_stores.c.owner == owner,
                vector_stores.c.last_active_at < moment,
            )
            .values(last_active_at=moment)
        )


def _page(connection: Connection, owner: OwnerId, part: Page) -> tuple[list[VectorStore], bool]:
    if not is_storable(owner):
        return [], False
    is_mine = vector_stores.c.owner == owner
    known = select(vector_stores.c.created_at, vector_stores.c.id).where(is_mine)

    def was_made(store: StoreId) -> int | None:
        return made_at(connection, ("store", owner, store))

    wanted = select(vector_stores).where(is_mine)
    rows, has_more = part_of(connection, wanted, known, part, was_made)
    return list(map(_store, rows)), has_more


def _delete(connection: Connection, owner: OwnerId, store: StoreId) -> None:
    is_it = _is_it(owner, store)
    found = select(vector_stores.c.created_at).where(*is_it).with_for_update()
    can_be = is_storable(store) and is_storable(owner)
    created = connection.scalar(found) if can_be else None
    if created is None:
        raise _nothing_there(store)
    connection.execute(delete(vector_stores).where(*is_it))
    note_left(connection, ("store", owner, store), created)


def _is_it(owner: OwnerId, store: StoreId) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return vector_stores.c.id == store, vector_stores.c.owner == owner


def _nothing_there(store: StoreId) -> NotFoundError:
    return NotFoundError(f"there is no vector store {store!r}")


def _store(row: Sequence[Any]) -> VectorStore:
    store, owner, name, description, metadata, expires_after, created, active = row
    try:
        return VectorStore(
            store,
            owner,
            text_of(name),
            time_of(created),
            time_of(active),
            text_of(description),
            dict(json_of(metadata)),
            None if expires_after is None else expires_after * _MICROSECOND,
        )
    except (TypeError, ValueError) as error:
        raise damaged(f"vector store {store!r}") from error
