"""How much is taken of a store's server, and how long it is waited for. Does no I/O."""

import random
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from unchunk.errors import IntegrityError

# 409 and 425: try later. 529: overloaded, for some.
TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 20.0
_GZIP = 31
# A text of JSON, also one that does not end.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_MOST_BETWEEN = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """`reply` is bytes of one reply, and of all chunks of one file; `pages` is for one list.

    `patience` is seconds for all attempts at one call, the waits between them included, and
    `idle` for the silence in one. `names` is how many names are asked for at once.
    """

    reply: int = 128 * 1024 * 1024
    pages: int = 2_000
    patience: float = 120.0
    idle: float = 60.0
    names: int = 8


class TooLongError(IntegrityError):
    """A reply is longer than is taken; of fewer things at once it may not be."""


class Body:
    """A reply as it comes in, unpacked; what is too long is refused before it is kept."""

    def __init__(self, most: int, headers: Mapping[str, str]) -> None:
        self._most, self._kept = most, bytearray()
        packed = headers.get("content-encoding", "").strip().lower()
        if packed not in ("", "identity", "gzip"):
            raise IntegrityError(f"it is packed as {packed[:40]!r}, which was not asked for")
        self._unpacking = zlib.decompressobj(_GZIP) if packed == "gzip" else None

    def take(self, piece: bytes) -> None:
        if self._unpacking is not None:
            try:
                # No more is unpacked than may be kept, however small it was sent.
                piece = self._unpacking.decompress(piece, self._most - len(self._kept) + 1)
            except zlib.error as error:
                raise IntegrityError(f"it cannot be unpacked: {error}") from None
        if len(self._kept) + len(piece) > self._most:
            raise TooLongError(f"it is longer than {self._most:,} bytes")
        self._kept += piece

    def whole(self) -> bytearray:
        if self._unpacking is not None and not self._unpacking.eof:
            raise IntegrityError("it ends before it is whole")
        return self._kept


def check_structure(body: bytearray) -> None:
    """Refuse JSON of so many small things that they fill the memory which their bytes do not.

    Chunks are texts: hardly a byte of them stands between its quotes and those of the next.
    """
    if len(body) <= _MOST_BETWEEN:
        return
    between = end = 0
    for text in _TEXT.finditer(body):
        between += text.start() - end
        end = text.end()
        if between > _MOST_BETWEEN:
            break
    if between + len(body) - end > _MOST_BETWEEN:
        raise IntegrityError("it holds more things than any list of chunks does")


def wait_after(failures: int, asked: float | None) -> float:
    """Seconds to wait after so many failures: as asked, or at random up to a doubling bound."""
    if asked is not None:
        return asked
    bound = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (failures - 1))
    return random.uniform(bound / 2, bound)  # noqa: S311 -- spreads load, protects nothing


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds that a reply asks to wait; None if it does not, or not so that it is clear."""
    try:
        for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
            given = headers.get(name, "").strip()
            if given.replace(".", "", 1).isdecimal():
                asked = float(given) / unit
                return asked if isfinite(asked) else None
        when = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
