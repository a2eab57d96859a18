"""What is shown of the documents that were found, and what was left out for want of room."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from unchunk.domain import DocumentId
from unchunk.retrieval.evidence import Kind, Passage, ReconstructedDocument
from unchunk.retrieval.fitting import beginning, most
from unchunk.retrieval.marking import tag_for
from unchunk.retrieval.reconstruct import compose, merge, shows
from unchunk.retrieval.shelf import Sheet
from unchunk.retrieval.worth import Item, items, runs_of

NO_ROOM = "no room in the budget"
NO_ROOM_BESIDE = "no room in the budget for what stands beside the hits"
GONE = "no longer there"
# How many hits are tried one by one, if not even the best of them fits.
_TRIED = 20

Size = Callable[[ReconstructedDocument], int]


def length(document: ReconstructedDocument) -> int:
    return len(document.full_content)


@dataclass(frozen=True, slots=True)
class Draft:
    """A document and what was found in it, with the chunks opened that `wanted` names.

    `scores` are those of the hits, as they are shown. `values` are relevances in 0..1, where 1
    is the best hit of the whole search: of hits (1 where it is not said) and, where they are
    known, of other chunks.
    """

    sheet: Sheet
    scores: Mapping[int, float]
    values: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Omission:
    """Chunks of a document that were left out, and why; those that were not found have no score.

    `chunks` are runs of them, both ends included: there may be very many.
    """

    document: DocumentId
    name: str
    chunks: tuple[tuple[int, int], ...]
    score: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Selected:
    """Documents in the order of their drafts; one of which nothing is shown is only in `omitted`."""

    documents: tuple[ReconstructedDocument, ...]
    omitted: tuple[Omission, ...] = ()


def select(
    drafts: Sequence[Draft],
    *,
    reach: int = 1,
    budget: int | None = None,
    size: Size = length,
    needed: float = 0.0,
    tag: str | None = None,
) -> Selected:
    """The documents with what is worth showing of them, within the budget.

    The sum of `size` over all documents is at most `budget`.
    Where that is too little, the least relevant leaves first: context, then hits, so that no
    hit leaves while context stays, nor a better one while a worse one stays. Of a best hit
    that does not fit by itself the beginning is shown, marked as cut; if there is no room even
    for that, the next best hit that fits is shown. `size` is called a few times per document, and need
    not be additive. `tag` is for marks that stand beside others.
    """
    ordered = sorted(
        item
        for place, one in enumerate(drafts)
        for item in items(place, one.sheet, one.scores, one.values, reach=reach, needed=needed)
    )
    showing = _Showing(drafts, ordered, size, tag)
    taken = len(ordered)
    if ordered and budget is not None:
        taken = most(lambda n: showing.size(n) <= budget, taken, showing.guess(budget))
    documents, left = showing.documents(taken), ordered[taken:]
    omitted = list(_gone(drafts))
    if not taken and budget is not None:
        hits = (item for item in ordered if item.score is not None)
        for item in islice(hits, _TRIED) if budget > 0 else ():
            draft = drafts[item.place]
            one = _alone(draft, item, showing.tag, lambda one: size(one) <= budget)
            if one is not None:
                documents = {item.place: one}
                left = [it for it in ordered if it is not item]
                omitted += _shortage(draft, item, one)
                break
    omitted += _left_out(drafts, left, documents)
    return Selected(tuple(one for _, one in sorted(documents.items())), tuple(omitted))


class _Showing:
    """What is shown of the drafts where so many of the best items are taken."""

    def __init__(
        self,
        drafts: Sequence[Draft],
        ordered: Sequence[Item],
        size: Size,
        tag: str | None,
    ) -> None:
        self._drafts, self._ordered = drafts, ordered
        self._size_of = size
        self._chunks: dict[int, list[tuple[int, ...]]] = {}
        for item in ordered:
            self._chunks.setdefault(item.place, []).append(item.chunks)
        self._merged: dict[tuple[int, int], tuple[Passage, ...]] = {}
        self._documents: dict[tuple[int, int], ReconstructedDocument] = {}
        self._sizes: dict[tuple[int, int], int] = {}
        # Whatever is shown in the end is a part of these, so that their tag serves it too.
        whole = [self._merge(place, len(chunks)) for place, chunks in self._chunks.items()]
        self.tag = (
            tag_for(one.text for passages in whole for one in passages) if tag is None else tag
        )

    def documents(self, taken: int) -> dict[int, ReconstructedDocument]:
        """By their places."""
        return {place: self._document(place, n) for place, n in self._numbers(taken)}

    def size(self, taken: int) -> int:
        """Measures only documents that were not measured alike before."""
        return sum(self._size(*one) for one in self._numbers(taken))

    def guess(self, budget: int) -> int:
        """About how many items there is room for, to judge by the document of the best."""
        place = self._ordered[0].place
        length = sum(item.length for item in self._ordered if item.place == place)
        rate = self._size(place, len(self._chunks[place])) / max(length, 1)
        needed = list(accumulate(item.length * rate for item in self._ordered))
        return max(bisect_right(needed, budget), 1)

    def _size(self, place: int, number: int) -> int:
        if (place, number) not in self._sizes:
            self._sizes[place, number] = self._size_of(self._document(place, number))
        return self._sizes[place, number]

    def _numbers(self, taken: int) -> Iterable[tuple[int, int]]:
        """Each place of which anything is taken, with how many items of it are."""
        return Counter(item.place for item in self._ordered[:taken]).items()

    def _merge(self, place: int, number: int) -> tuple[Passage, ...]:
        if (place, number) not in self._merged:
            chosen = (index for chunks in self._chunks[place][:number] for index in chunks)
            self._merged[place, number] = merge(self._drafts[place].sheet, chosen)
        return self._merged[place, number]

    def _document(self, place: int, number: int) -> ReconstructedDocument:
        if (place, number) not in self._documents:
            one = self._drafts[place]
            self._documents[place, number] = _composed(
                one.sheet, self._merge(place, number), one.scores, self.tag, "passages"
            )
        return self._documents[place, number]


def _composed(
    sheet: Sheet, passages: Sequence[Passage], scores: Mapping[int, float], tag: str, kind: Kind
) -> ReconstructedDocument:
    """As `compose`; where all of the document is there, it says so."""
    if len(passages) == 1 and sheet.chunk_count is not None:
        first, last = passages[0].first_chunk, passages[0].last_chunk
        if (first, last) == (0, sheet.chunk_count - 1):
            kind = "full document"
    return compose(sheet, passages, scores, kind, tag)


def _alone(
    draft: Draft, item: Item, tag: str, fits: Callable[[ReconstructedDocument], bool]
) -> ReconstructedDocument | None:
    """The item without any other, or the beginning of it; None if there is no room for that."""
    sheet = draft.sheet
    whole = _composed(sheet, merge(sheet, item.chunks), draft.scores, tag, "passages")
    if fits(whole):
        return whole
    return beginning(sheet, item.chunks[0], draft.scores, tag, fits)


def _shortage(draft: Draft, item: Item, shown: ReconstructedDocument) -> Iterator[Omission]:
    for index in item.chunks:
        if not shows(shown.passages, draft.sheet.pieces[index]):
            kept = sum(len(one.text) for one in shown.passages)
            whole = len(draft.sheet.pieces[index].text)
            reason = f"cut short: {kept} of its {whole} characters fit the budget"
            yield _omission(draft, (index,), reason)


def _gone(drafts: Iterable[Draft]) -> Iterator[Omission]:
    for one in drafts:
        if gone := tuple(sorted(set(one.scores) - set(one.sheet.pieces))):
            yield _omission(one, gone, GONE)


def _left_out(
    drafts: Sequence[Draft],
    ordered: Iterable[Item],
    documents: Mapping[int, ReconstructedDocument],
) -> Iterator[Omission]:
    """What the items have and no document shows: hits first, then what stands beside them."""
    left: dict[tuple[bool, int], list[int]] = {}
    for item in ordered:
        passages = documents[item.place].passages if item.place in documents else ()
        for index in item.chunks:
            if not shows(passages, drafts[item.place].sheet.pieces[index]):
                left.setdefault((item.score is None, item.place), []).append(index)
    for (beside, place), chunks in sorted(left.items()):
        reason = NO_ROOM_BESIDE if beside else NO_ROOM
        yield _omission(drafts[place], tuple(sorted(chunks)), reason)


def _omission(draft: Draft, chunks: tuple[int, ...], reason: str) -> Omission:
    best = max((draft.scores[index] for index in chunks if index in draft.scores), default=None)
    return Omission(draft.sheet.document, draft.sheet.name, tuple(runs_of(chunks)), best, reason)
