"""The files of stores that can be searched."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from sqlalchemy import Connection, bindparam, select

from unchunk.adapters.catalog.counting import STATES
from unchunk.adapters.catalog.dialects import in_batches
from unchunk.adapters.catalog.expiring import is_there
from unchunk.adapters.catalog.prepared import rows_with
from unchunk.adapters.catalog.rows import (
    damaged,
    is_storable,
    json_of,
    microseconds_of,
    strategy_of,
    time_of,
)
from unchunk.adapters.catalog.schema import documents, store_files, vector_stores
from unchunk.domain import DocumentId, OwnerId
from unchunk.ports import StoreFile, StoreId

FILES_WITH_DOCUMENTS = store_files.join(documents, store_files.c.document == documents.c.id)
_ARE_COMPLETED = (
    vector_stores.c.owner == bindparam("owner"),
    STATES["completed"],
    is_there(store_files.c.document),
    store_files.c.store.in_(bindparam("wanted", expanding=True)),
)
_IN_STORES = FILES_WITH_DOCUMENTS.join(vector_stores, vector_stores.c.id == store_files.c.store)
_COMPLETED = select(*store_files.c).select_from(_IN_STORES).where(*_ARE_COMPLETED)
_SEARCHABLE = select(store_files.c.document).select_from(_IN_STORES).where(*_ARE_COMPLETED)


def searchable(
    connection: Connection, owner: OwnerId, stores: Sequence[StoreId], now: datetime
) -> list[DocumentId]:
    moment = microseconds_of(now)
    found = (
        rows_with(connection, _SEARCHABLE, some, owner=owner, now=moment)
        for some in _those(owner, stores)
    )
    return sorted({row[0] for row in chain.from_iterable(found)})


def completed(
    connection: Connection,
    owner: OwnerId,
    stores: Sequence[StoreId],
    now: datetime,
    wanted: Sequence[DocumentId] | None,
) -> list[StoreFile]:
    known: dict[str, str | int] = {"owner": owner, "now": microseconds_of(now)}
    those = _those(owner, stores)
    if wanted is None:
        found = (rows_with(connection, _COMPLETED, some, **known) for some in those)
    else:
        named = [one for one in dict.fromkeys(wanted) if is_storable(one)]
        found = (
            connection.execute(
                _COMPLETED.where(store_files.c.document.in_(few)), {**known, "wanted": some}
            )
            for some in those
            for few in in_batches(named)
        )
    return list(map(file_in, chain.from_iterable(found)))


def _those(owner: OwnerId, stores: Sequence[StoreId]) -> Iterator[Sequence[StoreId]]:
    """Stores that can be there, so many at a time that a database takes them."""
    can_be = [one for one in dict.fromkeys(stores) if is_storable(one)]
    return in_batches(can_be if is_storable(owner) else [])


def file_in(row: Sequence[Any]) -> StoreFile:
    store, document, created, strategy, attributes, _, is_cancelled = row
    try:
        return StoreFile(
            store,
            document,
            time_of(created),
            strategy_of(strategy),
            {} if attributes is None else dict(json_of(attributes)),
            bool(is_cancelled),
        )
    except (TypeError, ValueError) as error:
        raise damaged(f"document {document!r} in vector store {store!r}") from error
