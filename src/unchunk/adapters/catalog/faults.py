"""What a database complains of, in our own words."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DataError, DBAPIError, InterfaceError, OperationalError

from unchunk.errors import (
    IntegrityError,
    InvalidTextError,
    LibraryInUseError,
    OutputError,
    TransientError,
    UnchunkError,
)

_DISK_FULL = "53100"
# A server that another one took over from, or that keeps others from writing for a while.
_READ_ONLY = "25006"
# The server went on without one who stopped in the middle.
_STOPPED = "25P03"
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}


@contextmanager
def in_our_words(where: str) -> Iterator[None]:
    """Only what can go wrong in a sound program is translated; a broken rule is a bug and stays."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidTextError(f"{error.object!r} holds half a character") from error
    except sqlite3.Error as error:
        raise _of_sqlite(error, where) or error from error
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise _of_sqlite(error.orig, where) or error from error
        if isinstance(error, DataError):
            raise InvalidTextError(f"{where} cannot hold this: {error.orig}") from error
        state = getattr(error.orig, "sqlstate", None)
        if state == _DISK_FULL:
            raise OutputError(
                f"the disk of {where} is full; make room there and try again"
            ) from error
        if state == _READ_ONLY:
            raise TransientError(
                f"the database {where} cannot be written to now: {error.orig}; see that it is the "
                "one that others follow, try again"
            ) from error
        if state == _STOPPED or isinstance(error, (OperationalError, InterfaceError)):
            raise TransientError(
                f"the database {where} does not answer: {error.orig}; see that it runs, try again"
            ) from error
        raise


def _of_sqlite(error: sqlite3.Error, where: str) -> UnchunkError | None:
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return OutputError(f"cannot write {where}: the disk is full; make room and try again")
    if code in _DAMAGED:
        return IntegrityError(
            f"{where} is damaged or is no catalog ({error}); put a backup in its place"
        )
    if code in _BUSY:
        return LibraryInUseError(f"another process is writing to {where}; try again")
    if code in _UNWRITABLE:
        return OutputError(
            f"cannot write {where} ({error}); see that its folder exists, that you may write to "
            "it, and that its disk has room"
        )
    return None
