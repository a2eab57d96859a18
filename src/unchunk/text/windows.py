"""Plain sliding windows: chunk i begins at unit `i * stride`, whatever stands there."""

import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import eq

from unchunk.domain import ChunkingStrategy, Span
from unchunk.text.graphemes import always_whole, border_after, border_before, surely_apart
from unchunk.text.units import end_of, measure, unit_at, units_before


def windows(text: str, strategy: ChunkingStrategy) -> list[Span]:
    """Windows by the clock; one whose edge would cut a grapheme cluster gives way.

    Its start moves behind the cluster and its end before it, but never so that text is left
    out. A cluster larger than `size` is a chunk of its own.
    """
    in_words = strategy.unit == "words"
    bounds = () if in_words else measure(text, strategy)
    starts, ends = _word_windows(text, strategy) if in_words else _unit_windows(bounds, strategy)
    if not (
        always_whole(text)
        or (not _cuts_a_character(bounds, strategy) and _cuts_no_cluster(text, starts, ends))
    ):
        return list(_moved_windows(text, bounds or measure(text, strategy), strategy))
    spans = list(map(Span._make, zip(starts, ends, repeat(()))))
    spans.append(Span(starts[-1], len(text)))
    return spans


def _unit_windows(
    bounds: Sequence[int], strategy: ChunkingStrategy
) -> tuple[Sequence[int], Sequence[int]]:
    """Where windows begin, and where all but the last one end."""
    size, stride = strategy.size, strategy.stride
    ends = bounds[size:-1:stride]
    return bounds[: stride * (len(ends) + 1) : stride], ends


def _word_windows(text: str, strategy: ChunkingStrategy) -> tuple[Sequence[int], Sequence[int]]:
    """As `_unit_windows`, with one match per window where `word_bounds` has one per word."""
    if strategy.size >= len(text):
        return array("Q", [0]), array("Q")
    strides, rest = divmod(strategy.size, strategy.stride)
    words = r"(?:\S++\s*+)"
    steps = re.compile(rf"(?=\S)({words}{{0,{rest}}}+){words}{{0,{strategy.stride - rest}}}+")
    starts, ends = array("Q"), array("Q")
    for step in steps.finditer(text):
        starts.append(step.start())
        ends.append(step.end(1))
    del ends[:strides]
    if ends and ends[-1] == len(text):
        del ends[-1]
    del starts[len(ends) + 1 :]
    starts[:1] = array("Q", [0])
    return starts, ends


def _cuts_no_cluster(text: str, starts: Sequence[int], ends: Sequence[int]) -> bool:
    return all(surely_apart(*_beside(text, cuts)) for cuts in (starts[1:], ends))


def _beside(text: str, cuts: Sequence[int]) -> tuple[str, str]:
    """The characters before the cuts, and those behind them."""
    if isinstance(cuts, range):
        first, last, step = cuts.start, cuts.stop, cuts.step
        return text[first - 1 : last - 1 : step], text[first:last:step]
    at = text.__getitem__
    return "".join(map(at, map((-1).__add__, cuts))), "".join(map(at, cuts))


def _cuts_a_character(bounds: Sequence[int], strategy: ChunkingStrategy) -> bool:
    """Whether an edge may lie between two tokens of one character."""
    if isinstance(bounds, range):
        return False
    return any(
        any(map(eq, bounds[first :: strategy.stride], bounds[first + 1 :: strategy.stride]))
        for first in (0, strategy.size)
    )


def _moved_windows(text: str, bounds: Sequence[int], strategy: ChunkingStrategy) -> Iterator[Span]:
    size, stride, last = strategy.size, strategy.stride, len(bounds) - 1
    clock = start = covered = 0
    while covered < len(text):
        reach = end_of(bounds, min(clock, unit_at(bounds, start)) + size)
        end = border_before(text, reach, covered)
        if end <= covered:
            # The next cluster did not fit: on to the first window that holds it, or to it alone.
            end = border_after(text, covered + 1, covered)
            missing = units_before(bounds, end) - size - clock
            clock += stride * max(0, -(missing // -stride))
            start = min(border_after(text, bounds[min(clock, last)], start), covered)
        yield Span(start, end)
        covered = end
        # The clock goes on by one window, and past those that a large cluster has swallowed.
        clock += stride * max(1, (unit_at(bounds, start) - clock) // stride + 1)
        start = min(border_after(text, bounds[min(clock, last)], start), covered)
