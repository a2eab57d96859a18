"""Notes that a model wrote on parts of documents, with their citations checked.

A citation of what is not in the part is dropped. Valid citations are rewritten in our own format,
so that a model cannot forge one.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise

from unchunk.chat.citations import citations
from unchunk.chat.context import BETWEEN, Context, citable, full_name, shown, words_of
from unchunk.chat.events import Cited
from unchunk.chat.sent import Sent
from unchunk.domain import DocumentId
from unchunk.ports import TokenUsage
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.fitting import most
from unchunk.retrieval.marking import (
    citation,
    fence,
    gap_mark,
    notes_mark,
    source_mark,
    tag_for,
)
from unchunk.text.sentences import sentence_starts
from unchunk.text.truncation import beginning

# What a model is told to write on a part that says nothing on the question.
NOTHING = "nothing"
_NOTHING_SAID = "(It says nothing on the question.)"

Piece = str | tuple[DocumentId, int]
"""A sentence of the notes, or the chunk that is cited after it."""


@dataclass(frozen=True, slots=True)
class Part:
    """As many chunks of a document as fit in a prompt: part `number` of `count`, from 1."""

    number: int
    count: int
    document: ReconstructedDocument

    @property
    def first_chunk(self) -> int:
        return min(one.first_chunk for one in self.document.passages)

    @property
    def last_chunk(self) -> int:
        return max(one.last_chunk for one in self.document.passages)


@dataclass(frozen=True, slots=True)
class Notes:
    """What a model wrote on a part, the tokens that it took, and why it ended.

    `is_cut` means that the end is missing. Without `pieces`, the part says nothing on the question,
    or, with `is_cut`, none of its notes are left.
    """

    part: Part
    pieces: tuple[Piece, ...] = ()
    usage: TokenUsage | None = None
    finish: str = ""
    is_cut: bool = False

    @property
    def cited(self) -> frozenset[tuple[DocumentId, int]]:
        return frozenset(one for one in self.pieces if not isinstance(one, str))


def checked(text: str, part: Part) -> tuple[Piece, ...]:
    """Split what a model wrote into pieces, without citations of what the part does not have."""
    if re.fullmatch(rf"\W*{NOTHING}\W*", text, re.IGNORECASE):
        return ()
    pieces: list[Piece] = []
    done = 0
    found = citations(text, Sent([part.document]))
    for (start, end), group in groupby(found, key=lambda one: _bracket(text, one)):
        known = dict.fromkeys(
            (it.document, it.chunk_index) for it in group if it.state != "unknown"
        )
        pieces += [*_sentences(text[done:start].rstrip()), *known]
        done = end
    return (*pieces, *_sentences(text[done:].rstrip()))


def _bracket(text: str, cited: Cited) -> tuple[int, int]:
    """Find the start and the end of the brackets around a citation."""
    if text[cited.at] == "[":
        return cited.at, cited.end
    return text.rindex("[", 0, cited.at), text.index("]", cited.end) + 1


def _sentences(text: str) -> Iterator[str]:
    """Split a text into its sentences."""
    places = [0, *(at for at in sentence_starts(text) if 0 < at < len(text)), len(text)]
    for start, end in pairwise(places):
        if start < end:
            yield text[start:end]


def noted(
    others: Sequence[ReconstructedDocument],
    parts: Sequence[Part],
    notes: Sequence[Notes],
    fits: Callable[[str], bool],
) -> Context:
    """Render documents as they are, then as much of the notes on each part as fits.

    All parts have the same room. What short notes leave of theirs goes to the longer ones, so that
    long notes on one part leave the notes on the others alone. An omission mark stands where notes
    were cut, and in place of the notes on a part that could not be read.
    """
    longest = max((_length(one.pieces) for one in notes), default=0)

    def rendered(limit: int) -> Context:
        return _rendered(others, parts, {one.part.number: _short(one, limit) for one in notes})

    return rendered(most(lambda limit: fits(rendered(limit).text), longest, longest))


def _length(pieces: Sequence[Piece]) -> int:
    return sum(len(_piece(one)) for one in pieces)


def _short(notes: Notes, limit: int) -> Notes:
    """Keep about the first `limit` characters, and the citation right after them."""
    ends = [0, *accumulate(len(_piece(one)) for one in notes.pieces)]
    if ends[-1] <= limit:
        return notes
    number = bisect_right(ends, limit) - 1
    used, kept, following = ends[number], [*notes.pieces[:number]], notes.pieces[number:]
    # Half a sentence is better than leaving most of the room empty.
    short = beginning(piece, limit - used) if isinstance(piece := following[0], str) else ""
    if short and used < limit / 2:
        kept, following = [*kept, short], following[1:]
    # Without its citation, an answer could not cite what the sentence says.
    if kept and isinstance(kept[-1], str) and following and not isinstance(following[0], str):
        kept.append(following[0])
    return replace(notes, pieces=tuple(kept), is_cut=True)


def _rendered(
    others: Sequence[ReconstructedDocument], parts: Sequence[Part], notes: dict[int, Notes]
) -> Context:
    said = [one for it in notes.values() for one in it.pieces if isinstance(one, str)]
    names = [full_name(one.document) for one in parts]
    tag = tag_for([*said, *names, *(text for one in others for text in words_of(one))])
    shown_parts = (_part(one, notes.get(one.number), tag) for one in parts)
    text = BETWEEN.join([*(shown(one, tag) for one in others), *shown_parts])
    cited = frozenset(citable(others)).union(*(one.cited for one in notes.values()))
    return Context(fence(text, tag), tag, cited)


def _part(part: Part, notes: Notes | None, tag: str) -> str:
    coverage = part.document.chunk_coverage
    about = f"notes on part {part.number} of {part.count}"
    heading = source_mark(", ".join([full_name(part.document), about, coverage]), tag)
    return f"{heading}\n{_written(part, notes, tag)}"


def _written(part: Part, notes: Notes | None, tag: str) -> str:
    if notes is None or (notes.is_cut and not notes.pieces):
        return gap_mark(part.first_chunk, part.last_chunk, tag)
    if not notes.pieces:
        return _NOTHING_SAID
    words = "".join(_piece(one, tag) for one in notes.pieces)
    return f"{words} {notes_mark(tag)}".strip() if notes.is_cut else words.strip()


def _piece(piece: Piece, tag: str = "") -> str:
    return piece if isinstance(piece, str) else f" {citation(*piece, tag)}"


def cited_alone(
    documents: Sequence[ReconstructedDocument], cited: frozenset[tuple[DocumentId, int]]
) -> tuple[ReconstructedDocument, ...]:
    """Reduce documents to those of their chunks that an answer may cite."""
    return tuple(
        replace(
            one,
            chunks=tuple(it for it in one.chunks if (one.document, it.chunk_index) in cited),
            passages=tuple(
                replace(
                    passage,
                    chunks=tuple(
                        it for it in passage.chunks if (one.document, it.chunk_index) in cited
                    ),
                )
                for passage in one.passages
            ),
        )
        for one in documents
    )
