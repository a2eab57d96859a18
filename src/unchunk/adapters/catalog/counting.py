"""What became of the files of stores, and how many there are of each kind."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, FromClause, and_, case, func, not_, select

from unchunk.adapters.catalog.dialects import in_batches
from unchunk.adapters.catalog.rows import is_storable
from unchunk.adapters.catalog.schema import documents, store_files, vector_stores, versions
from unchunk.domain import OwnerId
from unchunk.ports import BatchId, MemberCounts, MemberStatus, StoreId

_not_live = documents.c.live.is_(None)
_cancelled = store_files.c.is_cancelled
# As `Member.status` says. None is true of a store without files, where all of it is NULL.
STATES: Final[dict[MemberStatus, ColumnElement[bool]]] = {
    "in_progress": and_(_not_live, not_(_cancelled), documents.c.error_code == ""),
    "completed": documents.c.live.is_not(None),
    "failed": and_(_not_live, not_(_cancelled), documents.c.error_code != ""),
    "cancelled": and_(_not_live, _cancelled),
}
_COUNTS = (
    *(func.coalesce(func.sum(case((state, 1), else_=0)), 0) for state in STATES.values()),
    func.coalesce(func.sum(versions.c.size), 0),
)
_is_document = documents.c.id == store_files.c.document
_is_live = and_(versions.c.document == documents.c.id, versions.c.generation == documents.c.live)


def counts(
    connection: Connection, owner: OwnerId, stores: Sequence[StoreId]
) -> dict[StoreId, MemberCounts]:
    all_files = vector_stores.outerjoin(store_files, store_files.c.store == vector_stores.c.id)
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


def counts_of_batch(connection: Connection, store: StoreId, batch: BatchId) -> MemberCounts:
    wanted = select(*_COUNTS).select_from(_with_sizes(store_files))
    is_in = (store_files.c.store == store, store_files.c.batch == batch)
    return _counted(connection.execute(wanted.where(*is_in)).one())


def _with_sizes(files: FromClause) -> FromClause:
    return files.outerjoin(documents, _is_document).outerjoin(versions, _is_live)


def _counted(row: Sequence[Any]) -> MemberCounts:
    """As whole numbers: sums are of another kind in some databases."""
    return MemberCounts(*map(int, row))
