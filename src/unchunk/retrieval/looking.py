"""One search, from a question to drafts of documents: looked for, opened, weighed, grouped."""

import asyncio
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from unchunk.domain import DocumentId, OwnerId
from unchunk.errors import ProviderRefusedError, ProviderUnavailableError
from unchunk.ports import Reranker
from unchunk.retrieval.amount import RERANKED
from unchunk.retrieval.duplicates import Disagreement, Variant, compared, disagreements
from unchunk.retrieval.fusion import Ranking, by_rank
from unchunk.retrieval.reconstruct import wanted
from unchunk.retrieval.selection import Draft
from unchunk.retrieval.shelf import (
    Candidate,
    Doubt,
    Dropped,
    Place,
    Ranked,
    Sheet,
    Shelf,
    Way,
    Where,
    too_low,
)
from unchunk.telemetry import log

# How many chunks are looked for at least: a wide net, since several may lie in one document.
_NET = 30
# How many times as many, if they all lie in this part of the documents that are wanted.
_WIDER, _CROWDED = 8, 3
# A document's further hits are worth a little less, so that of hits that are about as good
# those of different documents come first.
_FURTHER = 0.97
_WEAK = "weak beside the best"
_BEYOND = "outside the document limit"
_TOO_MANY = "outside the chunk limit"


@dataclass(frozen=True, slots=True)
class Request:
    """What to look for: one text, or several that mean the same, in an owner's documents.

    Where the best hit is worth 1, those that are worth less than `stop` are left out. `also` are
    chunks that an earlier answer cited, or whoever asks, wanted whether they are found or not;
    those in `best` are worth 1, too. `hits` is how many chunks may be found in all, `depth` how many
    the shelf is asked for, and `adjacent_documents` for how many documents neighbours are opened.
    """

    texts: tuple[str, ...]
    owner: OwnerId
    where: Where
    limit: int
    chunks_per_doc: int | None
    reach: int
    min_score: float | None
    stop: float = 0.0
    also: tuple[tuple[DocumentId, int], ...] = ()
    best: frozenset[tuple[DocumentId, int]] = frozenset()
    hits: int | None = None
    adjacent_documents: int | None = None
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """Drafts of the documents that are wanted, and all that was found and opened, best first.

    `copies` are those of `dropped` that say what another says.
    """

    drafts: tuple[Draft, ...] = ()
    found: tuple[Candidate, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    copies: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    names: Mapping[DocumentId, str] = field(default_factory=dict)


class Looker:
    """The best `reranked` chunks are read again by `reranker`, if there is one."""

    def __init__(
        self, shelf: Shelf, reranker: Reranker | None = None, reranked: int = RERANKED
    ) -> None:
        self._shelf, self._reranker, self._reranked = shelf, reranker, reranked

    async def look(self, request: Request) -> Look:
        """Two calls to the shelf for each text: one that finds, and one that opens all at once."""
        ranked = await self._find(request)
        notes = list(ranked.notes)
        sheets = await self._open(ranked.candidates, request)
        dropped = [
            Dropped(one.place, one.score, _BEYOND)
            for one in ranked.candidates
            if one.place.document not in sheets
        ]
        dropped += ranked.dropped
        found = [one for one in ranked.candidates if _text(sheets, one.place) is not None]
        found = self._with_words(found, sheets, request, dropped)
        if self._reranker is not None and found:
            found = await self._read_again(self._reranker, found, sheets, request, notes)
        carried = {document for document, _ in request.also}
        # In a thread: every pair is compared, and other requests do not wait for that.
        kept, copied, variants = await asyncio.to_thread(_without_copies, found, sheets, carried)
        copied += [_named(one, sheets) for one in dropped if one.same_as in sheets]
        dropped = [one for one in dropped if one.same_as not in sheets]
        kept = _best(kept, request, dropped)
        drafts = _drafts(kept, sheets, request, dropped)
        names = {document: sheet.name for document, sheet in sheets.items()}
        notes += [note for draft in drafts for note in draft.sheet.notes]
        return Look(
            tuple(drafts),
            tuple(found),
            (*dropped, *copied),
            tuple(copied),
            tuple(dict.fromkeys(notes)),
            tuple(doubt for draft in drafts for doubt in draft.sheet.doubts),
            tuple(disagreements(variants, names)),
            names,
        )

    def _with_words(
        self,
        found: Sequence[Candidate],
        sheets: Mapping[DocumentId, Sheet],
        request: Request,
        dropped: list[Dropped],
    ) -> list[Candidate]:
        """Without those that mean too little and have not the question's words, either.

        To look for words takes time: only chunks that would be shown are looked at.
        """
        kept: list[Candidate] = []
        hits: dict[DocumentId, list[int]] = {}
        for one in found:
            document, index = one.place.document, one.place.chunk_index
            if one.below is not None:
                text = _text(sheets, one.place) or ""
                reason = ""
                if document not in hits and len(hits) >= request.limit:
                    reason = _BEYOND
                elif not _has_place(index, hits.get(document, []), request):
                    reason = _of_one(request)
                elif not any(self._shelf.has_words(it, text) for it in request.texts):
                    reason = too_low(one.below)
                if reason:
                    dropped.append(Dropped(one.place, one.score, reason))
                    continue
                one = replace(one, found_by="words")  # noqa: PLW2901
            hits.setdefault(document, []).append(index)
            kept.append(one)
        return kept

    async def _find(self, request: Request) -> Ranked:
        wide = request.limit * (request.chunks_per_doc or 1)
        depth = request.depth or max(_NET, wide, request.hits or 0, self._reranked)
        found = await self._find_at(depth, request)
        asked = request.depth or max(request.limit, request.hits or 0)
        found = replace(found, notes=found.notes_for(asked))
        documents = {one.place.document for one in found.candidates}
        is_crowded = len(found.candidates) >= depth and _CROWDED * len(documents) <= request.limit
        if is_crowded and request.chunks_per_doc is not None and request.depth is None:
            # A few long documents have all places, and so many documents were asked for.
            try:
                return await self._find_at(depth * _WIDER, request)
            except (ProviderUnavailableError, ProviderRefusedError) as error:
                log("the search could not be extended: %s", error)
                told = f"the search could not be extended, so documents may be missing: {error}"
                return replace(found, notes=(*found.notes, told))
        return found

    async def _find_at(self, depth: int, request: Request) -> Ranked:
        every = [
            await self._shelf.find(
                text,
                request.owner,
                request.where,
                limit=depth,
                min_score=request.min_score,
                also=request.also,
            )
            for text in request.texts
        ]
        return every[0] if len(every) == 1 else _together(every)

    async def _open(
        self, candidates: Sequence[Candidate], request: Request
    ) -> Mapping[DocumentId, Sheet]:
        """What may be shown, in one call. Some documents more, as some may turn out to be copies."""
        hits: dict[tuple[DocumentId, int], list[int]] = {}
        for one in candidates:
            hits.setdefault(one.place[:2], []).append(one.place.chunk_index)
        if not hits:
            return {}
        most = max(request.limit + request.limit // 4 + 2, self._reranked if self._reranker else 0)
        carried = {document for document, _ in request.also}
        most_adjacent = request.adjacent_documents
        if most_adjacent is None:
            most_adjacent = len(hits)
        return await self._shelf.open(
            request.owner,
            {
                key: wanted(indices, None, request.reach if at < most_adjacent else 0)
                for at, (key, indices) in enumerate(hits.items())
                if at < most or key[0] in carried
            },
            request.where,
        )

    async def _read_again(
        self,
        reranker: Reranker,
        found: list[Candidate],
        sheets: Mapping[DocumentId, Sheet],
        request: Request,
        notes: list[str],
    ) -> list[Candidate]:
        again, rest = found[: self._reranked], found[self._reranked :]
        texts = [_text(sheets, one.place) or "" for one in again]
        try:
            scores = await reranker.rerank(request.texts[-1], texts)
        except (ProviderUnavailableError, ProviderRefusedError) as error:
            log("not reranked: %s", error)
            notes.append(f"not reranked: {error}")
            return found
        order = sorted(zip(again, scores, strict=True), key=lambda pair: -pair[1])
        places = [(one.place, score) for one, score in order]
        # Both orders count: a reranker alone is worse than the search as often as better.
        fused = by_rank(
            [Ranking("search", [(one.place, 0.0) for one in again]), Ranking("", places)]
        )
        ways = {place: Way(reranker.name, at, score) for at, (place, score) in enumerate(places, 1)}
        better = [
            # Above the rest, which were not read.
            replace(
                one, rank_score=1 + fused[one.place], ways=(*one.ways, ways[one.place]), value=None
            )
            for one in again
        ]
        return sorted(better, key=lambda one: -one.rank_score) + rest


def _together(every: Sequence[Ranked]) -> Ranked:
    """Several searches for the same thing as one; the score of a chunk is the best it had.

    A cosine goes before what words are worth: the two do not compare.
    """
    known: dict[Place, Candidate] = {}
    for ranked in every:
        for one in ranked.candidates:
            if one.place not in known or _rank(known[one.place]) < _rank(one):
                known[one.place] = one
    fused = by_rank(
        [Ranking("", [(one.place, one.score) for one in it.candidates]) for it in every]
    )
    best = sorted(fused, key=lambda place: -fused[place])
    values: dict[Place, float] = {}
    for ranked in every:
        for one in ranked.candidates:
            values[one.place] = values.get(one.place, 0.0) + (one.value or 0.0) / len(every)
    unknown = any(one.value is None for one in known.values())
    return Ranked(
        tuple(
            replace(known[place], rank_score=fused[place], value=None if unknown else values[place])
            for place in best
        ),
        tuple(dict.fromkeys(note for ranked in every for note in ranked.notes)),
        tuple(
            {
                one.place: one
                for ranked in every
                for one in ranked.dropped
                if one.place not in known
            }.values()
        ),
        min((one.most for one in every if one.most is not None), default=None),
    )


def _rank(one: Candidate) -> tuple[bool, float]:
    return one.found_by == "meaning", one.score


def _text(sheets: Mapping[DocumentId, Sheet], place: Place) -> str | None:
    sheet = sheets.get(place.document)
    piece = None if sheet is None else sheet.pieces.get(place.chunk_index)
    return None if piece is None else piece.text


def _is_last(sheets: Mapping[DocumentId, Sheet], place: Place) -> bool:
    return sheets[place.document].chunk_count == place.chunk_index + 1


def _without_copies(
    found: Sequence[Candidate],
    sheets: Mapping[DocumentId, Sheet],
    carried: Container[DocumentId] = (),
) -> tuple[list[Candidate], list[Dropped], tuple[Variant, ...]]:
    """Of documents that say the same, the one that was found first keeps all its hits.

    Those that are wanted anyway count as found before the others. Chunks that say nearly the same
    and differ in a fact all stay, and are told beside.
    """
    documents = sorted(
        dict.fromkeys(one.place.document for one in found), key=lambda it: it not in carried
    )
    first = {it: at for at, it in enumerate(documents)}
    in_turn = sorted(found, key=lambda one: first[one.place.document])
    twins = _twins(first, sheets)
    texts = [
        (one.place, one.score, _text(sheets, one.place) or "")
        for one in in_turn
        if one.place.document not in twins
    ]
    copied, variants = compared(texts, {place for place, _, _ in texts if _is_last(sheets, place)})
    kept, dropped = [], []
    for one in found:
        if twin := twins.get(one.place.document):
            reason = f"says the same as {sheets[twin].name}, which is the same file"
        elif original := copied.get(one.place):
            name = sheets[original.document].name
            reason = f"says the same as chunk {original.chunk_index} of {name}"
        else:
            kept.append(one)
            continue
        dropped.append(Dropped(one.place, one.score, reason))
    return kept, dropped, variants


def _named(twin: Dropped, sheets: Mapping[DocumentId, Sheet]) -> Dropped:
    name = sheets[twin.same_as].name
    return replace(twin, reason=f"says the same as {name}, which is the same file")


def _twins(
    documents: Iterable[DocumentId], sheets: Mapping[DocumentId, Sheet]
) -> dict[DocumentId, DocumentId]:
    """The documents that have the bytes of an earlier one, with that one."""
    known: dict[str, DocumentId] = {}
    twins = {}
    for document in documents:
        checksum = sheets[document].checksum
        if checksum and known.setdefault(checksum, document) != document:
            twins[document] = known[checksum]
    return twins


def _best(found: list[Candidate], request: Request, dropped: list[Dropped]) -> list[Candidate]:
    """As many as are wanted, those of the last answer first; what the user includes is not counted."""
    counted = [one for one in found if one.place[::2] not in request.best]
    carried = set(request.also)
    counted.sort(key=lambda one: one.place[::2] not in carried)
    beyond = counted[request.hits :] if request.hits is not None else []
    dropped += [Dropped(one.place, one.score, _TOO_MANY) for one in beyond]
    return [one for one in found if one not in beyond]


def _has_place(index: int, hits: Sequence[int], request: Request) -> bool:
    """Whether a chunk would be among the hits of its document, or shown beside these."""
    most = request.chunks_per_doc
    return most is None or len(hits) < most or index in wanted(hits[:most], None, request.reach)


def _of_one(request: Request) -> str:
    return f"more than {request.chunks_per_doc} chunks of one document"


def _drafts(
    found: Sequence[Candidate],
    sheets: Mapping[DocumentId, Sheet],
    request: Request,
    dropped: list[Dropped],
) -> list[Draft]:
    """One for each document, in the order of their best chunks.

    Chunks that are wanted anyway take the places of others, and come beside the best.
    """
    groups: dict[DocumentId, list[Candidate]] = {}
    for one in found:
        groups.setdefault(one.place.document, []).append(one)
    carried = {one.place for one in found if one.place[::2] in set(request.also)}
    # In the order in which they are named, and before the others.
    anyway = [document for document, _ in request.also if document in groups]
    chosen_documents = set([*dict.fromkeys([*anyway, *groups])][: request.limit])
    values = _values(found)
    values |= dict.fromkeys((it for it in carried if it[::2] in request.best), 1.0)
    of_each: dict[DocumentId, dict[int, float]] = {}
    for (document, _, index), value in values.items():
        of_each.setdefault(document, {})[index] = value
    drafts = []
    most = request.chunks_per_doc
    for document, hits in groups.items():
        if document not in chosen_documents:
            dropped += [Dropped(one.place, one.score, _BEYOND) for one in hits]
            continue
        chosen = [
            one.place.chunk_index
            for at, one in enumerate(hits)
            if most is None or at < most or one.place in carried
        ]
        shown: Container[int] = chosen
        if len(chosen) < len(hits):
            # A further one that is shown anyway, as a neighbour, is still one that was found.
            shown = wanted(chosen, None, request.reach)
        kept: list[Candidate] = []
        for one in hits:
            if one.place.chunk_index not in shown:
                dropped.append(Dropped(one.place, one.score, _of_one(request)))
            elif values[one.place] < request.stop and one.place not in carried:
                dropped.append(Dropped(one.place, one.score, _WEAK))
            else:
                kept.append(one)
        if kept:
            its_values = of_each[document]
            its_values |= {one.place.chunk_index: values[one.place] * _FURTHER for one in kept[1:]}
            scores = {one.place.chunk_index: one.score for one in kept}
            drafts.append(Draft(sheets[document], scores, its_values))
    return drafts


def _values(found: Sequence[Candidate]) -> dict[Place, float]:
    """What chunks are worth, where the best is worth 1."""
    if any(one.value is None for one in found):
        worth = {one.place: one.rank_score for one in found}
    else:
        worth = {one.place: one.value or 0.0 for one in found}
    best = max((worth[one.place] for one in found), default=0.0)
    return {
        place: min(max(it / best, 0.0), 1.0) if best > 0 else 1.0 for place, it in worth.items()
    }
