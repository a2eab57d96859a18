"""A cross-encoder on this machine: nothing is fetched, and no text leaves the process."""

import asyncio
import hashlib
import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped]  # carries no types
from tokenizers import Tokenizer

from unchunk.adapters.rerank.models import LocalModel, ModelFile
from unchunk.errors import IntegrityError, InvalidTextError, ProviderRefusedError

# Question and text as tokens, without marks; out comes a number without bounds.
Network = Callable[[list[int], list[int]], float]

# More would gain little on a few texts, and take the cores from everyone else.
_MOST_THREADS = 4
# [CLS] question [SEP] text [SEP]
_MARKS = 3
# Of a text that is read in parts, neighbours share so much: what one cuts, the other has whole.
_SHARED = 32
# A question must leave room for a part of this size.
_SMALLEST_PART = 128


class LocalReranker:
    """Loads at first use, in about a third of a second; from then on it holds its weights.

    `files` says where each of the model's files lies. Each pair runs alone on one of `threads`
    threads, as many as there are cores but at most four unless told otherwise: in batches the
    same pair would score differently, and be no faster.
    """

    def __init__(
        self, model: LocalModel, files: Mapping[str, Path], *, threads: int | None = None
    ) -> None:
        self._model = model
        self._files = files
        self._threads = threads or min(_MOST_THREADS, _cores())
        self._pool = ThreadPoolExecutor(self._threads, "rerank")
        self._loading = Lock()
        self._loaded: _Loaded | None = None

    @property
    def name(self) -> str:
        return self._model.name

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """A text that is too long for the model is read in parts, and counts as its best one."""
        if not texts:
            return []
        loop = asyncio.get_running_loop()
        network, asked, parts = await loop.run_in_executor(
            self._pool, self._prepare, question, list(texts)
        )
        best = [-math.inf] * len(texts)
        keeping = Lock()
        # The longest first: whoever is done early takes one of the short ones.
        waiting = deque(sorted(parts, key=lambda part: -len(part.tokens)))

        def work() -> None:
            while True:
                try:
                    part = waiting.popleft()
                except IndexError:
                    return
                found = network(asked, part.tokens)
                with keeping:
                    best[part.text] = max(best[part.text], found)

        workers = min(self._threads, len(waiting))
        try:
            await asyncio.gather(*(loop.run_in_executor(self._pool, work) for _ in range(workers)))
        finally:
            # Whoever no longer waits for the rest does not pay for it.
            waiting.clear()
        return [1 / (1 + math.exp(-score)) for score in best]

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    def _prepare(self, question: str, texts: list[str]) -> "tuple[Network, list[int], list[_Part]]":
        tokenizer, network = self._load()
        try:
            asked, *read = (
                encoded.ids
                for encoded in tokenizer.encode_batch_fast(
                    [question, *texts], add_special_tokens=False
                )
            )
        except TypeError as error:
            raise InvalidTextError(
                "a text to rerank is not a string, or holds half of a surrogate pair"
            ) from error
        room = self._model.max_tokens - _MARKS - len(asked)
        if room < _SMALLEST_PART:
            raise ProviderRefusedError(
                f"the question has {len(asked)} tokens, and {self.name} takes no more than "
                f"{self._model.max_tokens - _MARKS - _SMALLEST_PART}; ask a shorter one",
                about_text=True,
            )
        parts = [_Part(at, part) for at, ids in enumerate(read) for part in _parts(ids, room)]
        return network, asked, parts

    def _load(self) -> "_Loaded":
        with self._loading:
            if self._loaded is None:
                tokenizer = _load_tokenizer(_read(self._model.tokenizer, self._files))
                opening, *_, closing = tokenizer.encode("", "").ids
                weights = _read(self._model.weights, self._files)
                network = _load_network(weights, opening, closing)
                self._loaded = _Loaded(tokenizer, network)
            return self._loaded


class _Loaded(NamedTuple):
    tokenizer: Tokenizer
    network: Network


class _Part(NamedTuple):
    """Some of the tokens of the text at that place."""

    text: int
    tokens: list[int]


def _parts(tokens: list[int], room: int) -> Iterator[list[int]]:
    """All of a text, in as few parts as can be and of nearly the same size."""
    count = max(1, -((len(tokens) - _SHARED) // -(room - _SHARED)))
    size = -((len(tokens) + (count - 1) * _SHARED) // -count)
    for number in range(count):
        start = number * (size - _SHARED)
        yield tokens[start : start + size]


def _load_tokenizer(data: bytes) -> Tokenizer:
    """One that neither cuts nor pads, and takes no text for one of its marks."""
    tokenizer = Tokenizer.from_str(data.decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _load_network(data: bytes, opening: int, closing: int) -> Network:
    """Any number of threads may call it at once."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    # Texts differ in length, and a plan of memory for each length would only pile up.
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    # Without it, eight-bit weights overflow on processors that cannot multiply them well.
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])

    def network(question: list[int], text: list[int]) -> float:
        tokens = np.array([[opening, *question, closing, *text, closing]])
        kinds = np.zeros_like(tokens)
        kinds[0, len(question) + 2 :] = 1
        feeds = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": kinds,
        }
        return float(session.run(None, feeds)[0][0, 0])

    return network


def _read(file: ModelFile, files: Mapping[str, Path]) -> bytes:
    path = files[file.path]
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IntegrityError(f"cannot read {path}: {error.strerror or error}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != file.sha256:
        raise IntegrityError(
            f"{path} is not the file it should be: its SHA-256 is {found}, not {file.sha256}; "
            "delete it and get the model anew"
        )
    return data


def _cores() -> int:
    """Those that this process may use, where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
