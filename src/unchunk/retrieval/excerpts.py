"""A document that is wanted whole: all of it, or its opening, its ending and what was found."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from heapq import merge as in_order
from itertools import islice

from unchunk.domain import Heading
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.fitting import most
from unchunk.retrieval.marking import tag_for
from unchunk.retrieval.reconstruct import compose, merge
from unchunk.retrieval.shelf import Piece, Sheet
from unchunk.text.truncation import SHORTEST, cut_points, tail_start

Measure = Callable[[str], float]

# How the room of an excerpt is shared. Of a document without matches, the opening has two thirds.
_OPENING, _ENDING, _MATCHES = 2.0, 1.0, 2.5
# Where the first chunk, the last and the best match have to be cut, these are their shares.
_FIRST, _LAST, _BEST = 2, 1, 6
# If more than this part of the room is left, the next chunk is cut to fill it.
_UNUSED = 1 / 8
# The headings of what is left out may take this part of the room.
_HEADINGS = 8


def by_importance(lengths: Sequence[int], matches: Mapping[int, float]) -> Iterator[int]:
    """Yield the chunks of a document, each given by its length, in the order they are wanted in.

    Whatever number of them is taken, the opening, the ending and the surroundings of the matches
    have their shares of the room; the best match, the first chunk and the last come before all
    others. `matches` has scores by chunk; the best come first. To take a few costs little, however
    many chunks there are said to be.
    """
    count = len(lengths)

    def turns(indices: Iterable[int], share: float, first: int) -> Iterator[tuple[float, int]]:
        taken = 0
        for index in indices:
            yield taken / share or first, index
            taken += max(lengths[index], 1)

    seen = set()
    for _, index in in_order(
        turns(_outward(matches, count), _MATCHES, -3),
        turns(range(count), _OPENING, -2),
        turns(reversed(range(count)), _ENDING, -1),
    ):
        if index not in seen:
            seen.add(index)
            yield index


def excerpt(
    sheet: Sheet,
    matches: Mapping[int, float],
    limit: float | None = None,
    measure: Measure = len,
    *,
    size: Callable[[ReconstructedDocument], float] | None = None,
    tag: str | None = None,
    headings: Sequence[Heading] = (),
    lengths: Sequence[int] = (),
) -> ReconstructedDocument:
    """The whole document, or as much of what matters in it as `limit` allows, every gap marked.

    `matches` has the scores of the chunks that were found, and `lengths` those of all chunks, where
    the sheet does not have them all. The marks name the `headings` of what was left out. `measure`
    counts a text, and `size` a document: its content if nothing else is said.
    """
    known = lengths or _lengths(sheet)
    count = sum(index < len(known) for index in sheet.pieces)
    wanted = (index for index in by_importance(known, matches) if index in sheet.pieces)
    order = [*islice(wanted, count)]
    tag = tag_for(one.text for one in merge(sheet, order)) if tag is None else tag

    def used(document: ReconstructedDocument) -> float:
        return size(document) if size else measure(document.full_content)

    def fits(document: ReconstructedDocument) -> bool:
        return limit is None or used(document) <= limit

    outline = _outline(headings, lambda text: limit is None or measure(text) * _HEADINGS <= limit)

    def shown(pieces: Mapping[int, Piece]) -> ReconstructedDocument:
        cut = replace(sheet, pieces={**sheet.pieces, **pieces})
        passages, uncut = merge(cut, pieces), sheet.pieces
        made = compose(cut, passages, matches, "excerpt", tag, headings=outline, uncut=uncut)
        is_whole = made.passages and not made.gaps and sheet.chunk_count is not None
        return replace(made, kind="full document") if is_whole else made

    @cache
    def built(number: int) -> ReconstructedDocument:
        return shown({index: sheet.pieces[index] for index in order[:number]})

    if not order or fits(built(len(order))):
        return built(len(order))
    taken = most(lambda n: fits(built(n)), len(order), len(order) // 2)
    # A mark goes with the last chunk of a gap, so that one more chunk may even be shorter.
    while taken < len(order) and fits(built(taken + 1)):
        taken += 1
    whole, parts = list[int](), _shares(order, matches, len(known))
    if taken >= len(parts):
        whole, parts = order[:taken], {order[taken]: 1}
        if limit is None or used(built(taken)) > (1 - _UNUSED) * limit:
            return built(taken)

    @cache
    def cut(length: int) -> dict[int, Piece]:
        return _cut(sheet, whole, parts, length, len(known) - 1)

    longest = max(len(sheet.pieces[index].text) for index in parts)
    length = most(lambda it: fits(shown(cut(it))), longest)
    # A whole chunk is better than parts of only some of those that are wanted.
    is_lacking = len(cut(length)) < len(whole) + len(parts)
    return built(taken) if not length or (taken and is_lacking) else shown(cut(length))


def _shares(order: Sequence[int], matches: Mapping[int, float], count: int) -> dict[int, int]:
    """What is wanted first: the best match, the first chunk and the last, each with its share."""
    shares = {0: _FIRST} | ({count - 1: _LAST} if count > 1 else {})
    if order and order[0] in matches:
        shares[order[0]] = _BEST
    return {index: shares[index] for index in order[: len(shares)] if index in shares}


def _cut(
    sheet: Sheet, whole: Sequence[int], parts: Mapping[int, int], length: int, last: int
) -> dict[int, Piece]:
    """The pieces of the `whole` chunks, and `parts` of others: so many times `length` of each.

    Of the last chunk, and of one before what is shown, it is the end. What is too short to say
    anything is left out.
    """
    pieces = {index: sheet.pieces[index] for index in whole}
    for index, share in parts.items():
        joins_next = index + 1 in whole and index - 1 not in whole
        at_end = joins_next or 0 < index == last
        chunk, text = sheet.pieces[index]
        start, end, room = 0, len(text), share * length
        if room < len(text):
            start, end = (
                (tail_start(text, room), end) if at_end else (0, next(cut_points(text, room)))
            )
        if end - start == len(text):
            pieces[index] = sheet.pieces[index]
        elif len(text[start:end].strip()) >= SHORTEST:
            chunk = chunk._replace(start=chunk.start + start, end=chunk.start + end)
            pieces[index] = Piece(chunk, text[start:end])
    return pieces


def _lengths(sheet: Sheet) -> list[int]:
    """Those of all chunks; one that is not there counts as much as the others do on average."""
    there = {index: len(piece.text) for index, piece in sheet.pieces.items()}
    usual = sum(there.values()) // max(len(there), 1)
    count = max(sheet.chunk_count or 0, max(there, default=-1) + 1)
    return [there.get(index, usual) for index in range(count)]


def _outward(matches: Iterable[int], count: int) -> Iterator[int]:
    """The matches, the best first, then what is ever further from them."""
    scores = matches if isinstance(matches, Mapping) else dict.fromkeys(matches, 0.0)
    seeds = sorted((at for at in scores if 0 <= at < count), key=lambda at: (-scores[at], at))
    seen = set(seeds)
    yield from seeds
    edges = [(index, step) for index in seeds for step in (1, -1)]
    while edges:
        beyond = ((index + step, step) for index, step in edges)
        edges = []
        for index, step in beyond:
            if 0 <= index < count and index not in seen:
                seen.add(index)
                edges.append((index, step))
                yield index


def _outline(
    headings: Sequence[Heading], fits: Callable[[str], bool]
) -> list[tuple[Heading, bool]]:
    """The headings, each with whether it is named: the higher levels first, as far as they fit.

    Of a level that does not fit as a whole, some are named, evenly spread over the document.
    """
    chosen: set[int] = set()
    titles = [one.title for one in headings]
    for level in sorted({one.level for one in headings}):
        here = [at for at, one in enumerate(headings) if one.level == level and one.title.strip()]

        def spread(number: int, here: Sequence[int] = here) -> set[int]:
            return {here[at * len(here) // number] for at in range(number)}

        def has_room(number: int) -> bool:
            named = sorted(chosen | spread(number))  # noqa: B023 - called before the next level
            return fits("; ".join(titles[at] for at in named))

        number = most(has_room, len(here), len(here))
        chosen |= spread(number)
        if number < len(here):
            break
    return [(one, at in chosen) for at, one in enumerate(headings)]
