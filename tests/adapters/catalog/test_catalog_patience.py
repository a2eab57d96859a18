"""A PostgreSQL that loses connections, and writers that get in each other's way."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from threading import Barrier, Event

import psycopg
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from server.scripted import eventually
from unchunk.adapters.catalog import Database, SqlLeases, connecting, open_database
from unchunk.adapters.catalog.database import _Opening as Opening
from unchunk.adapters.catalog.patience import _passes
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


_RAISE = text("UPDATE notes SET value = value || '+' WHERE key = 'a'")


def test_who_stops_in_the_middle_is_not_waited_for_and_begins_again(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_STOPPED", 0.5)
    locked, goes_on, tries = Event(), Event(), 0

    def stop(connection: Connection) -> None:
        nonlocal tries
        tries += 1
        connection.execute(_RAISE)
        locked.set()
        goes_on.wait(30)

    async def scene(database: Database) -> None:
        await database.write(partial(insert, key="a"))
        stopped = asyncio.create_task(database.write(stop))
        await asyncio.to_thread(locked.wait, 30)
        async with asyncio.timeout(30):
            await database.write(lambda connection: connection.execute(_RAISE))
        goes_on.set()
        await stopped
        assert tries == 2
        rows = await database.read(lambda connection: connection.execute(_NOTES).all())
        assert [tuple(row) for row in rows] == [("a", "++")]

    with_database(postgres, scene)


def test_writers_that_wait_for_a_stopped_one_do_not_keep_the_heart_from_beating(
    postgres: str,
) -> None:
    async def scene(database: Database) -> None:
        await database.write(partial(insert, key="a"))
        leases = SqlLeases(database, 60.0)
        await leases.take(["mine"])
        with psycopg.connect(postgres) as stopped:
            stopped.execute("SELECT * FROM notes WHERE key = 'a' FOR UPDATE")
            waiting = [
                asyncio.create_task(database.write(lambda connection: connection.execute(_RAISE)))
                for _ in range(6)
            ]
            await asyncio.sleep(0.1)
            async with asyncio.timeout(30):
                assert await leases.beat() == {"mine": False}
            assert not any(one.done() for one in waiting)
        await asyncio.gather(*waiting)

    with_database(postgres, scene)


def test_nobody_waits_for_ever_for_what_another_has_locked(postgres: str) -> None:
    async def scene() -> None:
        database = await open_database(postgres, patience=1.5)
        await database.write(partial(insert, key="a"))
        with psycopg.connect(postgres) as stopped:
            stopped.execute("SELECT * FROM notes WHERE key = 'a' FOR UPDATE")
            async with asyncio.timeout(30):
                with pytest.raises(TransientError, match="lock timeout"):
                    await database.write(lambda connection: connection.execute(_RAISE))
                await database.close()

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("said", "connected", "passes"),
    [
        ("consuming input failed: SSL connection has been closed unexpectedly", True, True),
        ("consuming input failed: SSL SYSCALL error: EOF detected", True, True),
        ("connection failed: SSL SYSCALL error: EOF detected", False, True),
        ("connection failed: Connection refused", False, True),
        ("connection failed: SSL error: certificate verify failed", False, False),
        ("connection failed: server does not support SSL, but SSL was required", False, False),
        ('FATAL: password authentication failed for user "me"', False, False),
    ],
)
def test_a_broken_line_passes_and_a_wrong_address_does_not(
    said: str, *, connected: bool, passes: bool
) -> None:
    error = OperationalError("x", {}, psycopg.OperationalError(said))
    assert _passes(error, connected=connected) == passes


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


@pytest.mark.parametrize("late", [False, True])
def test_what_is_opened_for_nobody_is_closed(
    postgres: str, monkeypatch: pytest.MonkeyPatch, *, late: bool
) -> None:
    reached, go_on, opened = Event(), Event(), Event()
    made: list[Database] = []
    bring_up_to_date, run = Database.bring_up_to_date, Opening.run

    def guests() -> set[int]:
        with psycopg.connect(postgres) as connection:
            found = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'unchunk'"
            )
            return {pid for (pid,) in found}

    its: set[int] = set()

    def slowly(database: Database) -> None:
        made.append(database)
        bring_up_to_date(database)
        with database.engine.connect() as connection:
            its.update(connection.scalars(text("SELECT pg_backend_pid()")))
        reached.set()
        assert go_on.wait(30)

    def told(opening: Opening) -> Database:
        database = run(opening)
        opened.set()
        return database

    monkeypatch.setattr(Database, "bring_up_to_date", slowly)
    monkeypatch.setattr(Opening, "run", told)

    async def scene() -> None:
        opening = asyncio.create_task(open_database(postgres))
        assert await asyncio.to_thread(reached.wait, 30)
        if late:
            # In the loop: what it has made cannot be handed over before this is over.
            go_on.set()
            assert opened.wait(30)
        opening.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(scene())
    eventually(lambda: made[0]._closed and not its & guests())


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
