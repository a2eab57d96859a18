"""Texts by their meaning, as the embedder sees them that a library was built with."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from unchunk.errors import InvalidInputError, UnchunkError
from unchunk.ports import Embedder, OpenSpace, Role, Vectors
from unchunk.telemetry import log


class Embedded(NamedTuple):
    """One row for each text; `tokens` is what they took together, in those of `model`."""

    vectors: Vectors
    tokens: int
    model: str


async def embedded(embedder: Embedder, texts: Sequence[str], role: Role) -> Embedded:
    """Refuses a text that the embedder would not read to its end."""
    counts = await asyncio.to_thread(embedder.count_tokens, texts)
    most = embedder.identity.max_tokens
    for at, count in enumerate(counts):
        if count > most:
            raise InvalidInputError(
                f"text {at} has {count} tokens, and {embedder.identity.name} reads {most}: cut it"
            )
    vectors = await embedder.embed(texts, role)
    return Embedded(vectors, sum(counts), embedder.identity.name)


async def similarity(
    spaces: Sequence[OpenSpace], question: str, texts: Sequence[str]
) -> list[float] | None:
    """Cosines, one for each text; None where no embedder answers."""
    embedder = next((one.embedder for one in spaces if one.embedder is not None), None)
    if embedder is None or not texts:
        return None
    try:
        query = await embedder.embed([question], "query")
        rows = await embedder.embed(texts, "document")
    except UnchunkError as error:
        log("sentences are not compared by meaning: %s", error)
        return None
    return [float(one) for one in rows @ query[0]]
