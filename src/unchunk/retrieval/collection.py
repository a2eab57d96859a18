"""Chunks that somebody else keeps, searched as a library is."""

from collections.abc import Awaitable, Callable, Sequence

from unchunk.domain import DocumentId, OwnerId
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.asking import Asking
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.query import Mode, Turn
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.shelf import EVERYWHERE, Card, Where
from unchunk.retrieval.snippets import Found


class Collection:
    """The searches of a library over somebody else's chunks. None of them is ever changed.

    `owner` is whose chunks are searched where a call names nobody else. `asking` does the work,
    and `closing` is called when the collection is closed.
    """

    def __init__(
        self, asking: Asking, owner: OwnerId, closing: Sequence[Callable[[], Awaitable[None]]]
    ) -> None:
        self.asking = asking
        self._owner, self._closing = owner, list(closing)

    async def search(
        self,
        question: str,
        *,
        limit: int = 10,
        where: Where = EVERYWHERE,
        owner: OwnerId | None = None,
    ) -> Found:
        """The chunks that answer best, each for itself."""
        return await self.asking.snippets(question, self._whose(owner), where, limit)

    async def retrieve(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        where: Where = EVERYWHERE,
        amount: Amount | None = None,
        owner: OwnerId | None = None,
        rewritten: str = "",
        mode: Mode | None = None,
        include: Sequence[tuple[DocumentId, int]] = (),
    ) -> Evidence:
        """Whole passages, or full documents where the question asks for them, with the reasons."""
        return await self.asking.retrieve(
            question,
            self._whose(owner),
            history,
            where,
            amount or Amount(),
            rewritten=rewritten,
            mode=mode,
            include=include,
        )

    async def search_with_context(
        self,
        query: str,
        limit: int = 10,
        chunks_per_doc: int | None = 3,
        include_adjacent: bool = True,
        min_score: float | None = None,
        *,
        content_type: str | None = None,
        adjacent_documents: int | None = None,
        where: Where = EVERYWHERE,
        owner: OwnerId | None = None,
    ) -> list[ReconstructedDocument]:
        """As `ChunkAwareRetriever.search_with_context`, on this collection."""
        amount = Amount(
            limit,
            chunks_per_doc,
            include_adjacent,
            min_score,
            adjacent_documents=adjacent_documents,
        )
        return await self.asking.search_with_context(
            query, self._whose(owner), where, amount, content_type=content_type
        )

    async def rag_search(
        self,
        query: str,
        use_chunk_aware: bool = True,
        limit: int = 10,
        show_content: bool = True,
        *,
        owner: OwnerId | None = None,
    ) -> str:
        """The documents that answer best as one text, for a model that calls this as a tool.

        Without `use_chunk_aware`, the beginnings of single chunks.
        """
        return await self.asking.rag_search(
            query,
            self._whose(owner),
            chunk_aware=use_chunk_aware,
            limit=limit,
            show_content=show_content,
        )

    async def find_file_by_name(
        self, file_name: str, *, owner: OwnerId | None = None
    ) -> list[Card]:
        """The document of that name; several if it could be any of them; none if there is none."""
        return await self.asking.find_file_by_name(file_name, self._whose(owner))

    async def close(self) -> None:
        """Close the collection; closing it again does nothing."""
        while self._closing:
            await self._closing.pop()()

    def _whose(self, owner: OwnerId | None) -> OwnerId:
        return self._owner if owner is None else owner
