"""Vectors, the same for all contestants: out of a table, of a made-up library, or of a real model.

Needs only numpy, and for the model what runs it, so that it runs in any interpreter.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np

from bench.peers.asked import Corpus, Rows
from bench.peers.measure import DIMENSIONS

_TABLE = 4096
_THREADS = len(os.sched_getaffinity(0))


class Embedding:
    """`kind` is `table`, `prepared` or `local`; `seconds` is what it took so far by itself."""

    def __init__(self, kind: str, rows: Callable[[Sequence[str]], Rows]) -> None:
        self.kind, self._rows = kind, rows
        self.seconds = 0.0
        self.corpus: Corpus | None = None

    def rows(self, texts: Sequence[str]) -> Rows:
        begun = time.thread_time()
        rows = self._rows(texts)
        self.seconds += time.thread_time() - begun
        return rows

    def lists(self, texts: Sequence[str]) -> list[list[float]]:
        """As most peers take them; to make lists counts as the model's time."""
        rows = self.rows(texts)
        begun = time.thread_time()
        lists: list[list[float]] = rows.tolist()
        self.seconds += time.thread_time() - begun
        return lists


def table() -> Embedding:
    """A text's vector is the sum of two rows of a fixed table, chosen by its checksum."""

    @cache
    def whole() -> Rows:
        made = np.random.default_rng(20).standard_normal((_TABLE, DIMENSIONS), np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return made

    def rows(texts: Sequence[str]) -> Rows:
        made = whole()
        marks = np.array([crc32(text.encode()) for text in texts], np.uint32)
        found: Rows = made[marks % _TABLE] + made[marks // _TABLE % _TABLE]
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        return found

    return Embedding("table", rows)


def prepared(corpus: Corpus) -> Embedding:
    """The vectors of a made-up library: its questions', and its chunks' by their texts."""
    places: dict[int, int] = {}

    def row(text: str) -> Rows:
        if not places:
            places.update((hash(corpus.chunk_text(at)), at) for at in range(len(corpus.chunks)))
        found: Rows = corpus.vectors[places[hash(text)]]
        return found

    def rows(texts: Sequence[str]) -> Rows:
        if len(texts) == 1 and texts[0].startswith("What of "):
            return corpus.vector(texts[0]).reshape(1, -1)
        return np.stack([row(text) for text in texts])

    made = Embedding("prepared", rows)
    made.corpus = corpus
    return made


def local(folder: Path) -> Embedding:
    """The default model of ours as an ONNX file, run as ours runs it; loaded when it is first used.

    Each text alone, on as many threads as there are cores here: no padding, no batch.
    """
    loaded: list[Callable[[str], Rows]] = []

    def load() -> Callable[[str], Rows]:
        import onnxruntime as ort  # type: ignore[import-untyped]  # carries no types
        from tokenizers import Tokenizer

        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.enable_mem_pattern = False
        options.add_session_config_entry("session.x64quantprecision", "1")
        session = ort.InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()

        def embed(text: str) -> Rows:
            ids = tokenizer.encode(text).ids[:512]
            vector: Rows = session.run(None, {"ids": np.array([ids])})[0][0]
            return vector / np.linalg.norm(vector)

        return embed

    def rows(texts: Sequence[str]) -> Rows:
        if not loaded:
            loaded.append(load())
        if len(texts) == 1:
            return loaded[0](texts[0]).reshape(1, -1)
        with ThreadPoolExecutor(_THREADS) as pool:
            return np.stack(list(pool.map(loaded[0], texts)))

    return Embedding("local", rows)
