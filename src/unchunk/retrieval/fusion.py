"""Several rankings into one. Engines differ in how they fuse, so it is done here."""

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

# The usual constant of reciprocal rank fusion: how slowly a rank's worth falls.
_SLOWNESS = 60


def fuse(rankings: Iterable[Sequence[K]]) -> list[tuple[K, float]]:
    """Reciprocal rank fusion: best first, ties in the order of first sight."""
    scores: dict[K, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (_SLOWNESS + rank)
    return sorted(scores.items(), key=lambda item: -item[1])
