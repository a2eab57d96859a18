"""LangChain's splitter into a Chroma collection on disk.

The variant is how many documents are added at once: all, if not told otherwise, which suits it
best. Its retriever by words lives in memory alone, and is timed apart.
"""

import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings
from langchain_chroma import Chroma  # type: ignore[import-not-found]  # in the peers' interpreter
from langchain_community.retrievers import (  # type: ignore[import-not-found]  # likewise
    BM25Retriever,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter

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
    timed,
)

_MOST = 5000  # rows that the collection takes at once


class TableEmbeddings(Embeddings):
    def __init__(self, model: Model) -> None:
        self._model = model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._model.lists(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._model.lists([text])[0]


def split(paths: list[Path]) -> list[Document]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP)
    whole = [Document(path.read_text("utf-8"), metadata={"source": path.name}) for path in paths]
    chunks: list[Document] = splitter.split_documents(whole)
    return chunks


def add(store: Any, chunks: list[Document]) -> None:  # noqa: ANN401 -- it has no types here
    ids = identify(chunks)
    for first in range(0, len(chunks), _MOST):
        store.add_documents(chunks[first : first + _MOST], ids=ids[first : first + _MOST])


def identify(chunks: list[Document]) -> list[str]:
    counts: Counter[str] = Counter()
    ids = []
    for chunk in chunks:
        source = chunk.metadata["source"]
        ids.append(f"{source}:{counts[source]}")
        counts[source] += 1
    return ids


def run(task: Task) -> Result:
    model, result = Model(), Result()
    client = chromadb.PersistentClient(
        str(Path(task.work) / "chroma"), Settings(anonymized_telemetry=False)
    )
    store = Chroma("bench", TableEmbeddings(model), client=client)
    warm = split(texts_of(task.warm))
    BM25Retriever.from_documents(warm)
    add(store, warm)
    result.start_cpu, model.seconds = cpu(), 0.0
    begun, cpu_begun = time.perf_counter(), cpu()
    files, chunks = texts_of(task.files), []
    at_once = int(task.variant or len(files))
    for first in range(0, len(files), at_once):
        some = split(files[first : first + at_once])
        add(store, some)
        chunks += some
    result.cpu, result.wall = cpu() - cpu_begun, time.perf_counter() - begun
    result.model = model.seconds
    result.documents, result.chunks = len(files), len(chunks)
    assert client.get_collection("bench").count() == len(chunks) + len(warm), "all are there"
    BM25Retriever.from_documents(chunks)
    result.words_cpu = cpu() - cpu_begun - result.cpu
    change(task, store, chunks, result)
    return result


def change(task: Task, store: Any, chunks: list[Document], result: Result) -> None:  # noqa: ANN401
    """By ids that the caller remembers, which costs less than by source."""
    ids: dict[str, list[str]] = {}
    for chunk, one in zip(chunks, identify(chunks), strict=True):
        ids.setdefault(chunk.metadata["source"], []).append(one)
    names = sorted(ids)

    def delete(name: str) -> None:
        store.delete(ids[name])

    def replace(name: str) -> None:
        store.delete(ids[name])
        add(store, split([Path(task.changed) / name]))

    for at in range(task.operations):
        gone, other = names[at], names[-1 - at]
        timed(partial(delete, gone), result.delete_cpu, result.delete_wall)
        add(store, split([Path(task.files) / gone]))
        timed(partial(replace, other), result.replace_cpu, result.replace_wall)


if __name__ == "__main__":
    answer(run(read_task()))
