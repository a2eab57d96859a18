"""A PostgreSQL that loses connections, and writers that get in each other's way."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from threading import Barrier

import psycopg
import pytest
from sqlalchemy import Connection, text

from unchunk.adapters.catalog import Database, open_database
from unchunk.errors import InvalidSettingError, MissingPartError, TransientError

_INSERT = text("INSERT INTO notes (key, value) VALUES (:key, :value)")
_NOTES = text("SELECT key, value FROM notes ORDER BY key")


def with_database(postgres: str, scene: Callable[[Database], Awaitable[None]]) -> None:
    async def play() -> None:
        database = await open_database(postgres, patience=5.0)
        try:
            await scene(database)
        finally:
            await database.close()

    asyncio.run(play())


def insert(connection: Connection, key: str) -> None:
    connection.execute(_INSERT, {"key": key, "value": ""})


def cut(connection: Connection, postgres: str) -> None:
    """End the connection from the other side."""
    pid = connection.scalar(text("SELECT pg_backend_pid()"))
    with psycopg.connect(postgres, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


class Cutting:
    """Work whose connection breaks the first time: before it writes, or when it is to commit."""

    def __init__(self, postgres: str, *, at_the_end: bool) -> None:
        self._postgres, self._at_the_end = postgres, at_the_end
        self.tries = 0

    def __call__(self, connection: Connection) -> str:
        self.tries += 1
        if self.tries == 1 and not self._at_the_end:
            cut(connection, self._postgres)
        connection.execute(_INSERT, {"key": "a", "value": str(self.tries)})
        if self.tries == 1 and self._at_the_end:
            cut(connection, self._postgres)
        return "done"


def test_work_that_certainly_was_not_done_is_done_again(postgres: str) -> None:
    async def scene(database: Database) -> None:
        work = Cutting(postgres, at_the_end=False)
        assert await database.write(work) == "done"
        assert work.tries == 2
        rows = await database.read(lambda connection: connection.execute(_NOTES).all())
        assert [tuple(row) for row in rows] == [("a", "2")]

    with_database(postgres, scene)


@pytest.mark.parametrize("repeatable", [False, True])
def test_work_that_may_have_been_done_is_done_again_only_if_twice_is_as_once(
    postgres: str, *, repeatable: bool
) -> None:
    async def scene(database: Database) -> None:
        work = Cutting(postgres, at_the_end=True)
        if repeatable:
            assert await database.write(work, repeatable=True) == "done"
            assert work.tries == 2
        else:
            with pytest.raises(TransientError, match="does not answer"):
                await database.write(work)
            assert work.tries == 1

    with_database(postgres, scene)


def test_a_read_whose_connection_breaks_is_asked_again(postgres: str) -> None:
    tries = 0

    def work(connection: Connection) -> int | None:
        nonlocal tries
        tries += 1
        if tries == 1:
            cut(connection, postgres)
        found: int | None = connection.scalar(text("SELECT 7"))
        return found

    async def scene(database: Database) -> None:
        assert await database.read(work) == 7
        assert tries == 2

    with_database(postgres, scene)


def test_two_who_want_what_the_other_has_both_get_it(postgres: str) -> None:
    both = Barrier(2, timeout=30)
    tries = {"a": 0, "b": 0}

    def raise_both(connection: Connection, first: str, second: str) -> None:
        tries[first] += 1
        for key in (first, second):
            connection.execute(
                text("UPDATE notes SET value = value || '+' WHERE key = :key"), {"key": key}
            )
            if key == first and tries[first] == 1:
                both.wait()

    async def scene(database: Database) -> None:
        for key in ("a", "b"):
            await database.write(partial(insert, key=key))
        await asyncio.gather(
            database.write(lambda connection: raise_both(connection, "a", "b")),
            database.write(lambda connection: raise_both(connection, "b", "a")),
        )
        rows = await database.read(lambda connection: connection.execute(_NOTES).all())
        assert [tuple(row) for row in rows] == [("a", "++"), ("b", "++")]
        assert sum(tries.values()) == 3, "one of them had to begin again"

    with_database(postgres, scene)


def test_all_that_one_reads_is_of_one_moment_and_nothing_is_written(postgres: str) -> None:
    def read(connection: Connection) -> list[str | None]:
        found = [connection.scalar(text("SELECT value FROM notes WHERE key = 'a'"))]
        with psycopg.connect(postgres, autocommit=True) as other:
            other.execute("INSERT INTO notes (key, value) VALUES ('a', 'late')")
        return [*found, connection.scalar(text("SELECT value FROM notes WHERE key = 'a'"))]

    async def scene(database: Database) -> None:
        assert await database.read(read) == [None, None]
        with pytest.raises(Exception, match="read-only transaction"):
            await database.read(partial(insert, key="b"))

    with_database(postgres, scene)


def test_a_wrong_name_is_told_at_once(postgres_server: str) -> None:
    nowhere = postgres_server.rpartition("/")[0] + "/nowhere"

    async def scene() -> None:
        async with asyncio.timeout(30):
            with pytest.raises(TransientError, match="nowhere"):
                await open_database(nowhere, patience=600.0)

    asyncio.run(scene())


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_the_address_may_leave_the_driver_out(postgres: str, scheme: str) -> None:
    async def scene() -> None:
        database = await open_database(f"{scheme}:{postgres.partition(':')[2]}")
        assert database.is_shared
        await database.close()

    asyncio.run(scene())


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPartError, match=r"pip install 'unchunk\[postgres\]'"):
        asyncio.run(open_database("postgresql://me:secret@127.0.0.1:1/library"))


def test_another_kind_of_database_is_refused() -> None:
    with pytest.raises((InvalidSettingError, MissingPartError)):
        asyncio.run(open_database("mysql://me:secret@127.0.0.1/library"))
