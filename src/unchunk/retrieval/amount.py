"""How much is wanted of what is found."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan
from operator import attrgetter
from typing import TYPE_CHECKING

from unchunk.errors import InvalidInputError

if TYPE_CHECKING:
    from unchunk.retrieval.evidence import ReconstructedDocument

MOST = 1000
# How many chunks a reranker reads, unless it is set.
RERANKED = 10


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is wanted: `limit` documents, with at most `chunks_per_doc` hits each.

    - `hits`: how many chunks may be found in all; `depth`: how many the index is asked for, where
      a wide net, of which the best are kept, is not wanted.
    - `include_adjacent`: open the neighbours of hits, too; `adjacent_documents`: only for so many
      documents, the best ones.
    - `min_score`: None is the scorer's own threshold. Hits and neighbours that are worth less than
      `stop`, where the best hit is worth 1, are left out.
    - `budget`: the length of it all in what `measure` counts; None is no limit. `written` is the text
      of a document that is counted: its content, or what is sent of it with all that stands around.
    - `full_documents`: how many documents come whole where the question asks for that, as far as
      the budget allows; `full_length`: how many characters each of them may have.
    - `also_see`: name related documents.
    """

    limit: int = 10
    chunks_per_doc: int | None = 3
    include_adjacent: bool = True
    min_score: float | None = None
    budget: int | None = None
    measure: Callable[[str], int] = len
    written: "Callable[[ReconstructedDocument], str]" = attrgetter("full_content")
    full_documents: int = 3
    full_length: int | None = None
    also_see: bool = True
    stop: float = 0.0
    hits: int | None = None
    adjacent_documents: int | None = None
    depth: int | None = None

    def size(self, document: "ReconstructedDocument") -> int:
        """How much of the budget a document takes."""
        return self.measure(self.written(document))


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
    if amount.adjacent_documents is not None and amount.adjacent_documents < 0:
        raise InvalidInputError(f"adjacent_documents {amount.adjacent_documents} is less than 0")
    if amount.full_documents < 0:
        raise InvalidInputError(f"full_documents {amount.full_documents} is less than 0")
    if amount.full_length is not None and amount.full_length < 1:
        raise InvalidInputError(f"full_length {amount.full_length} is less than 1")
    if amount.min_score is not None and isnan(amount.min_score):
        raise InvalidInputError("min_score is not a number")
