"""Evidence as a model is sent it: each document named, each chunk cited, all of it fenced as data.

What is ours in it can be told from what documents say, by form or, where a document says
something of that form, by a tag that is in none of them. Without what is ours it is the passages,
character for character.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from unchunk.domain import Chunk, DocumentId
from unchunk.retrieval.evidence import Passage, ReconstructedDocument
from unchunk.retrieval.marking import (
    citation,
    cited_id,
    fence,
    named,
    note_mark,
    source_mark,
    tag_for,
)
from unchunk.retrieval.reconstruct import mark_of

BETWEEN = "\n\n"
_LONGEST_REMARK = 600


@dataclass(frozen=True, slots=True)
class Context:
    """`text` goes to the model as it is. Where there is a `tag`, the model has to be told it.

    `citations` are the chunks that it may cite.
    """

    text: str
    tag: str = ""
    citations: frozenset[tuple[DocumentId, int]] = frozenset()


def render(documents: Sequence[ReconstructedDocument], disagreement: str = "") -> Context:
    """The documents in their order, then where they differ; nothing at all where there is none."""
    documents = [one for one in documents if one.passages]
    if not documents:
        return Context("")
    remark = named(disagreement, _LONGEST_REMARK)
    tag = tag_for(chain((words for one in documents for words in words_of(one)), [remark]))
    parts = [shown(one, tag) for one in documents]
    if remark:
        parts.append(note_mark(remark, tag))
    return Context(fence(BETWEEN.join(parts), tag), tag, frozenset(citable(documents)))


def citable(documents: Sequence[ReconstructedDocument]) -> Iterator[tuple[DocumentId, int]]:
    """The chunks that stand in the documents' passages."""
    for one in documents:
        for passage in one.passages:
            for chunk in _chunks(passage):
                yield one.document, chunk.chunk_index


def words_of(document: ReconstructedDocument) -> Iterator[str]:
    """All that is not ours: what the document says, and what others called it and its parts."""
    for passage in document.passages:
        yield passage.text
        yield _facts(document, passage)
    yield cited_id(document.document)


def shown(document: ReconstructedDocument, tag: str) -> str:
    """A line that names it, then its passages with what is left out around them."""
    [first, *others] = document.passages
    parts = [source_mark(_facts(document, None if others else first), tag)]
    gaps = iter(document.gaps)
    # Only the mark before the first passage has no line end before it.
    if document.gaps and not document.full_content.startswith("\n", document.gaps[0].at):
        parts.append(mark_of(next(gaps), None, first, tag))
    for passage, behind in zip(document.passages, [*others, None], strict=True):
        if others and (place := [*_place(passage)]):
            parts.append(source_mark(", ".join(["as above", *place]), tag))
        parts.append(_cited(document.document, passage, tag))
        if gap := next(gaps, None):
            parts.append(mark_of(gap, passage, behind, tag))
    return "\n".join(parts)


def _cited(document: DocumentId, passage: Passage, tag: str) -> str:
    """The passage, each chunk's citation behind what that chunk adds, before the blanks there."""
    parts: list[str] = []
    done = 0
    for chunk in _chunks(passage):
        end = max(done, min(chunk.end - passage.start, len(passage.text)))
        new = passage.text[done:end]
        words = new.rstrip()
        parts += (words, " ", citation(document, chunk.chunk_index, tag), new[len(words) :])
        done = end
    return "".join(parts) + passage.text[done:]


def _chunks(passage: Passage) -> tuple[Chunk, ...]:
    """Those it was made of; where they are not known, it is one."""
    return passage.chunks or (Chunk(passage.first_chunk, passage.start, passage.end),)


def _facts(document: ReconstructedDocument, passage: Passage | None) -> str:
    """Which document it is, where in it the passage stands, and how much of it is there."""
    facts = [full_name(document)]
    facts += _place(passage) if passage else ()
    if document.chunks:
        by_words = document.found_by == "words"
        facts.append("found by words" if by_words else f"score={document.max_score:.2f}")
    return ", ".join([*facts, document.kind, document.chunk_coverage])


def full_name(document: ReconstructedDocument) -> str:
    """A document's path and title, as they may stand in a mark."""
    path = f"{document.folder}/{document.name}" if document.folder else document.name
    title = document.title.strip()
    return named(f"{path} ({title})" if title not in ("", document.name) else path)


def _place(passage: Passage) -> Iterator[str]:
    """Where in its document a passage stands."""
    first, last = passage.first_page, passage.last_page
    if first is not None:
        yield f"page={first}" if last in (None, first) else f"page={first}-{last}"
    if under := named(" / ".join(passage.heading_path)):
        yield f"under {under}"
