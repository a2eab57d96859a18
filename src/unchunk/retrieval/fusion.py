"""Several rankings into one. Engines differ in how they fuse, so it is done here."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)

# The usual constant of reciprocal rank fusion: how slowly a rank's worth falls.
_SLOWNESS = 60
# Whoever is first by one way is not below this place, or below the next if both are.
_LEADERS = 5


class Ranking(NamedTuple):
    """Keys with their scores, best first, as one `way` of searching (dense, lexical) gave them.

    `floor` is the score that means nothing, for a ranking that has all there is: the last of few
    may be as good as the first. Of one that goes on, the last is the floor.
    """

    way: str
    scored: Sequence[tuple[Any, float]]
    floor: float | None = None


class Fusion(Protocol):
    def __call__(self, rankings: Sequence[Ranking]) -> dict[Any, float]:
        """Every key of the rankings with one score: higher is better, nothing is below 0."""
        ...


class _Ranks:
    """Reciprocal rank fusion: needs no scores that compare, only their order."""

    def __call__(self, rankings: Sequence[Ranking]) -> dict[Any, float]:
        fused: dict[Any, float] = {}
        for ranking in rankings:
            for rank, (key, _) in enumerate(ranking.scored, 1):
                fused[key] = fused.get(key, 0.0) + 1 / (_SLOWNESS + rank)
        return fused


@dataclass(frozen=True, slots=True)
class blend:  # noqa: N801 - used as the function that it nearly is
    """`alpha` times dense plus the rest times lexical, each scaled from its floor to its best.

    What one way did not find has nothing of it. But the first of each way is among the best few:
    the one chunk that has the number of a part is not to be outvoted by many that read like it.
    """

    alpha: float

    def __call__(self, rankings: Sequence[Ranking]) -> dict[Any, float]:
        fused: dict[Any, float] = {}
        leaders = []
        for ranking in rankings:
            weight = self.alpha if ranking.way == "dense" else 1 - self.alpha
            if weight and ranking.scored:
                leaders.append(ranking.scored[0][0])
            low, high = _range(ranking)
            for key, score in ranking.scored:
                scaled = (score - low) / (high - low) if high > low else 1.0
                fused[key] = fused.get(key, 0.0) + weight * max(scaled, 0.0)
        if len(fused) > _LEADERS:
            bar = sorted(fused.values(), reverse=True)[_LEADERS - 1]
            for key in leaders:
                if fused[key] < bar:
                    fused[key] = math.nextafter(bar, math.inf)
        return fused


by_rank = _Ranks()


def best_first(fused: dict[K, float]) -> list[tuple[K, float]]:
    """Ties stay in the order of first sight."""
    return sorted(fused.items(), key=lambda item: -item[1])


def _range(ranking: Ranking) -> tuple[float, float]:
    if not ranking.scored:
        return 0.0, 0.0
    (_, high), (_, last) = ranking.scored[0], ranking.scored[-1]
    floor = last if ranking.floor is None else ranking.floor
    # Where all are below the floor, it says nothing of them.
    return (floor if floor < high else last), high
