"""The order of chunks, where their overlaps determine it."""

from collections.abc import Iterator, Sequence

from unchunk.text.stitching.borders import CUT, fit, is_informative

_ANCHOR = 24
_MOST_ALIKE = 4
# A chunk in which others may begin at so many places repeats itself: they tell nothing.
_MOST_TRIED = 64


def chain(chunks: Sequence[str]) -> list[int]:
    """The positions of `chunks` in the order of the text, as far as overlaps tell.

    Two chunks are linked where each shares more with the other than with any third one.
    Chains that nothing links stay in the order in which their first chunks came, and chunks
    too short to tell go last. Linear in the text, but for texts that repeat themselves.
    """
    follows, precedes = _best(chunks)
    linked = {
        left: right
        for left, right in follows.items()
        if right is not None and precedes[right] == left
    }
    inner = set(linked.values())
    begins = [at for at in range(len(chunks)) if at not in inner]
    begins.sort(key=lambda at: at not in linked and len(chunks[at]) < _ANCHOR)
    ordered: list[int] = []
    for begin in begins:
        at: int | None = begin
        while at is not None:
            ordered.append(at)
            at = linked.get(at)
    # A ring has no beginning: then nothing is known.
    return ordered if len(ordered) == len(chunks) else list(range(len(chunks)))


def _best(chunks: Sequence[str]) -> tuple[dict[int, int | None], dict[int, int | None]]:
    """For each chunk the one that shares most with its end, and with its beginning; or none."""
    anchors: dict[str, list[int]] = {}
    for at, chunk in enumerate(chunks):
        bare = chunk.lstrip(CUT)
        if len(bare) >= _ANCHOR:
            anchors.setdefault(bare[:_ANCHOR], []).append(at)
    # Where many chunks begin alike, their order cannot be read from how they begin.
    anchors = {anchor: found for anchor, found in anchors.items() if len(found) <= _MOST_ALIKE}
    right_of: dict[int, tuple[int, int | None]] = {}
    left_of: dict[int, tuple[int, int | None]] = {}
    for left, chunk in enumerate(chunks):
        for right, length in _followers(chunks, left, chunk.removesuffix(CUT), anchors):
            _keep(right_of, left, length, right)
            _keep(left_of, right, length, left)
    return (
        {at: right_of.get(at, (0, None))[1] for at in range(len(chunks))},
        {at: left_of.get(at, (0, None))[1] for at in range(len(chunks))},
    )


def _followers(
    chunks: Sequence[str], left: int, tail: str, anchors: dict[str, list[int]]
) -> Iterator[tuple[int, int]]:
    """Which chunks begin as `tail`, the chunk at `left`, ends, and how much they share."""
    tried = 0
    for at in range(len(tail) - _ANCHOR + 1):
        for right in anchors.get(tail[at : at + _ANCHOR], ()):
            if right == left:
                continue
            tried += 1
            if tried > _MOST_TRIED:
                return
            border = fit(tail, at, chunks[right])
            if border and border.length == len(tail) - at and is_informative(tail[at:]):
                yield right, border.length


def _keep(best: dict[int, tuple[int, int | None]], at: int, length: int, other: int) -> None:
    """Remember the longest; two of one length cancel each other."""
    known, _ = best.get(at, (0, None))
    if length > known:
        best[at] = (length, other)
    elif length == known:
        best[at] = (length, None)
