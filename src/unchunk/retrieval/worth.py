"""What each chunk is worth: hits by their relevance, all others by what they are context to.

Each hit comes with its neighbours. A hole between two passages is filled if the passages are worth
its length, so that hits near each other come back as one passage. Knows nothing of budgets.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from unchunk.retrieval.shelf import Sheet

# What a chunk's length of text costs in a hole between passages, where the best hit is worth 1.
_PRICE = 0.3


class Item(NamedTuple):
    """Chunks that come or stay away together. In order, the best is first, hits before others.

    `place` is that of their document; only hits have a score.
    """

    rank: tuple[float, ...]
    place: int
    chunks: tuple[int, ...]
    length: int
    score: float | None = None


def items(
    place: int,
    sheet: Sheet,
    scores: Mapping[int, float],
    values: Mapping[int, float],
    *,
    reach: int = 1,
    needed: float = 0.0,
) -> Iterator[Item]:
    """A document's hits, and what comes along with them.

    `values` are relevances in 0..1; a hit without one is as good as the best. What is less
    relevant by itself than `needed` does not come along.
    """
    pieces = sheet.pieces
    worth = {hit: values.get(hit, 1.0) for hit in sorted(scores) if hit in pieces}
    for hit, value in worth.items():
        rank = (0.0, -value, -scores[hit], place, hit)
        yield Item(rank, place, (hit,), len(pieces[hit].text), scores[hit])
    if reach < 1 or not worth:
        return
    rates = {
        near: rate
        for near, rate in _neighbours(sheet, worth, values, reach).items()
        if values.get(near, 0.0) >= needed
    }
    for near, rate in rates.items():
        yield Item((1.0, -rate, 0.0, place, near), place, (near,), len(pieces[near].text))
    for hole, rate in _bridges(sheet, worth, rates):
        length = sum(len(pieces[index].text) for index in hole)
        yield Item((1.0, -rate, 1.0, place, hole[0]), place, hole, length)


def _neighbours(
    sheet: Sheet,
    worth: Mapping[int, float],
    values: Mapping[int, float],
    reach: int,
) -> dict[int, float]:
    """What stands beside the hits, and how much each chunk of it is worth per character."""
    rates: dict[int, float] = {}
    for hit, value in worth.items():
        for step in (-1, 1):
            rate = float("inf")
            for far in range(1, reach + 1):
                index = hit + step * far
                if index not in sheet.pieces:
                    break
                if index in worth:
                    continue
                best = max(value, values.get(index, 0.0))
                # What is further off never comes before what is nearer.
                rate = min(rate, best / (far + 1) / _added(sheet, index, index - step))
                rates[index] = max(rates.get(index, 0.0), rate)
    return rates


def _bridges(
    sheet: Sheet, worth: Mapping[int, float], rates: Mapping[int, float]
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Holes of at most a chunk's length that cost no more than either side of them is worth."""
    pieces = sheet.pieces
    runs = runs_of(sorted({*worth, *rates}))
    if len(runs) < 2:
        return
    longest = max(len(piece.text) for piece in pieces.values())
    sums = [sum(worth.get(index, 0.0) for index in range(run[0], run[1] + 1)) for run in runs]
    for at, (left, right) in enumerate(pairwise(runs)):
        hole = tuple(range(left[1] + 1, right[0]))
        hidden = pieces[right[0]].chunk.start - pieces[left[1]].chunk.end
        if not 0 < hidden <= longest or not all(index in pieces for index in hole):
            continue
        joined = min(sums[at], sums[at + 1])
        if joined >= _PRICE * hidden / longest:
            sums[at + 1] += sums[at]
            # A bridge never comes before what it stands on.
            beside = [rates[index] for index in (left[1], right[0]) if index in rates]
            yield hole, min([joined / hidden, *beside])


def runs_of(indices: Iterable[int]) -> list[tuple[int, int]]:
    """Sorted indices as runs, both ends included."""
    runs: list[tuple[int, int]] = []
    for index in indices:
        first = runs.pop()[0] if runs and runs[-1][1] == index - 1 else index
        runs.append((first, index))
    return runs


def _added(sheet: Sheet, index: int, beside: int) -> int:
    """The characters that a chunk has and the one beside it has not, at least one."""
    one, other = sheet.pieces[index].chunk, sheet.pieces[beside].chunk
    shared = min(one.end, other.end) - max(one.start, other.start)
    return max(one.end - one.start - max(shared, 0), 1)
