"""Notes on parts of documents: what a model wrote of each, with its citations checked.

A citation of what is not in the part is dropped. Valid citations are rewritten in our own format,
so that a model cannot forge one.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from unchunk.chat.citations import citations
from unchunk.chat.context import BETWEEN, Context, citable, full_name, shown, words_of
from unchunk.chat.events import Cited
from unchunk.chat.sent import Sent
from unchunk.domain import DocumentId
from unchunk.ports import TokenUsage
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.fitting import most
from unchunk.retrieval.marking import citation, fence, gap_mark, source_mark, tag_for
from unchunk.text.sentences import sentence_starts

# What a model is told to write of a part that says nothing on the question.
NOTHING = "nothing"
_NOTHING_SAID = "(It says nothing on the question.)"

Piece = str | tuple[DocumentId, int]
"""Words of a note, or the chunk that is cited behind them."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some chunks of a document, as many as a prompt holds: part `number` of `count`, from 1."""

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
    """What a model wrote of a part, and what it took; without `pieces` there was nothing to say."""

    part: Part
    pieces: tuple[Piece, ...] = ()
    usage: TokenUsage | None = None

    @property
    def cited(self) -> frozenset[tuple[DocumentId, int]]:
        return frozenset(one for one in self.pieces if not isinstance(one, str))


def checked(text: str, part: Part) -> tuple[Piece, ...]:
    """A model's words in pieces, without the citations of what the part does not have."""
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
    """Where the whole bracket stands that a citation is in."""
    if text[cited.at] == "[":
        return cited.at, cited.end
    return text.rindex("[", 0, cited.at), text.index("]", cited.end) + 1


def _sentences(text: str) -> Iterator[str]:
    """The text, cut where it may have to be cut short."""
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
    """Documents as they are, then the notes on parts, as much of each as fits.

    A part that there are no notes of, because it could not be read, is marked as omitted.
    """
    longest = max((len(one.pieces) for one in notes), default=0)
    written = {one.part.number: one for one in notes}

    def rendered(number: int) -> Context:
        return _rendered(others, parts, {at: _short(it, number) for at, it in written.items()})

    return rendered(most(lambda n: fits(rendered(n).text), longest, longest))


def _short(notes: Notes, number: int) -> Notes:
    """The first pieces, and the citations right behind them."""
    end = number
    while end < len(notes.pieces) and not isinstance(notes.pieces[end], str):
        end += 1
    return replace(notes, pieces=notes.pieces[:end])


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
    if notes is None:
        written = gap_mark(part.first_chunk, part.last_chunk, tag)
    else:
        written = "".join(_piece(one, tag) for one in notes.pieces).strip() or _NOTHING_SAID
    coverage = part.document.chunk_coverage
    about = f"notes on part {part.number} of {part.count}"
    return f"{source_mark(', '.join([full_name(part.document), about, coverage]), tag)}\n{written}"


def _piece(piece: Piece, tag: str) -> str:
    return piece if isinstance(piece, str) else f" {citation(*piece, tag)}"


def cited_alone(
    documents: Sequence[ReconstructedDocument], cited: frozenset[tuple[DocumentId, int]]
) -> tuple[ReconstructedDocument, ...]:
    """The documents with those of their chunks alone that an answer may cite."""
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
