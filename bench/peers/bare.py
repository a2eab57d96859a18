"""The engine alone, in this process: points in, flushed now and then, optimized, closed.

The texts are read and cut beforehand, as ours are. Variants: `ready` has the points beforehand
too; `made` makes terms and points as part of the work; `defaults` does so as well, without our
settings and payload indexes, so that it builds its graph at once.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid5

import qdrant_edge as engine

from bench.peers.measure import (
    DIMENSIONS,
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
from unchunk.adapters.index.edge_shard import Shard
from unchunk.domain import Chunking, ChunkingStrategy, Extracted
from unchunk.library.layout import embedded_text, lay_out
from unchunk.ports import Vectors

# As many documents as ours brings in at a time share a flush.
_DOCUMENTS_PER_FLUSH = 16
_SPACE = UUID(int=7)


class Cut(NamedTuple):
    """A document's chunks, with all that is known before the engine is called."""

    name: str
    texts: list[str]
    vectors: Vectors


def cut(path: Path, model: Model) -> Cut:
    text = path.read_text("utf-8")
    chunking = Chunking(ChunkingStrategy("chars", SIZE, OVERLAP), "boundary")
    chunks = lay_out(Extracted(text, "text/plain"), chunking, lambda them: [1] * len(them), 512)
    texts = [embedded_text(text, chunk) for chunk in chunks]
    return Cut(path.name, texts, model.rows(texts))


def made(document: Cut, lexicon: engine.Bm25) -> Iterator[engine.Point]:
    rows = document.vectors.tolist()
    for at, (text, row) in enumerate(zip(document.texts, rows, strict=True)):
        yield engine.Point(
            uuid5(_SPACE, f"{document.name}{at}"),
            {"dense": row, "terms": lexicon.embed_document(text)},
            {
                "owner": "local",
                "document": document.name,
                "folder": "",
                "generation": 1,
                "chunk_index": at,
            },
        )


def create(folder: Path, variant: str) -> Shard:
    if variant != "defaults":
        return Shard.create(folder, DIMENSIONS)
    folder.mkdir(parents=True)
    dense = engine.EdgeVectorParams(size=DIMENSIONS, distance=engine.Distance.Cosine)
    terms = engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)
    config = engine.EdgeConfig(vectors={"dense": dense}, sparse_vectors={"terms": terms})
    return Shard(engine.EdgeShard.create(str(folder), config))


def fill(folder: Path, documents: list[Cut], variant: str) -> Result:
    lexicon = engine.Bm25(engine.Bm25Config(language="english", ascii_folding=True, avg_len=128.0))
    ready = [list(made(one, lexicon)) for one in documents] if variant == "ready" else None
    shard = create(folder, variant)
    begun, cpu_begun = time.perf_counter(), cpu()
    for at, document in enumerate(documents):
        shard.put(ready[at] if ready else list(made(document, lexicon)))
        if at % _DOCUMENTS_PER_FLUSH == _DOCUMENTS_PER_FLUSH - 1:
            shard.flush()
    shard.flush()
    cpu_put = cpu()
    shard.optimize()
    shard.flush()
    cpu_optimized = cpu()
    shard.close()
    return Result(
        documents=len(documents),
        chunks=sum(len(document.texts) for document in documents),
        cpu=cpu() - cpu_begun,
        wall=time.perf_counter() - begun,
        stage_seconds={"put": cpu_put - cpu_begun, "optimize": cpu_optimized - cpu_put},
    )


def run(task: Task) -> Result:
    model, work = Model(), Path(task.work)
    fill(work / "warm", [cut(path, model) for path in texts_of(task.warm)], task.variant)
    start = cpu()
    documents = [cut(path, model) for path in texts_of(task.files)]
    result = fill(work / "shard", documents, task.variant)
    result.start_cpu = start
    return result


if __name__ == "__main__":
    answer(run(read_task()))
