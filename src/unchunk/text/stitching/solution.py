"""One file's chunks into a text, under a strategy or without one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from unchunk.domain import ChunkingStrategy
from unchunk.text.stitching.borders import same_but_for_space
from unchunk.text.stitching.clock import follow, recuts
from unchunk.text.stitching.draft import Draft
from unchunk.text.stitching.likeness import compare
from unchunk.text.stitching.order import chain
from unchunk.text.stitching.rulers import Ruler, ruler_for

_LOOKED_AT = 4
_SLACK = 8

Check = Literal["same", "stripped", "sized", "no"]


@dataclass(frozen=True, slots=True)
class Solution:
    """A text for one file, and what came of cutting it again.

    `check` is "same" if that gave these very chunks, "stripped" if it gave them but for the
    white space at their edges, "sized" if it did not, but all are as large as they should be
    and nothing should overlap, "no" if not even that or there is no strategy to cut by.
    """

    chunks: Sequence[str]
    order: tuple[int, ...]
    draft: Draft
    strategy: ChunkingStrategy | None
    check: Check

    @property
    def broken(self) -> int:
        """How many joints are not where two chunks share their text."""
        return sum(seam.method in ("newline", "touch") for seam in self.draft.seams)

    @property
    def repeats_last(self) -> bool:
        """Whether the last chunk was joined as the text of the one before in other white space."""
        return (
            len(self.chunks) > 1
            and self.draft.seams[-1].confidence == "normalized"
            and same_but_for_space(self.chunks[-2], self.chunks[-1])
        )

    @property
    def holds(self) -> bool:
        """Whether nothing in the chunks speaks against the strategy."""
        return self.strategy is not None and (self.check != "no" or self.has_gaps)

    @property
    def has_gaps(self) -> bool:
        """Whether chunks are missing, and all else is where the strategy says.

        Such a text cannot be cut again as it was: what is missing shifts the rest.
        """
        seams = self.draft.seams
        on_clock = sum(seam.method == "clock" for seam in seams)
        # Where a character is lost, its bytes are not counted, and the next joint is off by them.
        off = sum(
            left.confidence == "lossy" and right.method == "border" and not right.missing
            for left, right in pairwise(seams)
        )
        return 0 < self.broken <= on_clock and self.broken + on_clock + off == len(seams)


def under(chunks: Sequence[str], strategy: ChunkingStrategy) -> Solution:
    """The text under `strategy`."""
    ruler = ruler_for(strategy)

    def solve(order: tuple[int, ...]) -> Solution:
        ordered = [chunks[at] for at in order]
        draft = follow(ordered, strategy, ruler)
        text = draft.text
        check: Check = "no"
        if recuts(text, ordered, ruler, draft.seams):
            check = "same"
        elif recuts(text, ordered, ruler, draft.seams, stripped=True):
            check = "stripped"
        elif not strategy.overlap and _sized(ordered, strategy.size, ruler):
            check = "sized"
        return Solution(ordered, order, draft, strategy, check)

    return _in_best_order(chunks, solve) if strategy.overlap else solve(tuple(range(len(chunks))))


def _sized(chunks: Sequence[str], size: int, ruler: Ruler) -> bool:
    """Whether the first chunks have `size` units; marks of cut characters count a few more."""
    counts = [ruler.count(chunk) for chunk in chunks[:-1][:_LOOKED_AT]]
    return bool(counts) and all(abs(count - size) <= _SLACK for count in counts)


def may_be_under(chunks: Sequence[str], strategy: ChunkingStrategy) -> bool:
    """Whether the first joints lie where `strategy` says; a cheap look before `under`."""
    first = chunks[:_LOOKED_AT]
    return not strategy.overlap or all(
        seam.method == "clock" for seam in follow(first, strategy, ruler_for(strategy)).seams
    )


def without(chunks: Sequence[str], share: float | None = None) -> Solution:
    """The text with no strategy; `share` is how much of a chunk is new, where that is known."""

    def solve(order: tuple[int, ...]) -> Solution:
        ordered = [chunks[at] for at in order]
        return Solution(ordered, order, compare(ordered, share), None, "no")

    return _in_best_order(chunks, solve)


def _in_best_order(chunks: Sequence[str], solve: Callable[[tuple[int, ...]], Solution]) -> Solution:
    """In the order given; or, if joints are broken, in the order that the overlaps tell."""
    given = solve(tuple(range(len(chunks))))
    if not given.broken:
        return given
    order = tuple(chain(chunks))
    # Only the last chunk of a text is short; an order that has it elsewhere is none.
    if order == given.order or len(chunks[order[-1]]) > 2 * median(map(len, chunks)):
        return given
    other = solve(order)
    # Chance mends a joint here and there; the right order mends most of them.
    return other if other.broken * 2 <= given.broken else given
