"""Several ways of searching side by side, each against the first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unchunk.evaluation.measures import interval, mean, paired_p
from unchunk.evaluation.running import Figures


@dataclass(frozen=True, slots=True)
class Row:
    """One measure of one way: its mean, where that is with 95%, and p against the first way."""

    measure: str
    way: str
    mean: float
    low: float
    high: float
    p: float | None


def compare(ways: Mapping[str, Sequence[Figures]]) -> list[Row]:
    """By measure, then by way. All ways were asked the same questions, in one order."""
    first, *_ = ways.values()
    rows = []
    for measure in first[0].values if first else ():
        usual = [one.values[measure] for one in first]
        for way, figures in ways.items():
            values = [one.values[measure] for one in figures]
            p = None if figures is first else paired_p(usual, values)
            rows.append(Row(measure, way, mean(values), *interval(values), p))
    return rows
