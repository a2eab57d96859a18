"""What became of the files of stores, and how many there are of each kind."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, FromClause, and_, case, func, not_, select

from unchunk.adapters.catalog.dialects import in_batches
from unchunk.adapters.catalog.expiring import is_there
from unchunk.adapters.catalog.rows import is_storable
from unchunk.adapters.catalog.schema import (
    documents,
    store_batch_files,
    store_files,
    vector_stores,
    versions,
)
from unchunk.domain import OwnerId
from unchunk.ports import BatchId, MemberCounts, MemberStatus, StoreId

_not_live = documents.c.live.is_(None)
_cancelled = store_files.c.is_cancelled
# As `Member.status` says. None is true of a store without files, where all of it is NULL.
STATES: Final[dict[MemberStatus, ColumnElement[bool]]] = {
    "in_progress": and_(_not_live, not_(_cancelled), documents.c.error_code == ""),
    "completed": and_(documents.c.live.is_not(None), not_(_cancelled)),
    "failed": and_(_not_live, not_(_cancelled), documents.c.error_code != ""),
    "cancelled": _cancelled,
}
_COUNTS = (
    *(func.coalesce(func.sum(case((state, 1), else_=0)), 0) for state in STATES.values()),
    func.coalesce(func.sum(case((STATES["completed"], versions.c.size), else_=0)), 0),
)
_is_document = documents.c.id == store_files.c.document
_is_live = and_(versions.c.document == documents.c.id, versions.c.generation == documents.c.live)


def counts(
    connection: Connection, owner: OwnerId, stores: Sequence[StoreId], now: datetime
) -> dict[StoreId, MemberCounts]:
    is_in = store_files.c.store == vector_stores.c.id
    is_counted = and_(is_in, is_there(store_files.c.document, now))
    all_files = vector_stores.outerjoin(store_files, is_counted)
    wanted = (
        select(vector_stores.c.id, *_COUNTS)
        .select_from(_with_sizes(all_files))
        .where(vector_stores.c.owner == owner)
        .group_by(vector_stores.c.id)
    )
    there = [one for one in set(stores) if is_storable(one)] if is_storable(owner) else []
    return {
        row[0]: _counted(row[1:])
        for batch in in_batches(there)
        for row in connection.execute(wanted.where(vector_stores.c.id.in_(batch)))
    }


def counts_of_batch(
    connection: Connection, store: StoreId, batch: BatchId, now: datetime
) -> MemberCounts:
    wanted = select(*_COUNTS).select_from(_with_sizes(store_files))
    is_counted = (in_batch(store, batch), is_there(store_files.c.document, now))
    return _counted(connection.execute(wanted.where(*is_counted)).one())


def in_batch(store: StoreId, batch: BatchId) -> ColumnElement[bool]:
    """Whether a file is of a batch. Of a store that is the owner's: who calls has made sure."""
    its_own = select(store_batch_files.c.document).where(
        store_batch_files.c.store == store, store_batch_files.c.batch == batch
    )
    return and_(store_files.c.store == store, store_files.c.document.in_(its_own))


def _with_sizes(files: FromClause) -> FromClause:
    return files.outerjoin(documents, _is_document).outerjoin(versions, _is_live)


def _counted(row: Sequence[Any]) -> MemberCounts:
    """As whole numbers: sums are of another kind in some databases."""
    return MemberCounts(*map(int, row))
