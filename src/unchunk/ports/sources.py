"""Chunks that somebody else keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from unchunk.domain import DocumentId

FieldValue = str | int | float | bool | None | tuple[str | int | float | bool | None, ...]


@dataclass(frozen=True, slots=True)
class ForeignChunk:
    """A chunk as somebody else keeps it; `id` is what its store calls it.

    `chunk_index` is None where a store does not count its chunks. `[start, end)` is as long as
    the text, or both are None. `page` counts from 1. `metadata` is whatever else the chunk
    carries; what is nested is named with dots. `score` is the cosine with the question and
    `word_score` its BM25 score, each None where it is not known.
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
    word_score: float | None = None


class ForeignChunks(NamedTuple):
    """`notes` says which chunks were left out because they could not be understood, and why.

    `most` is how many were asked for, if the source refuses as many as were wanted.
    """

    chunks: tuple[ForeignChunk, ...] = ()
    notes: tuple[str, ...] = ()
    most: int | None = None


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
        """Those whose chunks have indices, at most some ten thousand, in no order."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class SearchesWords(Protocol):
    """What a `ChunkSource` may be besides: one that can be searched by words."""

    async def search_words(self, question: str, among: Among, limit: int) -> ForeignChunks:
        """The chunks that share words with the question, best `word_score` first.

        Each comes with its cosine, too, unless the embedder does not answer.
        """
        ...
