"""How good an answer is, and how sure a difference between two ways is. All of it pure."""

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import log2
from typing import NamedTuple

from unchunk.evaluation.questions import Range

_ROUNDS = 2000
_FLIPS = 5000
# So few differences are tried with all their signs.
_FEW = 12
# Sums of the same numbers in another order may differ by this.
_NOISE = 1e-9


def ndcg(order: Sequence[str], grades: Mapping[str, int], k: int = 10) -> float:
    """Gain is the grade itself, as in trec_eval; what is missing has none."""

    def gain(values: Iterable[int]) -> float:
        return sum(value / log2(rank + 1) for rank, value in enumerate(values, 1))

    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k]
    return gain(max(grades.get(one, 0), 0) for one in order[:k]) / gain(ideal) if ideal else 0.0


def recall(order: Sequence[str], right: Iterable[str], k: int) -> float:
    wanted = set(right)
    return len(wanted.intersection(order[:k])) / len(wanted) if wanted else 0.0


def reciprocal_rank(order: Sequence[str], right: Iterable[str], k: int = 10) -> float:
    wanted = set(right)
    return next((1 / rank for rank, one in enumerate(order[:k], 1) if one in wanted), 0.0)


class Cover(NamedTuple):
    """How what is shown covers what answers; `duplicated` is what is shown more than once."""

    recall: float
    precision: float
    iou: float
    duplicated: int


def cover(shown: Iterable[Range], right: Iterable[Range]) -> Cover:
    """Of characters, or pages. What is shown twice counts twice as shown, once as found."""
    given, wanted = list(shown), _size(union(right))
    distinct = union(given)
    size, found = _size(given), _common(distinct, union(right))
    everything = size + wanted - found
    return Cover(
        found / wanted if wanted else 0.0,
        found / size if size else 0.0,
        found / everything if everything else 0.0,
        size - _size(distinct),
    )


def union(ranges: Iterable[Range]) -> list[Range]:
    """The same places, each once, in order."""
    merged: list[Range] = []
    for one in sorted(ranges):
        last = merged[-1] if merged else None
        if last is not None and last.document == one.document and one.start <= last.end:
            merged[-1] = last._replace(end=max(last.end, one.end))
        elif one.end > one.start:
            merged.append(one)
    return merged


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def interval(values: Sequence[float], rounds: int = _ROUNDS) -> tuple[float, float]:
    """Where the mean is with 95%: the bootstrap's percentiles, the same for the same values."""
    draw = random.Random(0)  # noqa: S311 - a seed is wanted
    means = sorted(mean(draw.choices(values, k=len(values))) for _ in range(rounds))
    return means[int(0.025 * rounds)], means[int(0.975 * rounds)]


def paired_p(one: Sequence[float], other: Sequence[float], flips: int = _FLIPS) -> float:
    """How often chance alone gives such a difference, two-sided: the randomisation test.

    Each question's two figures change places at random. Exact where few questions differ.
    """
    changes = [a - b for a, b in zip(one, other, strict=True)]
    differences = [change for change in changes if abs(change) > _NOISE]
    seen = abs(sum(differences)) - _NOISE
    if len(differences) <= _FEW:
        signs = product((1, -1), repeat=len(differences))
        sums = [sum(s * d for s, d in zip(sign, differences, strict=True)) for sign in signs]
        return sum(abs(total) >= seen for total in sums) / len(sums)
    draw = random.Random(0)  # noqa: S311 - a seed is wanted
    beyond = 0
    for _ in range(flips):
        bits = draw.getrandbits(len(differences))
        total = sum(d if bits >> at & 1 else -d for at, d in enumerate(differences))
        beyond += abs(total) >= seen
    return (beyond + 1) / (flips + 1)


def _size(ranges: Iterable[Range]) -> int:
    return sum(max(one.end - one.start, 0) for one in ranges)


def _common(some: Sequence[Range], others: Sequence[Range]) -> int:
    """How much two unions share."""
    return sum(
        max(min(one.end, other.end) - max(one.start, other.start), 0)
        for one in some
        for other in others
        if one.document == other.document
    )
