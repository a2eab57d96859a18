"""How an open library is searched: single chunks, whole passages, full documents.

Where `chat_source` names a collection, that is searched instead of the library's own documents:
by `search`, `retrieve`, `search_with_context` and `rag_search` alike, and so by every route, tool
and command.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal

from unchunk.domain import DocumentId, OwnerId
from unchunk.library.parts import Parts
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.asking import Asking
from unchunk.retrieval.shelf import EVERYWHERE, Card, Sheet, Where
from unchunk.retrieval.similarity import Embedded, embedded, similarity
from unchunk.retrieval.snippets import Found

if TYPE_CHECKING:
    from unchunk.retrieval.evidence import ReconstructedDocument
    from unchunk.retrieval.query import Mode, Turn
    from unchunk.retrieval.retriever import Evidence


class Searching:
    """The part of an engine that finds. `usual` tells how much goes to a model with a question.

    `asking` searches the library. `elsewhere` opens what is searched instead of it, if anything.
    """

    def __init__(
        self,
        parts: Parts,
        owner: OwnerId,
        asking: Asking,
        usual: Callable[[str], Awaitable[Amount]],
        elsewhere: Callable[[], Awaitable[Asking]] | None = None,
    ) -> None:
        self._parts, self._owner = parts, owner
        self._asking, self._usual = asking, usual
        self._elsewhere = elsewhere

    async def search(
        self,
        question: str,
        *,
        limit: int = 10,
        where: Where = EVERYWHERE,
        owner: OwnerId | None = None,
    ) -> Found:
        """The chunks that answer best, by meaning and by words, each for itself.

        Only in the documents that the question tags, if it does (`source:rules.md`).
        """
        asking = await self._searched()
        return await asking.snippets(question, self._whose(owner), where, limit)

    async def search_library(
        self,
        question: str,
        *,
        limit: int = 10,
        where: Where = EVERYWHERE,
        owner: OwnerId | None = None,
    ) -> Found:
        """As `search`, but always in the library's own documents, and a tag is text."""
        await self._settle()
        return await self._asking.snippets(
            question, self._whose(owner), where, limit, with_tags=False
        )

    @property
    def searches_elsewhere(self) -> bool:
        """Whether a collection is searched instead of the library's own documents."""
        return self._elsewhere is not None

    async def retrieve(
        self,
        question: str,
        *,
        history: "Sequence[Turn]" = (),
        where: Where = EVERYWHERE,
        amount: Amount | None = None,
        owner: OwnerId | None = None,
        rewritten: str = "",
        mode: "Mode | None" = None,
        include: Sequence[tuple[DocumentId, int]] = (),
    ) -> "Evidence":
        """What answers a question: whole passages, or full documents where it asks for them.

        `history` is the conversation before it, and `rewritten` what a model made of the question
        in its light, if one did. Without `amount`, as much as a model is given; without `mode`,
        what the question asks for. `include` names chunks that belong to it in any case.
        """
        asking = await self._searched()
        whose = self._whose(owner)
        amount = amount or await self._usual(question)
        return await asking.retrieve(
            question,
            whose,
            history,
            where,
            amount,
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
    ) -> "list[ReconstructedDocument]":
        """As `ChunkAwareRetriever.search_with_context`, on this library."""
        asking = await self._searched()
        amount = Amount(
            limit,
            chunks_per_doc,
            include_adjacent,
            min_score,
            adjacent_documents=adjacent_documents,
        )
        return await asking.search_with_context(
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
        asking = await self._searched()
        return await asking.rag_search(
            query,
            self._whose(owner),
            chunk_aware=use_chunk_aware,
            limit=limit,
            show_content=show_content,
        )

    async def embed(
        self, texts: Sequence[str], role: Literal["document", "query"] = "document"
    ) -> Embedded:
        """Vectors as the library's own. What its embedder cannot read to the end is refused."""
        await self._settle()
        return await embedded(self._parts.spaces.embedder, texts, role)

    async def find_file_by_name(
        self, file_name: str, *, owner: OwnerId | None = None
    ) -> list[Card]:
        """The document of that name; several if it could be any of them; none if there is none."""
        asking = self._asking if self._elsewhere is None else await self._elsewhere()
        return await asking.find_file_by_name(file_name, self._whose(owner))

    async def _open_document(
        self, document: DocumentId, *, where: Where, owner: OwnerId
    ) -> Sheet | None:
        asking = await self._searched()
        return await asking.open_document(document, where=where, owner=owner)

    async def _searched(self) -> Asking:
        """What a search goes to: nothing else decides that."""
        if self._elsewhere is not None:
            return await self._elsewhere()
        await self._settle()
        return self._asking

    async def _settle(self) -> None:
        """Ask the embedder of a new library again, if it did not answer when that was opened."""
        if not self._parts.spaces.all:
            await self._parts.spaces.settle()

    async def _similarity(self, question: str, texts: Sequence[str]) -> list[float] | None:
        return await similarity(self._parts.spaces.all, question, texts)

    def _whose(self, owner: OwnerId | None) -> OwnerId:
        return self._owner if owner is None else owner
