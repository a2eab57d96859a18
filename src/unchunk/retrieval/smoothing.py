"""What a chunk is worth in a passage: its own relevance, and some of that of its neighbours.

A chunk between two that answer answers, too, and one that stands alone may be there by chance.
"""

from collections.abc import Mapping

from unchunk.domain import ChunkKey

# How much a neighbour counts beside the chunk itself; anything from 0.2 to 0.5 does as well.
_NEIGHBOUR = 1 / 3


def smoothed(key: ChunkKey, worth: Mapping[ChunkKey, float], chunk_count: int | None) -> float:
    """The mean of its worth and of its neighbours'; what was not found is worth nothing.

    A document's first and last chunk have fewer neighbours, and lose nothing by it.
    """
    at = key.chunk_index
    total, weight = worth.get(key, 0.0), 1.0
    for index in (at - 1, at + 1):
        if index >= 0 and (chunk_count is None or index < chunk_count):
            total += _NEIGHBOUR * worth.get(ChunkKey(*key[:3], index), 0.0)
            weight += _NEIGHBOUR
    return total / weight
