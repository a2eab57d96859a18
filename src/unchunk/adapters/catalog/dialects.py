"""What SQLite and PostgreSQL do not share."""

from functools import lru_cache
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Numeric,
    Table,
    cast,
    func,
    literal_column,
    text,
)
from sqlalchemy.dialects import sqlite

from unchunk.adapters.catalog.file import CLOCK, Ask
from unchunk.adapters.catalog.rows import in_batches

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

__all__ = ["asking", "clock", "hastily", "in_batches", "insert", "insert_new"]

_HASTILY = text("SET LOCAL synchronous_commit TO off")


@lru_cache
def clock(dialect: str) -> ColumnElement[int]:
    """Microseconds since 1970 by the clock of the database, at the moment when it is asked.

    Whoever shares the database agrees on it, whatever time their own machines think it is.
    """
    if dialect != "postgresql":
        return getattr(func, CLOCK)(type_=BigInteger)  # type: ignore[no-any-return] # any name
    seconds = literal_column("EXTRACT(EPOCH FROM clock_timestamp())", Numeric)
    return cast(seconds * 1_000_000, BigInteger)


@lru_cache
def insert(dialect: str, table: Table) -> "sqlite.Insert | postgresql.Insert":
    """An insert that knows ON CONFLICT: both spell it alike, but each has its own."""
    if dialect != "postgresql":
        return sqlite.insert(table)
    # A library in a file starts sooner without it.
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415

    return postgresql.insert(table)


@lru_cache
def insert_new(dialect: str, table: Table) -> "sqlite.Insert | postgresql.Insert":
    """An insert that leaves alone what is there already."""
    return insert(dialect, table).on_conflict_do_nothing()


def hastily(connection: Connection) -> None:
    """This transaction need not wait for the disk: what it writes may be lost with the machine."""
    if connection.dialect.name == "postgresql":
        connection.execute(_HASTILY)


def asking(connection: Connection) -> Ask:
    """Plain queries, in a transaction of SQLAlchemy's."""
    if connection.dialect.name == "sqlite":
        # Past SQLAlchemy, whose part takes longer than SQLite's.
        cursor = connection.connection.cursor()
        return lambda query, values: cursor.execute(query, values).fetchall()
    return lambda query, values: connection.exec_driver_sql(
        query.replace("?", "%s"), tuple(values)
    ).all()
