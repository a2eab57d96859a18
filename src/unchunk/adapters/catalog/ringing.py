"""Tells who listens to a PostgreSQL that something was committed."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from sqlalchemy import Connection, text

T = TypeVar("T")

# Short whatever the schema is called: a name of more than 63 letters is refused.
CHANNEL: Final = (
    "'unchunk_' || left(encode(sha256(convert_to(current_schema(), 'UTF8')), 'hex'), 32)"
)
"""What names the channel, in SQL; by the schema, for a database may hold several libraries."""
_NOTIFY = text(f"SELECT pg_notify({CHANNEL}, :topic)")


def ringing(work: Callable[[Connection], T], topics: Sequence[str]) -> Callable[[Connection], T]:
    """The work, and a notice for each topic that goes out when it is committed, and only then."""

    def both(connection: Connection) -> T:
        found = work(connection)
        for topic in topics:
            connection.execute(_NOTIFY, {"topic": topic})
        return found

    return both
