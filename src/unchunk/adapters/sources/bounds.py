"""How much is taken of a store's server, and how long it is waited for. Does no I/O."""

import asyncio
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unchunk.errors import IntegrityError

_GZIP = 31
# A text of JSON, also one that does not end.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_MARKUP = re.compile(rb"\s*<(?:!doctype|html|\?xml|head|body)", re.IGNORECASE)
_MOST_BETWEEN = 4 * 1024 * 1024
# What is longer is read in a thread, while others are waited for.
_SHORT = 256 * 1024
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Bounds:
    """`reply` is bytes of one reply, and of all chunks of one file; `pages` is for one list.

    `patience` is seconds for all attempts at one call, the waits between them included, and
    `idle` for the silence in one; None leaves that to the client. With `attempts`, so many are
    made, and each of them may take `patience`. `names` is how many names are asked for at once.
    `whole` is seconds for one list, and for one file; without it, thirty times patience or ten
    minutes.
    """

    reply: int = 128 * 1024 * 1024
    pages: int = 2_000
    patience: float = 120.0
    idle: float | None = 60.0
    attempts: int | None = None
    names: int = 8
    whole: float | None = None

    @property
    def longest(self) -> float:
        return max(600.0, 30 * self.patience) if self.whole is None else self.whole


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
        raise TooLongError("it holds more things than any list of chunks does")


async def parsed(body: bytearray) -> Any:  # noqa: ANN401 - JSON
    return await asyncio.to_thread(_parsed, body) if len(body) > _SHORT else _parsed(body)


def _parsed(body: bytearray) -> Any:  # noqa: ANN401 - JSON
    if _MARKUP.match(body):
        raise IntegrityError("it is a web page, not JSON; check the URL")
    check_structure(body)
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise IntegrityError(
            f"it is not JSON: {ascii(str(error))[1:-1][:_SHOWN]}; check the URL"
        ) from None
