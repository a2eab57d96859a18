"""A shelf whose hits are written down, so that a test knows exactly what was found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from unchunk.domain import DocumentId, OwnerId
from unchunk.retrieval.shelf import (
    Candidate,
    Card,
    Dropped,
    Layout,
    Place,
    Ranked,
    Sheet,
    Way,
    Where,
)

Found = tuple[str, int, float]


@dataclass
class WrittenShelf:
    """Documents by their names, and what every search finds in them, best first.

    What scores below `floor`, or what is asked for, is left out. Hits are worth their scores, and
    say so if `valued`. `calls` tells what was asked.
    """

    sheets: Sequence[Sheet]
    hits: Iterable[Found]
    floor: float = 0.0
    near: Iterable[Found] = ()
    notes: tuple[str, ...] = ()
    valued: bool = False
    calls: list[str] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    wheres: list[Where] = field(default_factory=list)
    fetches: bool = True

    async def find(
        self,
        text: str,
        owner: OwnerId,  # noqa: ARG002 - there is one only
        where: Where,
        *,
        limit: int,
        min_score: float | None = None,
        also: Sequence[tuple[DocumentId, int]] = (),
        copies: bool = False,  # noqa: ARG002 - as the protocol has it
    ) -> Ranked:
        self.calls.append("find")
        self.searched.append(text)
        self.wheres.append(where)
        floor = self.floor if min_score is None else min_score
        every = list(self._candidates(self.hits, where))
        known = {one.place[::2] for one in every}
        kept = [one for one in every if one.score >= floor][:limit]
        kept += [
            Candidate(Place(document, 1, index), 0.0, 0.0)
            for document, index in also
            if (document, index) not in known
        ]
        low = [Dropped(one.place, one.score, "low") for one in every if one.score < floor]
        return Ranked(tuple(kept), self.notes, tuple(low))

    def has_words(self, question: str, text: str) -> bool:  # noqa: ARG002 - as the protocol has it
        return False

    async def open(
        self,
        owner: OwnerId,  # noqa: ARG002 - there is one only
        wanted: Mapping[tuple[DocumentId, int], Sequence[int]],
        where: Where,  # noqa: ARG002 - all of it is everywhere
    ) -> dict[DocumentId, Sheet]:
        self.calls.append("open")
        by_id = {sheet.document: sheet for sheet in self.sheets}
        return {
            document: replace(
                by_id[document],
                pieces={
                    at: by_id[document].pieces[at] for at in indices if at in by_id[document].pieces
                },
            )
            for (document, _), indices in wanted.items()
            if document in by_id
        }

    async def layouts(
        self,
        owner: OwnerId,  # noqa: ARG002 - there is one only
        wanted: Sequence[tuple[DocumentId, int]],
    ) -> dict[DocumentId, Layout]:
        self.calls.append("layouts")
        by_id = {sheet.document: sheet for sheet in self.sheets}
        return {
            document: Layout([it.chunk for _, it in sorted(by_id[document].pieces.items())], ())
            for document, _ in wanted
            if document in by_id
        }

    async def cards(self, owner: OwnerId) -> list[Card]:  # noqa: ARG002 - there is one only
        self.calls.append("cards")
        return [
            Card(
                one.document,
                1,
                one.folder,
                one.name,
                len(one.pieces),
                max(piece.chunk.end for piece in one.pieces.values()),
            )
            for one in self.sheets
        ]

    async def related(
        self,
        owner: OwnerId,  # noqa: ARG002 - there is one only
        where: Where,
        to: Place,
        limit: int,
    ) -> list[Candidate]:
        self.calls.append("related")
        near = self._candidates(self.near, where)
        return [one for one in near if one.place.document != to.document][:limit]

    def _candidates(self, found: Iterable[Found], where: Where) -> Iterable[Candidate]:
        for rank, (name, index, score) in enumerate(found, 1):
            document = f"id-{name}"
            if where.documents is None or document in where.documents:
                place, ways = Place(document, 1, index), (Way("dense", rank, score),)
                yield Candidate(place, score, score, ways, score if self.valued else None)
