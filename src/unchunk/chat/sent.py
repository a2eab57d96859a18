"""What went to the model, and so what an answer may cite. Pure."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from unchunk.chat.events import CitationState
from unchunk.domain import Chunk, DocumentId
from unchunk.retrieval.evidence import ChunkResult, Passage, ReconstructedDocument
from unchunk.retrieval.marking import cited_id

# What makes ids does not tell large letters from small ones: our own ids, UUIDs, other hex.
_MADE = re.compile(r"[0-9a-v]{16}|[0-9a-f][0-9a-f-]{6,}[0-9a-f]", re.IGNORECASE)
_MIXED = re.compile(r"(?=[^a-z]*[a-z])[^0-9]*[0-9]", re.IGNORECASE)
# Of a range, so many chunks are cited at most: its two numbers cost an answer nothing.
_WIDEST = 32


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a citation means; where `state` is "unknown", nothing but what it says.

    `[start, end)` is the chunk's range in its document's text, or of the part of it that was sent.
    """

    state: CitationState
    document: DocumentId
    chunk_index: int
    name: str = ""
    start: int | None = None
    end: int | None = None
    first_page: int | None = None
    last_page: int | None = None
    heading_path: tuple[str, ...] = ()


class Sent:
    """Every chunk of the documents, by the ids that they are cited with.

    A chunk that was found is "cited". One that came along is "context", also where a full
    document or an excerpt was sent: nothing found it.
    """

    def __init__(self, documents: Sequence[ReconstructedDocument]) -> None:
        self._chunks: dict[DocumentId, dict[int, Resolved]] = {}
        for document in documents:
            chunks = self._chunks.setdefault(document.document, {})
            for one in _resolved(document):
                if one.state == "cited" or one.chunk_index not in chunks:
                    chunks[one.chunk_index] = one
        self._ordered = {document: sorted(chunks) for document, chunks in self._chunks.items()}
        folded: dict[str, list[DocumentId]] = {}
        for one_id in filter(looks_made, self._chunks):
            folded.setdefault(one_id.lower(), []).append(one_id)
        self._folded = {key: ids[0] for key, ids in folded.items() if len(ids) == 1}
        self._written = {written: one for one in self._chunks for written in (cited_id(one), one)}

    @property
    def ids(self) -> Iterable[str]:
        """As they are, and as they stand in citations."""
        return self._written.keys()

    def identify(self, written: str) -> DocumentId | None:
        """The document that was sent under this id; large and small letters are one in made ids."""
        return self._written.get(written) or self._folded.get(written.lower())

    def resolve(self, document: str, chunk_index: int) -> Resolved:
        known = self.identify(document)
        if known is None:
            return Resolved("unknown", document, chunk_index)
        unknown = Resolved("unknown", known, chunk_index)
        return self._chunks[known].get(chunk_index, unknown)

    def resolve_range(self, document: str, first: int, last: int) -> Iterator[Resolved]:
        """Those of the chunks that were sent, at most 32, and the first that was not, if any."""
        known = self.identify(document)
        chunks = self._chunks.get(known or "", {})
        ordered = self._ordered.get(known or "", [])
        at = bisect_left(ordered, first)
        inside = range(at, bisect_left(ordered, last + 1))
        yield from (chunks[ordered[place]] for place in islice(inside, _WIDEST))
        if len(inside) <= last - first:
            # They are in order, so that the first one missing is soon found.
            steps = (index for index in range(first, last + 1) if index not in chunks)
            yield Resolved("unknown", known or document, next(steps))


def looks_made(text: str) -> bool:
    """Whether it looks like an id of ours or a similar one, which no prose has."""
    return bool(_MADE.fullmatch(text) and _MIXED.match(text))


def _resolved(document: ReconstructedDocument) -> Iterator[Resolved]:
    hits = {one.chunk_index: one for one in document.chunks}
    for passage in document.passages:
        for chunk in passage.chunks:
            state: CitationState = "cited" if chunk.chunk_index in hits else "context"
            hits.pop(chunk.chunk_index, None)
            yield _at(document, state, chunk)
    # A hit whose text is there because others have it too.
    for hit in hits.values():
        for passage in document.passages:
            if place := _within(passage, hit):
                yield _at(document, "cited", place)
                break


def _within(passage: Passage, hit: ChunkResult) -> Chunk | None:
    if not passage.first_chunk <= hit.chunk_index <= passage.last_chunk:
        return None
    at = passage.text.find(hit.content)
    if at < 0:
        return None
    start = passage.start + at
    pages = passage.first_page, passage.last_page
    return Chunk(hit.chunk_index, start, start + len(hit.content), *pages, passage.heading_path)


def _at(document: ReconstructedDocument, state: CitationState, chunk: Chunk) -> Resolved:
    return Resolved(
        state,
        document.document,
        chunk.chunk_index,
        document.name,
        chunk.start,
        chunk.end,
        chunk.first_page,
        chunk.last_page,
        chunk.heading_path,
    )
