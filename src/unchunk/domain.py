"""The values that all rooms share. Knows only the standard library."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from unchunk.errors import InvalidStrategyError

Unit = Literal["tokens", "words", "chars"]
EncodingName = Literal["cl100k_base", "o200k_base"]


class Span(NamedTuple):
    """The characters `text[start:end]` of a text that is kept elsewhere.

    A named tuple where other values are dataclasses: a large text has a million of
    them, and a tuple is made three times as fast.
    """

    start: int
    end: int
    heading_path: tuple[str, ...] = ()

    def of(self, text: str) -> str:
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class ChunkingStrategy:
    """A sliding window: chunk i begins `i * (size - overlap)` units into the text.

    `unit="tokens"` counts in `encoding`, which the other units ignore.
    """

    unit: Unit = "tokens"
    size: int = 800
    overlap: int = 400
    encoding: EncodingName = "cl100k_base"

    def __post_init__(self) -> None:
        if self.unit not in ("tokens", "words", "chars"):
            raise InvalidStrategyError(
                f"unit {self.unit!r} is unknown: use 'tokens', 'words' or 'chars'"
            )
        if self.encoding not in ("cl100k_base", "o200k_base"):
            raise InvalidStrategyError(
                f"encoding {self.encoding!r} is unknown: use 'cl100k_base' or 'o200k_base'"
            )
        for name, value in (("size", self.size), ("overlap", self.overlap)):
            if type(value) is not int:
                raise InvalidStrategyError(f"{name} must be a whole number, not {value!r}")
        if self.size < 1:
            raise InvalidStrategyError(f"size must be at least 1, not {self.size}")
        if not 0 <= self.overlap < self.size:
            raise InvalidStrategyError(
                f"overlap must be at least 0 and less than size ({self.size}), not {self.overlap}"
            )

    @property
    def stride(self) -> int:
        """How many units further each chunk begins."""
        return self.size - self.overlap

    def __str__(self) -> str:
        return f"{self.size}/{self.overlap} {self.unit}"
