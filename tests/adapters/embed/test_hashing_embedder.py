import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.ports import Embedder, Vectors
from unchunk.testing.embedders import EmbedderContract


class TestHashing(EmbedderContract):
    tolerance = 0.0

    def opened(self) -> AbstractAsyncContextManager[Embedder]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Embedder]:
        yield HashingEmbedder()


def embed(*texts: str, dimensions: int = 512) -> Vectors:
    return asyncio.run(HashingEmbedder(dimensions).embed(texts, "document"))


def test_vectors_are_the_same_on_every_machine_and_in_every_release() -> None:
    counts = [-1, 0, 0, 1, -1, 0, -3, -1, 2, -1, 0, 1, -1, -1, 2, 1]
    row = embed("Ask your documents.", dimensions=16)[0]
    assert np.allclose(row, np.array(counts) / np.linalg.norm(counts), atol=1e-6)


def test_spelling_makes_texts_alike() -> None:
    one, other, third = embed("the harbour master", "The Harbour Masters", "quarterly interest")
    assert one @ other > 0.7
    assert one @ third < 0.3


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.integers(1, 40))
def test_every_text_has_a_vector_of_length_one(text: str, dimensions: int) -> None:
    rows = embed(text, dimensions=dimensions)
    assert abs(np.linalg.norm(rows[0]) - 1) < 1e-5
