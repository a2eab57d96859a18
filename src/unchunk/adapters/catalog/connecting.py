"""How SQLAlchemy reaches a database: in a file, or by the address of a server."""

import os
from functools import partial
from typing import Final, NamedTuple, Protocol

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from unchunk.adapters.catalog.file import READERS, File
from unchunk.errors import InvalidSettingError, MissingPartError

_POSTGRES = ("postgresql", "postgres")
_DRIVER = "postgresql+psycopg"
# What of a query is shown to nobody, and what stands in its place, as SQLAlchemy writes it.
_SECRET = ("password", "passfile", "sslpassword")
_HIDDEN, _HIDDEN_AS = "***", "%2A%2A%2A"
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


class _Postgres(Protocol):
    """What a connection to PostgreSQL can do."""

    autocommit: bool

    def execute(self, query: str, /) -> object: ...


def place_of(where: str) -> tuple[URL, str]:
    """The address of a database, and how to show it to people."""
    url = _address(where)
    return url, _shown(url)


def _shown(url: URL) -> str:
    hidden = {name: _HIDDEN for name in url.query if name.lower() in _SECRET}
    shown = url.update_query_dict(hidden).render_as_string(hide_password=True)
    return shown.replace(_HIDDEN_AS, _HIDDEN)


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


class Engines(NamedTuple):
    """The same one, as it is, and for those who read or write."""

    any: Engine
    reading: Engine
    writing: Engine


def engines_of(place: URL | File, patience: float) -> Engines:
    engine = _engine(place, patience)
    return Engines(engine, _for_reading(engine), for_writing(engine))


def _engine(place: URL | File, patience: float) -> Engine:
    if not isinstance(place, File):
        # One for each thread of a `Database`.
        size = 2 * READERS + 1
        engine = create_engine(place, pool_size=size, max_overflow=0, connect_args=SERVER)
        event.listen(engine, "connect", partial(_bound, patience))
        return engine
    url = URL.create("sqlite", database=os.fspath(place.where))
    engine = create_engine(url, creator=place.connect, pool_size=READERS + 1, max_overflow=0)
    event.listen(engine, "begin", _begin)
    return engine


def _for_reading(engine: Engine) -> Engine:
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


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: one that reads first may find it taken too late to wait.
    is_writing = connection.get_execution_options().get("writing")
    connection.connection.cursor().execute("BEGIN IMMEDIATE" if is_writing else "BEGIN")
