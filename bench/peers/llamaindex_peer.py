"""LlamaIndex into a Chroma collection on disk, all at once, cut by LangChain's splitter.

The chunks are then those of the other peers. Its retriever by words lives in memory alone, and
is timed apart.
"""

import time
from pathlib import Path

import chromadb
from chromadb.config import Settings
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.node_parser import LangchainNodeParser
from llama_index.core.schema import BaseNode
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.vector_stores.chroma import ChromaVectorStore

from bench.peers.measure import (
    OVERLAP,
    SIZE,
    Model,
    Result,
    Task,
    answer,
    cpu,
    read_task,
    texts_of,
)


class TableEmbedding(BaseEmbedding):  # type: ignore[misc]  # its types are not read
    _model: Model = PrivateAttr()

    def __init__(self, model: Model) -> None:
        super().__init__(model_name="table", embed_batch_size=2048)
        self._model = model

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._model.lists(texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._model.lists([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._model.lists([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def add(model: Model, store: ChromaVectorStore, paths: list[Path]) -> list[BaseNode]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP)
    whole = [
        Document(text=path.read_text("utf-8"), metadata={"source": path.name}, doc_id=path.name)
        for path in paths
    ]
    nodes: list[BaseNode] = LangchainNodeParser(splitter).get_nodes_from_documents(whole)
    VectorStoreIndex(
        nodes,
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=TableEmbedding(model),
    )
    return nodes


def run(task: Task) -> Result:
    model, result = Model(), Result()
    client = chromadb.PersistentClient(
        str(Path(task.work) / "chroma"), Settings(anonymized_telemetry=False)
    )
    store = ChromaVectorStore(chroma_collection=client.get_or_create_collection("bench"))
    warm = add(model, store, texts_of(task.warm))
    BM25Retriever.from_defaults(nodes=warm)
    result.start_cpu, model.seconds = cpu(), 0.0
    begun, cpu_begun = time.perf_counter(), cpu()
    files = texts_of(task.files)
    nodes = add(model, store, files)
    result.cpu, result.wall = cpu() - cpu_begun, time.perf_counter() - begun
    result.model = model.seconds
    result.chunks, result.documents = len(nodes), len(files)
    assert client.get_collection("bench").count() == len(nodes) + len(warm), "all are there"
    BM25Retriever.from_defaults(nodes=nodes)
    result.words_cpu = cpu() - cpu_begun - result.cpu
    return result


if __name__ == "__main__":
    answer(run(read_task()))
