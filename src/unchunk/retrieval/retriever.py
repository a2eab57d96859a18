"""A question into evidence: planned, found, put together again, fitted, and explained."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from unchunk.domain import DocumentId, OwnerId
from unchunk.errors import ProviderRefusedError, ProviderUnavailableError
from unchunk.ports import Reranker
from unchunk.retrieval.amount import RERANKED, Amount, check
from unchunk.retrieval.cited import citations_in
from unchunk.retrieval.duplicates import disagreements_told
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.followup import is_empty
from unchunk.retrieval.looking import Look, Looker, Request
from unchunk.retrieval.marking import tag_for
from unchunk.retrieval.names import match_names, may_have_blanks, may_mention, with_quoted_tags
from unchunk.retrieval.query import (
    READ_TURNS,
    Mode,
    QueryAnalyzer,
    QueryPlan,
    Turn,
    last_answers,
)
from unchunk.retrieval.selection import Omission, select
from unchunk.retrieval.shelf import (
    ANY_SCORE,
    EVERYWHERE,
    Candidate,
    Card,
    Dropped,
    FoundBy,
    MovedError,
    Place,
    Sheet,
    Shelf,
    Where,
    doubts_told,
)
from unchunk.retrieval.snippets import settled
from unchunk.retrieval.sources import by_names, mentioned, path_of, unclear, with_citations
from unchunk.retrieval.wholes import beside_hits, open_wholes, wanted_whole, wholes

_RELATED = 3


class Related(NamedTuple):
    """A document that is not in the evidence and may be worth a look, and why."""

    document: DocumentId
    name: str
    score: float
    reason: str
    found_by: FoundBy = "meaning"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What answers a question, and how it came about.

    `omitted` is what there was no room for, `dropped` what was found and not wanted; `found` is
    all that the search gave, best first, with the `names` of their documents as far as they were
    opened. `notes` says where this is less than it should be, and `disagreement`, one of them, where
    documents that say nearly the same differ.
    """

    plan: QueryPlan
    documents: tuple[ReconstructedDocument, ...]
    also_see: tuple[Related, ...] = ()
    omitted: tuple[Omission, ...] = ()
    notes: tuple[str, ...] = ()
    found: tuple[Candidate, ...] = field(default=(), repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    names: Mapping[DocumentId, str] = field(default_factory=dict, repr=False)
    disagreement: str = ""


class Retriever:
    """Whole passages from a shelf; `owner` is whose documents are meant where none is named."""

    def __init__(
        self,
        shelf: Shelf,
        *,
        owner: OwnerId = "",
        analyzer: QueryAnalyzer | None = None,
        reranker: Reranker | None = None,
        reranked_chunks: int = RERANKED,
    ) -> None:
        self._shelf, self._owner = shelf, owner
        self._analyzer = analyzer or QueryAnalyzer()
        self._looker = Looker(shelf, reranker, reranked_chunks)

    async def search_with_context(
        self,
        query: str,
        limit: int = 10,
        chunks_per_doc: int | None = 3,
        include_adjacent: bool = True,
        min_score: float | None = None,
        *,
        content_type: str | None = None,
        adjacent_documents: int | None = None,
        where: Where = EVERYWHERE,
        owner: OwnerId | None = None,
    ) -> list[ReconstructedDocument]:
        """The documents that answer best, each with its best chunks and what stands around them."""
        if content_type is not None:
            where = replace(where, media_types=(content_type,))
        amount = Amount(
            limit,
            chunks_per_doc,
            include_adjacent,
            min_score,
            adjacent_documents=adjacent_documents,
        )
        found, _ = await self.passages(query, where=where, amount=amount, owner=owner)
        return found

    async def passages(
        self,
        query: str,
        *,
        where: Where = EVERYWHERE,
        amount: Amount | None = None,
        owner: OwnerId | None = None,
    ) -> tuple[list[ReconstructedDocument], tuple[str, ...]]:
        """The same, with notes that say where it is less than it should be."""
        amount = amount or Amount()
        check(query, amount)
        request = self._request((query,), self._whose(owner), where, amount)

        async def once() -> tuple[list[ReconstructedDocument], tuple[str, ...]]:
            look = await self._looker.look(request)
            found = select(look.drafts, reach=request.reach).documents
            differ = disagreements_told(look.disagreements, [one.document for one in found])
            notes = (*look.notes, *self._lacking(look, amount), *doubts_told(look.doubts))
            notes = (*notes, *filter(None, [differ]))
            found = tuple(replace(one, notes=notes) for one in found)
            return _with_ways(found, look.found), notes

        return await settled(once)

    async def retrieve(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        where: Where = EVERYWHERE,
        amount: Amount | None = None,
        owner: OwnerId | None = None,
        rewritten: str = "",
        mode: Mode | None = None,
        include: Sequence[tuple[DocumentId, int]] = (),
    ) -> Evidence:
        """Passages, or full documents where the question asks for them, with the reasons.

        `rewritten` is the question as a model completed it from the history, if one did: it is
        searched for beside the question as it stands. `mode` is for who knows better than the
        question says, and `include` for who knows chunks that belong to the answer: they are as
        good as the best that is found.
        """
        whose, amount = self._whose(owner), amount or Amount()
        check(question, amount)
        listing = _Listing(self._shelf, whose)
        if may_have_blanks(question):
            cards = await listing.cards()
            paths = [path for card in cards for path in (path_of(card), card.name)]
            question = await asyncio.to_thread(with_quoted_tags, question, paths)
        asked = await self._planned(question, history, listing)
        if rewritten.strip():
            reasons = (*asked.reasons, "searched for as a model rewrote it")
            asked = replace(asked, search_text=rewritten.strip(), reasons=reasons)
        asked = _insisted(asked, mode)
        if include:
            reasons = (*asked.reasons, "with chunks that were asked for")
            asked = replace(asked, reasons=reasons)

        async def once() -> Evidence:
            plan, notes = asked, list[str]()
            named = await self._sources(plan, listing, notes)
            if plan.sources and not named:
                plan = _insisted(await self._planned(plan.question, history, listing), mode)
                if plan.question:
                    notes.append(
                        "everything is searched, because no named document could be identified"
                    )
            in_question = await self._mentioned(plan.question, listing, where, notes)
            if in_question:
                named = [*dict.fromkeys((*named, *in_question.values()))]
                plan = _with_sources(plan, [*in_question], mode)
            plan, texts = self._searched_for(plan, named, [*in_question])
            request = replace(
                self._request(texts, whose, where, amount),
                also=tuple(dict.fromkeys((*include, *plan.carried))),
                best=frozenset((*include, *_first_chunks(plan, amount))),
            )
            try:
                evidence = await self._gather(plan, named, request, amount)
            except MovedError:
                listing.forget()
                raise
            notes += _outside(named, evidence)
            return replace(evidence, notes=(*notes, *evidence.notes))

        return await settled(once)

    async def find_file_by_name(
        self, file_name: str, *, owner: OwnerId | None = None
    ) -> list[Card]:
        """The document of that name; several if it could be any of them; none if there is none.

        Exactly so, then but for case, then a part of it that only one has.
        """
        cards, _ = _named(file_name, await self._shelf.cards(self._whose(owner)))
        return cards

    async def open_document(
        self, document: DocumentId, *, where: Where = EVERYWHERE, owner: OwnerId | None = None
    ) -> Sheet | None:
        """All chunks of a document, as far as they lie within `where`.

        None if it is not there, or if it is not known how many chunks it has.
        """
        whose = self._whose(owner)

        async def once() -> Sheet | None:
            for card in await self._shelf.cards(whose):
                if card.document == document and card.chunk_count is not None:
                    wanted = {(document, card.generation): range(card.chunk_count)}
                    return (await self._shelf.open(whose, wanted, where)).get(document)
            return None

        return await settled(once)

    async def _gather(
        self, plan: QueryPlan, named: Sequence[Card], request: Request, amount: Amount
    ) -> Evidence:
        owner, where = request.owner, request.where
        if named:
            # All of a document that was named is wanted, however little of it answers.
            chosen = dict.fromkeys(
                (*(card.document for card in named), *(document for document, _ in request.best))
            )
            inside = tuple(it for it in chosen if where.documents is None or it in where.documents)
            request = replace(request, where=replace(where, documents=inside), min_score=ANY_SCORE)
        look = await self._looker.look(request) if request.texts else Look()
        # What an answer cites may be gone, or somebody else's: then it was not found.
        there = {one.place[::2] for one in look.found}
        plan = replace(plan, carried=tuple(one for one in plan.carried if one in there))

        def has_topic(sheet: Sheet) -> bool:
            names = (sheet.name, sheet.title)
            return any(self._analyzer.topic(text, names) for text in request.texts)

        wanted = wanted_whole(plan, named, look, amount, has_topic) if self._shelf.fetches else []
        opened = await open_wholes(self._shelf, owner, wanted, request.where, amount)
        # One tag for all that is shown together.
        sheets = [one.sheet for one in opened]
        every = (*sheets, *(draft.sheet for draft in look.drafts))
        tag = (
            tag_for(it.text for sheet in every for it in sheet.pieces.values()) if sheets else None
        )
        # More of what was cited needs no hits elsewhere, unless it names a matter of its own.
        is_searched = not named and not (plan.carried and is_empty(plan.question))
        whole, omitted = wholes(
            opened, beside_hits(look.drafts, wanted, amount) if is_searched else amount, tag
        )
        room = amount.budget
        if room is not None:
            room -= sum(map(amount.size, whole))
        shown = {one.document for one in whole}
        rest = [one for one in look.drafts if one.sheet.document not in shown]
        cited = {document for document, _ in plan.carried}
        rest.sort(key=lambda one: one.sheet.document not in cited)
        selected = select(
            rest,
            reach=request.reach,
            budget=room,
            size=amount.size,
            needed=amount.stop,
            tag=tag,
        )
        documents = tuple(_with_ways((*whole, *selected.documents), look.found))
        differ = disagreements_told(look.disagreements, [one.document for one in documents])
        doubts = (*look.doubts, *(it for one in sheets for it in one.doubts))
        notes = [*look.notes, *self._lacking(look, amount)]
        notes += (it for one in sheets for it in one.notes)
        return Evidence(
            plan,
            documents,
            await self._also_see(owner, where, look, documents) if amount.also_see else (),
            (*omitted, *selected.omitted),
            (*dict.fromkeys(notes), *doubts_told(doubts), *filter(None, [differ])),
            look.found,
            look.dropped,
            look.names,
            differ,
        )

    async def _planned(
        self, question: str, history: Sequence[Turn], listing: "_Listing"
    ) -> QueryPlan:
        """Plan the question. Citations that did not come with the history are read from its text."""
        plan = self._analyzer.analyze(question, history)
        if not plan.follow_up or plan.carried:
            return plan
        turns = list(history[-READ_TURNS:])
        read = {at: citations_in(turns[at].content) for at in last_answers(turns)}
        if any(cited.sources for cited in read.values()):
            by_name = await asyncio.to_thread(by_names, await listing.cards())
        else:
            by_name = {}
        for at, cited in read.items():
            turns[at] = with_citations(turns[at], cited, by_name)
        return self._analyzer.analyze(question, [*history[:-READ_TURNS], *turns])

    def _searched_for(
        self, plan: QueryPlan, named: Sequence[Card], mentioned: Sequence[str]
    ) -> tuple[QueryPlan, tuple[str, ...]]:
        """The plan with what is searched for, without words that only say how much is wanted."""
        if not self._shelf.fetches:
            return _as_asked(plan, named)
        texts = [plan.question, plan.search_text]
        if plan.mode != "passages":
            names = (*mentioned, *(card.name for card in named))
            topics = [self._analyzer.topic(text, names) for text in texts]
            # Of a document that is named, nothing has to be found.
            texts = topics if named or any(topics) else texts
        found = tuple(dict.fromkeys(filter(None, texts)))
        return replace(plan, search_text=found[-1] if found else ""), found

    async def _mentioned(
        self, question: str, listing: "_Listing", where: Where, notes: list[str]
    ) -> dict[str, Card]:
        """The documents whose file names stand in the question."""
        if not may_mention(question):
            return {}
        try:
            cards = await listing.cards()
        except (ProviderRefusedError, ProviderUnavailableError) as error:
            # The name of a file is only a hint: the question can be searched for as it is.
            notes.append(f"file names in the question could not be looked up: {error}")
            return {}
        found, told = await asyncio.to_thread(mentioned, question, cards, where)
        notes += told
        return found

    async def _sources(self, plan: QueryPlan, listing: "_Listing", notes: list[str]) -> list[Card]:
        """The documents that the question names; what cannot be told is noted, not guessed."""
        if not plan.sources:
            return []
        cards = await listing.cards()
        chosen: dict[DocumentId, Card] = {}
        missing: dict[str, Sequence[str]] = {}
        several: dict[str, Sequence[Card]] = {}
        for name in plan.sources:
            match _named(name, cards):
                case [card], _:
                    chosen[card.document] = card
                case [], similar:
                    missing[name] = similar
                case candidates, _:
                    several[name] = candidates
        notes += unclear(missing, several)
        return list(chosen.values())

    async def _also_see(
        self, owner: OwnerId, where: Where, look: Look, shown: Sequence[ReconstructedDocument]
    ) -> tuple[Related, ...]:
        """Copies of what is shown, what was found and comes next, and what is close in meaning."""
        if not look.found:
            return ()
        known = {one.document for one in shown}
        reasons: dict[DocumentId, tuple[Place, float, str, FoundBy]] = {}

        def add(place: Place, score: float, reason: str, found_by: FoundBy = "meaning") -> None:
            if place.document not in known:
                reasons.setdefault(place.document, (place, score, reason, found_by))

        for copy in look.copies:
            add(copy.place, copy.score, copy.reason)
        for one in look.found:
            reason = f"chunk {one.place.chunk_index} also matched"
            add(one.place, one.score, reason, one.found_by)
        [best, *_] = look.found
        name = look.names[best.place.document]
        if len(reasons) < _RELATED:
            for one in await self._shelf.related(owner, where, best.place, 2 * _RELATED):
                add(one.place, one.score, f"close in meaning to {name}")
        chosen = [*reasons.values()][:_RELATED]
        sheets = (
            await self._shelf.open(owner, {place[:2]: () for place, *_ in chosen}, where)
            if chosen
            else {}
        )
        return tuple(
            Related(place.document, sheets[place.document].name, score, reason, found_by)
            for place, score, reason, found_by in chosen
            if place.document in sheets
        )

    def _request(
        self, texts: tuple[str, ...], owner: OwnerId, where: Where, amount: Amount
    ) -> Request:
        return Request(
            texts,
            owner,
            where,
            amount.limit,
            amount.chunks_per_doc,
            int(amount.include_adjacent and self._shelf.fetches),
            amount.min_score,
            amount.stop,
            hits=amount.hits,
            adjacent_documents=amount.adjacent_documents,
            depth=amount.depth,
        )

    def _lacking(self, look: Look, amount: Amount) -> tuple[str, ...]:
        """What is wanted beside the hits and cannot be had."""
        if self._shelf.fetches or not (amount.include_adjacent and look.found):
            return ()
        return ("the source cannot return neighbouring chunks",)

    def _whose(self, owner: OwnerId | None) -> OwnerId:
        return self._owner if owner is None else owner


class _Listing:
    """An owner's documents, which a question asks the shelf for once."""

    def __init__(self, shelf: Shelf, owner: OwnerId) -> None:
        self._shelf, self._owner = shelf, owner
        self._known: list[Card] | None = None

    async def cards(self) -> list[Card]:
        if self._known is None:
            self._known = await self._shelf.cards(self._owner)
        return self._known

    def forget(self) -> None:
        """Ask again next time: a document was written anew."""
        self._known = None


def _with_ways(
    documents: Iterable[ReconstructedDocument], found: Iterable[Candidate]
) -> list[ReconstructedDocument]:
    """The documents, with the chunks marked that were found by their words alone."""
    by_words = {one.place[::2] for one in found if one.found_by == "words"}
    return [
        replace(
            one,
            chunks=tuple(
                replace(it, found_by="words") if (one.document, it.chunk_index) in by_words else it
                for it in one.chunks
            ),
        )
        for one in documents
    ]


def _first_chunks(plan: QueryPlan, amount: Amount) -> list[tuple[DocumentId, int]]:
    """One chunk of each cited document that is to come whole: no limit on chunks excludes these."""
    if plan.mode != "full documents":
        return []
    first = {document: (document, at) for document, at in reversed(plan.carried)}
    cited = dict.fromkeys(document for document, _ in plan.carried)
    return [first[document] for document in cited][: amount.full_documents]


def _as_asked(plan: QueryPlan, named: Sequence[Card]) -> tuple[QueryPlan, tuple[str, ...]]:
    """The plan for a source that returns what it finds and nothing else: passages, as asked for."""
    names = " ".join(card.name for card in named)
    found = tuple(dict.fromkeys(filter(None, (plan.question or names, plan.search_text))))
    if plan.mode == "full documents":
        reasons = (*plan.reasons, "the source cannot return whole documents, so passages answer")
        plan = replace(plan, mode="passages", reasons=reasons)
    return plan, found


def _insisted(plan: QueryPlan, mode: Mode | None) -> QueryPlan:
    if mode is None or mode == plan.mode:
        return plan
    return replace(plan, mode=mode, reasons=(*plan.reasons, f"{mode} were asked for"))


def _with_sources(plan: QueryPlan, names: Sequence[str], mode: Mode | None) -> QueryPlan:
    reasons = (*plan.reasons, *(f'"{name}" names a document' for name in names))
    sources = tuple(dict.fromkeys((*plan.sources, *names)))
    return replace(plan, mode=mode or "sources", sources=sources, reasons=reasons)


def _named(name: str, cards: Sequence[Card]) -> tuple[list[Card], tuple[str, ...]]:
    """The documents that the name may mean; names that are near, if there is none."""
    by_path: dict[str, list[Card]] = {}
    for card in cards:
        by_path.setdefault(path_of(card), []).append(card)
    match = match_names(name, list(by_path))
    if match.result == "none":
        return [], match.names
    return [card for path in match.names for card in by_path[path]], ()


def _outside(named: Sequence[Card], evidence: Evidence) -> Iterator[str]:
    """Named documents that contributed nothing, although there was room."""
    told = {one.document for one in evidence.documents}
    told |= {one.document for one in evidence.omitted}
    silent = [path_of(card) for card in named if card.document not in told]
    if silent:
        yield f"nothing in {' or '.join(silent)} matches the filters"
