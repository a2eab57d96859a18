"""A text measured in characters, words or tokens.

The measure of a text is the offsets at which its units begin, and its end last. They grow,
but two may be equal: a character can be several tokens, and those that begin inside it are
given the offset behind it.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import chain, compress
from operator import sub

from unchunk.domain import ChunkingStrategy
from unchunk.text.tokens import get_encoding

# A word owns the white space behind it, so that words tile the text.
_WORD = re.compile(r"\S++\s*+")


def measure(text: str, strategy: ChunkingStrategy) -> Sequence[int]:
    if strategy.unit == "chars":
        return range(len(text) + 1)
    if strategy.unit == "words":
        return word_bounds(text)
    return get_encoding(strategy.encoding).bounds(text)


def word_bounds(text: str) -> "array[int]":
    """The white space before the first word is part of it."""
    bounds = array("Q", [0])
    bounds.extend(map(re.Match.end, _WORD.finditer(text)))
    if bounds[-1] < len(text):  # nothing but white space
        bounds.append(len(text))
    return bounds


def unit_at(bounds: Sequence[int], offset: int) -> int:
    """Which unit holds the character at `offset`; the last one that begins there."""
    return offset if isinstance(bounds, range) else bisect_right(bounds, offset) - 1


def units_before(bounds: Sequence[int], offset: int) -> int:
    """How many units begin before `offset`."""
    unit = unit_at(bounds, offset)
    return unit if bounds[unit] == offset else unit + 1


def end_of(bounds: Sequence[int], units: int) -> int:
    """The furthest offset that has no more than `units` whole units before it."""
    if units >= len(bounds) - 1:
        return bounds[-1]
    end = bounds[units]
    # A further token lies inside the last character: that character is too much.
    return end - 1 if bounds[units + 1] == end else end


def fitting(bounds: Sequence[int], parts: list[int], size: int) -> list[int]:
    """Of parts of the text, which begin and end in turn at `parts`, those of at most `size` units."""
    starts, ends = parts[::2], parts[1::2]
    if isinstance(bounds, range):
        counts = [*map(sub, ends, starts)]
    else:
        counts = [
            units_before(bounds, end) - unit_at(bounds, start)
            for start, end in zip(starts, ends, strict=True)
        ]
    if max(counts, default=0) <= size:
        return parts
    fit = (count <= size for count in counts)
    return [*chain.from_iterable(compress(zip(starts, ends, strict=True), fit))]
