"""Tells who listens to a PostgreSQL that something was committed."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from sqlalchemy import Connection, func, select

T = TypeVar("T")

CHANNEL: Final = "unchunk_"
"""Behind it stands the schema: a database may hold several libraries."""


def ringing(work: Callable[[Connection], T], topics: Sequence[str]) -> Callable[[Connection], T]:
    """The work, and a notice for each topic that goes out when it is committed, and only then."""

    def both(connection: Connection) -> T:
        found = work(connection)
        channel = CHANNEL + func.current_schema()
        for topic in topics:
            connection.execute(select(func.pg_notify(channel, topic)))
        return found

    return both
