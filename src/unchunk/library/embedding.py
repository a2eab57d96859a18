"""Chunks into points: vectors from the cache or the embedder, and terms."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from unchunk.domain import Chunk, ChunkKey, Document
from unchunk.library.layout import embedded_text
from unchunk.ports import Embedder, Lexicon, Point, VectorCache, Vectors
from unchunk.telemetry import Telemetry

# Chunks that are embedded, cached and put into the index at a time: what memory is bounded by,
# and what a crash costs at most.
BATCH = 256
DIGEST_SIZE = 20


class Vectoriser:
    """Makes the vectors of texts, and pays for none twice."""

    def __init__(self, embedder: Embedder, cache: VectorCache, telemetry: Telemetry) -> None:
        self.embedder = embedder
        self._cache = cache
        self._telemetry = telemetry

    async def vectors(self, owner: str, document: str, texts: Sequence[str]) -> Vectors:
        """One row for each text. What had to be embedded is kept before this returns."""
        identity = self.embedder.identity
        digests = [digest(text) for text in texts]
        with self._telemetry.stage("recall"):
            known = await self._cache.recall(owner, identity.fingerprint, digests)
        new = {mark: text for mark, text in zip(digests, texts, strict=True) if mark not in known}
        self._telemetry.count("cache_hits", len(texts) - len(new))
        if new:
            with self._telemetry.stage("embed"):
                rows = await self.embedder.embed(list(new.values()), "document")
            self._telemetry.count("embedding_calls")
            self._telemetry.count("embedded_chunks", len(new))
            made = dict(zip(new, rows, strict=True))
            with self._telemetry.stage("keep"):
                await self._cache.keep(owner, identity.fingerprint, document, made)
            known |= made
        return np.stack([known[mark] for mark in digests])


def digest(text: str) -> bytes:
    """What a vector is kept under in the cache."""
    return blake2b(text.encode(), digest_size=DIGEST_SIZE).digest()


class Batch(NamedTuple):
    """Some chunks, and of each the text that is embedded."""

    chunks: Sequence[Chunk]
    texts: list[str]


def batches(text: str, chunks: Sequence[Chunk]) -> Iterator[Batch]:
    for at in range(0, len(chunks), BATCH):
        some = chunks[at : at + BATCH]
        yield Batch(some, [embedded_text(text, chunk) for chunk in some])


def points(
    document: Document, generation: int, batch: Batch, vectors: Vectors, lexicon: Lexicon
) -> list[Point]:
    return [
        Point(
            ChunkKey(document.owner, document.id, generation, chunk.chunk_index),
            document.folder,
            vector,
            lexicon.document(text),
        )
        for chunk, text, vector in zip(*batch, vectors, strict=True)
    ]
