"""Which chunks to ask for, and how they become passages and documents again.

A chunk is a span of its document, so joining is slicing: nothing is guessed and nothing comes
twice. Knows nothing of what a chunk is worth.
"""

import sys
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from unchunk.domain import Chunk, Heading
from unchunk.retrieval.evidence import (
    ChunkResult,
    Gap,
    Kind,
    Passage,
    ReconstructedDocument,
)
from unchunk.retrieval.marking import cut_mark, gap_mark, tag_for
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
    *,
    is_cut: bool = False,
    headings: Sequence[tuple[Heading, bool]] = (),
    uncut: Mapping[int, Piece] | None = None,
) -> ReconstructedDocument:
    """A document of these passages, with a mark on a line of its own between each two.

    In an excerpt there are marks before the first and behind the last, too. They name those of the
    document's `headings` that come with True, and count the others. With `is_cut` the last passage
    lacks the end of its last chunk; `uncut` are the sheet's pieces as they were before some of them
    were cut at either end. `tag` is for all that is shown together, see `tag_for`. The
    hits are those of the scored chunks whose text is there.
    """
    parts: list[str] = []
    gaps: list[Gap] = []
    at = 0
    for before, passage in zip([None, *passages], [*passages, None], strict=True):
        if gap := _gap(sheet, before, passage, uncut, is_excerpt=kind == "excerpt", is_cut=is_cut):
            gap = _with_headings(gap, before, passage, headings)
            newlines = ("\n" if before else "", "\n" if passage else "")
            mark = mark_of(gap, before, passage, tag).join(newlines)
            gaps.append(gap._replace(at=at, end=at + len(mark)))
            parts.append(mark)
            at += len(mark)
        if passage is not None:
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


def mark_of(gap: Gap, before: Passage | None, behind: Passage | None, tag: str = "") -> str:
    """What stands for a gap between the passages `before` and `behind` it, if there are any."""
    said = gap.first_chunk, gap.last_chunk, tag, gap.headings, gap.more_headings
    rest = before is not None and gap.first_chunk <= before.last_chunk
    beginning = behind is not None and gap.last_chunk >= behind.first_chunk
    return cut_mark(*said, rest=rest, beginning=beginning) if rest or beginning else gap_mark(*said)


def _gap(
    sheet: Sheet,
    before: Passage | None,
    behind: Passage | None,
    uncut: Mapping[int, Piece] | None,
    *,
    is_excerpt: bool,
    is_cut: bool,
) -> Gap | None:
    """What is left out between two passages, before the first or behind the last."""
    if before is None and (behind is None or not is_excerpt):
        return None
    first, last = 0, -1
    if before is not None:
        last = before.last_chunk
        first = last if is_cut and behind is None else last + 1
        for index, whole in _wholes(before, uncut):
            if whole.end > before.end:
                first = min(first, index)
    if behind is not None:
        last = behind.first_chunk - 1
        for index, whole in _wholes(behind, uncut):
            if whole.start < behind.start:
                last = max(last, index)
    elif is_excerpt and sheet.chunk_count is not None:
        last = max(last, sheet.chunk_count - 1)
    is_between = before is not None and behind is not None
    return Gap(first, last, 0, 0) if is_between or first <= last else None


def _wholes(passage: Passage, uncut: Mapping[int, Piece] | None) -> Iterable[tuple[int, Chunk]]:
    """The chunks of a passage as they were before some of them were cut."""
    if uncut is None:
        return ()
    indices = range(passage.first_chunk, passage.last_chunk + 1)
    return ((index, uncut[index].chunk) for index in indices if index in uncut)


def _with_headings(
    gap: Gap,
    before: Passage | None,
    behind: Passage | None,
    headings: Sequence[tuple[Heading, bool]],
) -> Gap:
    start = 0 if before is None else before.end
    end = sys.maxsize if behind is None else behind.start
    first = bisect_left(headings, start, key=lambda one: one[0].at)
    here = headings[first : bisect_left(headings, end, lo=first, key=lambda one: one[0].at)]
    titles = tuple(one.title for one, is_named in here if is_named)
    return gap._replace(headings=titles, more_headings=len(here) - len(titles))


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
