"""What a database complains of by way of SQLAlchemy, in our own words."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DataError, DBAPIError, InterfaceError, OperationalError

from unchunk.adapters.catalog import file
from unchunk.errors import InvalidTextError, OutputError, TransientError

_DISK_FULL = "53100"
# A server that another one took over from, or that keeps others from writing for a while.
_READ_ONLY = "25006"
# The server went on without one who stopped in the middle.
_STOPPED = "25P03"


@contextmanager
def in_our_words(where: str) -> Iterator[None]:
    """As `file.in_our_words`, and what a server complains of, too."""
    try:
        with file.in_our_words(where):
            yield
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise file.of_sqlite(error.orig, where) or error from error
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
