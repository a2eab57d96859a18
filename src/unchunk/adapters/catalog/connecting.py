"""How a database is reached: by the path of a file, or by the address of a server."""

import os
import sqlite3
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from unchunk.adapters.catalog.dialects import CLOCK
from unchunk.errors import InvalidSettingError, MissingPartError, OutputError

READERS: Final = 3
_POSTGRES = ("postgresql", "postgres")
_DRIVER = "postgresql+psycopg"
# What of a query is shown to nobody, and what stands in its place, as SQLAlchemy writes it.
_SECRET = ("password", "passfile", "sslpassword")
_HIDDEN, _HIDDEN_AS = "***", "%2A%2A%2A"
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
# A machine that is gone without a word is noticed, too.
SERVER: Final = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "unchunk",
}
# A process that stops in the middle of its transaction keeps what it locked for so many seconds:
# less than others wait for it.
_STOPPED: Final = 8.0


class _Sqlite(Protocol):
    """What a connection to SQLite can do that others cannot."""

    def create_function(self, name: str, narg: int, func: object, /) -> None: ...

    def cursor(self) -> sqlite3.Cursor: ...


class _Postgres(Protocol):
    """What a connection to PostgreSQL can do."""

    autocommit: bool

    def execute(self, query: str, /) -> object: ...


def place_of(where: Path | str) -> tuple[URL, str]:
    """The address of a database, and how to show it to people."""
    if isinstance(where, str):
        url = _address(where)
        return url, _shown(url)
    try:
        where.parent.mkdir(0o700, parents=True, exist_ok=True)
        _make_private(where)
    except OSError as error:
        raise OutputError(f"cannot write {where}: {error.strerror or error}") from error
    return URL.create("sqlite", database=os.fspath(where)), str(where)


def _shown(url: URL) -> str:
    hidden = {name: _HIDDEN for name in url.query if name.lower() in _SECRET}
    shown = url.update_query_dict(hidden).render_as_string(hide_password=True)
    return shown.replace(_HIDDEN_AS, _HIDDEN)


def _make_private(where: Path) -> None:
    """An empty file is a new database; what SQLite puts beside it takes over its mode."""
    # It may be there already; and what cannot be made here, SQLite complains of.
    with suppress(OSError):
        os.close(os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _address(where: str) -> URL:
    try:
        url = make_url(where)
        if url.drivername in _POSTGRES:
            url = url.set(drivername=_DRIVER)
        url.get_dialect().import_dbapi()
    except ArgumentError as error:
        # Not named: there may be a password in it.
        raise InvalidSettingError(
            "the address of the database makes no sense: write it as "
            "postgresql://user:password@host/name"
        ) from error
    # What psycopg is made of may be missing, too, and it says so without naming it.
    except ImportError as error:
        raise MissingPartError(
            f"a {url.get_backend_name()} database needs {error.name or 'psycopg'}, which is not "
            "installed: run pip install 'unchunk[postgres]' and write postgresql://..."
        ) from error
    return url


def engine_of(url: URL, patience: float) -> Engine:
    if url.get_backend_name() != "sqlite":
        # One for each thread of a `Database`.
        size = 2 * READERS + 1
        engine = create_engine(url, pool_size=size, max_overflow=0, connect_args=SERVER)
        event.listen(engine, "connect", partial(_bound, patience))
        return engine
    # Without an isolation level the driver begins no transaction of its own, and `_begin` can.
    arguments = {"timeout": patience, "isolation_level": None}
    engine = create_engine(url, pool_size=READERS + 1, max_overflow=0, connect_args=arguments)
    event.listen(engine, "connect", partial(_prepare, patience))
    event.listen(engine, "begin", _begin)
    return engine


def for_reading(engine: Engine) -> Engine:
    """All that one piece of work reads is of one moment."""
    if engine.dialect.name != "postgresql":
        return engine
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def for_writing(engine: Engine) -> Engine:
    return engine.execution_options(writing=True)


def _bound(patience: float, connection: _Postgres, _record: object) -> None:
    """Nobody waits for ever for one who stopped, and nobody who stopped is waited for."""
    # Not as options of the connection: the address may have some, and they would be gone.
    connection.autocommit = True
    connection.execute(f"SET lock_timeout = {max(1, round(patience * 1000))}")
    connection.execute(f"SET idle_in_transaction_session_timeout = {round(_STOPPED * 1000)}")
    connection.autocommit = False


def _prepare(patience: float, connection: _Sqlite, _record: object) -> None:
    connection.create_function(CLOCK, 0, _microseconds)
    cursor = connection.cursor()
    deadline = time.monotonic() + patience
    while True:
        try:
            for pragma in _PRAGMAS:
                cursor.execute(f"PRAGMA {pragma}")
            break
        # SQLite's own patience does not hold while another one changes the way of the log.
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)
    cursor.close()


def _microseconds() -> int:
    return time.time_ns() // 1000


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: one that reads first may find it taken too late to wait.
    is_writing = connection.get_execution_options().get("writing")
    connection.connection.cursor().execute("BEGIN IMMEDIATE" if is_writing else "BEGIN")


def checkpoint(engine: Engine) -> None:
    """Leave one tidy file behind."""
    # Where there is no room, or another process reads, the log stays beside the file.
    with suppress(sqlite3.Error, DBAPIError), closing(engine.raw_connection()) as raw:
        # Past `_begin`: it cannot run in a transaction.
        raw.cursor().execute("PRAGMA busy_timeout = 200")
        raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
