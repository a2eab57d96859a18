"""Vectors that somebody else made, beside those that our embedder makes."""

from collections.abc import Sequence

import numpy as np

from unchunk.errors import InvalidInputError, ProviderUnavailableError
from unchunk.ports import Embedder, Vectors

# Two models of the same size give the same text vectors that have nothing to do with each
# other; one model with another prefix or a longer text stays well above.
_ALIKE = 0.4


def checked(embedder: Embedder | None, dimensions: int, where: str) -> Embedder:
    """The embedder, if it can have made vectors of so many dimensions; 0 is not known."""
    if embedder is None:
        raise InvalidInputError(
            f"{where} holds vectors, and nothing here turns a question into one: "
            "give the embedder that made them"
        )
    made = embedder.identity.dimensions
    if dimensions and made != dimensions:
        raise InvalidInputError(
            f"the vectors of {where} have {dimensions} dimensions, and those of embedder "
            f"{embedder.identity.name!r} have {made}: give the embedder that made them"
        )
    return embedder


async def doubts(embedder: Embedder, text: str, kept: Sequence[float], where: str) -> list[str]:
    """A note if the vector that is kept for a text has nothing of the one made here."""
    try:
        (made,) = await embedder.embed([text], "document")
    except ProviderUnavailableError as error:
        return [
            f"whether {where} was made by embedder {embedder.identity.name!r} is not known: {error}"
        ]
    likeness = float(cosines(np.asarray([kept], np.float32), made)[0])
    note = (
        f"the vectors of {where} do not look like those of embedder {embedder.identity.name!r} "
        f"(cosine {likeness:.2f} for the same text): scores may mean nothing"
    )
    return [] if likeness >= _ALIKE else [note]


def cosines(rows: Vectors, question: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(question)
    found: Vectors = (rows @ question / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return found
