"""Work in a transaction, once more where a server goes away, or where two writers got entangled."""

import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

T = TypeVar("T")

_FIRST, _LONGEST = 0.02, 0.5
# Two writers wanted what the other had, or saw what the other changed. Nothing was done.
_ENTANGLED = {"40001", "40P01"}
# What does not get better by itself, as a server says when somebody knocks.
_FINAL = ("authentication", "pg_hba", "does not exist", "permission", "not permitted", "SSL")


def transact(
    engine: Engine, work: Callable[[Connection], T], patience: float, *, repeatable: bool
) -> T:
    """What `work` gives, committed. With SQLite the first failure counts: there is no server that
    could come back.
    """
    deadline, pause = time.monotonic() + patience, _FIRST
    while True:
        committing = False
        try:
            with engine.connect() as connection, connection.begin() as transaction:
                found = work(connection)
                committing = True
                transaction.commit()
                return found
        except DBAPIError as error:
            may_go_on = repeatable or not committing
            if not may_go_on or not _passes(error) or time.monotonic() + pause > deadline:
                raise
        # Not all at the same moment, or they would get in each other's way again.
        time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - nobody may guess it
        pause = min(2 * pause, _LONGEST)


def _passes(error: DBAPIError) -> bool:
    """Whether the same may well succeed soon."""
    if not isinstance(error, (OperationalError, InterfaceError)):
        return False
    original: Any = error.orig
    state: str | None = getattr(original, "sqlstate", None)
    if state in _ENTANGLED:
        return True
    if type(original).__module__.partition(".")[0] != "psycopg":
        return False
    # A connection that broke has no code of its own; 57P is a server that goes or comes, 53300
    # one that has too many guests.
    is_about_connections = state is None or state[:2] == "08" or state[:3] == "57P"
    if not is_about_connections and state != "53300":
        return False
    return not any(word in str(original) for word in _FINAL)
