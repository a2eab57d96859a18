"""Work in a transaction, once more where a server goes away, or where two writers got entangled."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

T = TypeVar("T")

_FIRST, _LONGEST = 0.02, 0.5
# Two writers wanted what the other had, or saw what the other changed; one waited too long for
# another, or was waited for too long. Nothing was done.
_UNDONE = {"40001", "40P01", "55P03", "25P03"}
# What does not get better by itself, as a server says when somebody knocks. Later on it says
# nothing of the kind: a broken line over TLS has "SSL" in its text, too.
_FINAL = (
    *("authentication", "pg_hba", "does not exist", "permission", "not permitted"),
    *("certificate", "does not support SSL", "SSL error:"),
)


def transact(
    engine: Engine, work: Callable[[Connection], T], patience: float, *, repeatable: bool
) -> T:
    """What `work` gives, committed. With SQLite the first failure counts: there is no server that
    could come back.
    """
    deadline, pause = time.monotonic() + patience, _FIRST
    while True:
        connected = committing = False
        try:
            with engine.connect() as connection:
                connected = True
                with connection.begin() as transaction:
                    found = work(connection)
                    committing = True
                    transaction.commit()
                    return found
        except DBAPIError as error:
            may_go_on = repeatable or not committing or _state(error) in _UNDONE
            passes = may_go_on and _passes(error, connected=connected)
            if not passes or time.monotonic() + pause > deadline:
                raise
        # Not all at the same moment, or they would get in each other's way again.
        time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - nobody may guess it
        pause = min(2 * pause, _LONGEST)


def _state(error: DBAPIError) -> str | None:
    state: str | None = getattr(error.orig, "sqlstate", None)
    return state


def _passes(error: DBAPIError, *, connected: bool) -> bool:
    """Whether the same may well succeed soon."""
    state = _state(error)
    if state in _UNDONE:
        return True
    if not isinstance(error, (OperationalError, InterfaceError)):
        return False
    if type(error.orig).__module__.partition(".")[0] != "psycopg":
        return False
    # A connection that broke has no code of its own; 57P is a server that goes or comes, 53300
    # one that has too many guests.
    is_about_connections = state is None or state[:2] == "08" or state[:3] == "57P"
    if not is_about_connections and state != "53300":
        return False
    return connected or not any(word in str(error.orig) for word in _FINAL)
