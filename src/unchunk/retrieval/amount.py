"""How much is wanted of what is found."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan

from unchunk.errors import InvalidInputError

MOST = 1000


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is wanted: `limit` documents, with at most `chunks_per_doc` hits each.

    `min_score` None means what is sensible for the scorer. `budget` is in what `measure`
    counts, and None means no end. The first `full_documents` come whole where the question asks
    for it, each cut around its matches at `full_length` characters. Where the best hit is worth 1,
    what is worth less than `stop` is left out, neighbours too. With `hits`, no more chunks than that
    are found in all, and so no more passages.
    `depth` is how many chunks the index is asked for; None is a wide net, of which the best are kept.
    """

    limit: int = 10
    chunks_per_doc: int | None = 3
    include_adjacent: bool = True
    min_score: float | None = None
    budget: int | None = None
    measure: Callable[[str], int] = len
    full_documents: int = 3
    full_length: int = 8000
    also_see: bool = True
    stop: float = 0.0
    hits: int | None = None
    depth: int | None = None


def check(question: str, amount: Amount) -> None:
    """Refuse what cannot be asked."""
    if not question.strip():
        raise InvalidInputError("there is nothing to search for: the question is empty")
    if not 1 <= amount.limit <= MOST:
        raise InvalidInputError(f"limit {amount.limit} is not between 1 and {MOST}")
    if amount.chunks_per_doc is not None and amount.chunks_per_doc < 1:
        raise InvalidInputError(f"chunks_per_doc {amount.chunks_per_doc} is less than 1")
    if amount.hits is not None and amount.hits < 1:
        raise InvalidInputError(f"hits {amount.hits} is less than 1")
    if amount.min_score is not None and isnan(amount.min_score):
        raise InvalidInputError("min_score is no number")
