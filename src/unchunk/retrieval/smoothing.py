"""What a chunk is worth in a passage: its own relevance, and some of that of its neighbours.

A chunk between two that answer answers, too, and one that stands alone may be there by chance.
"""

from collections.abc import Mapping

from unchunk.retrieval.shelf import Place

# How much a neighbour counts beside the chunk itself; anything from 0.2 to 0.5 does as well.
_NEIGHBOUR = 1 / 3


def beside(place: Place, chunk_count: int | None) -> list[Place]:
    """The chunks before and behind, as far as the document has them."""
    at = place.chunk_index
    last = at + 1 if chunk_count is None else chunk_count - 1
    return [place._replace(chunk_index=near) for near in (at - 1, at + 1) if 0 <= near <= last]


def smoothed(place: Place, worth: Mapping[Place, float], chunk_count: int | None) -> float:
    """The mean of its worth and of its neighbours'; what is not known is worth nothing.

    A document's first and last chunk have fewer neighbours, and lose nothing by it.
    """
    near = beside(place, chunk_count)
    total = worth.get(place, 0.0) + _NEIGHBOUR * sum(worth.get(one, 0.0) for one in near)
    return total / (1 + _NEIGHBOUR * len(near))
