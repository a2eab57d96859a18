"""Whether a file on the disk is what its chunks were cut from, as far as chunks can tell.

Knows nothing of how it was put together: it reads the file, cuts it again, and compares.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from unchunk.domain import ChunkingStrategy
from unchunk.errors import OutputError
from unchunk.text.stitching.borders import CUT
from unchunk.text.stitching.rulers import ruler_for


class Check(NamedTuple):
    """What came of it in words, and whether it is as it should be."""

    said: str
    is_same: bool


SAME = Check("same", is_same=True)
EDGES = Check("same but for white space at edges", is_same=True)
WITHIN = Check("every chunk stands in it, in order", is_same=True)
WITHIN_LOOSELY = Check("every chunk stands in it, in order, but for white space", is_same=True)


def check(
    path: Path, chunks: Sequence[str], strategy: ChunkingStrategy | None, *, missing: int = 0
) -> Check:
    """Read `path` back and hold it against `chunks`, which are in the order of the text.

    Where chunks are known to be `missing`, what is left of the text cannot be cut as it was.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise OutputError(f"cannot read {path} back: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        return Check(f"the file is not valid UTF-8: {error.reason}", is_same=False)
    if strategy is None or missing:
        return _within(text, chunks)
    return _recut(text, chunks, strategy)


def _recut(text: str, chunks: Sequence[str], strategy: ChunkingStrategy) -> Check:
    ruler = ruler_for(strategy)
    exact = True
    for at, (window, chunk) in enumerate(zip_longest(ruler.recut(text), chunks)):
        if chunk is None:
            # Some cut on to the last unit, some stop when all is covered.
            if (at - 1) * strategy.stride + strategy.size < ruler.count(text):
                return Check(f"the file goes on behind chunk {at - 1}", is_same=False)
            break
        if window is None:
            return Check(f"differs at chunk {at}: the file ends before it", is_same=False)
        if window != chunk:
            exact = False
            if window.strip() != chunk.strip():
                return Check(f"differs at chunk {at}", is_same=False)
    return SAME if exact else EDGES


def _within(text: str, chunks: Sequence[str]) -> Check:
    if _first_absent(text, chunks) is None:
        return WITHIN
    # The same in texts without white space, where the file may have got some back.
    absent = _first_absent("".join(text.split()), ["".join(chunk.split()) for chunk in chunks])
    if absent is None:
        return WITHIN_LOOSELY
    return Check(f"chunk {absent} does not stand in it where it should", is_same=False)


def _first_absent(text: str, chunks: Sequence[str]) -> int | None:
    """Which chunk does not stand in `text` behind where the one before begins; None if all do."""
    at = 0
    for index, chunk in enumerate(chunks):
        at = next((found for one in _bare(chunk) if (found := text.find(one, at)) != -1), -1)
        if at == -1:
            return index
    return None


def _bare(chunk: str) -> Iterator[str]:
    """A chunk, and without the marks of characters that were cut at its edges."""
    yield chunk
    if chunk.startswith(CUT) or chunk.endswith(CUT):
        yield chunk.strip(CUT)
