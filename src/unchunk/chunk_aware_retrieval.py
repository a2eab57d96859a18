"""Whole passages from a Qdrant collection, by a client and a model that you have already."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from unchunk.domain import ChunkingStrategy, OwnerId
from unchunk.errors import InvalidInputError

if TYPE_CHECKING:
    from unchunk.retrieval.collection import Collection
    from unchunk.retrieval.evidence import ReconstructedDocument
    from unchunk.retrieval.retriever import Evidence

# A collection, one of its vectors, and one of its sparse vectors.
_Key = tuple[str, str, str]


class ChunkAwareRetriever:
    """Search collections of a Qdrant client, and put the documents together again.

    `qdrant_client` is a `QdrantClient` or an `AsyncQdrantClient`, of a server, a local folder or
    memory. `embedding_model` is what embedded the chunks: an object with `encode` or `embed`, or
    a function from a list of texts to a list of vectors, async or not. What blocks runs in a
    thread. Neither is closed here, and nothing is written.

    `collection_name` is searched where a call names none; without it, the only one there is.
    `vector_name` is needed where a collection has several dense vectors. `fields` is a preset
    (`pages`, `langchain`, `llama-index`) or which field holds what, `{"text": "body", ...}`. With
    `owner_field`, only chunks are searched that carry `owner` there. `cut` is how the texts were
    cut, if that is known. The same question is answered from memory for `cache_seconds`; 0 turns
    that off. `language` is that of the search by words; `sparse_embedding_model` is needed only for
    sparse vectors that are not BM25, and `sparse_vector_name` where there are several of them.
    """

    def __init__(
        self,
        qdrant_client: object,
        embedding_model: object,
        *,
        collection_name: str = "",
        vector_name: str = "",
        sparse_vector_name: str = "",
        fields: str | Mapping[str, str] = "pages",
        owner_field: str = "",
        owner: OwnerId = "",
        cut: ChunkingStrategy | None = None,
        language: str = "english",
        cache_seconds: float = 300.0,
        sparse_embedding_model: object = None,
    ) -> None:
        self._client, self._model = qdrant_client, embedding_model
        self._sparse = sparse_embedding_model
        self._name, self._vector, self._fields = collection_name, vector_name, fields
        self._owner_field, self._owner, self._cut = owner_field, owner, cut
        self._language, self._cache_seconds = language, cache_seconds
        self._sparse_vector = sparse_vector_name
        self._opened: dict[_Key, Collection] = {}
        self._opening: dict[_Key, asyncio.Task[None]] = {}

    async def search_with_context(
        self,
        query: str,
        collection_name: str = "",
        *,
        content_type: str | None = None,
        limit: int = 10,
        chunks_per_doc: int | None = 3,
        include_adjacent: bool = True,
        min_score: float | None = None,
        adjacent_documents: int | None = None,
        vector_name: str = "",
        sparse_vector_name: str = "",
    ) -> "list[ReconstructedDocument]":
        """The documents that answer best, each with its best chunks and what stands around them.

        Return at most `limit` documents, each found by at most its `chunks_per_doc` best chunks. With
        `include_adjacent`, the chunk before and the chunk after each of these comes with it: for
        all documents, or for the first `adjacent_documents`. Chunks whose cosine is below
        `min_score` are left out. With None, the threshold is the model's own (0.5 if it has none), and
        chunks with at least half of the question's words count regardless of it.
        """
        collection = await self.collection(collection_name, vector_name, sparse_vector_name)
        return await collection.search_with_context(
            query,
            limit,
            chunks_per_doc,
            include_adjacent,
            min_score,
            content_type=content_type,
            adjacent_documents=adjacent_documents,
        )

    async def retrieve(self, question: str, collection_name: str = "") -> "Evidence":
        """Passages, or full documents where the question asks for them, with the reasons."""
        return await (await self.collection(collection_name)).retrieve(question)

    async def rag_search(
        self,
        query: str,
        use_chunk_aware: bool = True,
        limit: int = 10,
        show_content: bool = True,
        *,
        collection_name: str = "",
    ) -> str:
        """The documents that answer best as one text, for a model that calls this as a tool."""
        collection = await self.collection(collection_name)
        return await collection.rag_search(query, use_chunk_aware, limit, show_content)

    async def collection(
        self, collection_name: str = "", vector_name: str = "", sparse_vector_name: str = ""
    ) -> "Collection":
        """Return one of the client's collections, opened when it is first asked for.

        Concurrent callers share one attempt to open it. If that fails, the next call tries again.
        """
        name = collection_name or self._name or await self._only_name()
        key = name, vector_name or self._vector, sparse_vector_name or self._sparse_vector
        if key not in self._opened:
            opening, loop = self._opening.get(key), asyncio.get_running_loop()
            # A task of another event loop cannot be awaited, and may never end.
            if opening is None or opening.done() or opening.get_loop() is not loop:
                opening = self._opening[key] = loop.create_task(self._open(*key))
            # Whoever is cancelled does not take the others' attempt along.
            await asyncio.shield(opening)
        return self._opened[key]

    async def _open(self, name: str, vector: str, sparse_vector: str) -> None:
        from unchunk.wiring.collections import collection_of_client  # noqa: PLC0415

        self._opened[name, vector, sparse_vector] = await collection_of_client(
            self._client,
            self._model,
            name,
            fields=self._fields,
            owner_field=self._owner_field,
            owner=self._owner,
            cut=self._cut,
            vector=vector,
            sparse_vector=sparse_vector,
            language=self._language,
            cache_seconds=self._cache_seconds,
            sparse=self._sparse,
        )

    async def _only_name(self) -> str:
        from unchunk.wiring.collections import names_of_client  # noqa: PLC0415

        names = await names_of_client(self._client)
        if len(names) == 1:
            return names[0]
        raise InvalidInputError(
            f"the Qdrant client has {len(names)} collections"
            f" ({', '.join(names[:10]) or 'none'}): name one as collection_name"
        )
