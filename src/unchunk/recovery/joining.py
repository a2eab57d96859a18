"""Fetched chunks into texts, each with how sure it is. Does no I/O."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from unchunk.domain import ChunkingStrategy
from unchunk.errors import InvalidTextError
from unchunk.ports import LostChunks, LostFile
from unchunk.recovery.sizes import is_whole, tells_all
from unchunk.text.stitching import Stitched, stitch, stitch_chunks, stitch_files, stitch_placed
from unchunk.text.stitching.seams import worst


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
    results |= _together({at: one for at, one in enumerate(files) if at not in results})
    return [_doubted(files[at], results[at]) for at in range(len(files))]


def joined_literally(file: Fetched, overlap: int) -> Stitched:
    """The text by one overlap for all joints; nothing is known of how right that is."""
    texts = file.chunks.texts
    text = stitch_chunks(texts, overlap)
    note = f"joined by one overlap of {overlap} characters, measured on the first pair of chunks"
    return Stitched(
        text,
        (),
        "exact" if len(texts) == 1 else "none",
        file.strategy,
        order=tuple(range(len(texts))),
        notes=(note,) if len(texts) > 1 else (),
    )


def _together(files: dict[int, Fetched]) -> dict[int, Stitched | InvalidTextError]:
    try:
        return {
            int(at): stitched
            for at, stitched in stitch_files(
                {str(at): one.chunks.texts for at, one in files.items()},
                {str(at): one.strategy for at, one in files.items()},
                from_start={str(at): one.from_start for at, one in files.items()},
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


def _doubted(one: Fetched, stitched: Stitched | InvalidTextError) -> Stitched | InvalidTextError:
    """The result with what the store says of it, which may be less sure than the chunks are."""
    if isinstance(stitched, InvalidTextError) or not one.chunks.texts:
        return stitched
    sure, notes = [stitched.confidence], [*stitched.notes, *one.chunks.notes]
    if one.chunks.complete is False:
        sure.append("ambiguous")
    if tells_all(one.file):
        written = len(stitched.text.encode("utf-8", "surrogatepass"))
        if not is_whole(one.file, stitched.text, written):
            sure.append("ambiguous")
            notes.append(
                f"the store says that the file had {one.file.size:,} bytes: {written:,} came back"
            )
    return replace(stitched, confidence=worst(sure), notes=tuple(notes))
