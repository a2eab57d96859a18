"""How long to wait for an answer, and when to try again. Does no I/O."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# 409 and 425: try later. 529: overloaded, for some.
TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})


@dataclass(frozen=True, slots=True)
class Patience:
    """`begin` is for one attempt to begin an answer, `idle` for the silence between two pieces.

    `deadline` is for all attempts and the waits between them, until an answer begins. A provider
    that asks for more than `longest_wait` is not waited for: the caller is told, and may come
    back then. All in seconds.
    """

    begin: float = 60.0
    idle: float = 60.0
    retries: int = 2
    deadline: float = 120.0
    first_wait: float = 0.5
    longest_wait: float = 20.0

    def wait(self, failures: int, asked: float | None) -> float:
        """How long to wait after so many failures: as asked, or at random up to a doubling bound."""
        if asked is not None:
            return asked
        bound = min(self.longest_wait, self.first_wait * 2.0 ** (failures - 1))
        return random.uniform(bound / 2, bound)  # noqa: S311 -- spreads load, protects nothing


def asked_wait(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds that an answer asks to wait; None if it does not, or not so that it is clear."""
    try:
        if (milliseconds := headers.get("retry-after-ms", "").strip()).isdecimal():
            return int(milliseconds) / 1000
        given = headers.get("retry-after", "").strip()
        if given.replace(".", "", 1).isdecimal():
            return float(given)
        when = parsedate_to_datetime(given)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
