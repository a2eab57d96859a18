"""The chunks of one file in the order of its text, as far as they tell it. Does no I/O."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from unchunk.adapters.sources.fields import Fields, look_up
from unchunk.adapters.sources.parts import Part, Piece, part_of
from unchunk.adapters.sources.reading import Record, UnfitError, left_out, understood
from unchunk.ports import LostChunks

# What stands between two pages: nobody keeps it.
_BETWEEN_PAGES = 2


class _Read(NamedTuple):
    pieces: list[Piece]
    notes: list[str]


def in_order(records: Sequence[Record], fields: Fields) -> LostChunks:
    """By their indices; or their offsets; or the neighbours that they name; or as they came.

    Documents that are cut page by page count anew on each: their pages follow each other with
    two characters between. What is missing or double is told in the notes.
    """
    pieces, notes = _read(records, fields)
    parts = [part_of(each) for each in _parts(pieces)]
    for part in parts:
        notes += part.notes
    if len(parts) > 1:
        notes.append(f"its {len(parts)} pages are joined by empty lines")
    return LostChunks(
        texts=tuple(piece.text for part in parts for piece in part.pieces),
        from_start=parts[0].begins if parts else None,
        notes=tuple(dict.fromkeys(notes)),
        starts=_starts(parts),
        complete=_all(part.whole for part in parts) if len(pieces) == len(records) else False,
    )


def _all(wholes: Iterable[bool | None]) -> bool | None:
    known = set(wholes)
    return False if False in known else None if None in known else True


def _read(records: Iterable[Record], fields: Fields) -> _Read:
    taken = fields.taken()
    pieces: list[Piece] = []
    unfit: list[UnfitError] = []
    for record in records:
        try:
            chunk = understood(record, fields, taken)
        except UnfitError as error:
            unfit.append(error)
            continue
        pieces.append(
            Piece(
                record.id,
                chunk.document,
                chunk.text,
                chunk.chunk_index,
                chunk.chunk_count,
                chunk.start,
                chunk.page,
                _id(look_up(record.payload, fields.previous)),
                _id(look_up(record.payload, fields.following)),
            )
        )
    return _Read(pieces, left_out(unfit))


def _id(value: object) -> str:
    return value if isinstance(value, str) else ""


def _parts(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces that are counted together, the parts in the order of their pages."""
    parts: dict[tuple[str, int | None], list[Piece]] = {}
    by_document: dict[str, list[Piece]] = {}
    for piece in pieces:
        by_document.setdefault(piece.document, []).append(piece)
    for document, some in by_document.items():
        apart = _counts_by_page(some)
        for piece in some:
            parts.setdefault((document, piece.page if apart else None), []).append(piece)
    found = list(parts.values())
    if all(part[0].page is not None for part in found):
        found.sort(key=lambda part: min(piece.page or 0 for piece in part))
    return found


def _counts_by_page(pieces: Sequence[Piece]) -> bool:
    """Whether indices or offsets begin anew on each page."""
    if any(piece.page is None for piece in pieces) or len({piece.page for piece in pieces}) == 1:
        return False
    indices = [piece.index for piece in pieces]
    if None not in indices:
        places = {(piece.page, piece.index) for piece in pieces}
        return len(set(indices)) < len(places)
    if any(piece.start is None for piece in pieces):
        return False
    ordered = sorted(pieces, key=lambda piece: (piece.page, piece.start))
    return any(
        left.page != right.page and not _may_follow(left, right)
        for left, right in pairwise(ordered)
    )


def _may_follow(left: Piece, right: Piece) -> bool:
    """Whether two pieces of one text may stand so."""
    if left.start is None or right.start is None or right.start <= left.start:
        return False
    held = left.text[right.start - left.start :]
    return held.startswith(right.text[: len(held)])


def _starts(parts: Sequence[Part]) -> tuple[int, ...] | None:
    """Where each piece begins, if the parts follow each other; None if one is not known."""
    found: list[int] = []
    base = 0
    for part in parts:
        if part.starts is None:
            return None
        found += [base + start for start in part.starts]
        ends = [start + len(it.text) for start, it in zip(part.starts, part.pieces, strict=True)]
        base += max(ends) + _BETWEEN_PAGES
    return tuple(found) if found else None
