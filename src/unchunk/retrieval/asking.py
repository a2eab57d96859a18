"""Questions to a library or a collection: checked, answered, and remembered for a short while."""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from unchunk.domain import DocumentId, OwnerId
from unchunk.errors import InvalidInputError
from unchunk.ports import Reranker
from unchunk.retrieval.amount import RERANKED, Amount, check
from unchunk.retrieval.cache import TimedCache
from unchunk.retrieval.fusion import Fusion
from unchunk.retrieval.shelf import ANY_SCORE, EVERYWHERE, Card, Sheet, Shelf, Where
from unchunk.retrieval.snippets import Found, hit_of, settled, snippets
from unchunk.retrieval.watching import WatchedReranker
from unchunk.retrieval.wording import Words
from unchunk.telemetry import Telemetry, job

if TYPE_CHECKING:
    from unchunk.retrieval.evidence import ReconstructedDocument
    from unchunk.retrieval.query import Mode, Turn
    from unchunk.retrieval.retriever import Evidence, Retriever

A = TypeVar("A")

_KEPT = 200
CACHE_SECONDS = 300.0
# Characters of a document that is asked for by its name alone.
_LONGEST = 24_000
EVERYTHING = "everything is searched, because no named document could be identified"
# What such a note speaks of may be over a moment later.
_PASSING = (
    "searched by words only",
    "searched by meaning only",
    "the search could not be extended",
    "not reranked",
)


@dataclass(frozen=True, slots=True)
class Manner:
    """How a library is searched."""

    fusion: Fusion
    words: Words = field(default_factory=Words)
    reranker: Reranker | None = None
    reranked_chunks: int = RERANKED


class Asking:
    """The same question about the same documents is answered once in five minutes.

    What a search gave is remembered with the `revision` of what is searched, so that a write is
    seen by the next search; a collection of somebody else's has none, and is seen anew when
    `cache_seconds` are over. With 0, nothing is remembered, and never an answer that is less than
    it should be because something is away. `remarks` gives what every search should say of what is
    searched at the moment.
    """

    def __init__(
        self,
        shelf: Shelf,
        telemetry: Telemetry,
        owner: OwnerId,
        manner: Manner,
        *,
        revision: Callable[[], Awaitable[int]] | None = None,
        cache_seconds: float = CACHE_SECONDS,
        remarks: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._shelf, self._telemetry = shelf, telemetry
        self._owner, self._manner, self._revision = owner, manner, revision
        self._remarks = remarks
        self._kept: TimedCache[Hashable, tuple[Any, tuple[str, ...]]] = TimedCache(
            _KEPT, cache_seconds
        )

    @cached_property
    def _retriever(self) -> "Retriever":
        # Whoever asks for plain chunks never needs it, nor what it loads.
        from unchunk.retrieval.query import QueryAnalyzer  # noqa: PLC0415
        from unchunk.retrieval.retriever import Retriever  # noqa: PLC0415

        manner = self._manner
        reranker = WatchedReranker(manner.reranker, self._telemetry) if manner.reranker else None
        analyzer = QueryAnalyzer(manner.words)
        return Retriever(
            self._shelf,
            owner=self._owner,
            analyzer=analyzer,
            reranker=reranker,
            reranked_chunks=self._manner.reranked_chunks,
        )

    async def snippets(
        self, question: str, owner: OwnerId, where: Where, limit: int, *, with_tags: bool = True
    ) -> Found:
        """Nothing is too far off: whoever asks for plain chunks gets so many.

        Only documents that the question tags are searched, if it does; unless `with_tags`, a tag
        is text.
        """
        check(question, Amount(limit))
        with job(), self._telemetry.stage("search"):
            self._telemetry.count("searches")
            if with_tags and "source" in question.casefold():
                found = await self._tagged(question, owner, where, limit)
            else:
                found = await self._plain(question, owner, where, limit)
        return replace(found, notes=(*found.notes, *self._remarks()))

    async def _plain(self, text: str, owner: OwnerId, where: Where, limit: int) -> Found:
        return await snippets(self._shelf, text, owner, where, limit=limit, min_score=ANY_SCORE)

    async def _tagged(self, question: str, owner: OwnerId, where: Where, limit: int) -> Found:
        """Chunks of the tagged documents: what else is asked for, or else their beginnings."""
        from unchunk.retrieval.sources import unclear  # noqa: PLC0415
        from unchunk.retrieval.tags import take_tags  # noqa: PLC0415

        text, names = take_tags(question)
        if not names:
            return await self._plain(question, owner, where, limit)

        async def once() -> Found:
            chosen: dict[DocumentId, Card] = {}
            missing: dict[str, Sequence[str]] = {}
            several: dict[str, Sequence[Card]] = {}
            for name in names:
                match await self._retriever.find_file_by_name(name, owner=owner):
                    case [card]:
                        chosen[card.document] = card
                    case []:
                        missing[name] = ()
                    case cards:
                        several[name] = cards
            notes = unclear(missing, several)
            documents = tuple(it for it in chosen if it in (where.documents or chosen))
            if text and chosen:
                found = await self._plain(text, owner, replace(where, documents=documents), limit)
            elif text:
                notes.append(EVERYTHING)
                found = await self._plain(text, owner, where, limit)
            else:
                found = await self._beginnings(
                    [chosen[it] for it in documents], owner, where, limit
                )
            return replace(found, notes=(*notes, *found.notes))

        return await settled(once)

    async def _beginnings(
        self, cards: Sequence[Card], owner: OwnerId, where: Where, limit: int
    ) -> Found:
        """The first chunks of documents."""
        wanted = {
            (one.document, one.generation): range(
                limit if one.chunk_count is None else min(one.chunk_count, limit)
            )
            for one in cards
        }
        sheets = await self._shelf.open(owner, wanted, where) if wanted else {}
        hits = [
            # They were asked for by name: nothing is nearer.
            hit_of(sheets[card.document], piece, 1.0)
            for card in cards
            if card.document in sheets
            for _, piece in sorted(sheets[card.document].pieces.items())
        ]
        return Found(tuple(hits[:limit]))

    async def retrieve(
        self,
        question: str,
        owner: OwnerId,
        history: "Sequence[Turn]",
        where: Where,
        amount: Amount,
        *,
        rewritten: str = "",
        mode: "Mode | None" = None,
        include: Sequence[tuple[DocumentId, int]] = (),
    ) -> "Evidence":
        check(question, amount)
        check_mode(mode)
        if mode == "passages" and not (include or rewritten.strip()) and _is_tags_only(question):
            # Nothing is asked of it that a passage could answer: it comes from its beginning.
            mode = None

        async def ask() -> "tuple[Evidence, tuple[str, ...]]":
            found = await self._retriever.retrieve(
                question,
                history=history,
                where=where,
                amount=amount,
                owner=owner,
                rewritten=rewritten,
                mode=mode,
                include=include,
            )
            # That documents differ does not make what was found less than it should be.
            return found, tuple(one for one in found.notes if one != found.disagreement)

        key = (owner, question, rewritten, mode, tuple(history), where, amount, tuple(include))
        evidence, _ = await self._once(key, ask)
        notes = (*evidence.notes, *self._remarks())
        return replace(evidence, documents=tuple(map(_copied, evidence.documents)), notes=notes)

    async def open_document(
        self, document: DocumentId, *, where: Where, owner: OwnerId
    ) -> Sheet | None:
        return await self._retriever.open_document(document, where=where, owner=owner)

    async def search_with_context(
        self,
        query: str,
        owner: OwnerId,
        where: Where,
        amount: Amount,
        *,
        content_type: str | None = None,
    ) -> "list[ReconstructedDocument]":
        if content_type is not None:
            where = replace(where, media_types=(content_type,))
        found, _ = await self._passages(query, owner, where, amount)
        remarks = tuple(self._remarks())
        return [replace(_copied(one), notes=(*one.notes, *remarks)) for one in found]

    async def _passages(
        self, query: str, owner: OwnerId, where: Where, amount: Amount
    ) -> "tuple[list[ReconstructedDocument], tuple[str, ...]]":
        check(query, amount)
        return await self._once(
            (owner, query, where, amount),
            lambda: self._retriever.passages(query, where=where, amount=amount, owner=owner),
        )

    async def _once(
        self, key: Hashable, ask: Callable[[], Awaitable[tuple[A, tuple[str, ...]]]]
    ) -> tuple[A, tuple[str, ...]]:
        """What was found, and what is to be said of it; remembered if that lasts."""
        with job(), self._telemetry.stage("search"):
            self._telemetry.count("searches")
            key = (await self._revision() if self._revision else 0, key)
            # What is not as it should be now may be mended by the next search.
            known = None if self._remarks() else self._kept.get(key)
            if known is not None:
                self._telemetry.count("evidence_cache_hits")
                return known
            found, notes = await ask()
            is_passing = any(note.startswith(_PASSING) for note in notes)
            if not is_passing and not self._remarks():
                self._kept.put(key, (found, notes))
            return found, notes

    async def rag_search(
        self, query: str, owner: OwnerId, *, chunk_aware: bool, limit: int, show_content: bool
    ) -> str:
        from unchunk.retrieval.display import harmless, show, show_hits  # noqa: PLC0415

        if not chunk_aware:
            found = await self.snippets(query, owner, EVERYWHERE, limit)
            text, notes = show_hits(found.hits, show_content=show_content), found.notes
        else:
            documents: Sequence[ReconstructedDocument]
            if _has_tags(query):
                amount = Amount(limit, full_length=_LONGEST, also_see=False)
                evidence = await self.retrieve(
                    query, owner, (), EVERYWHERE, amount, mode="passages"
                )
                documents, notes = evidence.documents, evidence.notes
            else:
                documents, notes = await self._passages(query, owner, EVERYWHERE, Amount(limit))
                notes = (*notes, *self._remarks())
            # What is noted stands above all of them, once.
            bare = [replace(one, notes=()) for one in documents]
            text = show(bare, show_content=show_content)
        return "".join([*(f"({harmless(note)})\n" for note in notes), text])

    async def find_file_by_name(self, file_name: str, owner: OwnerId) -> list[Card]:
        return await self._retriever.find_file_by_name(file_name, owner=owner)

    async def close(self) -> None:
        if self._manner.reranker is not None:
            await self._manner.reranker.close()


def check_mode(mode: "Mode | None") -> None:
    """Refuse a mode that there is not."""
    from unchunk.retrieval.query import Mode  # noqa: PLC0415

    if mode is not None and mode not in get_args(Mode):
        known = ", ".join(map(repr, get_args(Mode)))
        raise InvalidInputError(f"there is no mode {mode!r}: use {known}, or None")


def _copied(document: "ReconstructedDocument") -> "ReconstructedDocument":
    """The same for the caller, who may change its metadata: the cached document stays as it is."""
    return replace(document, metadata=dict(document.metadata))


def _has_tags(question: str) -> bool:
    from unchunk.retrieval.tags import take_tags  # noqa: PLC0415

    return bool(take_tags(question)[1])


def _is_tags_only(question: str) -> bool:
    """Whether it names documents and asks nothing else."""
    from unchunk.retrieval.tags import take_tags  # noqa: PLC0415

    text, names = take_tags(question)
    return bool(names) and not text
