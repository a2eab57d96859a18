"""Files that came into a store together."""

from typing import Any

from sqlalchemy import Connection, Row, exists, select, update

from unchunk.adapters.catalog.counting import counts_of_batch
from unchunk.adapters.catalog.dialects import insert
from unchunk.adapters.catalog.rows import is_storable, microseconds_of, storable, time_of
from unchunk.adapters.catalog.schema import documents, store_batches, store_files
from unchunk.adapters.catalog.stores import store_row
from unchunk.domain import OwnerId
from unchunk.errors import NotFoundError
from unchunk.ports import Batch, BatchId, MemberCounts, StoreId


def save_batch(connection: Connection, owner: OwnerId, batch: Batch) -> None:
    storable(id=batch.id)
    store_row(connection, owner, batch.store, kept=True)
    made = {
        "store": batch.store,
        "id": batch.id,
        "created_at": microseconds_of(batch.created_at),
        "is_cancelled": batch.is_cancelled,
    }
    connection.execute(
        insert(connection.dialect.name, store_batches).on_conflict_do_update(
            index_elements=["store", "id"], set_={"is_cancelled": batch.is_cancelled}
        ),
        made,
    )
    if batch.is_cancelled:
        is_on_its_way = exists().where(
            documents.c.id == store_files.c.document,
            documents.c.live.is_(None),
            documents.c.error_code == "",
        )
        connection.execute(
            update(store_files)
            .where(
                store_files.c.store == batch.store, store_files.c.batch == batch.id, is_on_its_way
            )
            .values(is_cancelled=True)
        )


def find_batch(
    connection: Connection, owner: OwnerId, store: StoreId, batch: BatchId
) -> tuple[Batch, MemberCounts]:
    store_row(connection, owner, store)
    row = batch_row(connection, store, batch)
    found = Batch(row.id, row.store, time_of(row.created_at), row.is_cancelled)
    return found, counts_of_batch(connection, store, batch)


def batch_row(connection: Connection, store: StoreId, batch: BatchId) -> Row[Any]:
    """Of a store that is the owner's: who calls has made sure."""
    wanted = select(store_batches).where(
        store_batches.c.store == store, store_batches.c.id == batch
    )
    found = connection.execute(wanted).first() if is_storable(batch) else None
    if found is None:
        raise NotFoundError(f"there is no batch {batch!r} in vector store {store!r}")
    return found
