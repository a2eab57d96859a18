"""The port `Rates`, in the database of the catalog: a bucket of tokens for each name."""

from functools import lru_cache, partial
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Select,
    bindparam,
    case,
    delete,
    select,
)
from sqlalchemy.sql.dml import ReturningInsert

from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import clock, hastily, insert
from unchunk.adapters.catalog.rows import storable
from unchunk.adapters.catalog.schema import rates

# Any bucket is full again after it.
_MINUTE: Final = 60_000_000
_MOST: Final = bindparam("most", type_=Float)


class SqlRates:
    """Lives as long as the catalog on the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, name: str, per_minute: int) -> float:
        return await self._database.write(partial(_take, name=name, per_minute=per_minute))

    async def forget(self) -> None:
        await self._database.write(_forget, repeatable=True)


def _take(connection: Connection, name: str, per_minute: int) -> float:
    storable(name=name)
    hastily(connection)
    taking, asking = _statements(connection.dialect.name)
    given = {"its_name": name, "most": float(per_minute), "rate": per_minute / _MINUTE}
    if connection.execute(taking, given).first() is not None:
        return 0.0
    there = float(connection.scalar(asking, given) or 0)
    # One may have come back in this very moment.
    return max(1 - there, 0.001) * 60 / per_minute


@lru_cache
def _statements(dialect: str) -> tuple[ReturningInsert[Any], Select[Any]]:
    """To take one, and to see how much there is. Made once: every request comes by here."""
    statement = insert(dialect, rates).values(
        name=bindparam("its_name"), amount=_MOST - 1, taken_at=clock(dialect)
    )
    now = statement.excluded.taken_at
    left = _left(now)
    # One statement, so that of many who come at once each gets another one.
    taking = statement.on_conflict_do_update(
        index_elements=["name"],
        set_={"amount": left - 1, "taken_at": _later(rates.c.taken_at, now)},
        where=left >= 1,
    )
    asking = select(_left(clock(dialect))).where(rates.c.name == bindparam("its_name"))
    return taking.returning(rates.c.name), asking


def _left(now: ColumnElement[int]) -> ColumnElement[float]:
    """What a bucket has now. Who had to wait for another one may come with an earlier moment."""
    since = _later(rates.c.taken_at, now) - rates.c.taken_at
    filled = rates.c.amount + since * bindparam("rate", type_=Float)
    return case((filled > _MOST, _MOST), else_=filled)


def _later(one: ColumnElement[int], other: ColumnElement[int]) -> ColumnElement[int]:
    return case((one > other, one), else_=other)


def _forget(connection: Connection) -> None:
    latest = clock(connection.dialect.name) - _MINUTE
    connection.execute(delete(rates).where(rates.c.taken_at < latest))
