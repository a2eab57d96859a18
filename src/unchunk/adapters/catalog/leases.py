"""The port `Leases`, in the database of the catalog."""

import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from sqlalchemy import ColumnElement, Connection, delete, or_, select, update

from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import clock, hastily, in_batches, insert
from unchunk.adapters.catalog.schema import leases
from unchunk.ports import DISMISSED


class _TakenError(Exception):
    """Another has one of them; what was taken before it is given back with the transaction."""


class SqlLeases:
    """`seconds` is how long one lasts without a beat. Lives as long as the database is open."""

    def __init__(self, database: Database, seconds: float) -> None:
        self._database = database
        self._lasts = int(seconds * 1_000_000)
        self._holder = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"

    @property
    def holder(self) -> str:
        return self._holder

    async def take(self, names: Sequence[str]) -> bool:
        work = partial(_take, names=sorted(set(names)), holder=self._holder, lasts=self._lasts)
        with suppress(_TakenError):
            await self._database.write(work, repeatable=True)
            return True
        return False

    async def beat(self) -> Mapping[str, bool]:
        work = partial(_beat, holder=self._holder, lasts=self._lasts)
        # Whoever waits for others does not keep this process from showing that it lives.
        return await self._database.write(work, repeatable=True, apart=True)

    async def give_up(self, names: Sequence[str]) -> None:
        work = partial(_give_up, names=sorted(set(names)), holder=self._holder)
        await self._database.write(work, repeatable=True)

    async def held(self, names: Sequence[str]) -> set[str]:
        return await self._database.read(partial(_held, names=list(set(names))))

    async def dismiss(self, names: Sequence[str]) -> None:
        work = partial(_dismiss, names=sorted(set(names)))
        await self._database.write(work, repeatable=True, rings=(DISMISSED,))


# A lease that a power cut takes away is one that ran out: nobody waits for the disk.


def _take(connection: Connection, names: Sequence[str], holder: str, lasts: int) -> None:
    hastily(connection)
    now = clock(connection.dialect.name)
    statement = insert(connection.dialect.name, leases)
    can_be = or_(leases.c.until < now, leases.c.holder == holder)
    mine = {"holder": holder, "until": now + lasts, "is_dismissed": False}
    # In one order, so that no two wait for each other.
    for batch in in_batches(names):
        rows = [{"name": name, **mine} for name in batch]
        taking = statement.values(rows).on_conflict_do_update(
            index_elements=["name"], set_=mine, where=can_be
        )
        if len(connection.execute(taking.returning(leases.c.name)).all()) < len(rows):
            raise _TakenError


def _beat(connection: Connection, holder: str, lasts: int) -> dict[str, bool]:
    hastily(connection)
    # Locked in one order, as they are taken.
    is_mine = leases.c.holder == holder
    connection.execute(
        select(leases.c.name).where(is_mine).order_by(leases.c.name).with_for_update()
    )
    # One that ran out is as good as ever, if nobody took it.
    until = clock(connection.dialect.name) + lasts
    beating = update(leases).where(is_mine).values(until=until)
    rows = connection.execute(beating.returning(leases.c.name, leases.c.is_dismissed))
    return {name: bool(is_dismissed) for name, is_dismissed in rows}


def _give_up(connection: Connection, names: Sequence[str], holder: str) -> None:
    hastily(connection)
    for name in names:
        connection.execute(delete(leases).where(leases.c.name == name, leases.c.holder == holder))


def _held(connection: Connection, names: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for batch in in_batches(names):
        found.update(connection.scalars(select(leases.c.name).where(*_are_held(connection, batch))))
    return found


def _dismiss(connection: Connection, names: Sequence[str]) -> None:
    for name in names:
        connection.execute(update(leases).where(leases.c.name == name).values(is_dismissed=True))


def _are_held(connection: Connection, names: Sequence[str]) -> tuple[ColumnElement[bool], ...]:
    return leases.c.name.in_(names), leases.c.until >= clock(connection.dialect.name)
