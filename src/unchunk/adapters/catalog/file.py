"""A database in a file, by the driver alone: how it is reached, and what is asked of it as it is."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from unchunk.errors import (
    IntegrityError,
    InvalidTextError,
    LibraryInUseError,
    OutputError,
    UnchunkError,
)

T = TypeVar("T")

Ask = Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]]
"""Runs a query that both SQLite and PostgreSQL know, a question mark for each of the values, and
gives all of its rows.
"""

CLOCK: Final = "unchunk_clock"
"""What the clock is called that is added to every connection to SQLite, which has none so fine."""

READERS: Final = 3
"""How many threads read at the same time."""

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
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}


class File:
    """Its connections are anybody's, in any thread: each is lent to one at a time."""

    def __init__(self, where: Path, patience: float) -> None:
        # Wherever the process goes meanwhile.
        self.where, self._patience = where.absolute(), patience
        self._idle: list[sqlite3.Connection] = []

    def connect(self) -> sqlite3.Connection:
        """One more, which the caller closes; it begins no transaction by itself."""
        connection = sqlite3.connect(
            self.where, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(connection, self._patience)
        except BaseException:
            connection.close()
            raise
        return connection

    def ask(self, work: Callable[[Ask], T]) -> T:
        """What `work` finds, all of one moment."""
        connection = self._taken()

        def ask(query: str, values: Sequence[Any]) -> Sequence[Sequence[Any]]:
            return connection.execute(query, values).fetchall()

        try:
            connection.execute("BEGIN")
            found = work(ask)
            connection.execute("COMMIT")
        except BaseException:
            # Nobody knows what it is in the middle of.
            connection.close()
            raise
        self._idle.append(connection)
        return found

    def _taken(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self.connect()

    def close(self, *, tidily: bool = False) -> None:
        """Nobody may use it meanwhile. Where nobody else does, either, one file is left behind."""
        if tidily:
            # Where there is no room, or another process reads, the log stays beside the file.
            with suppress(sqlite3.Error), closing(self._taken()) as connection:
                connection.execute("PRAGMA busy_timeout = 200")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        while self._idle:
            self._idle.pop().close()


def make_private(where: Path) -> None:
    """An empty file is a new database; what SQLite puts beside it takes over its mode."""
    try:
        where.parent.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {where}: {error.strerror or error}") from error
    # It may be there already; and what cannot be made here, SQLite complains of.
    with suppress(OSError):
        os.close(os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _prepare(connection: sqlite3.Connection, patience: float) -> None:
    connection.create_function(CLOCK, 0, _microseconds)
    deadline = time.monotonic() + patience
    while True:
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            break
        # SQLite's own patience does not hold while another one changes the way of the log.
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)


def _microseconds() -> int:
    return time.time_ns() // 1000


@contextmanager
def in_our_words(where: str) -> Iterator[None]:
    """Only what can go wrong in a sound program is translated; a broken rule is a bug and stays."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidTextError(f"{error.object!r} holds half a character") from error
    except sqlite3.Error as error:
        raise of_sqlite(error, where) or error from error


def of_sqlite(error: sqlite3.Error, where: str) -> UnchunkError | None:
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return OutputError(f"cannot write {where}: the disk is full; make room and try again")
    if code in _DAMAGED:
        return IntegrityError(
            f"{where} is damaged or is not a catalog ({error}); put a backup in its place"
        )
    if code in _BUSY:
        return LibraryInUseError(f"another process is writing to {where}; try again")
    if code in _UNWRITABLE:
        return OutputError(
            f"cannot write {where} ({error}); see that its folder exists, that you may write to "
            "it, and that its disk has room"
        )
    return None
