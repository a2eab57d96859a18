"""How sure a solution is. Where it is in doubt, it says less than it could."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import or_
from statistics import median
from typing import NamedTuple
from unicodedata import category

from unchunk.domain import Span
from unchunk.text.stitching.borders import is_informative
from unchunk.text.stitching.likeness import joint
from unchunk.text.stitching.rulers import ruler_for
from unchunk.text.stitching.seams import Confidence, Seam, Stitched, worst
from unchunk.text.stitching.solution import Solution

MIDDLE = "the text begins as the middle of one does: the first chunk may be missing"

_BARE_NEWLINE = re.compile(r"(?<!\r)\n")
# How long, against the usual one, a last chunk is that may not be the last.
_NEARLY = 0.8
# What stands behind something else.
_INSIDE = "\ufffd,.;:!?)]}%»”’…"


def judge(
    solution: Solution,
    support: Confidence,
    *,
    kept: bool,
    whole: bool = False,
    from_start: bool | None = None,
) -> Stitched:
    """The result, with a confidence that no other origin of these chunks would make false.

    `support` is how sure the strategy is, and with it each joint that the check confirms;
    `kept` tells that the chunker left white space as it was; `whole`, that the text is as long as
    the original; `from_start`, where it is known, whether the text begins with the first chunk.
    """
    text = solution.draft.text
    confirmed = solution.check == "same" and not solution.broken
    seams = tuple(_confirmed(solution, text, support) if confirmed else _compared(solution))
    sure = [seam.confidence for seam in seams]
    if not confirmed:
        sure.append(worst([support, "exact"]))
    notes = []
    if not seams:
        certain = confirmed and (kept or whole) and support == "verified"
        sure.append(support if certain else "exact")
    if not (kept or whole):
        sure.append("normalized")
        notes.append("not all kinds of white space show in the chunks: the text may lack some")
    if from_start is False:
        sure.append("ambiguous")
        notes.append("the first chunk is missing")
    for doubt in () if whole else _ends(solution, text, from_start):
        sure.append("ambiguous")
        notes.append(doubt)
    notes += _doubted_joints(seams, support)
    missing = sum(seam.missing for seam in seams)
    if missing:
        notes.append(f"at least {missing} missing: the stride shows where")
    if solution.order != tuple(range(len(solution.order))):
        if len(seams) == 1:
            sure.append("ambiguous")
            notes.append("two chunks alone do not show for sure which is the first")
        notes.append("the chunks were not in the order of the text and were put so")
    return Stitched(
        text,
        seams,
        worst(sure),
        solution.strategy if solution.holds else None,
        tuple(_within(span, len(text)) for span in solution.draft.spans),
        solution.order,
        tuple(notes),
    )


def has_size(solution: Solution, size: int | None) -> bool:
    """Whether the text has `size` bytes in UTF-8, so that it is the original.

    That asks for joints that the check confirms, or for none. A blank in the place of each newline
    would not change the size, so one has to show; and between words it is not seen at all.
    """
    if size is None or (solution.strategy and solution.strategy.unit == "words"):
        return False
    confirmed = solution.check == "same" and not solution.broken
    text = solution.draft.text
    return (
        (confirmed or not solution.draft.seams)
        and "\n" in text
        and len(text.encode("utf-8", "surrogatepass")) == size
    )


def begins_as_a_middle(text: str) -> bool:
    """Whether few texts begin so, but many windows in the middle of one do.

    One in seven of these begins as a text may, too: only who made the list can tell.
    """
    first = text[:1]
    return (
        (first == " " and not text[1:2].isspace())
        or first.islower()
        or (first != "" and (first in _INSIDE or category(first).startswith("M")))
    )


class Kept(NamedTuple):
    """What chunks show of white space: at their beginnings, at their ends, and empty lines."""

    before: bool
    behind: bool
    empty_lines: bool

    def __or__(self, other: tuple[bool, ...]) -> "Kept":
        return Kept(*map(or_, self, other))


def kept_space(solution: Solution) -> Kept:
    """What these chunks show; only what is seen was surely left as it was."""
    return Kept(
        any(chunk[:1].isspace() for chunk in solution.chunks),
        any(chunk[-1:].isspace() for chunk in solution.chunks),
        any("\n\n" in chunk for chunk in solution.chunks),
    )


def keeps_empty_lines(solution: Solution) -> bool:
    """Whether its chunks show empty lines in the way of Windows, and no others were squeezed."""
    return any("\r\n\r\n" in chunk for chunk in solution.chunks) and not any(
        _BARE_NEWLINE.search(chunk, 1) for chunk in solution.chunks
    )


def _confirmed(solution: Solution, text: str, support: Confidence) -> Iterator[Seam]:
    """The joints of a text that gives these chunks again.

    One whose overlap is too poor, or that the text repeats, would be there too if a chunk
    were missing: the check alone does not prove it.
    """
    seen: set[str] = set()
    for seam, before in zip(solution.draft.seams, solution.draft.spans, strict=False):
        overlap = text[seam.start : seam.start + seam.overlap]
        if seam.overlap == len(solution.chunks[seam.index]):
            yield replace(seam, confidence=support)
        elif not is_informative(overlap):
            yield replace(seam, confidence=worst([support, "assumed"]))
        elif overlap in seen or _recurs(text, seam, before.start, solution.draft.spans):
            yield replace(seam, confidence="ambiguous")
        else:
            yield replace(seam, confidence=support)
        seen.add(overlap)


def _recurs(text: str, seam: Seam, begin: int, spans: Sequence[Span]) -> bool:
    """Whether an overlap stands once more in one of its chunks, or repeats itself."""
    overlap = text[seam.start : seam.start + seam.overlap]
    half = overlap[: len(overlap) // 2]
    return (
        text.find(overlap, begin, seam.start + seam.overlap) < seam.start
        or text.find(overlap, seam.start + 1, spans[seam.index].end) != -1
        or overlap.find(half, 1) != -1
    )


def _compared(solution: Solution) -> Iterator[Seam]:
    """The joints of a text that was not confirmed: each has to stand for itself."""
    last = len(solution.chunks) - 1
    for seam in solution.draft.seams:
        left, right = solution.chunks[seam.index - 1], solution.chunks[seam.index]
        if seam.confidence == "exact" and not joint(left, right, last=seam.index == last).certain:
            yield replace(seam, confidence="ambiguous")
        else:
            yield seam


def _doubted_joints(seams: Sequence[Seam], support: Confidence) -> Iterator[str]:
    """Why joints are ambiguous."""
    unsure = sum(seam.confidence == "ambiguous" for seam in seams)
    if support == "ambiguous":
        yield "nothing settles how the chunks were cut: some joints may be chance"
    elif unsure:
        yield f"joints where another may be right, as where the text repeats itself: {unsure}"


def _within(span: Span, length: int) -> Span:
    """`span` without the character that its chunk cuts, where the text does not have it."""
    return Span(min(span.start, length), min(span.end, length))


def _ends(solution: Solution, text: str, from_start: bool | None) -> Iterator[str]:
    """Why the beginning or the end of the text may be missing."""
    if from_start is None and begins_as_a_middle(text):
        yield MIDDLE
    strategy = solution.strategy
    if strategy is None:
        last, usual = solution.chunks[-1], median(map(len, solution.chunks))
        # A last chunk with nothing but the text of the one before shows that the text ends there.
        is_full = len(solution.chunks) > 1 and len(last) > _NEARLY * usual
        if is_full and not solution.repeats_last:
            yield "the last chunk is as long as the others: more may have followed"
        return
    span = solution.draft.spans[-1]
    tail = text[span.start : span.end]
    count = ruler_for(strategy).count(tail)
    if count >= strategy.size - (3 if strategy.unit == "tokens" else 0):
        yield "the last chunk is full: more may have followed"
