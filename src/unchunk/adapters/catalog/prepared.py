"""Statements that every document needs, made once and run again and again.

With SQLite past SQLAlchemy, whose part of a statement takes ten times as long as SQLite's. What a
type of a column would make of a value is left out then: these statements have texts, bytes and
whole numbers, which SQLite gives back as they are, and truths, which it gives back as numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.dml import UpdateBase

Values = Mapping[str, Any]


class _Spelled(NamedTuple):
    """A statement as SQLite takes it: the names of its values in order, some known already."""

    text: str
    names: tuple[str, ...]
    known: Values

    def values(self, given: Values) -> list[Any]:
        return [given[name] if name in given else self.known[name] for name in self.names]


def rows_of(connection: Connection, statement: Select[Any], **values: object) -> Sequence[Any]:
    """All rows, as tuples; `values` are those of its named parameters."""
    if connection.dialect.name != "sqlite":
        return connection.execute(statement, values).all()
    spelled = _spelled(statement, ())
    cursor = connection.connection.cursor()
    cursor.execute(spelled.text, spelled.values(values))
    return cursor.fetchall()


def rows_with(
    connection: Connection,
    statement: Select[Any],
    wanted: Sequence[str | bytes],
    **others: str | int,
) -> Iterable[Sequence[Any]]:
    """The rows of a statement whose last parameter is `wanted`, and whose first are the others."""
    if connection.dialect.name != "sqlite":
        return connection.execute(statement, {**others, "wanted": wanted})
    cursor = connection.connection.cursor()
    cursor.execute(_in_sqlite(statement, len(wanted)), (*others.values(), *wanted))
    return cursor.fetchall()


@lru_cache(maxsize=1024)
def _in_sqlite(statement: Select[Any], count: int) -> str:
    spelled = str(statement.compile(dialect=sqlite.dialect()))
    return spelled.replace("(__[POSTCOMPILE_wanted])", f"({', '.join('?' * count)})")


def write(connection: Connection, statement: UpdateBase, *rows: Values) -> None:
    """Run it once for each row; all have the same names. Nothing happens without any."""
    if not rows:
        return
    if connection.dialect.name != "sqlite":
        connection.execute(statement, rows if len(rows) > 1 else rows[0])
        return
    spelled = _spelled(statement, tuple(rows[0]))
    connection.connection.cursor().executemany(spelled.text, [*map(spelled.values, rows)])


@lru_cache(maxsize=256)
def _spelled(statement: Select[Any] | UpdateBase, columns: Sequence[str]) -> _Spelled:
    """An insert is of those columns that are given."""
    compiled = statement.compile(dialect=sqlite.dialect(), column_keys=columns or None)
    known = {name: one.value for name, one in compiled.binds.items() if not one.required}
    return _Spelled(str(compiled), tuple(compiled.positiontup or ()), known)
