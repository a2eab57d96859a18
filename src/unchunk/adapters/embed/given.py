"""Embedding models that a caller brings: objects with `encode` or `embed`, and callables."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from unchunk.domain import EmbedderIdentity, Terms
from unchunk.errors import InvalidInputError, ProviderUnavailableError
from unchunk.ports import Embedder, Role, Vectors
from unchunk.ports.replies import TRANSIENT

# How much such a model reads is not known here; what it does with a longer text is its affair.
_ANY_LENGTH = 2**31 - 1


async def embedder_over(model: object, min_score: float) -> Embedder:
    """The model as an `Embedder`; one of ours is taken as it is.

    A text is embedded to learn the length of its vectors. `min_score` is the cosine below which
    a hit means nothing.
    """
    if all(hasattr(model, name) for name in ("identity", "embed", "count_tokens")):
        return cast("Embedder", model)
    embedder = GivenEmbedder(model, min_score)
    await embedder.measure()
    return embedder


async def sparse_query(model: object, question: str) -> Terms:
    """A question as a sparse vector, by a model such as fastembed's `SparseTextEmbedding`.

    What the model returns for a text has `indices` and `values`.
    """
    name = getattr(model, "__name__", type(model).__name__)
    _, call = _calls(model, name)
    found = await _called(call, [question], name)
    vector: Any = found[0] if isinstance(found, list | tuple) and found else found
    try:
        pairs = sorted(zip(map(int, vector.indices), map(float, vector.values), strict=True))
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"the sparse embedding model {name!r} returned {type(found).__name__} for a list of one"
            " text: it has to return one vector with indices and values"
        ) from error
    return Terms(tuple(one for one, _ in pairs), tuple(weight for _, weight in pairs))


class GivenEmbedder:
    """`Embedder` over a model that knows nothing of it.

    `encode` (sentence-transformers), `embed` with or without `query_embed` (fastembed) or the
    model itself is called with a list of texts and returns, or yields, a vector for each. What
    blocks runs in a thread.
    """

    def __init__(self, model: object, min_score: float) -> None:
        self._name = getattr(model, "__name__", type(model).__name__)
        self._document, self._query = _calls(model, self._name)
        self._min_score, self._dimensions = min_score, 0

    @property
    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity(
            self._name, self._dimensions, _ANY_LENGTH, min_score=self._min_score
        )

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Characters: there is no text with more tokens than these."""
        return [len(text) for text in texts]

    async def measure(self) -> None:
        self._dimensions = (await self.embed(["text"], "query")).shape[1]

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        call = self._query if role == "query" else self._document
        found = await _called(call, list(texts), self._name)
        returned = f"the embedding model {self._name!r} returned"
        try:
            rows = _rows(found)
        # Such as ragged rows, and tensors that are elsewhere than in memory.
        except (TypeError, ValueError, RuntimeError) as error:
            raise InvalidInputError(
                f"{returned} {type(found).__name__} that cannot be read as vectors ({error}): it has"
                " to return one vector of numbers for each text"
            ) from error
        if rows.ndim != 2 or len(rows) != len(texts):
            raise InvalidInputError(
                f"{returned} an array of shape {rows.shape} for a list of {len(texts)} texts: it"
                " has to return one vector for each text"
            )
        if not np.isfinite(rows).all():
            raise InvalidInputError(f"{returned} a vector with a number that is not finite")
        return rows

    async def close(self) -> None:
        """Nothing: the model stays the caller's."""


Call = Callable[[list[str]], Any]


def _calls(model: object, name: str) -> tuple[Call, Call]:
    """What embeds documents, and what embeds questions."""
    if isinstance(model, str | bytes):
        raise InvalidInputError(
            f"{model!r:.100} is not an embedding model: pass a model object, not its name"
        )
    for method in ("encode", "embed"):
        if callable(found := getattr(model, method, None)):
            asks = getattr(model, "query_embed", None) if method == "embed" else None
            return found, asks if callable(asks) else found
    if callable(model):
        return model, model
    raise InvalidInputError(
        f"the embedding model {name!r} has neither encode nor embed and cannot be called: pass an"
        " object with one of them, or a function"
    )


async def _called(call: Call, texts: list[str], name: str) -> object:
    """What it returns, awaited and read to its end."""
    try:
        return await _read(call, texts)
    except Exception as error:
        if not _may_pass(error):
            raise
        reason = str(error) or type(error).__name__
        message = f"the embedding model {name!r} does not answer: {reason}"
        raise ProviderUnavailableError(message) from error


async def _read(call: Call, texts: list[str]) -> object:
    def in_thread() -> object:
        found = call(texts)
        # A generator works while it is read.
        return list(found) if isinstance(found, Iterator) else found

    if inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
        getattr(call, "__call__", None)  # noqa: B004 - whether awaiting it is in its signature
    ):
        found = await call(texts)
    else:
        found = await asyncio.to_thread(in_thread)
        if inspect.isawaitable(found):
            found = await cast("Awaitable[object]", found)
    if isinstance(found, AsyncIterator):
        return [one async for one in found]
    return await asyncio.to_thread(list, found) if isinstance(found, Iterator) else found


def _may_pass(error: Exception) -> bool:
    """Whether a model cannot be reached, by what clients such as httpx and openai raise.

    All other errors are mistakes, and are raised as they are.
    """
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, OSError) or status in TRANSIENT:
        return True
    # The clients have exceptions of their own, behind which is one of the connection's.
    cause = error.__cause__ or error.__context__
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    # One that names a file is about no connection.
    return cause is not None and cause.filename is None


def _rows(found: object) -> Vectors:
    if isinstance(found, list | tuple):
        found = [np.asarray(one, np.float32) for one in found]
    rows = np.asarray(found, np.float32)
    return rows[np.newaxis] if rows.ndim == 1 else rows
