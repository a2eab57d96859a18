"""Vectors without a model: the runs of four characters that a text is made of, hashed.

Texts are alike that share spelling, not meaning. For tests, and for machines where no model can
be had. Whole numbers do the work, so a text has the same vector everywhere and for ever.
"""

import asyncio
from collections.abc import Sequence

import numpy as np

from unchunk.domain import EmbedderIdentity
from unchunk.errors import InvalidTextError
from unchunk.ports import Role, Vectors

_RUN = 4
# Multipliers and shifts of well-known hashes; wrapping around is meant.
_SPREAD, _JOIN, _FINISH = np.uint32(0x9E3779B1), np.uint32(0x01000193), np.uint32(0x85EBCA6B)


class HashingEmbedder:
    """Some 30 µs for 200 words. Reads texts of any length, and counts a token for each run."""

    def __init__(self, dimensions: int = 512) -> None:
        self._identity = EmbedderIdentity(
            name="hashing-1", dimensions=dimensions, max_tokens=8192, min_score=0.22
        )

    @property
    def identity(self) -> EmbedderIdentity:
        return self._identity

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) // _RUN + 1 for text in texts]

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:  # noqa: ARG002 -- no prefixes
        return await asyncio.to_thread(self._rows, texts)

    async def close(self) -> None:
        """Nothing is held."""

    def _rows(self, texts: Sequence[str]) -> Vectors:
        rows = np.empty((len(texts), self._identity.dimensions), np.float32)
        for at, text in enumerate(texts):
            rows[at] = _counts(text, self._identity.dimensions)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


def _counts(text: str, dimensions: int) -> Vectors:
    """How often runs came for a dimension, less how often they came against it."""
    try:
        # Blanks around make a run of the shortest text.
        data = f"  {text.lower()}  ".encode("utf-32-le")
    except UnicodeEncodeError as error:
        raise InvalidTextError("a text to embed holds half of a surrogate pair") from error
    characters = np.frombuffer(data, "<u4") * _SPREAD
    runs = characters
    for length in range(1, _RUN):
        runs = runs[:-1] * _JOIN ^ characters[length:]
    runs ^= runs >> np.uint32(15)
    runs *= _FINISH
    runs ^= runs >> np.uint32(13)
    both = np.bincount(runs % np.uint32(2 * dimensions), minlength=2 * dimensions)
    counts = (both[:dimensions] - both[dimensions:]).astype(np.float32)
    if not counts.any():
        counts[0] = 1  # all cancelled out: still a vector of length one
    return counts
