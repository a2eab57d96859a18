"""The port `Batches`, in the database of the catalog."""

from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, exists, select, update

from unchunk.adapters.catalog.counting import counts_of_batch
from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.rows import is_storable, time_of
from unchunk.adapters.catalog.schema import documents, store_batches, store_files
from unchunk.adapters.catalog.stores import store_row
from unchunk.domain import OwnerId
from unchunk.errors import NotFoundError
from unchunk.ports import Batch, BatchId, MemberCounts, StoreId

_is_on_its_way = exists().where(
    documents.c.id == store_files.c.document,
    documents.c.live.is_(None),
    documents.c.error_code == "",
)


class SqlBatches:
    """Lives as long as the catalog on the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(
        self, owner: OwnerId, store: StoreId, batch: BatchId, now: datetime
    ) -> tuple[Batch, MemberCounts]:
        work = partial(_get, owner=owner, store=store, batch=batch, now=now)
        return await self._database.read(work)

    async def cancel(
        self, owner: OwnerId, store: StoreId, batch: BatchId, now: datetime
    ) -> tuple[Batch, MemberCounts]:
        work = partial(_cancel, owner=owner, store=store, batch=batch, now=now)
        return await self._database.write(work)


def _get(
    connection: Connection, owner: OwnerId, store: StoreId, batch: BatchId, now: datetime
) -> tuple[Batch, MemberCounts]:
    store_row(connection, owner, store)
    row = batch_row(connection, store, batch)
    found = Batch(row.id, row.store, time_of(row.created_at), row.is_cancelled)
    return found, counts_of_batch(connection, store, batch, now)


def _cancel(
    connection: Connection, owner: OwnerId, store: StoreId, batch: BatchId, now: datetime
) -> tuple[Batch, MemberCounts]:
    store_row(connection, owner, store, kept=True)
    batch_row(connection, store, batch)
    # By the batch that each was last put with: who has put one again since wants it.
    is_its_own = and_(store_files.c.store == store, store_files.c.batch == batch)
    given_up = update(store_files).where(is_its_own, _is_on_its_way).values(is_cancelled=True)
    if connection.execute(given_up).rowcount:
        connection.execute(
            update(store_batches).where(_is_it(store, batch)).values(is_cancelled=True)
        )
    return _get(connection, owner, store, batch, now)


def batch_row(connection: Connection, store: StoreId, batch: BatchId) -> Row[Any]:
    """Of a store that is the owner's: who calls has made sure."""
    wanted = select(store_batches).where(_is_it(store, batch))
    found = connection.execute(wanted).first() if is_storable(batch) else None
    if found is None:
        raise NotFoundError(f"there is no batch {batch!r} in vector store {store!r}")
    return found


def _is_it(store: StoreId, batch: BatchId) -> ColumnElement[bool]:
    return and_(store_batches.c.store == store, store_batches.c.id == batch)
