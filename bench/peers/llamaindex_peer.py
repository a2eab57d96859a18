"""LlamaIndex: a Chroma collection with BM25 beside it, fused; or its simple store, in memory.

BM25 is saved and read as its files; PrevNext and AutoMerging take their nodes from the document
store, which is a file as well. The simple store is saved whole after each change.
"""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from bench.peers.asked import NEAREST, Parent, Piece, batches, parent_id
from bench.peers.embedding import Embedding
from bench.peers.playing import Document, Player

_MOST = 5000


class Given(BaseEmbedding):  # type: ignore[misc]  # its types are not read
    _embedding: Embedding = PrivateAttr()

    def __init__(self, embedding: Embedding) -> None:
        super().__init__(model_name="given", embed_batch_size=2048)
        self._embedding = embedding

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embedding.lists(texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._embedding.lists([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embedding.lists([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def leaf(piece: Piece, count: int, parent: str = "") -> TextNode:
    near = {
        NodeRelationship.PREVIOUS: piece.number - 1,
        NodeRelationship.NEXT: piece.number + 1,
    }
    relations = {
        kind: RelatedNodeInfo(node_id=f"{piece.document}_{at}")
        for kind, at in near.items()
        if 0 <= at < count
    }
    relations[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=piece.document)
    if parent:
        relations[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=parent)
    return TextNode(text=piece.text, id_=piece.id, relationships=relations)


def above(parent: Parent) -> TextNode:
    children = [
        RelatedNodeInfo(node_id=f"{parent.document}_{at}")
        for at in range(parent.first, parent.last + 1)
    ]
    relations = {
        NodeRelationship.SOURCE: RelatedNodeInfo(node_id=parent.document),
        NodeRelationship.CHILD: children,
    }
    return TextNode(text=parent.text, id_=parent.id, relationships=relations)


class LlamaIndex(Player):
    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self._folder = Path()
        self._storage: Any = None
        self._index: Any = None

    def build(
        self,
        documents: Iterable[Document],
        embedding: Embedding,
        folder: Path,
        wanted: Collection[str],
    ) -> int:
        leaves: list[TextNode] = []
        parents: list[TextNode] = []
        merges = self.variant == "simple" and "chunk-aware" in wanted
        for document in documents:
            pieces = document.pieces()
            leaves += [
                leaf(one, len(pieces), parent_id(one, len(pieces)) if merges else "")
                for one in pieces
            ]
            parents += [above(one) for one in document.parents() if merges]
        folder.mkdir(parents=True)
        storage = self._storage_in(folder, is_new=True)
        index = VectorStoreIndex([], storage_context=storage, embed_model=Given(embedding))
        for some in batches(leaves, _MOST):
            index.insert_nodes(list(some))
        if "chunk-aware" in wanted and self.variant == "chroma":
            storage.docstore.add_documents(leaves)
        storage.docstore.add_documents(parents)
        storage.persist(str(folder))
        if "lexical" in wanted:
            from llama_index.retrievers.bm25 import BM25Retriever

            words = BM25Retriever.from_defaults(nodes=leaves, similarity_top_k=NEAREST)
            words.persist(str(folder / "words"))
        return len(leaves)

    def _storage_in(self, folder: Path, *, is_new: bool = False) -> Any:  # noqa: ANN401
        kept = {} if is_new else {"persist_dir": str(folder)}
        if self.variant == "simple":
            return StorageContext.from_defaults(**kept)
        import chromadb
        from chromadb.config import Settings
        from llama_index.vector_stores.chroma import ChromaVectorStore

        client = chromadb.PersistentClient(
            str(folder / "chroma"), Settings(anonymized_telemetry=False)
        )
        store = ChromaVectorStore(chroma_collection=client.get_or_create_collection("bench"))
        return StorageContext.from_defaults(vector_store=store, **kept)

    def open(self, folder: Path, embedding: Embedding, wanted: Collection[str]) -> None:
        self._folder, model = folder, Given(embedding)
        needs_nodes = self.variant == "simple" or "chunk-aware" in wanted
        self._storage = self._storage_in(folder, is_new=not needs_nodes)
        if self.variant == "simple":
            from llama_index.core import load_index_from_storage

            self._index = load_index_from_storage(self._storage, embed_model=model)
        else:
            self._index = VectorStoreIndex.from_vector_store(
                self._storage.vector_store, embed_model=model, storage_context=self._storage
            )
        dense = self._index.as_retriever(similarity_top_k=NEAREST)
        self.ways["vector"] = dense.retrieve
        if "lexical" in wanted or "hybrid" in wanted:
            self.ways |= _with_words(dense, folder)
        if "chunk-aware" in wanted:
            self.ways["chunk-aware"] = self._with_context(dense)

    def _with_context(self, dense: Any) -> Any:  # noqa: ANN401
        if self.variant == "simple":
            from llama_index.core.retrievers import AutoMergingRetriever

            return AutoMergingRetriever(dense, self._storage).retrieve
        from llama_index.core.postprocessor import PrevNextNodePostprocessor

        near = PrevNextNodePostprocessor(docstore=self._storage.docstore, num_nodes=1, mode="both")
        return lambda question: near.postprocess_nodes(dense.retrieve(question))

    def read(self, found: list[NodeWithScore]) -> Iterator[tuple[str, int, int]]:
        for one in found:
            name, _, place = one.node.node_id.rpartition("_")
            first, _, last = place.partition("-")
            yield name, int(first), int(last or first)

    def delete(self, name: str) -> None:
        self._index.delete_ref_doc(name, delete_from_docstore=True)
        self._save()

    def replace(self, document: Document) -> None:
        self._index.delete_ref_doc(document.name, delete_from_docstore=True)
        pieces = document.pieces()
        self._index.insert_nodes([leaf(one, len(pieces)) for one in pieces])
        self._save()

    def _save(self) -> None:
        if self.variant == "simple":
            self._storage.persist(str(self._folder))


def _with_words(dense: Any, folder: Path) -> dict[str, Any]:  # noqa: ANN401
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.retrievers.bm25 import BM25Retriever

    words = BM25Retriever.from_persist_dir(str(folder / "words"))
    fused = QueryFusionRetriever(
        [dense, words],
        llm=MockLLM(),
        similarity_top_k=NEAREST,
        num_queries=1,
        mode="reciprocal_rerank",
        use_async=False,
    )
    return {"lexical": words.retrieve, "hybrid": fused.retrieve}


player = LlamaIndex
