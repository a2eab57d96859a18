"""An open database: its connections, and the threads in which they are used."""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError

from unchunk.adapters.catalog.faults import in_our_words
from unchunk.adapters.catalog.leaving import Left
from unchunk.adapters.catalog.schema import HEAD, REVISIONS
from unchunk.errors import (
    IntegrityError,
    InvalidSettingError,
    MigrationNeededError,
    MissingPartError,
    OutputError,
)

T = TypeVar("T")

_READERS = 3
_PAUSE = 0.01
_PRAGMAS = (
    "journal_mode = WAL",
    # A commit is on the disk when it returns; WAL's usual NORMAL may lose the last ones.
    "synchronous = FULL",
    "foreign_keys = ON",
    # What was deleted is overwritten, not only unlinked.
    "secure_delete = ON",
    # The log shrinks again after a large write.
    f"journal_size_limit = {64 * 2**20}",
)


class Database:
    """Runs work in transactions. Writers queue up for one thread with SQLite, which has one lock."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self._writing = engine.execution_options(writing=True)
        self._where = where
        self._closed = False
        self.left = Left()
        self._readers = ThreadPoolExecutor(_READERS, "catalog-read")
        self._writers = ThreadPoolExecutor(_writers(engine), "catalog-write")

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self._run(self._readers, self._engine, work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """All of `work` or nothing, on the disk when this returns.

        If the caller is cancelled meanwhile, the work is done nevertheless, or not, but whole.
        """
        return await self._run(self._writers, self._writing, work)

    async def close(self) -> None:
        """Wait for what is running, and leave one tidy file behind. Closing twice is fine."""
        await asyncio.to_thread(self._close)

    async def _run(
        self, threads: ThreadPoolExecutor, engine: Engine, work: Callable[[Connection], T]
    ) -> T:
        def task() -> T:
            with in_our_words(self._where), engine.begin() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(threads, task)

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._readers.shutdown()
        self._writers.shutdown()
        if self._engine.dialect.name == "sqlite":
            _checkpoint(self._engine)
        self._engine.dispose()


async def open_database(where: Path | str, *, patience: float = 10.0) -> Database:
    """The database in the file `where`, or at the URL `where`, made or brought up to date.

    `patience` is how many seconds to wait for another process that writes. Raises
    `MigrationNeededError` for a database that a newer version made.
    """
    return await asyncio.to_thread(_open, where, patience)


def _open(where: Path | str, patience: float) -> Database:
    if isinstance(where, Path):
        url, shown = URL.create("sqlite", database=os.fspath(where)), str(where)
        try:
            where.parent.mkdir(0o700, parents=True, exist_ok=True)
            _make_private(where)
        except OSError as error:
            raise OutputError(f"cannot write {where}: {error.strerror or error}") from error
    else:
        url = _address(where)
        shown = url.render_as_string(hide_password=True)
    engine = _engine(url, patience)
    try:
        with in_our_words(shown):
            _bring_up_to_date(engine, shown)
    except BaseException:
        engine.dispose()
        raise
    return Database(engine, shown)


def _make_private(where: Path) -> None:
    """An empty file is a new database; what SQLite puts beside it takes over its mode."""
    # It may be there already; and what cannot be made here, SQLite complains of.
    with suppress(OSError):
        os.close(os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _address(where: str) -> URL:
    try:
        url = make_url(where)
        url.get_dialect().import_dbapi()
    except ArgumentError as error:
        # Not named: there may be a password in it.
        raise InvalidSettingError(
            "the address of the database makes no sense: write it as "
            "postgresql+psycopg://user:password@host/name"
        ) from error
    except ModuleNotFoundError as error:
        raise MissingPartError(
            f"a {url.get_backend_name()} database needs {error.name}, which is not installed: "
            "run pip install 'unchunk[postgres]' and write postgresql+psycopg://..."
        ) from error
    return url


def _engine(url: URL, patience: float) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_size=2 * _READERS, max_overflow=0, pool_pre_ping=True)
    # Without an isolation level the driver begins no transaction of its own, and `_begin` can.
    arguments = {"timeout": patience, "isolation_level": None}
    engine = create_engine(url, pool_size=_READERS + 1, max_overflow=0, connect_args=arguments)
    event.listen(engine, "connect", partial(_prepare, patience))
    event.listen(engine, "begin", _begin)
    return engine


def _writers(engine: Engine) -> int:
    return 1 if engine.dialect.name == "sqlite" else _READERS


def _prepare(patience: float, connection: DBAPIConnection, _record: object) -> None:
    cursor = connection.cursor()
    deadline = monotonic() + patience
    while True:
        try:
            for pragma in _PRAGMAS:
                cursor.execute(f"PRAGMA {pragma}")
            break
        # SQLite's own patience does not hold while another one changes the way of the log.
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > deadline:
                raise
            sleep(_PAUSE)
    cursor.close()


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: one that reads first may find it taken too late to wait. A
    # reader asks one thing at a time and needs no transaction.
    if connection.get_execution_options().get("writing"):
        connection.connection.cursor().execute("BEGIN IMMEDIATE")


def _checkpoint(engine: Engine) -> None:
    # Where there is no room, or another process reads, the log stays beside the file.
    with suppress(sqlite3.Error, DBAPIError), closing(engine.raw_connection()) as raw:
        # Past `_begin`: it cannot run in a transaction.
        raw.cursor().execute("PRAGMA busy_timeout = 200")
        raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _bring_up_to_date(engine: Engine, where: str) -> None:
    with engine.begin() as connection:
        if _revision(connection) == HEAD:
            return
    with engine.execution_options(writing=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(52017)")
        # Asked again: another process may have been faster.
        revision = _revision(connection)
        if revision is None and connection.dialect.name == "sqlite":
            _refuse_strangers(connection, where)
        if revision != HEAD:
            _migrate(connection, revision, where)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(REVISIONS):
        return None
    revision: str | None = connection.scalar(text(f"SELECT version_num FROM {REVISIONS}"))  # noqa: S608
    return revision


def _refuse_strangers(connection: Connection, where: str) -> None:
    tables = inspect(connection).get_table_names()
    if tables:
        raise IntegrityError(
            f"{where} is a database of something else: it has a table {tables[0]!r} and no "
            f"{REVISIONS!r}; choose another file"
        )


def _migrate(connection: Connection, revision: str | None, where: str) -> None:
    # Loaded only here: it takes longer than opening does, and is needed once for each version.
    from unchunk.adapters.catalog.upgrade import known_revisions, upgrade  # noqa: PLC0415

    if revision is not None and revision not in known_revisions():
        raise MigrationNeededError(
            f"{where} was made by a newer version of unchunk (its revision is {revision!r}, the "
            f"newest known here is {HEAD!r}); install that version"
        )
    upgrade(connection)
