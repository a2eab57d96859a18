"""Documents as a person looks through them: by folder, state and name, some at a time."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, select, update

from unchunk.adapters.catalog.dialects import asking
from unchunk.adapters.catalog.finding import owned
from unchunk.adapters.catalog.lookups import documents_of
from unchunk.adapters.catalog.rows import is_storable
from unchunk.adapters.catalog.schema import documents, versions
from unchunk.domain import Document, DocumentId, FolderCount, OwnerId, Status, Version

_STATES: dict[Status, ColumnElement[bool]] = {
    "live": documents.c.live.is_not(None),
    "pending": and_(documents.c.live.is_(None), documents.c.error_code == ""),
    "failed": and_(documents.c.live.is_(None), documents.c.error_code != ""),
}


def browse(
    connection: Connection,
    owner: OwnerId,
    *,
    folder: str | None,
    status: Status | None,
    part: str,
    limit: int | None,
    offset: int,
) -> tuple[list[Document], int]:
    conditions = [documents.c.owner == owner]
    if folder is not None:
        if not is_storable(folder):
            return [], 0
        conditions.append(documents.c.folder == folder)
    if status is not None:
        conditions.append(_STATES[status])
    newest = (
        select(documents.c.id)
        .where(*conditions)
        .order_by(documents.c.created_at.desc(), documents.c.id.desc())
    )
    if part:
        wanted, total = _named(connection, newest, part, limit, offset)
    else:
        wanted = connection.scalars(newest.limit(limit).offset(offset)).all()
        total = connection.scalar(select(func.count()).where(*conditions)) or 0
    found = {one.id: one for one in owned(asking(connection), owner, wanted)}
    # In the order of their ids as they were found; one may have gone in between.
    return [found[one] for one in wanted if one in found], total


def _named(
    connection: Connection,
    newest: Select[tuple[DocumentId]],
    part: str,
    limit: int | None,
    offset: int,
) -> tuple[Sequence[DocumentId], int]:
    """Looked for here: databases know the case of few letters."""
    part = part.casefold()
    rows = connection.execute(newest.add_columns(documents.c.name))
    every = [document for document, name in rows if part in name.casefold()]
    return every[offset:][:limit], len(every)


def folders(connection: Connection, owner: OwnerId) -> list[FolderCount]:
    def count(status: Status) -> ColumnElement[int]:
        return func.sum(case((_STATES[status], 1), else_=0))

    rows = connection.execute(
        select(documents.c.folder, func.count(), count("pending"), count("failed"))
        .where(documents.c.owner == owner)
        .group_by(documents.c.folder)
    )
    # Sorted here: databases disagree on the order of texts.
    return sorted(FolderCount(*row) for row in rows)


def uncounted(connection: Connection, limit: int) -> list[Version]:
    is_live = and_(versions.c.document == documents.c.id, versions.c.generation == documents.c.live)
    wanted = select(documents.c.id).join(versions, is_live).where(versions.c.tokens.is_(None))
    some = connection.scalars(wanted.limit(limit)).all()
    found = documents_of(connection, documents.c.id.in_(some)) if some else []
    return [one.live for one in found if one.live is not None]


def count_tokens(connection: Connection, version: Version, tokens: int) -> None:
    connection.execute(
        update(versions)
        .where(
            versions.c.document == version.document,
            versions.c.generation == version.generation,
        )
        .values(tokens=tokens)
    )
