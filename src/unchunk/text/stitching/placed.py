"""Stitching by offsets that the chunks carry. What they share must agree, or nothing is said.

Splitters find such offsets by searching for the chunk in its text, from somewhere behind the one
before. So a chunk does stand where it is said to; but in a text that repeats itself it may stand
further on as well, and that may be the place it was cut from.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from unchunk.errors import InvalidTextError
from unchunk.text.stitching.blanks import Blanks
from unchunk.text.stitching.borders import Border
from unchunk.text.stitching.draft import Draft
from unchunk.text.stitching.gaps import Gaps
from unchunk.text.stitching.likeness import joint
from unchunk.text.stitching.seams import Confidence, Stitched, worst
from unchunk.text.stitching.solution import Solution
from unchunk.text.stitching.verdict import judge, kept_space

_BLANK = re.compile(r"\s+")
# White space that a splitter drops is seldom longer, unless the chunks show that it is.
_LONGEST_BLANK = 32
# Nobody lets chunks share more of each other than this.
_CROWDED = 0.9


class _Place(NamedTuple):
    """`[start, end)` counts as the offsets do."""

    start: int
    end: int
    chunk: str
    position: int


def stitch_placed(
    chunks: Sequence[str], starts: Sequence[int], *, from_start: bool | None = None
) -> Stitched | None:
    """The text of one file from where each of its chunks begins, in characters, in any order.

    None where two chunks disagree, or most lie upon each other: then the offsets are of another
    text, or of one that repeats itself, and `stitch` knows as much without them. What lies between chunks that do not touch is a guess of the right length,
    and its joint is `none`; where it is too long for white space, a newline stands for it.
    """
    if len(chunks) != len(starts):
        raise InvalidTextError(f"there are {len(chunks)} chunks and {len(starts)} offsets")
    if not chunks or min(starts) < 0:
        return None
    places = sorted(
        _Place(start, start + len(chunk), chunk, at)
        for at, (chunk, start) in enumerate(zip(chunks, starts, strict=True))
    )
    pairs = list(_neighbours(places))
    crowded = sum(left.end - right.start > _CROWDED * len(right.chunk) for left, right in pairs)
    if crowded * 2 > len(pairs) or not all(_agree(left, right) for left, right in pairs):
        return None
    ordered = [place.chunk for place in places]
    draft = _joined(places, _longest_blank(chunks))
    solution = Solution(ordered, tuple(place.position for place in places), draft, None, "no")
    shown = kept_space(solution)
    if from_start is None and places[0].start == 0:
        from_start = True
    result = judge(solution, "exact", kept=shown.before and shown.behind, from_start=from_start)
    return _with_doubts(result, places[0].start, from_start)


def _neighbours(places: Sequence[_Place]) -> Iterator[tuple[_Place, _Place]]:
    """Each place but the first, behind the one before it that reaches furthest."""
    left = places[0]
    for place in places[1:]:
        yield left, place
        if place.end > left.end:
            left = place


def _agree(left: _Place, right: _Place) -> bool:
    """Whether two texts are the same where both are."""
    held = left.chunk[right.start - left.start :]
    shared = min(len(held), len(right.chunk))
    return held[:shared] == right.chunk[:shared]


def _joined(places: Sequence[_Place], longest: int) -> Draft:
    blanks = _blanks(places)
    draft = Draft(places[0].chunk, more=len(places) > 1, cuts=False)
    for index, (left, place) in enumerate(_neighbours(places), 1):
        gap, more = place.start - left.end, index + 1 < len(places)
        if gap > longest:
            draft.append(place.chunk, "\n", "none", "offset", more=more, missing=1)
        elif gap > 0:
            glue = blanks.between(left.chunk, place.chunk, gap)
            draft.append(place.chunk, glue, "none", "offset", more=more)
        else:
            shared = min(-gap, len(place.chunk))
            sure = _sure(left.chunk, place.chunk, shared, last=not more)
            at = len(draft.tail) + gap
            draft.overlap(place.chunk, Border(shared, 0), at, sure, "offset", more=more)
    return draft


def _sure(left: str, right: str, shared: int, *, last: bool) -> Confidence:
    """How sure a joint is that its chunks do not contradict.

    Where they share more than chance explains, but not just so much, the text repeats itself.
    """
    found = joint(left, right, last=last)
    if not found.borders:
        return "assumed"
    return "exact" if found.certain and found.borders[0].length == shared else "ambiguous"


def _longest_blank(chunks: Sequence[str]) -> int:
    blanks = (len(run.group()) for chunk in chunks for run in _BLANK.finditer(chunk))
    return max(_LONGEST_BLANK, max(blanks, default=0))


def _blanks(places: Sequence[_Place]) -> Blanks:
    """What the chunks tell of lost white space."""
    chunks = [place.chunk for place in places]
    pairs = list(_neighbours(places))
    overlaps = [
        (left.chunk, left.end - right.start)
        for left, right in pairs
        if right.start < left.end < right.end
    ]
    before = [chunk[: len(chunk) - shared] for chunk, shared in overlaps]
    gaps = Gaps(chunks, max((shared for _, shared in overlaps), default=0), before)
    apart = [(left.chunk, right.chunk) for left, right in pairs if right.start > left.end]
    return Blanks(chunks, gaps, apart)


def _with_doubts(result: Stitched, first: int, from_start: bool | None) -> Stitched:
    """The result, with what the offsets tell and the text does not."""
    sure, notes = [result.confidence], list(result.notes)
    guessed = sum(seam.confidence == "none" and not seam.missing for seam in result.seams)
    if guessed:
        notes.append(
            f"joints of which only the length of what stood there is known, guessed: {guessed}"
        )
    if first and from_start is not False:
        blank = from_start or first <= _LONGEST_BLANK
        sure.append("normalized" if blank else "ambiguous")
        notes.append(f"characters at the beginning that are in no chunk: {first}")
    return replace(result, confidence=worst(sure), notes=tuple(notes))
