"""What reads texts: files into text, texts into vectors and terms, questions against texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from unchunk.domain import EmbedderIdentity, Extracted, Mark, Terms, Version

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


class Pages(Protocol):
    """Files as they look. Raises `ExtractionError`, whatever the file does, as an extractor."""

    def can_draw(self, version: Version) -> bool:
        """Whether its file has pages that can be drawn."""
        ...

    async def draw(self, path: Path, page: int, width: int) -> bytes:
        """A PNG of a page, counted from 1; so many pixels wide, or less if it is very tall."""
        ...

    async def marks(self, path: Path, page: int, text: str, start: int, end: int) -> list[Mark]:
        """Where `text[start:end]` stands on a page whose text is `text`, line by line."""
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

    def words(self, text: str) -> frozenset[int]:
        """The terms of `document`, for whoever does not ask what they weigh."""
        ...

    def query(self, text: str) -> Terms: ...


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
