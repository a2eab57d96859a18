"""Chunks that somebody else keeps, asked as a library is."""

from unchunk.domain import OwnerId
from unchunk.ports import Embedder
from unchunk.retrieval.asking import Manner
from unchunk.retrieval.foreign import ForeignShelf
from unchunk.retrieval.query import QueryAnalyzer
from unchunk.retrieval.retriever import ChunkAwareRetriever


class Collection(ChunkAwareRetriever):
    """A retriever that is closed when it is done with; nothing in the collection is changed."""

    def __init__(
        self, shelf: ForeignShelf, embedder: Embedder | None, owner: OwnerId, manner: Manner
    ) -> None:
        super().__init__(
            shelf, owner=owner, analyzer=QueryAnalyzer(manner.words), reranker=manner.reranker
        )
        parts = (shelf, embedder, manner.reranker)
        self._closing = [part.close for part in parts if part is not None]

    async def close(self) -> None:
        """Closing twice is closing once."""
        while self._closing:
            await self._closing.pop()()
