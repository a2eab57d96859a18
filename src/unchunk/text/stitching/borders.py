"""Where the end of one text is the beginning of the next. Knows nothing of strategies."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from unchunk.errors import InvalidTextError

CUT = "�"
"""What decoding leaves of a character that was cut."""

ANCHOR = 12
"""Overlaps of fewer characters than this are everywhere and mean nothing."""

INFORMATIVE = 12
"""How many different runs of three characters an overlap needs so as not to be chance."""

_LOOKED_AT = 4096
# A periodic text has as many borders as characters; past this many compared, enough is known.
_MOST_COMPARED = 1 << 26


class Border(NamedTuple):
    """`length` characters of the left text's end, behind `lead` cut marks of the right one."""

    length: int
    lead: int


@dataclass(frozen=True, slots=True)
class ChunkOverlapInfo:
    """What two consecutive chunks share.

    `overlap_chars` is how much of the second chunk's beginning repeats the first one's end;
    `confidence` is "exact", "normalized" (the same but for white space) or "none".
    """

    overlap_chars: int
    confidence: Literal["exact", "normalized", "none"]
    detection_method: str = "suffix_prefix_match"


def detect_chunk_overlap(chunk_a_text: str, chunk_b_text: str) -> ChunkOverlapInfo:
    """The longest overlap of one pair, taken alone.

    It is the first guess and no more: a text that repeats itself has many overlaps, and
    only `stitch`, which sees all chunks, can tell which one is right. Two chunks of the same text
    but for white space are "normalized", even if by chance a few characters match exactly.
    """
    for chunk in (chunk_a_text, chunk_b_text):
        if not isinstance(chunk, str):
            raise InvalidTextError(f"a chunk is {type(chunk).__name__}, not text")
    border = next(borders(chunk_a_text, chunk_b_text), None)
    if border is None:
        border = next(borders(chunk_a_text.removesuffix(CUT), chunk_b_text), None)
    is_same = same_but_for_space(chunk_a_text, chunk_b_text)
    if border is not None:
        exact = border.length + border.lead
        if not is_same or exact >= len(chunk_b_text.rstrip()):
            return ChunkOverlapInfo(exact, "exact")
    shared = loose_border(chunk_a_text, chunk_b_text, least=1)
    return ChunkOverlapInfo(shared[1], "normalized") if shared else ChunkOverlapInfo(0, "none")


def fit(tail: str, at: int, chunk: str) -> Border | None:
    """How `chunk` goes on from `at`: it repeats the rest of `tail`, or lies within it."""
    held = tail[at:]
    for lead in leads(chunk):
        if chunk.startswith(held, lead):
            return Border(len(held), lead)
        if len(held) > len(chunk) - lead and held.startswith(chunk[lead:]):
            return Border(len(chunk) - lead, lead)
    return None


def leads(chunk: str) -> range:
    """How many marks at its beginning may stand for bytes of one cut character."""
    return range(min(3, len(chunk) - len(chunk.lstrip(CUT))) + 1)


def borders(left: str, right: str) -> Iterator[Border]:
    """Every way in which the end of `left` is the beginning of `right`, longest first."""
    compared = 0
    for lead in leads(right):
        anchor = right[lead : lead + ANCHOR]
        at = left.find(anchor, max(0, len(left) - len(right) + lead)) if anchor else -1
        while at != -1 and len(left) - at >= ANCHOR:
            compared += len(left) - at
            if right.startswith(left[at:], lead):
                yield Border(len(left) - at, lead)
            if compared > _MOST_COMPARED:
                return
            at = left.find(anchor, at + 1)
        for length in range(min(ANCHOR - 1, len(left), len(right) - lead), 0, -1):
            if left.endswith(right[lead : lead + length]):
                yield Border(length, lead)


def telling_length(text: str, wanted: int = INFORMATIVE) -> int:
    """How much of its beginning has `wanted` different runs of three characters.

    One more than `text` has, where all of it has not, as far as it is looked at.
    """
    seen: set[str] = set()
    for at in range(min(len(text), _LOOKED_AT) - 2):
        seen.add(text[at : at + 3])
        if len(seen) == wanted:
            return at + 3
    return len(text) + 1


def is_informative(text: str) -> bool:
    """Whether two places of one text hardly agree in this by chance."""
    return telling_length(text) <= len(text)


def loose_border(left: str, right: str, least: int | None = None) -> tuple[int, int] | None:
    """How many characters of each text's edge are the same but for white space.

    At least `least`, if it is given; otherwise as many as are no chance.
    """
    if same_but_for_space(left, right):
        return len(left.lstrip()), len(right.rstrip())
    plain_left, plain_right = " ".join(left.split()), " ".join(right.split())
    longest = next(borders(plain_left, plain_right), None)
    least = telling_length(plain_right) if least is None else least
    if longest is None or longest.lead or longest.length < least:
        return None
    letters = len(plain_right[: longest.length].replace(" ", ""))
    return _reach(left[::-1], letters), _reach(right, letters)


def same_but_for_space(left: str, right: str) -> bool:
    letters = "".join(left.split())
    return letters != "" and letters == "".join(right.split())


def _reach(text: str, letters: int) -> int:
    """How far into `text` its first `letters` characters that are not white space reach."""
    for at, character in enumerate(text):
        if letters == 0:
            return at
        letters -= not character.isspace()
    return len(text)
