"""The port `Purged`, in the database of the catalog."""

from collections.abc import Collection, Sequence
from functools import lru_cache, partial
from typing import Final

from sqlalchemy import Connection, Insert, bindparam, delete, literal, select, tuple_, update

from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import clock, in_batches, insert
from unchunk.adapters.catalog.schema import purged, remains, versions
from unchunk.domain import DocumentId
from unchunk.ports import Taken

# Microseconds from the purge, and from one turn to the next. What was given up mostly comes within
# seconds; a machine that is moved or starts anew may take long.
_TURNS: Final = (60_000_000, 3_600_000_000)
# So long whoever took some has them.
_TAKEN: Final = 120_000_000
_VERSION: Final = tuple_(purged.c.document, purged.c.generation)


class SqlPurged:
    """Lives as long as the catalog on the same database, which was told to list what it forgets."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, most: int) -> Taken:
        return await self._database.write(partial(_take, most=most))

    async def done(self, taken: Taken) -> None:
        await self._database.write(partial(_done, taken=taken), repeatable=True)


@lru_cache
def listing(dialect: str) -> Insert:
    """Lists one of the remains, which is about to be forgotten."""
    due_at = clock(dialect) + _TURNS[0]
    its = select(remains.c.document, remains.c.generation, literal(0), due_at).where(
        remains.c.document == bindparam("its_document"),
        remains.c.generation == bindparam("its_generation"),
    )
    columns = ["document", "generation", "turn", "due_at"]
    return insert(dialect, purged).from_select(columns, its).on_conflict_do_nothing()


def unlist(connection: Connection, document: DocumentId, generations: Collection[int]) -> None:
    """They come in again from elsewhere, with the numbers that they had."""
    its = purged.c.document == document, purged.c.generation.in_(generations)
    connection.execute(delete(purged).where(*its))


def _take(connection: Connection, most: int) -> Taken:
    now: int = connection.scalars(select(clock(connection.dialect.name))).one()
    due = (
        select(purged.c.document, purged.c.generation)
        .where(purged.c.due_at <= now)
        .order_by(purged.c.due_at)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    taken: dict[DocumentId, list[int]] = {}
    keys = [(document, generation) for document, generation in connection.execute(due)]
    for batch in in_batches(keys):
        _drop_wanted(connection, batch)
        taking = update(purged).where(_VERSION.in_(batch)).values(due_at=now + _TAKEN)
        for document, generation in connection.execute(
            taking.returning(purged.c.document, purged.c.generation)
        ):
            taken.setdefault(document, []).append(generation)
    return Taken(taken, now + _TAKEN)


def _drop_wanted(connection: Connection, keys: Sequence[tuple[DocumentId, int]]) -> None:
    """Those that a move has brought here again meanwhile."""
    there = select(versions.c.document, versions.c.generation).where(
        tuple_(versions.c.document, versions.c.generation).in_(keys)
    )
    connection.execute(delete(purged).where(_VERSION.in_(there)))


def _done(connection: Connection, taken: Taken) -> None:
    """By the moment until which they were taken, so that it is told once, and not by who is late."""
    keys = sorted((document, number) for document, its in taken.versions.items() for number in its)
    later = clock(connection.dialect.name) + _TURNS[1]
    is_last = purged.c.turn >= len(_TURNS) - 1
    for batch in in_batches(keys):
        mine = _VERSION.in_(batch), purged.c.due_at == taken.until
        connection.execute(delete(purged).where(*mine, is_last))
        connection.execute(update(purged).where(*mine).values(turn=purged.c.turn + 1, due_at=later))
