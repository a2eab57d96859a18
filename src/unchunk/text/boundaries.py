"""Chunks that end where something in the text ends.

From the second half of what fits, a chunk takes the last end of a paragraph; if there is
none, of a line that is no wrapped sentence; else of a sentence; else of a line; else of a
word; else it is cut where it is full.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from unchunk.domain import ChunkingStrategy
from unchunk.text.graphemes import border_after, border_before, two_plain
from unchunk.text.sentences import first_sentence, last_sentence
from unchunk.text.units import end_of, unit_at, units_before

_BLANK_LINE = re.compile(r"\n(?:[^\S\n]*+\n)++")
_BLANKS = re.compile(r"\n[^\S\n]++\n")
_WORD_START = re.compile(r"\s(?=\S)")
_LINE_CLOSERS = ".!?…:;。！？：；)]}”’»>\"'"


Solids = Sequence[int]
"""Where parts that are not to be cut begin and end, in turn: they lie in order and apart."""
NO_SOLIDS: Solids = ()


def split(
    text: str,
    bounds: Sequence[int],
    strategy: ChunkingStrategy,
    part: tuple[int, int],
    solids: Solids = NO_SOLIDS,
) -> Iterator[tuple[int, int]]:
    """Cut `part` of the text, whose units begin at `bounds`, into overlapping chunks."""
    size, overlap, in_chars = strategy.size, strategy.overlap, isinstance(bounds, range)
    start, last = part
    covered = start
    while True:
        limit = start + size if in_chars else end_of(bounds, unit_at(bounds, start) + size)
        if limit >= last:
            yield start, last
            return
        end = _best_end(text, start, limit, covered, solids)
        if end <= covered and start < covered:
            start = covered  # what comes next does not fit beside the overlap, which gives way
            continue
        if end <= covered:
            end = border_after(text, covered + 1, covered)  # a cluster larger than `size`
        yield start, end
        if end >= last:
            return
        covered = end
        if overlap:
            back = (
                end - overlap if in_chars else bounds[max(0, units_before(bounds, end) - overlap)]
            )
            start = _next_start(text, start, back, end, solids)
        else:
            start = end


def _best_end(text: str, start: int, limit: int, covered: int, solids: Solids) -> int:
    """The best place to cut behind `covered`; if there is none, `covered` or less."""
    low = (start + limit) // 2
    if low < covered:  # noqa: PLR1730 -- a call of `max` is 3% of all the time
        low = covered
    at = 0
    if solids and (edges := bisect_right(solids, limit)):
        edge = solids[edges - 1]
        if edges % 2 and edge < limit:
            return edge  # the part that begins there reaches over the limit
        if edge > low:
            at = _last_paragraph(text, edge - 1, limit) or edge
    at = at or _last_place(text, low, limit) or limit
    if at > covered and (text[at - 1] == "\n" or two_plain(text, at - 1)):
        return at
    border = border_before(text, at, covered)
    return border if border > covered else border_before(text, limit, covered)


def _last_place(text: str, low: int, limit: int) -> int:
    """The place behind `low` that the text itself suggests, or 0."""
    line = text.rfind("\n", low, limit) + 1
    if line > low + 1 and text[line - 2] == "\n":
        return line
    return (
        (line and (_last_paragraph(text, low, line) or _last_closed_line(text, low, line)))
        # Most often it is near: the whole window is read only if its later half has none.
        or last_sentence(text, (low + limit) // 2, limit)
        or last_sentence(text, low, limit)
        or line
        or _last_word(text, low, limit)
    )


def _last_paragraph(text: str, low: int, limit: int) -> int:
    empty = text.rfind("\n\n", low, limit)
    if empty >= 0:
        low = empty + 1
    if blanks := _BLANKS.search(text, low, limit):  # a later blank line that is not empty
        return max(map(re.Match.end, _BLANK_LINE.finditer(text, blanks.start(), limit)))
    return empty + 2 if empty >= 0 else 0


def _last_closed_line(text: str, low: int, limit: int) -> int:
    """Behind the last line that ends with a mark, or is followed by no letter (lists, code).

    The other lines may be parts of one wrapped sentence.
    """
    newline = text.rfind("\n", low, limit)
    while newline > 0:
        closing = text[newline - 1] if text[newline - 1] != "\r" else text[newline - 2]
        if closing in _LINE_CLOSERS or not text[newline + 1 : newline + 2].isalpha():
            break
        newline = text.rfind("\n", low, newline)
    return newline + 1


def _last_word(text: str, low: int, limit: int) -> int:
    window = text[low:limit]
    if window[-1:].isspace():
        return limit
    words = window.rsplit(None, 1)
    return limit - len(words[1]) if len(words) > 1 else 0


def _next_start(text: str, start: int, back: int, end: int, solids: Solids) -> int:
    """Between `back` and the chunk's end, where a sentence or word begins.

    A sentence that begins in the later half would leave little of the overlap: then a word.
    """
    earliest = back if back > start else start + 1
    if earliest >= end:
        return end
    before = earliest - 4
    if before < start:  # noqa: PLR1730 -- as above
        before = start
    at = (
        first_sentence(text, before, (earliest + end) // 2, earliest)
        or _next_word(text, earliest, end)
        or earliest
    )
    while at < end and (edges := bisect_right(solids, at)) % 2 and solids[edges - 1] < at:
        at = _next_word(text, solids[edges], end) or end
    if text[at - 1] == "\n" or two_plain(text, at - 1):
        return at
    return min(border_after(text, at, start), end)


def _next_word(text: str, start: int, end: int) -> int:
    """Where a word begins between `start` and `end`, or 0."""
    word = _WORD_START.search(text, start - 1, end)
    return word.end() if word else 0
