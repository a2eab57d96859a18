"""Fetched chunks into texts, each with how sure it is. Does no I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from unchunk.domain import ChunkingStrategy
from unchunk.errors import InvalidTextError
from unchunk.ports import LostChunks, LostFile
from unchunk.recovery.beginnings import may_lack_its_beginning
from unchunk.recovery.sizes import ODD, Encoding, encoding_of, tells_all
from unchunk.text.stitching import Stitched, stitch, stitch_chunks, stitch_files, stitch_placed
from unchunk.text.stitching.seams import Confidence, worst
from unchunk.text.stitching.verdict import MIDDLE

FIRST = "nothing shows that the first chunk is the first of the file"


class Fetched(NamedTuple):
    """A file and its chunks; `strategy` is what the store told, or else who asked."""

    file: LostFile
    chunks: LostChunks
    strategy: ChunkingStrategy | None

    @property
    def from_start(self) -> bool | None:
        """Where the size will show whether it was so, the first chunk is taken for the first."""
        told = self.chunks.from_start
        return True if told is None and tells_all(self.file) else told


def joined(files: Sequence[Fetched]) -> list[Stitched | InvalidTextError]:
    """The text of each file; the error where one cannot be made.

    By offsets where chunks carry them; the others together, since what one leaves open of how
    they were cut, others may settle.
    """
    results: dict[int, Stitched | InvalidTextError] = {}
    for at, one in enumerate(files):
        if one.chunks.starts is not None and one.chunks.texts:
            placed = stitch_placed(
                one.chunks.texts, one.chunks.starts, from_start=one.chunks.from_start
            )
            if placed is not None:
                results[at] = placed
    placed_ones = frozenset(results)
    results |= _together({at: one for at, one in enumerate(files) if at not in results})
    return [_doubted(one, results[at], is_placed=at in placed_ones) for at, one in enumerate(files)]


def joined_literally(file: Fetched, overlap: int) -> Stitched | InvalidTextError:
    """The text by one overlap for all joints; nothing is known of how right that is.

    One chunk has no joint, so of that as much is known as ever.
    """
    texts = file.chunks.texts
    if len(texts) == 1:
        return joined([file])[0]
    text = stitch_chunks(texts, overlap)
    note = f"joined by one overlap of {overlap} characters, measured on the first pair of chunks"
    order = tuple(range(len(texts)))
    return _doubted(file, Stitched(text, (), "none", file.strategy, order=order, notes=(note,)))


def _together(files: dict[int, Fetched]) -> dict[int, Stitched | InvalidTextError]:
    try:
        return {
            int(at): stitched
            for at, stitched in stitch_files(
                {str(at): one.chunks.texts for at, one in files.items()},
                {str(at): one.strategy for at, one in files.items()},
                from_start={str(at): one.from_start for at, one in files.items()},
                sizes={str(at): one.file.size for at, one in files.items() if tells_all(one.file)},
            ).items()
        }
    except InvalidTextError:
        # Half a character in one of them, which no token holds.
        return {at: _alone(one) for at, one in files.items()}


def _alone(one: Fetched) -> Stitched | InvalidTextError:
    for strategy in (one.strategy, None):
        try:
            return stitch(one.chunks.texts, strategy, from_start=one.from_start)
        except InvalidTextError as error:
            problem = error
    return problem


def _doubted(
    one: Fetched, stitched: Stitched | InvalidTextError, *, is_placed: bool = False
) -> Stitched | InvalidTextError:
    """The result with what the store says of it, which may be less sure than the chunks are."""
    if isinstance(stitched, InvalidTextError):
        return stitched
    if not one.chunks.texts:
        size = one.file.size
        lost = (f"the store says that the file had {size:,} bytes",) if size else ()
        return replace(stitched, notes=(*stitched.notes, *one.chunks.notes, *lost))
    encoding = encoding_of(one.file, stitched.text) if tells_all(one.file) else None
    doubts = list(_doubts(one, stitched.text, encoding))
    if one.chunks.from_start is None and not is_placed and encoding != "utf-8":
        is_middle = may_lack_its_beginning(stitched.text)
        doubts.append(("ambiguous", MIDDLE) if is_middle else ("exact", FIRST))
    notes = [*stitched.notes, *one.chunks.notes, *(note for _, note in doubts)]
    sure = [stitched.confidence, *(confidence for confidence, _ in doubts)]
    return replace(stitched, confidence=worst(sure), notes=tuple(dict.fromkeys(notes)))


def _doubts(one: Fetched, text: str, encoding: Encoding | None) -> Iterator[tuple[Confidence, str]]:
    if one.chunks.complete is False:
        yield "ambiguous", "the store itself says that chunks are missing"
    if tells_all(one.file) and encoding is None:
        written = len(text.encode("utf-8", "surrogatepass"))
        told = f"the store says that the file had {one.file.size:,} bytes"
        yield "ambiguous", f"{told}: {written:,} came back"
    elif encoding is not None and encoding in ODD:
        yield "normalized", ODD[encoding]
