"""Stitching with no clock: a joint is where two chunks share more than chance explains."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from unchunk.text.stitching.borders import (
    ANCHOR,
    CUT,
    Border,
    borders,
    loose_border,
    same_but_for_space,
    telling_length,
)
from unchunk.text.stitching.draft import Draft
from unchunk.text.stitching.gaps import Gaps
from unchunk.text.stitching.seams import Confidence

# A second overlap with this much in it means that the text repeats itself there.
_REPEATS = 32
# So many characters that go on in a period show that it is one.
_PROBE = 6


class Joint(NamedTuple):
    """The overlaps of two chunks that are no chance, longest first.

    `certain` where there is one and no other that could be meant; more than one are listed
    only where the text repeats itself, so that each of them may be the right one.
    """

    borders: list[Border]
    certain: bool


def compare(chunks: Sequence[str], share: float | None = None) -> Draft:
    """Join `chunks` by what they share.

    Where a text repeats itself, several overlaps fit; then the one wins that leaves each
    chunk the `share` of new text that is usual in the file, and the joint is `ambiguous`. Where
    `share` is given, the chunks are windows, and no white space was dropped between them.
    """
    given = share
    solid = [at for at, chunk in enumerate(chunks) if chunk]
    joints = {
        right: joint(chunks[left], chunks[right], last=right == solid[-1])
        for left, right in pairwise(solid)
    }
    lefts = dict(zip(solid[1:], solid, strict=False))
    certain = [
        (chunks[lefts[right]], found.borders[0]) for right, found in joints.items() if found.certain
    ]
    if share is None and certain:
        share = median(1 - border.length / len(left) for left, border in certain)
    gaps = _gaps(chunks, certain)
    # Where nothing overlaps, nothing shows what a splitter did at its joints.
    is_shown = bool(certain) and given is None
    draft = Draft(chunks[0], more=len(chunks) > 1)
    for index, chunk in enumerate(chunks[1:], 1):
        more = index + 1 < len(chunks)
        if index not in joints:
            # It is empty, or the first that is not: stripping leaves nothing of blanks.
            draft.nothing(chunk, more=more)
            continue
        left, found = chunks[lefts[index]], joints[index]
        if not found.borders:
            _join_loosely(draft, left, chunk, gaps, is_shown, more=more, given=given)
            continue
        border = found.borders[0]
        if len(found.borders) > 1 and share is not None:
            expected = len(left) * (1 - share)
            border = min(found.borders, key=lambda one: abs(one.length - expected))
        at = len(draft.tail) - border.length
        sure: Confidence = "exact" if found.certain else "ambiguous"
        draft.overlap(chunk, border, at, sure, "border", more=more)
    return draft


def joint(left: str, right: str, *, last: bool) -> Joint:
    """What `left` and `right` share.

    A chunk that brings nothing new is no overlap but a repetition, unless it is the last.
    """
    left, bare = left.removesuffix(CUT), right.lstrip(CUT)
    telling = telling_length(bare)
    found = [
        border
        for border in borders(left, right)
        if border.length >= ANCHOR
        and (border.length + border.lead < len(right) or (last and len(right) < len(left)))
    ]
    if not found or found[0].length < telling:
        return Joint([], certain=False)
    longest = found[0]
    repeats = telling_length(bare, _REPEATS)
    others = [
        border
        for border in found[1:]
        if border.length >= repeats or telling <= border.length > longest.length / 2
    ]
    new = longest.length + longest.lead < len(right)
    repeats_itself = right in left or _goes_on(left, right[longest.lead :], longest.length)
    certain = len(found) == 1 and new and not repeats_itself
    return Joint([longest, *others], certain)


def _goes_on(left: str, right: str, shared: int) -> bool:
    """Whether what the chunks share is the text's own period.

    Then `right` could as well follow `left` with no overlap, or one too short to be seen, and
    the text before or behind what they share goes on in the same period.
    """
    begin = len(left) - shared
    before, behind = left[max(0, begin - _PROBE) : begin], right[shared : shared + _PROBE]
    return any(
        (before and left.endswith(before, 0, begin + shared - unseen))
        or right.startswith(behind, unseen)
        for unseen in range(min(ANCHOR, shared))
    )


def _gaps(chunks: Sequence[str], certain: Sequence[tuple[str, Border]]) -> Gaps | None:
    """What is known of lost white space; nothing where the chunks still have theirs."""
    if any(chunk[:1].isspace() or chunk[-1:].isspace() for chunk in chunks):
        return None
    before = [left[: len(left) - border.length] for left, border in certain]
    return Gaps(chunks, max((border.length for _, border in certain), default=0), before)


def _join_loosely(
    draft: Draft,
    left: str,
    chunk: str,
    gaps: Gaps | None,
    is_shown: bool,
    *,
    more: bool,
    given: float | None,
) -> None:
    """Join two chunks that share too little to be sure, or nothing.

    Where chunks repeat text at all, the last may have the text of the one before in other white
    space. If only the ends differ, as where equal lines were cut, it is text that came twice.
    """
    if (
        given != 1
        and not more
        and left.strip() != chunk.strip()
        and same_but_for_space(left, chunk)
    ):
        draft.overlap_loosely(chunk, len(left.lstrip()), len(chunk.rstrip()), more=more)
        return
    short = next(_whole_words(left, chunk), None) if gaps else None
    if short is not None:
        at = len(draft.tail) - short.length
        draft.overlap(chunk, short, at, "ambiguous", "border", more=more)
    elif (shared := loose_border(left, chunk)) and shared[1] < len(chunk):
        draft.overlap_loosely(chunk, *shared, more=more)
    else:
        glue = gaps.between(left, chunk) if gaps and is_shown else "\n"
        draft.append(chunk, glue, "none", "newline", more=more)


def _whole_words(left: str, right: str) -> Iterator[Border]:
    return (
        border
        for border in borders(left, right)
        if not border.lead
        and 1 < border.length < min(len(left), len(right))
        and left[-border.length - 1].isspace()
        and right[border.length].isspace()
    )
