"""A strategy's units, measured in a text: where the next chunk begins, and all chunks anew."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Protocol

from unchunk.domain import ChunkingStrategy
from unchunk.text.stitching.draft import Draft
from unchunk.text.tokens import SAFE_CUT, get_encoding

# As often as a pattern may repeat.
_MOST_REPEATS = 2**31
_WORD = re.compile(r"\S+")


class Ruler(Protocol):
    """One unit. The time of each method is linear in the text that it looks at."""

    glue: str
    """What stands between two chunks that touch."""

    def next(self, draft: Draft) -> int:
        """Where in `draft.tail` the chunk behind the last one begins."""

    def count(self, text: str) -> int:
        """How many units `text` has, taken alone."""

    def recut(self, text: str) -> Iterator[str]:
        """The chunks of `text`, on to those that lie inside the one before."""


class TokenRuler:
    glue = ""

    def __init__(self, strategy: ChunkingStrategy) -> None:
        self._size, self._stride = strategy.size, strategy.stride
        self._encoding = get_encoding(strategy.encoding)

    def next(self, draft: Draft) -> int:
        tail, at = draft.tail, draft.at
        begin = _safe_before(tail, at)
        # Only as much is encoded as the stride should need; more, if it does not reach.
        reach = at + (len(tail) - at) * self._stride * 9 // (self._size * 8) + 64
        cut = SAFE_CUT.search(tail, reach) if reach < len(tail) else None
        for end in [cut.end(), len(tail)] if cut else [len(tail)]:
            ids = self._encoding.encode(tail[begin:end])
            first = self._first(ids, at - begin, draft.lead)
            step = ids[first : first + self._stride]
            if len(step) == self._stride:
                return at + sum(self._encoding.lengths(step))
        return len(tail)

    def _first(self, ids: Sequence[int], offset: int, lead: int) -> int:
        """The token that begins at `offset`, with `lead` bytes of a character before it.

        Where tokens part a character, several begin behind it; the bytes tell which is meant.
        """
        behind = accumulate(self._encoding.lengths(ids), initial=0)
        first = next((at for at, passed in enumerate(behind) if passed >= offset), len(ids))
        while first + 1 < len(ids) and not any(self._encoding.lengths(ids[first : first + 1])):
            if self._encoding.depth(ids, first) == lead:
                break
            first += 1
        return first

    def count(self, text: str) -> int:
        return self._encoding.count(text)

    def recut(self, text: str) -> Iterator[str]:
        return self._encoding.windows(text, self._size, self._size - self._stride)


class WordRuler:
    glue = " "

    def __init__(self, strategy: ChunkingStrategy) -> None:
        self._size, self._stride = strategy.size, strategy.stride
        self._step = re.compile(rf"\s*+(?:\S++\s*+){{{min(strategy.stride, _MOST_REPEATS)}}}")

    def next(self, draft: Draft) -> int:
        step = self._step.match(draft.tail, draft.at)
        return step.end() if step else len(draft.tail)

    def count(self, text: str) -> int:
        return len(text.split())

    def recut(self, text: str) -> Iterator[str]:
        words = [word.span() for word in _WORD.finditer(text)]
        for first in range(0, len(words), self._stride):
            yield text[words[first][0] : words[first : first + self._size][-1][1]]


class CharRuler:
    glue = ""

    def __init__(self, strategy: ChunkingStrategy) -> None:
        self._size, self._stride = strategy.size, strategy.stride

    def next(self, draft: Draft) -> int:
        return min(draft.at + self._stride, len(draft.tail))

    def count(self, text: str) -> int:
        return len(text)

    def recut(self, text: str) -> Iterator[str]:
        return (text[at : at + self._size] for at in range(0, len(text), self._stride))


def ruler_for(strategy: ChunkingStrategy) -> Ruler:
    if strategy.unit == "tokens":
        return TokenRuler(strategy)
    return WordRuler(strategy) if strategy.unit == "words" else CharRuler(strategy)


def word_marks(text: str) -> list[int]:
    """Where each word begins, and the end of the text."""
    return [*(word.start() for word in _WORD.finditer(text)), len(text)]


def _safe_before(text: str, at: int) -> int:
    """A place at or before `at` where tokens begin anew, or the beginning of `text`."""
    blank = at
    while (blank := text.rfind(" ", 0, blank)) > 0:
        if text[blank - 1].isascii() and text[blank - 1].isalnum():
            return blank
    return 0
