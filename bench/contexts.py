"""What a context shows of what answers, and contexts of different sizes made comparable."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from unchunk.evaluation.measures import cover
from unchunk.evaluation.questions import Range
from unchunk.text.tokens import get_encoding


class Outcome(NamedTuple):
    """Of one context: how much it is, how it covers what answers, what share of it is there twice."""

    tokens: float
    recall: float
    twice: float


NOTHING = Outcome(0.0, 0.0, 0.0)


def outcome(shown: Sequence[Range], tokens: int, right: Sequence[Range]) -> Outcome:
    covered = cover(shown, right)
    characters = sum(one.end - one.start for one in shown)
    twice = covered.duplicated / characters if characters else 0.0
    return Outcome(tokens, covered.recall, twice)


def as_many(growing: Sequence[Outcome], tokens: float) -> Outcome:
    """A context that grows, when it is as much as this.

    Between the last one that is less and the next it is as if a coin chose one of the two, with
    as many tokens in the mean: items are shown whole. What stops by itself before shows less.
    """
    before = NOTHING
    for one in growing if tokens else ():
        if one.tokens >= tokens:
            share = (tokens - before.tokens) / (one.tokens - before.tokens)
            return Outcome(*(a + share * (b - a) for a, b in zip(before, one, strict=True)))
        before = one
    return before


def counting(texts: Mapping[str, str]) -> Callable[[Range], int]:
    """How many tokens a place of these texts has; the same place is counted once."""
    known: dict[Range, int] = {}
    count = get_encoding().count

    def counted(one: Range) -> int:
        if one not in known:
            known[one] = count(texts[one.document][one.start : one.end])
        return known[one]

    return counted
