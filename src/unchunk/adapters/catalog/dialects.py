"""What SQLite and PostgreSQL do not share."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite

T = TypeVar("T")

_MOST = 400


@lru_cache
def insert(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that knows ON CONFLICT: both spell it alike, but each has its own."""
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)


@lru_cache
def insert_new(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that leaves alone what is there already."""
    return insert(dialect, table).on_conflict_do_nothing()


def in_batches(items: Sequence[T], most: int = _MOST) -> Iterator[Sequence[T]]:
    """So many at a time that no database has too many parameters in one statement."""
    for first in range(0, len(items), most):
        yield items[first : first + most]
