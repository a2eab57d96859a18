"""Ours beside the peers of `bench.quality`, made comparable, with how sure the difference is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.peers.quality_rank import Measure, Outcome, Peer
from unchunk.evaluation.measures import interval, mean, paired_p

OURS = "unchunk"
# How a peer is made comparable.
MANY, MORE, GOOD, STOPPED = "as many tokens", "at least as many", "at our recall", " by a stop"
TOPS = (5, 10)
"""How many a peer shows where it has no budget."""


@dataclass(slots=True)
class Row:
    """A way beside ours under one condition. `gain` is ours less this one, with where it is."""

    condition: str
    way: str
    tokens: float
    recall: float
    precision: float
    iou: float
    share: float
    measure: str = ""
    gain: float = 0.0
    interval: tuple[float, float] = (0.0, 0.0)
    p: float | None = None


def beside(condition: str, ours: Sequence[Outcome], peers: Sequence[Peer]) -> list[Row]:
    tokens = mean([one.tokens for one in ours])
    recall = mean([one.recall for one in ours])
    rows = [_row(condition, OURS, ours)]

    def add(peer: Peer, how: str, theirs: Sequence[Outcome] | None, measure: Measure) -> None:
        if theirs is not None:
            rows.append(_row(condition, f"{peer.name}, {how}", theirs, ours, measure))

    for peer in peers:
        add(peer, MANY, peer.with_budget("tokens", tokens), "recall")
        add(peer, f"{MANY}{STOPPED}", peer.with_stop("tokens", tokens), "recall")
        add(peer, MORE, peer.at_least([one.tokens for one in ours]), "recall")
        if condition.startswith("budget"):
            add(peer, "same budget", peer.within(int(condition.split()[1])), "recall")
    for peer in peers:
        add(peer, GOOD, peer.with_budget("recall", recall), "iou")
        add(peer, f"{GOOD}{STOPPED}", peer.with_stop("recall", recall), "iou")
    return rows


def _row(
    condition: str,
    way: str,
    outcomes: Sequence[Outcome],
    ours: Sequence[Outcome] = (),
    measure: Measure | None = None,
) -> Row:
    tokens, recall, precision, iou, share = map(mean, zip(*outcomes, strict=True))
    row = Row(condition, way, tokens, recall, precision, iou, share)
    if measure is not None:
        mine, theirs = ([getattr(one, measure) for one in some] for some in (ours, outcomes))
        changes = [a - b for a, b in zip(mine, theirs, strict=True)]
        row.measure, row.gain, row.interval = measure, mean(changes), interval(changes)
        row.p = paired_p(mine, theirs)
    return row


def twice(ours: Mapping[str, Sequence[Outcome]], peers: Sequence[Peer]) -> dict[str, float]:
    """The share of characters that had been shown already, in the mean over the contexts."""
    shares = {
        f"{OURS}, {it}": mean([one.share for one in outcomes]) for it, outcomes in ours.items()
    }
    shares |= {
        f"{peer.name}, best {top}": mean([one.share for one in peer.best(top)])
        for peer in peers
        for top in TOPS
    }
    return shares


def told(row: Row) -> str:
    if row.p is None:
        return ""
    low, high = row.interval
    p = "<0.001" if row.p < 0.001 else f"{row.p:.3f}"
    return f"{row.measure} {row.gain:+.3f} [{low:+.3f}, {high:+.3f}] p={p}"


def verdict(rows: Sequence[Row]) -> list[str]:
    """Ours beside the best of the peers, condition by condition."""
    lines = []
    for condition in dict.fromkeys(row.condition for row in rows):
        some = [row for row in rows if row.condition == condition]
        (ours,) = (row for row in some if row.way == OURS)
        for how in (MANY, f"{MANY}{STOPPED}", MORE, GOOD, f"{GOOD}{STOPPED}"):
            others = [row for row in some if row.way.endswith(f", {how}")]
            measure = "iou" if how.startswith(GOOD) else "recall"
            if others:
                best = max(others, key=lambda row: float(getattr(row, measure)))
                mine, theirs = float(getattr(ours, measure)), float(getattr(best, measure))
                times = f"{mine / theirs:.2f} times" if theirs else "beside nothing"
                lines.append(
                    f"{condition:12} {how:24} {measure:6} {mine:.3f} against {theirs:.3f},"
                    f" {times}: {told(best)}  ({best.way.split(',')[0]})"
                )
    return lines
