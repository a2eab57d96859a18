"""LlamaIndex's fusion of a Chroma collection and its BM25 retriever, over the same chunks.

It neither widens nor merges; what its postprocessor for neighbours gives is looked at apart.
"""

from pathlib import Path

import chromadb
from chromadb.config import Settings
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import PrevNextNodePostprocessor
from llama_index.core.retrievers import QueryFusionRetriever, VectorIndexRetriever
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.vector_stores.chroma import ChromaVectorStore

from bench.peers.asked import (
    NEAREST,
    Answer,
    Asking,
    Corpus,
    ask_all,
    give,
    read_asking,
    repeated,
)

_AT_ONCE = 5000


class Prepared(BaseEmbedding):  # type: ignore[misc]  # its types are not read
    _corpus: Corpus = PrivateAttr()

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(model_name="prepared")
        self._corpus = corpus

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_query_embedding(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        row: list[float] = self._corpus.vector(query).tolist()
        return row

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def nodes(corpus: Corpus) -> list[TextNode]:
    made = []
    owners = corpus.chunks[:, 0].tolist()
    for at, owner in enumerate(owners):
        relations = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"document-{owner}")}
        if at and owners[at - 1] == owner:
            relations[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=str(at - 1))
        if at + 1 < len(owners) and owners[at + 1] == owner:
            relations[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=str(at + 1))
        made.append(TextNode(text=corpus.chunk_text(at), id_=str(at), relationships=relations))
    return made


def run(asking: Asking) -> Answer:
    corpus, work = Corpus(Path(asking.corpus)), Path(asking.work)
    is_built = (work / "built").exists()
    client = chromadb.PersistentClient(str(work / "chroma"), Settings(anonymized_telemetry=False))
    store = ChromaVectorStore(chroma_collection=client.get_or_create_collection("bench"))
    model = Prepared(corpus)
    every = nodes(corpus)
    if not is_built:
        for first in range(0, len(every), _AT_ONCE):
            some = every[first : first + _AT_ONCE]
            for node, row in zip(some, corpus.vectors[first : first + _AT_ONCE], strict=True):
                node.embedding = row.tolist()
            store.add(some)
        (work / "built").touch()
    assert client.get_collection("bench").count() == len(every), "all are there"
    index = VectorStoreIndex.from_vector_store(
        store, embed_model=model, storage_context=StorageContext.from_defaults(vector_store=store)
    )
    dense = VectorIndexRetriever(index, similarity_top_k=NEAREST)
    words = BM25Retriever.from_defaults(nodes=every, similarity_top_k=NEAREST)
    fused = QueryFusionRetriever(
        [dense, words],
        llm=MockLLM(),
        similarity_top_k=NEAREST,
        num_queries=1,
        mode="reciprocal_rerank",
        use_async=False,
    )
    answer = ask_all(corpus, asking, "hybrid", fused.retrieve)
    answer.recall = corpus.recall(
        [[int(hit.node.node_id) for hit in dense.retrieve(one)] for one in corpus.questions]
    )
    answer.duplicated["with neighbours"] = _duplicated(corpus, every, fused)
    return answer


def _duplicated(corpus: Corpus, every: list[TextNode], fused: QueryFusionRetriever) -> float:
    kept = SimpleDocumentStore()
    kept.add_documents(every)
    widen = PrevNextNodePostprocessor(docstore=kept, num_nodes=1, mode="both")
    characters = twice = 0
    for question in corpus.questions:
        hits = widen.postprocess_nodes(fused.retrieve(question))
        spans = []
        for hit in hits:
            document, _, start, end = corpus.chunks[int(hit.node.node_id)].tolist()
            spans.append((document, start, end))
        total, again = repeated(spans)
        characters, twice = characters + total, twice + again
    return twice / characters


if __name__ == "__main__":
    give(run(read_asking()))
