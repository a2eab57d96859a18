"""What a search brings back: documents put together again from the parts that matter."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Literal, NamedTuple

from unchunk.domain import Chunk, DocumentId
from unchunk.retrieval.shelf import FoundBy, Metadata

# How much of a document came back: the parts that were found, all of it, or as much of it as
# there is room for: its opening, its ending and what was found.
Kind = Literal["passages", "full document", "excerpt"]


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """A chunk that was found, and how well it answers.

    `score` is a cosine, or, if it was found by its words alone, what these are worth.
    """

    chunk_index: int
    score: float
    content: str
    found_by: FoundBy = "meaning"


@dataclass(frozen=True, slots=True)
class Passage:
    """Chunks `first_chunk` to `last_chunk` as one text: `text` is `[start:end]` of its document.

    Pages count from 1, both ends included. `heading_path` is what all of it stands under. `chunks`
    are those that it was made of, in the order of the text; the first and the last may be cut.
    """

    first_chunk: int
    last_chunk: int
    start: int
    end: int
    text: str = field(repr=False)
    first_page: int | None = None
    last_page: int | None = None
    heading_path: tuple[str, ...] = ()
    chunks: tuple[Chunk, ...] = ()

    def as_dict(self) -> dict[str, object]:
        return asdict(self) | {"chunks": [one._asdict() for one in self.chunks]}


class Gap(NamedTuple):
    """Chunks that were left out before, between or behind passages; both ends included.

    Where a chunk had to be cut, what it lacks belongs to the gap beside it. The gap's mark is
    `full_content[at:end]`, with the ends of lines around it: without the marks, `full_content` is
    slices of the document. In an excerpt the mark names `headings` of what is left out, and tells
    how many more there are.
    """

    first_chunk: int
    last_chunk: int
    at: int
    end: int
    headings: tuple[str, ...] = ()
    more_headings: int = 0


@dataclass(frozen=True, slots=True)
class ReconstructedDocument:
    """Passages of one document in its own order, no character twice, every gap marked.

    `chunks` are those that were found, in the document's order; neighbours are in the passages
    alone. A document's own text may contain what looks like a mark: then the real ones carry
    `tag`, which no passage contains. `gaps` tells where the real ones are in any case. `notes`
    says where the search for it was less than it should be.
    """

    document: DocumentId
    name: str
    folder: str
    title: str
    content_type: str
    chunk_count: int | None
    chunks: tuple[ChunkResult, ...]
    passages: tuple[Passage, ...]
    full_content: str = field(repr=False)
    gaps: tuple[Gap, ...] = ()
    tag: str = ""
    kind: Kind = "passages"
    metadata: Metadata = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def found_by(self) -> FoundBy:
        """`words` if no chunk was found by its meaning."""
        return "words" if self.chunks and self._scores()[1] == "words" else "meaning"

    @property
    def mongo_id(self) -> DocumentId:
        """The document's id: that of its collection, or of the library."""
        return self.document

    @property
    def max_score(self) -> float:
        """Of the chunks that were found by their meaning; of the others if none was."""
        return max(self._scores()[0], default=0.0)

    @property
    def avg_score(self) -> float:
        scores, _ = self._scores()
        return sum(scores) / max(len(scores), 1)

    def _scores(self) -> tuple[list[float], FoundBy]:
        """Those that compare: cosines, where there are any."""
        cosines = [one.score for one in self.chunks if one.found_by == "meaning"]
        return (cosines, "meaning") if cosines else ([one.score for one in self.chunks], "words")

    @property
    def chunk_coverage(self) -> str:
        """Such as `chunks 1-3,7-9 of 12`; both ends included, counted from 0."""
        of = "" if self.chunk_count is None else f" of {self.chunk_count}"
        return f"{runs((one.first_chunk, one.last_chunk) for one in self.passages)}{of}"

    def as_dict(self) -> dict[str, object]:
        """All of it, with what follows from it, for programs: it can be written as JSON."""
        return {
            "document": self.document,
            "mongo_id": self.mongo_id,
            "name": self.name,
            "folder": self.folder,
            "title": self.title,
            "content_type": self.content_type,
            "kind": self.kind,
            "chunks": [asdict(one) for one in self.chunks],
            "max_score": self.max_score,
            "avg_score": self.avg_score,
            "found_by": self.found_by,
            "chunk_coverage": self.chunk_coverage,
            "chunk_count": self.chunk_count,
            "passages": [one.as_dict() for one in self.passages],
            "full_content": self.full_content,
            "gaps": [one._asdict() for one in self.gaps],
            "tag": self.tag,
            "metadata": dict(self.metadata),
            "notes": list(self.notes),
        }


def runs(parts: Iterable[tuple[int, int]]) -> str:
    """Such as `chunks 1-3,7`; both ends included."""
    return "chunks " + ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
