"""An embedding model behind a URL: OpenAI's and what speaks like it, Azure OpenAI, Ollama."""

import asyncio
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unchunk.adapters.embed.attempts import Patience
from unchunk.adapters.embed.calls import Calls
from unchunk.adapters.embed.endpoints import Endpoint
from unchunk.adapters.embed.providers import RemoteModel
from unchunk.domain import EmbedderIdentity
from unchunk.errors import InvalidSettingError, InvalidTextError, ProviderRefusedError
from unchunk.ports import Role, Vectors
from unchunk.text.tokens import get_encoding

# What tokenizers put around a text, generously.
_MARKS = 4
# A text that is cut may have a few tokens more than it had as part of a longer one.
_SLACK = 8


@dataclass(frozen=True, slots=True)
class Load:
    """How much one request carries, and how many requests run side by side."""

    texts: int = 128
    tokens: int = 100_000
    requests: int = 4


class RemoteEmbedder:
    """Belongs to the event loop that it is first used in. Connects at first use."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: RemoteModel,
        *,
        load: Load | None = None,
        patience: Patience | None = None,
    ) -> None:
        if not model.dimensions:
            raise InvalidSettingError(
                f"the dimensions of {model.name!r} are not known: set them, or let them be learned"
            )
        self._where = endpoint.where
        self._model = model
        self._load = load or Load()
        self._calls = Calls(endpoint, patience or Patience())
        self._slots = asyncio.Semaphore(self._load.requests)
        # How many texts a request may carry, as far as the provider has shown.
        self._most = self._load.texts

    @property
    def identity(self) -> EmbedderIdentity:
        return self._model.identity()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Exact for OpenAI's models. For others the bytes in UTF-8, which no tokenizer exceeds."""
        return [self._count(_checked(self._model.document_prefix, text)) for text in texts]

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        model = self._model
        prefix = model.query_prefix if role == "query" else model.document_prefix
        batches = self._batches([self._fit(_checked(prefix, text)) for text in texts])
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._embed_batch(batch)) for batch in batches]
        except BaseExceptionGroup as failed:
            # The first says what is wrong; the others were stopped for its sake.
            raise failed.exceptions[0] from None
        empty = np.empty((0, self.identity.dimensions), np.float32)
        return np.concatenate([empty, *(task.result() for task in tasks)])

    async def close(self) -> None:
        await self._calls.close()

    def _count(self, text: str) -> int:
        if self._model.encoding:
            return get_encoding(self._model.encoding).count(text)
        # Some tokenizers normalise first, and a few characters become many by it.
        plain, normal = len(text.encode()), len(unicodedata.normalize("NFKC", text).encode())
        return max(plain, normal) + _MARKS

    def _fit(self, text: str) -> str:
        """What the model reads of a text, where its tokens can be told. None takes an empty one."""
        limit, name = self._model.max_tokens, self._model.encoding
        if name and len(text) > limit and self._count(text) > limit:
            text = text[: get_encoding(name).bounds(text)[limit - _SLACK]]
        return text or " "

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        tokens = 0
        for text in texts:
            more = self._count(text)
            if batch and (len(batch) >= self._most or tokens + more > self._load.tokens):
                yield batch
                batch, tokens = [], 0
            batch.append(text)
            tokens += more
        if batch:
            yield batch

    async def _embed_batch(self, texts: list[str]) -> Vectors:
        """The vectors of a batch, in smaller requests if the provider refuses so many texts at once.

        What it refuses in a request of a single text is refused: that takes a few requests more,
        each half as large as the one before.
        """
        rows: list[Vectors] = []
        size, at = len(texts), 0
        while at < len(texts):
            async with self._slots:
                size = min(size, self._most)
                some = texts[at : at + size]
                try:
                    rows.append(await self._embed_request(some))
                except ProviderRefusedError as error:
                    if not error.about_text or len(some) == 1:
                        raise
                    size = len(some) // 2
                    continue
            at += len(some)
        if size < len(texts):
            self._most = min(self._most, size)
        return np.concatenate(rows)

    async def _embed_request(self, texts: list[str]) -> Vectors:
        rows = await self._calls.vectors(texts)
        if len(rows) != len(texts):
            raise ProviderRefusedError(
                f"{self._where} gave {len(rows)} vectors for {len(texts)} texts"
            )
        if rows.shape[1] != self._model.dimensions:
            raise ProviderRefusedError(
                f"{self._where} gave vectors of {rows.shape[1]} dimensions, and those of "
                f"{self._model.name!r} have {self._model.dimensions}; check the model's name, "
                "or set embedder_dimensions"
            )
        return _of_length_one(rows, self._where)


async def learn(
    endpoint: Endpoint,
    model: RemoteModel,
    *,
    load: Load | None = None,
    patience: Patience | None = None,
) -> RemoteEmbedder:
    """An embedder for a model whose dimensions are not known: one short request tells them."""
    calls = Calls(endpoint, patience or Patience())
    try:
        rows = await calls.vectors(["How long is a vector?"])
    finally:
        await calls.close()
    if len(rows) != 1:
        raise ProviderRefusedError(f"{endpoint.where} gave {len(rows)} vectors for one text")
    learned = replace(model, dimensions=rows.shape[1])
    return RemoteEmbedder(endpoint, learned, load=load, patience=patience)


def _checked(prefix: str, text: str) -> str:
    try:
        (whole := prefix + text).encode()
    except (TypeError, UnicodeEncodeError) as error:
        raise InvalidTextError(
            "a text to embed is not a string, or holds half of a surrogate pair"
        ) from error
    return whole


def _of_length_one(rows: Vectors, where: str) -> Vectors:
    # In double precision no length overflows.
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise ProviderRefusedError(f"{where} gave a vector without a length")
    even: Vectors = (rows / lengths).astype(np.float32)
    return even
