"""Which version of the tables a database has, and how it gets the newest one."""

from functools import partial

from sqlalchemy import Connection, Engine, inspect, text

from unchunk.adapters.catalog.connecting import for_writing
from unchunk.adapters.catalog.patience import transact
from unchunk.adapters.catalog.terms import HEAD, REVISIONS
from unchunk.errors import IntegrityError, MigrationNeededError

# Any number, but always the same: two who bring one database up to date do so one by one.
_LOCK = 52017


def bring_up_to_date(engine: Engine, where: str, patience: float) -> None:
    if transact(engine, _revision, patience, repeatable=True) != HEAD:
        work = partial(_bring, where=where)
        transact(for_writing(engine), work, patience, repeatable=True)


def _bring(connection: Connection, where: str) -> None:
    if connection.dialect.name == "postgresql":
        # Another one may take long, and is not to be disturbed.
        connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
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
