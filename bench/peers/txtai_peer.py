"""txtai with content, dense vectors and BM25, cut by LangChain's splitter as the others are.

The variant is how many documents go in between two saves: all, if not told otherwise. What was
not saved is lost with the process.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from langchain_text_splitters import RecursiveCharacterTextSplitter
from txtai import Embeddings  # type: ignore[import-not-found]  # in the peers' interpreter

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


def chunks(paths: Sequence[Path]) -> Iterator[tuple[str, str, None]]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP)
    for path in paths:
        for at, text in enumerate(splitter.split_text(path.read_text("utf-8"))):
            yield f"{path.name}:{at}", text, None


def build(model: Model, paths: list[Path], target: Path, at_once: int) -> Any:  # noqa: ANN401 -- it has no types here
    def transform(texts: list[str]) -> Any:  # noqa: ANN401
        return model.rows(texts)

    made = Embeddings(method="external", transform=transform, content=True, hybrid=True)
    for first in range(0, len(paths), at_once):
        made.upsert(chunks(paths[first : first + at_once]))
        made.save(str(target))
    return made


def run(task: Task) -> Result:
    model, result, work = Model(), Result(), Path(task.work)
    files = texts_of(task.files)
    at_once = int(task.variant or len(files))
    build(model, texts_of(task.warm), work / "warm", 1).close()
    result.start_cpu, model.seconds = cpu(), 0.0
    begun, cpu_begun = time.perf_counter(), cpu()
    made = build(model, files, work / "index", at_once)
    result.chunks, result.documents = made.count(), len(files)
    assert made.ann is not None, "it searches by meaning"
    assert made.scoring.terms is not None, "and by words"
    made.close()
    result.cpu, result.wall = cpu() - cpu_begun, time.perf_counter() - begun
    result.model = model.seconds
    return result


if __name__ == "__main__":
    answer(run(read_task()))
