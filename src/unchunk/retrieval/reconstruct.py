"""Which chunks to ask for, and how they become passages and documents again.

A chunk is a span of its document, so joining is slicing: nothing is guessed and nothing comes
twice. Knows nothing of what a chunk is worth.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from unchunk.retrieval.evidence import (
    ChunkResult,
    Gap,
    Kind,
    Passage,
    ReconstructedDocument,
)
from unchunk.retrieval.marking import gap_mark, tag_for
from unchunk.retrieval.shelf import Piece, Sheet

# A hole between two runs that is not wider than this is asked for too, since filling it may be
# worth it. Two, because an overlap can make two chunks hide no more text than one has.
_WIDEST_BRIDGE = 2


def wanted(hits: Iterable[int], chunk_count: int | None, reach: int = 1) -> list[int]:
    """The hits, what stands within `reach` of them, and what would join two runs of these.

    It names all that a selection may want, so that one call can open it. With a reach of 0 it
    is the hits alone.
    """
    chosen = {
        near
        for hit in hits
        if hit >= 0 and (chunk_count is None or hit < chunk_count)
        for near in range(max(hit - reach, 0), hit + reach + 1)
        if chunk_count is None or near < chunk_count
    }
    if reach > 0:
        for before, after in pairwise(sorted(chosen)):
            if 1 < after - before <= _WIDEST_BRIDGE + 1:
                chosen.update(range(before + 1, after))
    return sorted(chosen)


def assemble(
    sheet: Sheet, chosen: Iterable[int], scores: Mapping[int, float], kind: Kind = "passages"
) -> ReconstructedDocument:
    """The chosen chunks, as far as the sheet has them, as one document with its gaps marked."""
    passages = merge(sheet, chosen)
    return compose(sheet, passages, scores, kind, tag_for(one.text for one in passages))


def merge(sheet: Sheet, chosen: Iterable[int]) -> tuple[Passage, ...]:
    """Passages in the order of the text: chunks that meet or overlap in it become one.

    Chunks between them that were not chosen, but whose text is there all the same, count in.
    """
    pieces = sorted(
        (sheet.pieces[index] for index in set(chosen) if index in sheet.pieces),
        key=lambda piece: piece.chunk[1:3],
    )
    passages: list[Passage] = []
    run: list[Piece] = []
    covered = 0
    for piece in pieces:
        if run and piece.chunk.start > covered:
            passages.append(_passage(run))
            run = []
        covered = max(covered, piece.chunk.end) if run else piece.chunk.end
        run.append(piece)
    if run:
        passages.append(_passage(run))
    return tuple(passages)


def compose(
    sheet: Sheet,
    passages: Sequence[Passage],
    scores: Mapping[int, float],
    kind: Kind = "passages",
    tag: str = "",
) -> ReconstructedDocument:
    """A document of these passages, with a mark on a line of its own between each two.

    `tag` is for all that is shown together, see `tag_for`. The hits are those of the scored
    chunks whose text is there.
    """
    parts: list[str] = []
    gaps: list[Gap] = []
    at = 0
    for place, passage in enumerate(passages):
        if place:
            first, last = passages[place - 1].last_chunk + 1, passage.first_chunk - 1
            mark = f"\n{gap_mark(first, last, tag)}\n"
            gaps.append(Gap(first, last, at, at + len(mark)))
            parts.append(mark)
            at += len(mark)
        parts.append(passage.text)
        at += len(passage.text)
    return ReconstructedDocument(
        document=sheet.document,
        name=sheet.name,
        folder=sheet.folder,
        title=sheet.title,
        content_type=sheet.content_type,
        chunk_count=sheet.chunk_count,
        chunks=tuple(
            ChunkResult(index, scores[index], sheet.pieces[index].text)
            for index in sorted(scores)
            if index in sheet.pieces and shows(passages, sheet.pieces[index])
        ),
        passages=tuple(passages),
        full_content="".join(parts),
        gaps=tuple(gaps),
        tag=tag,
        kind=kind,
        metadata=sheet.metadata,
    )


def shows(passages: Iterable[Passage], piece: Piece) -> bool:
    """Whether all of the piece's text is in one of the passages."""
    return any(one.start <= piece.chunk.start and piece.chunk.end <= one.end for one in passages)


def _passage(run: Sequence[Piece]) -> Passage:
    start = end = run[0].chunk.start
    parts: list[str] = []
    for chunk, text in run:
        if chunk.end > end:
            parts.append(text[end - chunk.start :])
            end = chunk.end
    chunks = [piece.chunk for piece in run]
    indices = [chunk.chunk_index for chunk in chunks]
    return Passage(
        first_chunk=min(indices),
        last_chunk=max(indices),
        start=start,
        end=end,
        text="".join(parts),
        first_page=min((c.first_page for c in chunks if c.first_page is not None), default=None),
        last_page=max((c.last_page for c in chunks if c.last_page is not None), default=None),
        heading_path=_common([chunk.heading_path for chunk in chunks]),
        chunks=tuple(chunks),
    )


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """What all the paths begin with."""
    least, most = min(paths), max(paths)
    for depth, (one, other) in enumerate(zip(least, most, strict=False)):
        if one != other:
            return least[:depth]
    return least[: len(most)]
