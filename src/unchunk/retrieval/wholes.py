"""Full documents: which are wanted, which of their chunks to open, and how they share the room."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from unchunk.domain import DocumentId, Heading, OwnerId
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.excerpts import by_importance, excerpt
from unchunk.retrieval.looking import Look
from unchunk.retrieval.query import QueryPlan
from unchunk.retrieval.selection import NO_ROOM, Draft, Omission, select
from unchunk.retrieval.shelf import Card, Layout, Sheet, Shelf, Where

TOO_LONG = "too long to be shown whole"
# Where only the number of a document's chunks is known, each is taken for so many characters.
_USUAL = 800
# A little more than may be shown is opened: chunks overlap, and tokens are longer or shorter.
_SPARE = 1.25
# Where not even that is known, no more than this is looked for around each match.
_FARTHEST = 64_000
# Where a search chose the documents, its hits in others may keep this part of the room.
_FOR_HITS = 4
_SAMPLE = "what is said of the harbour " * 300


@dataclass(frozen=True, slots=True)
class Whole:
    """A document that is wanted whole; `matches` are the scores of what was found in it.

    `chunk_count` and `length` are None where they are not known.
    """

    document: DocumentId
    generation: int
    chunk_count: int | None
    length: int | None
    matches: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class OpenedWhole:
    """As much of a document as may be shown, and what is known of the rest."""

    sheet: Sheet
    matches: Mapping[int, float]
    lengths: Sequence[int] = ()
    headings: Sequence[Heading] = ()


async def open_wholes(
    shelf: Shelf, owner: OwnerId, wanted: Sequence[Whole], where: Where, amount: Amount
) -> list[OpenedWhole]:
    """The documents that are there, in their order, with the chunks that there may be room for.

    Of a long one, its layout is read and then only those chunks: a text of many megabytes costs
    little more than what is shown of it. Of those that may not fit together, the layouts are read
    for the headings of what will be left out.
    """
    if not wanted:
        return []
    most = _most_characters(amount)
    long = [one for one in wanted if _size(one) > most]
    laid_out = wanted if _SPARE * sum(map(_size, wanted)) > most else long
    layouts = await shelf.layouts(owner, [(one.document, one.generation) for one in laid_out])
    lengths = {one.document: _lengths(one, layouts.get(one.document)) for one in long}
    chosen = {
        (one.document, one.generation): (
            _affordable(lengths[one.document], one, most)
            if one.document in lengths
            else _all(one, most)
        )
        for one in wanted
    }
    sheets = await shelf.open(owner, chosen, where)
    # Of what the filters leave out, nothing is said, not even a heading.
    named = {} if where.pages is not None else layouts
    return [
        OpenedWhole(
            sheets[one.document],
            one.matches,
            lengths.get(one.document, ()),
            named[one.document].headings if one.document in named else (),
        )
        for one in wanted
        if one.document in sheets
    ]


def wanted_whole(
    plan: QueryPlan,
    named: Sequence[Card],
    look: Look,
    amount: Amount,
    has_topic: Callable[[Sheet], bool],
) -> list[Whole]:
    """Which documents are to be whole, in their order.

    Those that the question names; otherwise those that the last answer cited, if the question goes
    on from there; otherwise the best. Where `has_topic` says that a question asks for nothing but
    the document, what a search found in it is no match.
    """
    if plan.mode == "passages":
        return []
    drafts = {draft.sheet.document: draft for draft in look.drafts}
    if named:
        return [
            Whole(
                card.document,
                card.generation,
                card.chunk_count,
                card.length or _estimated(drafts.get(card.document), card.chunk_count),
                drafts[card.document].scores if card.document in drafts else {},
            )
            for card in named
        ]
    generations = {one.place.document: one.place.generation for one in look.found}
    carried = set(plan.carried)
    cited = [it for it in dict.fromkeys(document for document, _ in plan.carried) if it in drafts]
    wanted = []
    for document in (cited or [*drafts])[: amount.full_documents]:
        sheet, scores = drafts[document].sheet, drafts[document].scores
        if not has_topic(sheet):
            scores = {at: score for at, score in scores.items() if (document, at) in carried}
        wanted.append(
            Whole(
                document,
                generations[document],
                sheet.chunk_count,
                sheet.length or _estimated(drafts[document], sheet.chunk_count),
                scores,
            )
        )
    return wanted


def beside_hits(drafts: Sequence[Draft], wanted: Sequence[Whole], amount: Amount) -> Amount:
    """The amount for whole documents, less the room for what was found in others."""
    if amount.budget is None or not wanted:
        return amount
    whole = {one.document for one in wanted}
    others = [one for one in drafts if one.sheet.document not in whole]
    room = amount.budget // _FOR_HITS
    hits = select(others, reach=0, budget=room, size=amount.size).documents
    taken = sum(map(amount.size, hits))
    return replace(amount, budget=amount.budget - taken)


def wholes(
    opened: Sequence[OpenedWhole], amount: Amount, tag: str | None
) -> tuple[list[ReconstructedDocument], list[Omission]]:
    """The documents in their order, each whole or as an excerpt, within the budget together.

    A short one takes what it needs, and the longer ones share what that leaves.
    """
    needs = {at: _need(one, amount, tag) for at, one in enumerate(opened) if one.sheet.pieces}
    room = amount.budget
    made: dict[int, ReconstructedDocument] = {}
    waiting = sorted(needs, key=lambda at: (needs[at], at))
    while waiting:
        share = None if room is None else shares([needs[at] for at in waiting], room)[0]
        at = waiting.pop(0)
        made[at] = _shown(opened[at], amount, share, tag)
        if room is not None and made[at].passages:
            room -= amount.size(made[at])
    if not any(one.passages for one in made.values()):
        # Too little room to share: one document is better than none.
        for at in sorted(made):
            made[at] = _shown(opened[at], amount, room, tag)
            if made[at].passages:
                break
    omitted = []
    for at in sorted(made):
        one, sheet = made[at], opened[at].sheet
        # Of what was found in it, it will be said that there is no room.
        if (one.passages or not opened[at].matches) and (left_out := _left_out(one)):
            reason = TOO_LONG if one.passages else NO_ROOM
            omitted.append(Omission(sheet.document, one.name, left_out, None, reason))
    return [made[at] for at in sorted(made) if made[at].passages], omitted


def shares(needs: Sequence[float], room: int) -> list[int]:
    """The room for each: those who need little get that, the others share the rest equally."""
    given = [0] * len(needs)
    rest = max(room, 0)
    order = sorted(range(len(needs)), key=needs.__getitem__)
    for place, at in enumerate(order):
        given[at] = int(min(needs[at], rest // (len(order) - place)))
        rest -= given[at]
    return given


def _need(one: OpenedWhole, amount: Amount, tag: str | None) -> float:
    """How much of the budget a document would fill; without end where that is not known."""
    sheet = one.sheet
    if sheet.chunk_count is None or len(sheet.pieces) < sheet.chunk_count:
        return inf
    return amount.size(_shown(one, amount, None, tag))


def _shown(
    one: OpenedWhole, amount: Amount, share: int | None, tag: str | None
) -> ReconstructedDocument:
    """The document within its share and within the length that one document may have."""
    longest = amount.full_length

    def used(size: int, length: int) -> float:
        part = 0.0 if share is None else size / share if share > 0 else inf
        return part if longest is None else max(part, length / longest)

    is_bounded = share is not None or longest is not None
    return excerpt(
        one.sheet,
        one.matches,
        1.0 if is_bounded else None,
        lambda text: used(amount.measure(text), len(text)),
        size=lambda made: used(amount.size(made), len(made.full_content)),
        tag=tag,
        headings=one.headings,
        lengths=one.lengths,
    )


def _most_characters(amount: Amount) -> float:
    """How many characters of a document may be shown, at most."""
    longest = inf if amount.full_length is None else float(amount.full_length)
    if amount.budget is None:
        return longest
    rate = len(_SAMPLE) / max(amount.measure(_SAMPLE), 1)
    return min(longest, amount.budget * max(rate, 1.0))


def _estimated(draft: Draft | None, chunk_count: int | None) -> int | None:
    """How long a text may be, by the chunks of it that were found."""
    pieces = () if draft is None else draft.sheet.pieces.values()
    if not pieces or chunk_count is None:
        return None
    return chunk_count * sum(len(piece.text) for piece in pieces) // len(pieces)


def _size(one: Whole) -> float:
    return one.length or (one.chunk_count or 0) * _USUAL


def _all(one: Whole, most: float) -> Sequence[int]:
    """All chunks; where nobody knows how many there are, those of the opening and near matches."""
    if one.chunk_count is not None:
        return range(one.chunk_count)
    reach = int(min(most, _FARTHEST) // _USUAL)
    middles = [0, *one.matches]
    return sorted({at for it in middles for at in range(max(it - reach, 0), it + reach + 1)})


def _lengths(one: Whole, layout: Layout | None) -> list[int]:
    if layout is not None:
        return [chunk.end - chunk.start for chunk in layout.chunks]
    count = one.chunk_count or 0
    return [(one.length or count * _USUAL) // max(count, 1)] * count


def _affordable(lengths: Sequence[int], one: Whole, most: float) -> list[int]:
    """The most important chunks, as far as there may be room for them; the matches in any case."""
    chosen = [at for at in one.matches if 0 <= at < len(lengths)]
    # Overlapping chunks are longer together than the text that they show.
    room = _SPARE * most * max(sum(lengths) / max(_size(one), 1), 1.0)
    for index in by_importance(lengths, one.matches):
        if room <= 0:
            break
        room -= lengths[index]
        chosen.append(index)
    # The first and the last are needed to cut them, where even these are too long.
    return sorted({*chosen, *range(len(lengths))[:1], *range(len(lengths))[-1:]})


def _left_out(document: ReconstructedDocument) -> tuple[tuple[int, int], ...]:
    """The runs of chunks that are not shown whole; all of them, if nothing is shown."""
    if not document.passages:
        return ((0, document.chunk_count - 1),) if document.chunk_count else ()
    gaps = ((one.first_chunk, one.last_chunk) for one in document.gaps)
    return tuple((first, last) for first, last in gaps if first <= last)
