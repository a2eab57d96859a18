"""Stitching under a known strategy: the stride says where each chunk begins.

Chunk i begins `stride` units behind chunk i-1, counted in the recovered text itself, and
the text from there on must be how it begins. One comparison per joint, linear in all.
"""

from collections.abc import Sequence

from unchunk.domain import ChunkingStrategy
from unchunk.text.stitching.borders import CUT, Border, borders, fit, telling_length
from unchunk.text.stitching.draft import Draft
from unchunk.text.stitching.rulers import Ruler
from unchunk.text.stitching.seams import Seam

# How far from the clock a joint may lie whose overlap alone proves nothing.
_NEAR = 8


def follow(chunks: Sequence[str], strategy: ChunkingStrategy, ruler: Ruler) -> Draft:
    """Join `chunks` where the clock says; where it does not fit, where they do."""
    draft = Draft(chunks[0], more=len(chunks) > 1, cuts=strategy.unit == "tokens")
    for index in range(1, len(chunks)):
        chunk, more = chunks[index], index + 1 < len(chunks)
        if not strategy.overlap:
            glue = "" if _blank_between(draft.tail, chunk) else ruler.glue
            draft.append(chunk, glue, "assumed", "touch", more=more)
            continue
        clock = ruler.next(draft)
        at, border = _on_clock(draft.tail, clock, chunk)
        if border is not None:
            draft.overlap(chunk, border, at, "exact", "clock", more=more)
            continue
        border = _nearest(draft, clock, chunk)
        if border is not None:
            at = len(draft.tail) - border.length
            strides = (at - draft.at) / max(1, clock - draft.at)
            missing = max(0, round(strides) - 1)
            draft.overlap(chunk, border, at, "exact", "border", more=more, missing=missing)
        elif strategy.size % strategy.stride == 0:
            # One chunk less, and its neighbours touch: nothing of the text need be missing.
            missing = strategy.size // strategy.stride - 1
            draft.append(chunk, ruler.glue, "assumed", "touch", more=more, missing=missing)
        else:
            missing = strategy.size // strategy.stride
            draft.append(chunk, "\n", "none", "newline", more=more, missing=missing)
    return draft


def recuts(text: str, chunks: Sequence[str], ruler: Ruler, seams: Sequence[Seam],
           *, stripped: bool = False) -> bool:  # fmt: skip
    """Whether `text`, cut again, gives `chunks`, but for those known to be missing.

    With `stripped`, and always for words, white space at the edges of a chunk is let be.
    """
    stripped = stripped or bool(ruler.glue)
    windows = ruler.recut(text)
    for chunk, skip in zip(chunks, [0, *(seam.missing for seam in seams)], strict=True):
        for _ in range(skip):
            next(windows, None)
        window = next(windows, None)
        if window is None or (window.strip() != chunk.strip() if stripped else window != chunk):
            return False
    return True


def _on_clock(tail: str, clock: int, chunk: str) -> tuple[int, Border | None]:
    """Where and how `chunk` fits at the clock, or behind the blanks there if it was stripped."""
    if clock >= len(tail):
        return clock, None
    border = fit(tail, clock, chunk)
    if border is None and tail[clock].isspace():
        clock = len(tail) - len(tail[clock:].lstrip())
        border = fit(tail, clock, chunk) if clock < len(tail) else None
    return clock, border


def _nearest(draft: Draft, clock: int, chunk: str) -> Border | None:
    """The overlap nearest to the clock that is near enough or too long to be chance."""
    left = draft.tail[draft.at :]
    telling = telling_length(chunk.lstrip(CUT))
    best: Border | None = None
    for border in borders(left, chunk):
        at = len(draft.tail) - border.length
        if best is not None and abs(at - clock) >= abs(len(draft.tail) - best.length - clock):
            continue
        if abs(at - clock) <= _NEAR or border.length >= telling:
            best = border
    return best


def _blank_between(tail: str, chunk: str) -> bool:
    return tail[-1:].isspace() or chunk[:1].isspace()
