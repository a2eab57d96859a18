"""Questions to one library: checked, answered, and remembered for a short while."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from math import isnan

from unchunk.domain import OwnerId
from unchunk.errors import InvalidInputError
from unchunk.ports import Catalog, Reranker
from unchunk.retrieval.cache import TimedCache
from unchunk.retrieval.display import harmless, show, show_hits
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.fusion import Fusion, by_rank
from unchunk.retrieval.query import QueryAnalyzer, Turn
from unchunk.retrieval.retriever import Amount, ChunkAwareRetriever, Evidence
from unchunk.retrieval.shelf import Card, Shelf, Where
from unchunk.retrieval.snippets import Found, snippets
from unchunk.retrieval.words import Words
from unchunk.telemetry import Telemetry, job

_KEPT, _SECONDS = 200, 300.0
_MOST = 1000
# What is worth less, beside the best, is left out of what a model is given: it costs attention
# and seldom answers. People who search see all.
_STOP = 0.6
# Below every cosine.
_ANY = -2.0
EVERYWHERE = Where()


@dataclass(frozen=True, slots=True)
class Manner:
    """How a library answers: `budget` is how many characters of evidence are enough."""

    fusion: Fusion = by_rank
    words: Words = field(default_factory=Words)
    reranker: Reranker | None = None
    budget: int | None = None


class Asking:
    """The same question about the same library is answered once in five minutes.

    What a search gave is remembered with the library's revision: a write is seen by the next one.
    An answer that is less than it should be is not remembered.
    """

    def __init__(
        self,
        shelf: Shelf,
        catalog: Catalog,
        telemetry: Telemetry,
        owner: OwnerId,
        manner: Manner,
    ) -> None:
        self._shelf, self._catalog, self._telemetry = shelf, catalog, telemetry
        self._owner, self._manner = owner, manner
        self._retriever = ChunkAwareRetriever(
            shelf, owner=owner, analyzer=QueryAnalyzer(manner.words), reranker=manner.reranker
        )
        self._kept: TimedCache[Hashable, Evidence] = TimedCache(_KEPT, _SECONDS)

    async def snippets(self, question: str, owner: OwnerId, where: Where, limit: int) -> Found:
        """Nothing is too far off: whoever asks for plain chunks gets so many."""
        _check(question, limit)
        with job(), self._telemetry.stage("search"):
            self._telemetry.count("searches")
            return await snippets(self._shelf, question, owner, where, limit=limit, min_score=_ANY)

    async def retrieve(
        self,
        question: str,
        owner: OwnerId,
        history: Sequence[Turn],
        where: Where,
        amount: Amount | None,
    ) -> Evidence:
        if amount is None:
            amount = Amount(chunks_per_doc=None, budget=self._manner.budget, stop=_STOP)
        _check(question, amount.limit, amount)
        with job(), self._telemetry.stage("search"):
            self._telemetry.count("searches")
            revision = await self._catalog.revision()
            key = (revision, owner, question, tuple(history), where, amount)
            known = self._kept.get(key)
            if known is not None:
                self._telemetry.count("evidence_cache_hits")
                return known
            evidence = await self._retriever.retrieve(
                question, history=history, where=where, amount=amount, owner=owner
            )
            if not evidence.notes:
                self._kept.put(key, evidence)
            return evidence

    async def search_with_context(
        self, query: str, owner: OwnerId, where: Where, amount: Amount
    ) -> list[ReconstructedDocument]:
        found, _ = await self._passages(query, owner, where, amount)
        return found

    async def _passages(
        self, query: str, owner: OwnerId, where: Where, amount: Amount
    ) -> tuple[list[ReconstructedDocument], tuple[str, ...]]:
        _check(query, amount.limit, amount)
        with job(), self._telemetry.stage("search"):
            self._telemetry.count("searches")
            return await self._retriever.passages(query, where=where, amount=amount, owner=owner)

    async def rag_search(
        self, query: str, owner: OwnerId, *, chunk_aware: bool, limit: int, show_content: bool
    ) -> str:
        if chunk_aware:
            documents, notes = await self._passages(query, owner, EVERYWHERE, Amount(limit))
            text = show(documents, show_content=show_content)
        else:
            found = await self.snippets(query, owner, EVERYWHERE, limit)
            text, notes = show_hits(found.hits, show_content=show_content), found.notes
        return "".join([*(f"({harmless(note)})\n" for note in notes), text])

    async def find_file_by_name(self, name: str, owner: OwnerId) -> list[Card]:
        return await self._retriever.find_file_by_name(name, owner=owner)

    async def close(self) -> None:
        if self._manner.reranker is not None:
            await self._manner.reranker.close()


def _check(question: str, limit: int, amount: Amount | None = None) -> None:
    if not question.strip():
        raise InvalidInputError("there is nothing to search for: the question is empty")
    if not 1 <= limit <= _MOST:
        raise InvalidInputError(f"limit {limit} is not between 1 and {_MOST}")
    most = None if amount is None else amount.chunks_per_doc
    if most is not None and most < 1:
        raise InvalidInputError(f"chunks_per_doc {most} is less than 1")
    if amount is not None and amount.min_score is not None and isnan(amount.min_score):
        raise InvalidInputError("min_score is no number")
