"""How much there is, counted by the database."""

from sqlalchemy import Connection, and_, case, func, select

from unchunk.adapters.catalog.schema import documents, versions
from unchunk.domain import OwnerId, Tally

_ONE_IF_FAILED = case((documents.c.error_code != "", 1), else_=0)
_TALLY = select(
    func.count(documents.c.live),
    func.count(documents.c.id),
    func.sum(case((documents.c.live.is_(None), _ONE_IF_FAILED), else_=0)),
    func.sum(versions.c.chunk_count),
).select_from(
    documents.outerjoin(
        versions,
        and_(versions.c.document == documents.c.id, versions.c.generation == documents.c.live),
    )
)


def tally(connection: Connection, owner: OwnerId | None) -> Tally:
    wanted = _TALLY if owner is None else _TALLY.where(documents.c.owner == owner)
    live, every, failed, chunks = connection.execute(wanted).one()
    failed = int(failed or 0)
    return Tally(live, int(chunks or 0), every - live - failed, failed)
