"""Chunks that are counted together: in which order they stand, and which are not there."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# So many gaps are named; a store that has more of them is no store of whole files.
_NAMED = 10


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk as its row tells of it; `previous` and `following` are ids, or empty."""

    id: str
    document: str
    text: str
    index: int | None
    count: int | None
    start: int | None
    page: int | None
    previous: str
    following: str


class Part(NamedTuple):
    """Pieces in order. `begins` and `whole` are None where that is not known."""

    pieces: list[Piece]
    starts: list[int] | None
    begins: bool | None
    whole: bool | None
    notes: list[str]


def part_of(pieces: Sequence[Piece]) -> Part:
    pieces, notes = _once(pieces)
    part = _by_index(pieces) or _by_start(pieces) or _by_neighbours(pieces)
    if part is None:
        note = "the store does not tell the order of the chunks: it is that of the store"
        part = Part(list(pieces), None, None, None, [note] if len(pieces) > 1 else [])
    return part._replace(notes=notes + part.notes)


def _once(pieces: Sequence[Piece]) -> tuple[list[Piece], list[str]]:
    """The pieces without those that are there again: the same text at the same place.

    Where no place is told, only if all are there equally often; a text may repeat itself.
    """
    seen: dict[tuple[int | None, int | None, str], Piece] = {}
    for piece in pieces:
        seen.setdefault((piece.index, piece.start, piece.text), piece)
    told = all(piece.index is not None or piece.start is not None for piece in pieces)
    linked = any(piece.previous or piece.following for piece in pieces)
    often = set(Counter(piece.text for piece in pieces).values())
    if len(seen) == len(pieces) or not (told or (len(often) == 1 and not linked)):
        return list(pieces), []
    return list(seen.values()), [
        f"chunks that are there twice, one is used: {len(pieces) - len(seen)}"
    ]


def _by_index(pieces: Sequence[Piece]) -> Part | None:
    if any(piece.index is None for piece in pieces):
        return None
    places: dict[int, Piece] = {}
    double = set()
    for piece in pieces:
        at = piece.index or 0
        if places.setdefault(at, piece) is not piece:
            double.add(at)
    ordered = [places[at] for at in sorted(places)]
    first, last = min(places), max(places)
    counts = Counter(piece.count for piece in ordered if piece.count)
    count = counts.most_common(1)[0][0] if counts else 0
    # Some count from 1.
    base = 1 if first == 1 and count == last else 0
    gaps = list(_gaps(sorted(places), base, max(last + 1, base + count)))
    notes = []
    if gaps:
        notes.append(f"chunks are missing: {_named(gaps)}")
    if double:
        used = _named([(at, at) for at in sorted(double)])
        notes.append(f"several chunks claim one place, the first is used: {used}")
    whole = False if notes else True if count else None
    return Part(ordered, _starts(ordered), first == base, whole, notes)


def _gaps(there: Sequence[int], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """What lies between `begin` and `end` and is not there, each as first and last."""
    for at in (*there, end):
        if at > begin:
            yield begin, at - 1
        begin = at + 1


def _named(ranges: Sequence[tuple[int, int]]) -> str:
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in ranges[:_NAMED]]
    more = len(ranges) - _NAMED
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _by_start(pieces: Sequence[Piece]) -> Part | None:
    if any(piece.start is None for piece in pieces):
        return None
    ordered = sorted(pieces, key=lambda piece: (piece.start or 0, len(piece.text)))
    begins, whole, notes = _ends(ordered)
    if begins is None and ordered[0].start == 0:
        begins = True
    return Part(ordered, _starts(ordered), begins, whole, notes)


def _by_neighbours(pieces: Sequence[Piece]) -> Part | None:
    """Along the ids that name what follows. Where the chain breaks, as the store has it."""
    ids = {piece.id: piece for piece in pieces}
    follows = {it.previous: it.id for it in pieces if it.previous in ids}
    follows |= {it.id: it.following for it in pieces if it.following in ids}
    if not follows:
        return None
    inner = set(follows.values())
    ordered: dict[str, Piece] = {}
    # What is in a ring has no beginning, and comes last.
    for begin in [*(it.id for it in pieces if it.id not in inner), *ids]:
        at: str | None = begin
        while at is not None and at not in ordered:
            ordered[at] = ids[at]
            at = follows.get(at)
    chain = list(ordered.values())
    begins, whole, notes = _ends(chain)
    return Part(chain, None, begins, whole, notes)


def _ends(ordered: Sequence[Piece]) -> tuple[bool | None, bool | None, list[str]]:
    """Whether the first begins it and all are there, as the neighbours tell that are named."""
    if not any(piece.previous or piece.following for piece in ordered):
        return None, None, []
    there = {piece.id for piece in ordered}
    named = {it for piece in ordered for it in (piece.previous, piece.following) if it}
    begins = not ordered[0].previous
    if gone := len(named - there):
        return begins, False, [f"chunks that are missing, and others name as neighbours: {gone}"]
    return begins, True, []


def _starts(ordered: Sequence[Piece]) -> list[int] | None:
    found = [piece.start for piece in ordered if piece.start is not None]
    return found if len(found) == len(ordered) else None
