"""Chunks that came one by one, laid out in one text so that neighbours join by slicing. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from unchunk.domain import Chunk, ChunkingStrategy, DocumentId, Span
from unchunk.retrieval.shelf import Doubt, Piece
from unchunk.text.stitching import Confidence, Seam, Stitched, stitch_files

_DOUBTS: dict[Confidence, str] = {
    "assumed": "have no overlap; they are assumed to be adjacent",
    "ambiguous": "fit together at several places: one was chosen",
    "lossy": "cut a character in two, and neither has the whole of it",
    "none": "share nothing: what stands between them is a guess",
}


class Unplaced(NamedTuple):
    """A chunk's text, and where its keeper says that it is, if anything."""

    text: str
    start: int | None = None
    end: int | None = None
    page: int | None = None


class Joined(NamedTuple):
    """The chunks of a document with places; `doubts` names the joints that are not sure."""

    pieces: dict[int, Piece]
    doubts: tuple[Doubt, ...] = ()


def join(
    documents: Mapping[DocumentId, Mapping[int, Unplaced]],
    strategy: ChunkingStrategy | None = None,
) -> dict[DocumentId, Joined]:
    """Give every chunk a place, by its index in each document.

    Where all of a document's chunks say where they are, and their texts agree with it, they are
    there. Otherwise each run of consecutive chunks is stitched, and the runs are laid out one
    behind another, apart: then places tell what joins and what overlaps, and nothing else. All
    runs of all documents are stitched together, since they tell more together.
    """
    done: dict[DocumentId, Joined] = {}
    runs: dict[str, list[int]] = {}
    runs_of: dict[DocumentId, list[str]] = {}
    texts: dict[str, list[str]] = {}
    for document, chunks in documents.items():
        if placed := _as_said(chunks):
            done[document] = Joined(placed)
            continue
        for run in _runs(sorted(chunks)):
            name = f"{len(runs)}"
            runs[name] = run
            texts[name] = [chunks[at].text for at in run]
            runs_of.setdefault(document, []).append(name)
    starts = {name: run[0] == 0 for name, run in runs.items()}
    stitched = stitch_files(texts, strategy, from_start=starts)
    for document, names in runs_of.items():
        pieces: dict[int, Piece] = {}
        doubts: list[Doubt] = []
        base = 0
        for name in names:
            text = _in_order(stitched[name], texts[name])
            pieces.update(_laid_out(documents[document], runs[name], text, base))
            doubts += _doubts(runs[name], text.seams, strategy)
            base += len(text.text) + 1
        done[document] = Joined(pieces, tuple(doubts))
    return done


def _runs(indices: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for at in indices:
        if runs and runs[-1][-1] == at - 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs


def _as_said(chunks: Mapping[int, Unplaced]) -> dict[int, Piece] | None:
    """The pieces where their keeper says that they are; None if that cannot be."""
    pieces: dict[int, Piece] = {}
    for at, (text, start, end, page) in sorted(chunks.items()):
        if start is None or end is None or end - start != len(text):
            return None
        pieces[at] = Piece(Chunk(at, start, end, page, page), text)
    for left, right in pairwise(pieces.values()):
        shared = left.chunk.end - right.chunk.start
        if right.chunk.start < left.chunk.start or right.chunk.end < left.chunk.end:
            return None
        # Between neighbours that do not touch something is missing: how it looked is a guess.
        if shared < 0 and right.chunk.chunk_index == left.chunk.chunk_index + 1:
            return None
        if shared > 0 and left.text[-shared:] != right.text[:shared]:
            return None
    return pieces


def _in_order(stitched: Stitched, texts: Sequence[str]) -> Stitched:
    """As stitched, unless that has another order than the chunks' own numbers have."""
    if not stitched.reordered:
        return stitched
    whole, seams, spans = "", [], []
    for at, text in enumerate(texts):
        if at:
            whole += "\n"
            seams.append(Seam(at, len(whole), 0, "none", "newline"))
        spans.append(Span(len(whole), len(whole) + len(text)))
        whole += text
    return Stitched(whole, tuple(seams), "none", None, tuple(spans), tuple(range(len(texts))))


def _laid_out(
    chunks: Mapping[int, Unplaced], run: Sequence[int], stitched: Stitched, base: int
) -> Iterator[tuple[int, Piece]]:
    """What stands between two chunks that share nothing goes with the first of them."""
    starts = [span.start for span in stitched.spans]
    for at, span, behind in zip(run, stitched.spans, [*starts[1:], 0], strict=True):
        end = max(span.end, behind)
        page = chunks[at].page
        place = Chunk(at, base + span.start, base + end, page, page)
        yield at, Piece(place, stitched.text[span.start : end])


def _doubts(
    run: Sequence[int], seams: Sequence[Seam], strategy: ChunkingStrategy | None
) -> Iterator[Doubt]:
    for seam in seams:
        left, right = run[seam.index - 1], run[seam.index]
        doubt = _DOUBTS.get(seam.confidence)
        if seam.confidence == "assumed" and strategy is not None:
            doubt = None  # so it was said to be
        if seam.missing:
            doubt = "do not follow each other: something is missing between them"
        if doubt:
            yield Doubt(f"chunks {left} and {right}", doubt)
