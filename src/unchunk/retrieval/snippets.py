"""A question into plain chunks, each for itself, as most other engines give them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from unchunk.domain import Chunk, DocumentId, OwnerId
from unchunk.errors import IndexUnavailableError
from unchunk.retrieval.shelf import FoundBy, Metadata, MovedError, Piece, Sheet, Shelf, Where

T = TypeVar("T")

_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found, with its text as the document has it."""

    document: DocumentId
    name: str
    folder: str
    chunk: Chunk
    text: str
    score: float
    content_type: str = ""
    metadata: Metadata = field(default_factory=dict)
    found_by: FoundBy = "meaning"


@dataclass(frozen=True, slots=True)
class Found:
    """The best chunks, best first. `notes` says where the search was less than it should be."""

    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()


async def snippets(
    shelf: Shelf,
    text: str,
    owner: OwnerId,
    where: Where,
    *,
    limit: int,
    min_score: float | None = None,
) -> Found:
    async def once() -> Found:
        ranked = await shelf.find(text, owner, where, limit=limit, min_score=min_score, copies=True)
        wanted: dict[tuple[DocumentId, int], list[int]] = {}
        for one in ranked.candidates:
            wanted.setdefault(one.place[:2], []).append(one.place.chunk_index)
        sheets = await shelf.open(owner, wanted, where) if wanted else {}
        hits = []
        for one in ranked.candidates:
            sheet = sheets.get(one.place.document)
            piece = sheet.pieces.get(one.place.chunk_index) if sheet else None
            if sheet is not None and piece is not None:
                hits.append(hit_of(sheet, piece, one.score, one.found_by))
        return Found(tuple(hits), ranked.notes_for(limit))

    return await settled(once)


def hit_of(sheet: Sheet, piece: Piece, score: float, found_by: FoundBy = "meaning") -> Hit:
    """A chunk of an opened document as it is told."""
    return Hit(
        sheet.document,
        sheet.name,
        sheet.folder,
        piece.chunk,
        piece.text,
        score,
        sheet.content_type,
        sheet.metadata,
        found_by,
    )


async def settled(look: Callable[[], Awaitable[T]]) -> T:
    """What `look` finds, once nothing of it was written anew meanwhile."""
    for _ in range(_ATTEMPTS):
        try:
            return await look()
        except MovedError:
            continue
    raise IndexUnavailableError("documents are written anew faster than they are found: try again")
