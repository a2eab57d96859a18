"""What unchunk needs of the outside, each as small as it can be. Adapters fill these in.

Every method raises only errors of `unchunk.errors`; foreign ones end inside the adapter. The
suites in `unchunk.testing` say the same as these docstrings, in code.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from unchunk.domain import (
    Chunk,
    ChunkKey,
    Document,
    DocumentId,
    EmbedderIdentity,
    Extracted,
    Heading,
    Opened,
    OwnerId,
    Remains,
    Scored,
    Space,
    Terms,
    Version,
    Whole,
    Within,
)

Vectors = npt.NDArray[np.float32]
Role = Literal["document", "query"]


class Extractor(Protocol):
    """Files into text."""

    async def extract(self, path: Path, name: str) -> Extracted:
        """The text of the file at `path`, which its owner calls `name`.

        What it is, is read from its content. Raises `ExtractionError`, whatever the file does:
        a file that crashes, hangs or eats memory harms nothing but itself.
        """
        ...

    async def close(self) -> None: ...


class Embedder(Protocol):
    """Texts into vectors of length one."""

    @property
    def identity(self) -> EmbedderIdentity: ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many of `identity.max_tokens` each text takes, prefix and marks included.

        Never too few; too many where the provider's tokenizer is not known.
        """
        ...

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row for each text. The same text gives the same row, whatever stands beside it.

        Prefixes are added here. Batches and retries happen inside; a `TransientError` means
        that those were tried in vain.
        """
        ...

    async def close(self) -> None: ...


class Lexicon(Protocol):
    """Texts into terms for BM25. One lexicon serves all indexes, so that they agree."""

    def document(self, text: str) -> Terms:
        """Each term with its saturated frequency; the index multiplies by rarity."""
        ...

    def query(self, text: str) -> Terms: ...


class Point:
    """One chunk as the index holds it. A plain class: a large library makes a million."""

    __slots__ = ("folder", "key", "terms", "vector")

    def __init__(self, key: ChunkKey, folder: str, vector: Vectors, terms: Terms) -> None:
        self.key = key
        self.folder = folder
        self.vector = vector
        self.terms = terms


class Index(Protocol):
    """Vectors and terms of chunks, searched both ways. Derived: it can always be made anew."""

    async def upsert(self, points: Sequence[Point]) -> None:
        """Put points in, over those of the same key. Found at once; kept for good after `flush`."""
        ...

    async def flush(self) -> None:
        """Return when all that was put in and taken out survives a kill and a power cut."""
        ...

    async def search(self, query: Vectors | Terms, within: Within, limit: int) -> list[Scored]:
        """The best chunks, best first: by cosine for a vector, by BM25 for terms.

        By terms only chunks that share one are found.
        """
        ...

    async def fetch(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vectors]:
        """The vectors of those chunks that are there, in one call."""
        ...

    async def delete(self, document: DocumentId, generations: Sequence[int] | None = None) -> None:
        """Take out a document, or only some of its generations."""
        ...

    async def census(self, document: DocumentId | None = None) -> dict[tuple[DocumentId, int], int]:
        """How many chunks there are of each generation of each document, or of just one."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class OpenSpace:
    """An index in use, and what made its vectors; `spec` is how the settings name that.

    `embedder` is None for an old space whose embedder is no longer to be had:
    such a space is searched by words alone.
    """

    name: str
    spec: str
    identity: EmbedderIdentity
    index: Index
    embedder: Embedder | None


class Indexes(Protocol):
    """Where the indexes of a library are kept, one for each space."""

    async def open(self, space: Space) -> Index:
        """The index of `space`, made if there is none."""
        ...

    async def drop(self, name: str) -> None:
        """Remove a space with all that is in it; nothing happens if there is none."""
        ...

    async def names(self) -> list[str]: ...


class Catalog(Protocol):
    """The truth: which documents there are, their texts and how they are cut.

    Every method is one transaction, durable when it returns. A name is unique in its owner's
    folder. Another owner's document is not there: `NotFoundError`.
    """

    async def begin(
        self, owner: OwnerId, folder: str, name: str, *, checksum: str, size: int, blob: str
    ) -> Document:
        """Note bytes that came in, as the draft of a new document or of the one of that name.

        If the live version has the same checksum, a draft is no longer wanted and becomes
        remains; if a draft that did not fail has it, nothing changes. The document is returned
        as it then is, and the caller drops its blob. Any other draft is replaced and becomes
        remains; a failure is forgotten.
        """
        ...

    async def go_live(self, wholes: Sequence[Whole]) -> list[DocumentId]:
        """Make each version its document's live one, all or none, with text and chunks.

        The ones that were live become remains. A draft of another generation stays. One whose
        document was deleted meanwhile is left out, and only the ids of the others are returned.
        """
        ...

    async def fail(self, document: DocumentId, generation: int, code: str, message: str) -> None:
        """Note why a draft cannot become live; nothing happens if it is no draft any more."""
        ...

    async def next_generation(self, document: DocumentId) -> int:
        """A number that no version of this document has had, for writing it anew."""
        ...

    async def bury(self, owner: OwnerId, document: DocumentId) -> list[Remains]:
        """Delete: from now on the document is not there. Its parts are returned, and listed by
        `remains` until `forget`.
        """
        ...

    async def remains(self) -> list[Remains]:
        """All versions that have yet to go, those from before a crash too."""
        ...

    async def forget(self, remains: Sequence[Remains]) -> None:
        """Drop text, chunks and the note of versions whose other parts are gone."""
        ...

    async def get(self, owner: OwnerId, document: DocumentId) -> Document: ...

    async def find(
        self,
        owner: OwnerId | None = None,
        folder: str | None = None,
        name: str | None = None,
        checksum: str | None = None,
    ) -> list[Document]:
        """Documents by folder, name and the checksum of the live version; `None` means any.

        All owners' for `None`, too. Ordered by folder, name, owner.
        """
        ...

    async def text(self, version: Version, start: int = 0, end: int | None = None) -> str:
        """Some of a version's text. Costs what is asked for, not what there is."""
        ...

    async def chunks(self, version: Version) -> list[Chunk]: ...

    async def outline(self, version: Version) -> tuple[tuple[int, ...], tuple[Heading, ...]]:
        """Where its pages and its headings begin."""
        ...

    async def live(self, documents: Sequence[DocumentId]) -> dict[DocumentId, Version]:
        """The live versions of those that have one, in one query; what a search asks of its hits."""
        ...

    async def open(
        self, owner: OwnerId, wanted: Mapping[DocumentId, Sequence[int]]
    ) -> dict[DocumentId, Opened]:
        """Live documents with the chunks that are wanted of each, all in one go.

        Documents and chunks that are not there are left out. Costs what is asked for, too.
        """
        ...

    async def matching(
        self,
        owner: OwnerId,
        *,
        folders: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        media_types: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[DocumentId]:
        """Live documents that have one of each, `None` meaning any; `text/` is any kind of text.

        `since` and `until` say when they were last changed, both included.
        """
        ...

    async def revision(self) -> int:
        """A number that grows with every change of what is live, whoever made it."""
        ...

    async def note(self, key: str, value: str) -> None:
        """Keep a fact about the whole library, over the one of the same key."""
        ...

    async def notes(self) -> dict[str, str]: ...

    async def close(self) -> None: ...


class Reranker(Protocol):
    """Reads a question and a text together: better than comparing vectors, and dearer."""

    @property
    def name(self) -> str: ...

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers: from 0 to 1, higher is better.

        Comparable in one call, and the same whatever stands beside it. Of a long text the part
        that answers best counts; nothing of it goes unread.
        """
        ...

    async def close(self) -> None: ...


class VectorCache(Protocol):
    """Vectors that were paid for, by owner, embedder and the digest of the embedded text.

    Each belongs to the document that first brought it, and goes when that goes.
    """

    async def recall(
        self, owner: OwnerId, embedder: str, digests: Sequence[bytes]
    ) -> dict[bytes, Vectors]: ...

    async def keep(
        self, owner: OwnerId, embedder: str, document: DocumentId, found: Mapping[bytes, Vectors]
    ) -> None: ...

    async def drop(self, document: DocumentId) -> None: ...

    async def count(self, document: DocumentId | None = None) -> int: ...


class Blobs(Protocol):
    """The original files, byte for byte."""

    async def put(self, key: str, source: Path) -> None:
        """Keep a copy of `source`; when this returns, it survives a power cut."""
        ...

    def local(self, key: str) -> AbstractAsyncContextManager[Path]:
        """A path to read it from while the context lasts."""
        ...

    async def delete(self, key: str) -> None: ...

    async def keys(self) -> Mapping[str, int]:
        """Every key, with its size."""
        ...


FieldValue = str | int | float | bool | None | tuple[str | int | float | bool | None, ...]


@dataclass(frozen=True, slots=True)
class ForeignChunk:
    """A chunk as somebody else keeps it; `id` is what its store calls it.

    `chunk_index` is None where a store does not count its chunks. `[start, end)` is as long as
    the text, or both are None. `page` counts from 1. `metadata` is whatever else the chunk
    carries; what is nested is named with dots.
    """

    document: DocumentId
    chunk_index: int | None
    text: str = field(repr=False)
    id: str = ""
    score: float | None = None
    chunk_count: int | None = None
    title: str = ""
    content_type: str = ""
    start: int | None = None
    end: int | None = None
    page: int | None = None
    metadata: Mapping[str, FieldValue] = field(default_factory=dict)


class ForeignChunks(NamedTuple):
    """`notes` says which chunks were left out because they could not be understood, and why."""

    chunks: tuple[ForeignChunk, ...] = ()
    notes: tuple[str, ...] = ()


class ForeignDocument(NamedTuple):
    """A document as its first chunk tells of it."""

    document: DocumentId
    title: str
    chunk_count: int | None
    metadata: Mapping[str, FieldValue]


class Among(NamedTuple):
    """Which chunks are meant: all that is not None has to hold, each by one of its values.

    `fields` are exact matches on what the chunks carry, by the names that the store uses.
    """

    documents: tuple[DocumentId, ...] | None = None
    titles: tuple[str, ...] | None = None
    content_types: tuple[str, ...] | None = None
    fields: tuple[tuple[str, str | int | bool], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no chunk can be meant."""
        return () in (self.documents, self.titles, self.content_types)


class SourceNature(NamedTuple):
    """`name` is for people. `fetches` tells whether chunks can be had without being searched for.

    `min_score` is the score below which a hit means nothing; None if that is not known.
    """

    name: str
    fetches: bool
    min_score: float | None


class ChunkSource(Protocol):
    """Chunks that somebody else keeps: read, never written. None of them has to be well made."""

    @property
    def nature(self) -> SourceNature: ...

    async def search(
        self,
        question: str,
        among: Among,
        limit: int,
        wanted: Mapping[DocumentId, Sequence[int]] | None = None,
    ) -> ForeignChunks:
        """The best chunks, best first, each with its score, in one call.

        With `wanted` only those places are searched; a source that cannot fetch finds nothing
        then. No chunk that shows another value for one of the fields is ever returned, whatever
        the store does. Raises `InvalidInputError` for what cannot be searched by, and if no chunk
        found can be understood: then the fields are other ones than were said.
        """
        ...

    async def fetch(
        self, wanted: Mapping[DocumentId, Sequence[int]], among: Among
    ) -> ForeignChunks:
        """Chunks by their documents and indices, those that are there, all in one call.

        Two of one place are not told apart: one of them is returned, with a note.
        """
        ...

    async def documents(self, among: Among) -> list[ForeignDocument]:
        """Those that count their chunks, at most some ten thousand, in no order."""
        ...

    async def close(self) -> None: ...
