"""A model on this machine: nothing is fetched, and no text leaves the process."""

import asyncio
import os
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unchunk.adapters.embed.files import Files, Once
from unchunk.adapters.embed.models import LocalModel
from unchunk.domain import EmbedderIdentity
from unchunk.errors import InvalidTextError
from unchunk.ports import Role, Vectors

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

    from unchunk.adapters.embed.networks import Network


class LocalEmbedder:
    """Loads at first use, in under a second; from then on it holds its weights in memory.

    `files` says where each of the model's files lies. A text runs alone on one of `threads`
    threads, as many as there are cores unless told otherwise: batches are no faster, and busy
    cores share single texts better. Questions have threads of their own, so that none waits
    for a library that is being read in.
    """

    def __init__(
        self, model: LocalModel, files: Mapping[str, Path], *, threads: int | None = None
    ) -> None:
        self._model = model
        self._threads = threads or _cores()
        self._pools: dict[Role, ThreadPoolExecutor] = {
            "document": ThreadPoolExecutor(self._threads, "embed-documents"),
            "query": ThreadPoolExecutor(self._threads, "embed-queries"),
        }
        checked = Files(model, files)
        self._tokenizer = Once(lambda: load_tokenizer(checked))
        self._network = Once(lambda: load_network(model, checked))

    @property
    def identity(self) -> EmbedderIdentity:
        return self._model.identity

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Exact, for texts that go in as documents."""
        return list(map(len, self._encode(texts, "document")))

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        rows = np.empty((len(texts), self.identity.dimensions), np.float32)
        pool, loop = self._pools[role], asyncio.get_running_loop()
        ids, network = await loop.run_in_executor(pool, self._prepare, texts, role)
        # The longest first: whoever is done early takes one of the short ones.
        waiting = deque(sorted(range(len(ids)), key=lambda at: -len(ids[at])))

        def work() -> None:
            while True:
                try:
                    at = waiting.popleft()
                except IndexError:
                    return
                rows[at] = network(ids[at])

        workers = min(self._threads, len(texts))
        try:
            await asyncio.gather(*(loop.run_in_executor(pool, work) for _ in range(workers)))
        finally:
            # Whoever no longer waits for the rest does not pay for it.
            waiting.clear()
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    async def close(self) -> None:
        for pool in self._pools.values():
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    def _prepare(self, texts: Sequence[str], role: Role) -> "tuple[list[list[int]], Network]":
        """The tokens of each text that the model reads, and the model."""
        ids = [self._within_limit(encoded.ids) for encoded in self._encode(texts, role)]
        return ids, self._network.get()

    def _within_limit(self, ids: list[int]) -> list[int]:
        limit, closing = self.identity.max_tokens, int(self._model.has_marks)
        return ids if len(ids) <= limit else ids[: limit - closing] + ids[len(ids) - closing :]

    def _encode(self, texts: Sequence[str], role: Role) -> "list[Encoding]":
        identity = self.identity
        prefix = identity.query_prefix if role == "query" else identity.document_prefix
        tokenizer = self._tokenizer.get()
        try:
            return tokenizer.encode_batch_fast(
                [prefix + text for text in texts], add_special_tokens=self._model.has_marks
            )
        except TypeError as error:
            raise InvalidTextError(
                "a text to embed is not a string, or holds half of a surrogate pair"
            ) from error


# The run time of models takes longer to load than a command that embeds nothing.


def load_tokenizer(files: Files) -> "Tokenizer":
    from unchunk.adapters.embed import networks  # noqa: PLC0415

    return networks.load_tokenizer(files)


def load_network(model: LocalModel, files: Files) -> "Network":
    from unchunk.adapters.embed import networks  # noqa: PLC0415

    return networks.load_network(model, files)


def _cores() -> int:
    """Those that this process may use, where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
