"""How documents come into stores, and leave them."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, select, update

from unchunk.adapters.catalog.dialects import in_batches, insert
from unchunk.adapters.catalog.leaving import note_left
from unchunk.adapters.catalog.lookups import nothing_there
from unchunk.adapters.catalog.rows import (
    is_storable,
    kept_json,
    microseconds_of,
    storable,
    strategy_row,
)
from unchunk.adapters.catalog.schema import (
    documents,
    store_batch_files,
    store_batches,
    store_files,
    vector_stores,
)
from unchunk.adapters.catalog.stores import store_row
from unchunk.domain import DocumentId, OwnerId, json_object
from unchunk.errors import NotFoundError
from unchunk.ports import Attribute, Batch, BatchId, StoreFile, StoreId

_SAID = ("strategy", "attributes", "batch", "is_cancelled")


def put(
    connection: Connection, owner: OwnerId, files: Sequence[StoreFile], batch: Batch | None
) -> None:
    rows = [_row(file, batch.id if batch else None) for file in files]
    for store in sorted({one.store for one in (*files, batch) if one}):
        store_row(connection, owner, store, kept=True)
    _check_documents(connection, owner, sorted({file.document for file in files}))
    statement = insert(connection.dialect.name, store_files)
    new = {name: statement.excluded[name] for name in _SAID}
    if rows:
        connection.execute(
            statement.on_conflict_do_update(index_elements=["store", "document"], set_=new), rows
        )
    if batch is not None:
        _note_batch(connection, batch, sorted({file.document for file in files}))


def _note_batch(connection: Connection, batch: Batch, files: Sequence[DocumentId]) -> None:
    storable(batch=batch.id)
    made = {
        "store": batch.store,
        "id": batch.id,
        "created_at": microseconds_of(batch.created_at),
        "is_cancelled": batch.is_cancelled,
    }
    connection.execute(store_batches.insert(), made)
    rows = [{"store": batch.store, "batch": batch.id, "document": one} for one in files]
    if rows:
        connection.execute(store_batch_files.insert(), rows)


def describe(
    connection: Connection,
    owner: OwnerId,
    store: StoreId,
    document: DocumentId,
    attributes: Mapping[str, Attribute],
) -> None:
    store_row(connection, owner, store)
    changed = (
        update(store_files)
        .where(in_store(owner, store), store_files.c.document == document)
        .values(attributes=_kept(attributes))
    )
    if not is_storable(document) or not connection.execute(changed).rowcount:
        raise not_in(store, document)


def _check_documents(connection: Connection, owner: OwnerId, wanted: Sequence[DocumentId]) -> None:
    """They are all there, and are not deleted until the end."""
    can_be = [one for one in wanted if is_storable(one)]
    there: set[DocumentId] = set()
    for batch in in_batches(can_be):
        is_it = (documents.c.owner == owner, documents.c.id.in_(batch))
        found = select(documents.c.id).where(*is_it).order_by(documents.c.id)
        there.update(connection.scalars(found.with_for_update(read=True, key_share=True)))
    for document in wanted:
        if document not in there:
            raise nothing_there(document)


def remove(connection: Connection, owner: OwnerId, store: StoreId, document: DocumentId) -> None:
    store_row(connection, owner, store)
    is_it = (in_store(owner, store), store_files.c.document == document)
    found = select(store_files.c.created_at).where(*is_it).with_for_update()
    put_at = connection.scalar(found) if is_storable(document) else None
    if put_at is None:
        raise not_in(store, document)
    connection.execute(delete(store_files).where(*is_it))
    note_left(connection, ("file", owner, store, document), put_at)


def in_store(owner: OwnerId, store: StoreId) -> ColumnElement[bool]:
    """Only where the store is the owner's. A database asks for it once, and not for every file."""
    owned = select(vector_stores.c.id).where(
        vector_stores.c.id == store, vector_stores.c.owner == owner
    )
    return store_files.c.store == owned.scalar_subquery()


def not_in(store: StoreId, document: DocumentId) -> NotFoundError:
    return NotFoundError(f"there is no document {document!r} in vector store {store!r}")


def _kept(attributes: Mapping[str, Attribute]) -> bytes | None:
    given = json_object(attributes, "attributes")
    return kept_json(given, "attributes") if given else None


def _row(file: StoreFile, batch: BatchId | None) -> dict[str, Any]:
    return {
        "store": file.store,
        "document": file.document,
        "created_at": microseconds_of(file.created_at),
        "strategy": strategy_row(file.strategy),
        "attributes": _kept(file.attributes),
        "batch": batch,
        "is_cancelled": file.is_cancelled,
    }
