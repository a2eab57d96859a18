"""Which strategy made these chunks: read from the joints that are certain, or from habit."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median_low

from unchunk.domain import ChunkingStrategy, EncodingName, Unit
from unchunk.errors import InvalidTextError
from unchunk.text.stitching.borders import ANCHOR, CUT, borders
from unchunk.text.stitching.draft import Draft
from unchunk.text.stitching.likeness import joint
from unchunk.text.stitching.rulers import ruler_for, word_marks
from unchunk.text.tokens import get_encoding

Votes = Counter[ChunkingStrategy]

_KINDS: tuple[tuple[Unit, EncodingName], ...] = (
    ("tokens", "cl100k_base"),
    ("words", "cl100k_base"),
    ("chars", "cl100k_base"),
    ("tokens", "o200k_base"),
)
# Chunks that show how large a chunk is; a chunk taken alone may have a token more or less.
_SAMPLED = 8
_EDGE = 3
# Nobody cuts chunks larger than this by habit.
_LARGEST = 32_768
# The part of joints that must lie apart for a file to have no overlap at all.
_MOSTLY = 0.8
# Short lines and sentences have one size by chance; so many chunks before the last do not, if they have
# so many units.
_FULL, _LARGE = 2, 32
_SENTENCE_END = re.compile(r"[.!?:;。！？…][\"'”’»)\]]*$")


def votes(chunks: Sequence[str], draft: Draft) -> Votes:
    """How many certain joints of a file speak for each strategy that fits most of them."""
    found = _fitting(chunks, draft, [s.index for s in draft.seams if s.confidence == "exact"])
    apart = sum(
        seam.confidence == "none" and not _share_anything(chunks, seam.index)
        for seam in draft.seams
    )
    strategy = _unoverlapped(chunks) if apart > _MOSTLY * len(draft.seams) else None
    if strategy is not None and _are_windows(chunks, strategy):
        found[strategy] = apart
    return found


def leanings(chunks: Sequence[str], draft: Draft) -> Iterator[ChunkingStrategy]:
    """What the joints speak for that have one long overlap, and others that may be chance."""
    last = len(chunks) - 1
    likely = [
        seam.index
        for seam in draft.seams
        if seam.method == "border"
        and len(joint(chunks[seam.index - 1], chunks[seam.index], last=seam.index == last).borders)
        == 1
    ]
    for strategy, count in _fitting(chunks, draft, likely).most_common():
        if count > 1:
            yield strategy


def _fitting(chunks: Sequence[str], draft: Draft, joints: Sequence[int]) -> Votes:
    """How many of `joints` speak for each strategy that fits most of them."""
    found: Votes = Counter()
    if not joints:
        return found
    text = draft.text
    stripped = not any(chunk[:1].isspace() for chunk in chunks)
    for unit, encoding in _KINDS:
        try:
            marks = _marks(text, unit, encoding)
        except InvalidTextError:
            continue
        begins = [span.start for span in draft.spans]
        if stripped and unit == "tokens":
            # What a chunk begins with was a token with the blank before it.
            begins = [at - text.startswith(" ", max(at - 1, 0), at) for at in begins]
        seen: Counter[tuple[int, int]] = Counter()
        for index in joints:
            begin = _mark(marks, begins[index - 1], chunks[index - 1].startswith(CUT))
            end = _mark(marks, draft.spans[index - 1].end, chunks[index - 1].endswith(CUT))
            next_begin = _mark(marks, begins[index], chunks[index].startswith(CUT))
            seen[end - begin, end - next_begin] += 1
        (size, overlap), count = seen.most_common(1)[0]
        if count * 2 > len(joints) and 0 < overlap < size:
            found[ChunkingStrategy(unit, size, overlap, encoding)] += count
    return found


def habits(chunks: Sequence[str]) -> Iterator[ChunkingStrategy]:
    """Strategies that people use and that give chunks of this size, the commonest first."""
    for unit, encoding in _KINDS[:3]:
        size = _usual_size(chunks, ChunkingStrategy(unit, 1, 0, encoding))
        if size is None or size > _LARGEST:
            continue
        overlaps = [size // 2, size // 8, size // 4, size // 5, size // 10, 20, 50, 64, 100, 200]
        for overlap in dict.fromkeys(overlaps):
            if 0 < overlap < size:
                yield ChunkingStrategy(unit, size, overlap, encoding)


def _unoverlapped(chunks: Sequence[str]) -> ChunkingStrategy | None:
    """The strategy with no overlap under which all chunks but the last have one size.

    Several may fit, since the tokens of a chunk taken alone are counted with tolerance: a round
    size speaks for its unit, and then a size that all chunks have exactly.
    """
    found = [
        ChunkingStrategy(unit, size, 0, encoding)
        for unit, encoding in sorted(_KINDS, key=lambda kind: kind[0] == "tokens")
        if (size := _usual_size(chunks, ChunkingStrategy(unit, 1, 0, encoding))) and size > 1
    ]
    return max(found, key=lambda one: _roundness(one.size) > 0, default=None)


def _are_windows(chunks: Sequence[str], strategy: ChunkingStrategy) -> bool:
    """Whether chunks that fit a strategy with no overlap may be joined with nothing between.

    They may be lines or sentences that have one size by chance, which must not be glued together:
    there has to be white space at every joint, or enough chunks, not all of them whole sentences.
    """
    joints = [*pairwise(chunks)]
    if strategy.size < _LARGE:
        return False
    if all(left[-1:].isspace() or right[:1].isspace() for left, right in joints):
        return True
    sentences = all(
        _SENTENCE_END.search(left) and not (right[:1].isspace() or right[:1].islower())
        for left, right in joints
    )
    return len(joints) >= _FULL and not sentences


def _share_anything(chunks: Sequence[str], index: int) -> bool:
    longest = next(borders(chunks[index - 1].removesuffix(CUT), chunks[index]), None)
    return longest is not None and longest.length >= ANCHOR


def _usual_size(chunks: Sequence[str], unit: ChunkingStrategy) -> int | None:
    """The size that all chunks but the last have, as far as one can tell from each alone."""
    ruler = ruler_for(unit)
    try:
        counts = [ruler.count(chunk) for chunk in chunks[:-1][:_SAMPLED]]
        last = ruler.count(chunks[-1])
    except InvalidTextError:
        return None
    edge = _EDGE if unit.unit == "tokens" else 0
    middle = median_low(counts)
    if middle < 1 or max(counts) - min(counts) > 2 * edge or last > middle + edge:
        return None
    near = range(middle - edge, middle + edge + 1)
    return min(
        (size for size in near if size > 0),
        key=lambda size: (-_roundness(size), abs(size - middle)),
    )


def is_round(strategy: ChunkingStrategy) -> bool:
    """Whether a person would choose these numbers."""
    return _roundness(strategy.size) > 0 and _roundness(strategy.overlap) > 0


def _roundness(number: int) -> int:
    return max((step for step in (1000, 100, 64, 50, 16, 10) if number % step == 0), default=0)


def _mark(marks: Sequence[int], offset: int, cut: bool) -> int:
    """Which mark stands at `offset` or next behind it.

    Several stand at one offset where tokens part a character: the first of them is meant if
    the chunk has that character cut, else the last.
    """
    first = bisect_left(marks, offset)
    return first if cut else max(first, bisect_right(marks, offset) - 1)


def _marks(text: str, unit: Unit, encoding: EncodingName) -> Sequence[int]:
    if unit == "tokens":
        return get_encoding(encoding).bounds(text)
    return word_marks(text) if unit == "words" else range(len(text) + 1)
