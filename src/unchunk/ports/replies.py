"""What a provider's reply says of trying again, the same for all that are spoken to by HTTP."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

# 409 and 425: try later. 529: overloaded, for some.
TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})


def asked_wait(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds that a reply asks to wait; None if it does not, or not so that it is clear."""
    try:
        for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
            given = headers.get(name, "").strip()
            if given.replace(".", "", 1).isdecimal():
                asked = float(given) / unit
                return asked if isfinite(asked) else None
        when = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
