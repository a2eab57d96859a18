"""An embedder that remembers questions."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.ports import Embedder, Role, Vectors
from unchunk.retrieval.remembering import RememberingEmbedder
from unchunk.testing.embedders import EmbedderContract


class Counting(HashingEmbedder):
    calls = 0

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        self.calls += 1
        return await super().embed(texts, role)


class TestRemembering(EmbedderContract):
    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Embedder]:
        embedder = RememberingEmbedder(HashingEmbedder())
        yield embedder
        await embedder.close()


def test_a_question_is_embedded_once_and_documents_each_time() -> None:
    inner = Counting()
    embedder = RememberingEmbedder(inner)

    async def work() -> None:
        first = await embedder.embed(["who?"], "query")
        assert (await embedder.embed(["who?"], "query") == first).all()
        assert inner.calls == 1
        await embedder.embed(["what?"], "query")
        await embedder.embed(["who?"], "document")
        await embedder.embed(["who?"], "document")
        assert inner.calls == 4

    asyncio.run(work())
