"""Full documents: which are wanted, and as much of each around its matches as there is room for."""

import sys
from collections.abc import Iterable, Sequence

from unchunk.domain import DocumentId
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.looking import Look
from unchunk.retrieval.query import QueryPlan
from unchunk.retrieval.selection import NO_ROOM, Draft, Omission, excerpt, select
from unchunk.retrieval.shelf import Card, Sheet

_CUT = "too long to be shown whole: cut around what was found"
# No chunk of a sensible size is shorter, so that this many characters are this many chunks.
_SHORTEST = 100


def wholes(
    sheets: Sequence[Sheet], look: Look, amount: Amount, tag: str | None
) -> tuple[list[ReconstructedDocument], list[Omission]]:
    """Full documents, or as much of them around their matches as there is room for."""
    scores = {draft.sheet.document: draft.scores for draft in look.drafts}
    names = {sheet.document for sheet in sheets}
    whole: list[ReconstructedDocument] = []
    omitted = []
    room = amount.budget
    kept_free = _for_hits([one for one in look.drafts if one.sheet.document in names], amount)
    for sheet in (one for one in sheets if one.pieces):
        matches = scores.get(sheet.document, {})
        made = excerpt(sheet, matches, amount.full_length, tag=tag)
        if room is not None:
            kept_free.pop(sheet.document, None)
            free = max(room - sum(kept_free.values()), 0)
            if amount.measure(made.full_content) > free:
                made = excerpt(sheet, matches, free, amount.measure, tag=tag)
            room -= amount.measure(made.full_content)
        if made.passages:
            whole.append(made)
        # Of what was found in it, it will be said that there is no room.
        if (made.passages or not matches) and (left_out := _left_out(made)):
            reason = _CUT if made.passages else NO_ROOM
            omitted.append(Omission(sheet.document, made.name, left_out, None, reason))
    return whole, omitted


def _for_hits(drafts: Sequence[Draft], amount: Amount) -> dict[DocumentId, int]:
    """What the hits of each document take by themselves, as far as there is room for them."""
    if amount.budget is None:
        return {}
    hits = select(drafts, reach=0, budget=amount.budget, measure=amount.measure).documents
    return {one.document: amount.measure(one.full_content) for one in hits}


def wanted_whole(
    plan: QueryPlan, named: Sequence[Card], look: Look, amount: Amount
) -> dict[tuple[DocumentId, int], Sequence[int]]:
    """Which documents are to be whole, in what order, and which of their chunks that takes."""
    scores = {draft.sheet.document: draft.scores for draft in look.drafts}
    if plan.mode == "sources":
        return {
            (card.document, card.generation): _around(
                scores.get(card.document, ()), card.chunk_count, card.length, amount.full_length
            )
            for card in named
        }
    if plan.mode == "passages":
        return {}
    generations = {one.place.document: one.place.generation for one in look.found}
    return {
        (sheet.document, generations[sheet.document]): _around(
            scores[sheet.document], sheet.chunk_count, sheet.length, amount.full_length
        )
        for sheet in (draft.sheet for draft in look.drafts[: amount.full_documents])
    }


def _around(
    matches: Iterable[int], chunk_count: int | None, length: int | None, most: int
) -> Sequence[int]:
    """Which chunks of a document can be shown: all of a short one, else those near its matches."""
    reach = most // _SHORTEST + 1
    if chunk_count is not None and (chunk_count <= reach or (length or most + 1) <= most):
        return range(chunk_count)
    end = chunk_count if chunk_count is not None else sys.maxsize
    middles = [*matches] or [0]
    near = {at for one in middles for at in range(max(one - reach, 0), min(one + reach + 1, end))}
    return sorted(near)


def _left_out(document: ReconstructedDocument) -> tuple[tuple[int, int], ...]:
    """The runs of chunks that are not shown; all of them, if not even one is shown whole."""
    count = document.chunk_count or 0
    shown = {(it.first_chunk, it.last_chunk) for it in document.passages}
    if count and (not shown or shown & {gap[:2] for gap in document.gaps}):
        return ((0, count - 1),)
    edges = [-1, *(edge for it in document.passages for edge in (it.first_chunk, it.last_chunk))]
    edges.append(count)
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple((before + 1, after - 1) for before, after in pairs if after - before > 1)
