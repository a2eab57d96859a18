"""What a measure gives: rows of figures, each contestant's beside ours and beside the floor.

Needs the standard library alone. Everything here goes into a JSON file and comes back from it, so
that the page can be made again without measuring again.
"""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

OURS = "unchunk"

Better = Literal["less", "more"]
Verdict = Literal["ahead", "level", "behind", "alone"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What a contestant took or gave: a figure for each repetition, wall time beside CPU time."""

    values: Sequence[float]
    wall: Sequence[float] = ()

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> float:
        """Half of the distance between the quartiles, as a share of the median."""
        if len(self.values) < 2 or not self.median:
            return 0.0
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return (high - low) / 2 / abs(self.median)


@dataclass(frozen=True, slots=True)
class Row:
    """One measure. `floor` names the cell that nobody can beat: a bare call, a loop of slices.

    `why` says why we are not ahead and what it would take, in a sentence for the page; it is
    shown only while a peer is ahead, so it may stay. Rows whose `what` differs only in a number at
    its end, as in "hybrid, 5,000 chunks", are points of one line.
    """

    what: str
    unit: str
    cells: dict[str, Cell]
    better: Better = "less"
    floor: str = ""
    why: str = ""
    level_with: list[str] = field(default_factory=list)
    """Peers that a paired test cannot tell from us; else the spreads of the figures decide."""

    @property
    def peers(self) -> dict[str, Cell]:
        return {name: it for name, it in self.cells.items() if name not in {OURS, self.floor}}

    @property
    def best_peer(self) -> str:
        """Its name, or nothing where none takes part."""
        sign = 1 if self.better == "less" else -1
        return min(self.peers, key=lambda name: sign * self.peers[name].median, default="")

    def times(self, name: str) -> float:
        """How many times as good as `name` we are: above one, we are ahead."""
        ours, other = self.cells[OURS].median, self.cells[name].median
        if ours == other:
            return 1.0
        above, below = (other, ours) if self.better == "less" else (ours, other)
        return above / below if below else float("inf")

    @property
    def is_ahead(self) -> bool:
        return not self.best_peer or self.times(self.best_peer) >= 1

    @property
    def verdict(self) -> Verdict:
        """Level is what a paired test cannot tell apart, or nearer than the two spreads together."""
        if not self.best_peer:
            return "alone"
        if self.best_peer in self.level_with:
            return "level"
        noise = self.cells[OURS].spread + self.cells[self.best_peer].spread
        ratio = self.times(self.best_peer)
        # The same whoever of the two is ours.
        if ratio and max(ratio, 1 / ratio) - 1 <= noise:
            return "level"
        return "ahead" if self.is_ahead else "behind"


@dataclass(frozen=True, slots=True)
class Table:
    """`intro` says in plain sentences what is measured, and how; `command` makes it again."""

    title: str
    intro: str
    rows: Sequence[Row]
    command: str = ""
    targets: Sequence[str] = ()
    """Lines such as "CPU of a question at most 2 times bare calls: 1.8, met"."""
    missing: dict[str, str] = field(default_factory=dict)
    """Peers that could not take part, and why."""


def write(path: Path, tables: Sequence[Table]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(table) for table in tables], indent=1) + "\n", "utf-8")


def read(path: Path) -> list[Table]:
    return [_table(one) for one in json.loads(path.read_text("utf-8"))]


def _table(found: dict[str, object]) -> Table:
    rows = [
        Row(**{**row, "cells": {name: Cell(**cell) for name, cell in row["cells"].items()}})
        for row in found.pop("rows")  # type: ignore[attr-defined]  # as it was written above
    ]
    return Table(rows=rows, **found)  # type: ignore[arg-type]
