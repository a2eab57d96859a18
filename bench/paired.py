"""Ours beside a peer, question by question: how much better, and how sure that is."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.figures import OURS
from unchunk.evaluation.measures import interval, mean, paired_p

SURE = 0.05


class Difference(NamedTuple):
    """Ours less theirs in the mean, where that is with 95%, and how often chance gives as much."""

    gain: float
    low: float
    high: float
    p: float

    @property
    def turned(self) -> "Difference":
        """Theirs less ours."""
        return Difference(-self.gain, -self.high, -self.low, self.p)

    def __str__(self) -> str:
        p = "p<0.001" if self.p < 0.001 else f"p={self.p:.3f}"
        return f"{self.gain:+z.3f} [{self.low:+z.3f}, {self.high:+z.3f}] {p}"


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Difference:
    """By the paired bootstrap and the randomisation test, the same for the same figures."""
    changes = [a - b for a, b in zip(ours, theirs, strict=True)]
    return Difference(mean(changes), *interval(changes), paired_p(ours, theirs))


def differences(every: Mapping[str, Sequence[float]]) -> dict[str, Difference]:
    """Of ours from each of the others, by its name; the nearest rival first."""
    found = {name: difference(every[OURS], it) for name, it in every.items() if name != OURS}
    return dict(sorted(found.items(), key=lambda one: one[1].gain))


def behind(name: str, ahead: Difference) -> str:
    """A sentence on a peer that is ahead by so much."""
    if ahead.p >= SURE:
        return f"{name} is ahead by {ahead}, which these questions cannot tell from chance."
    return f"{name} is ahead by {ahead}."
