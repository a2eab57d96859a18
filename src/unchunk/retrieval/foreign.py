"""Somebody else's chunks as a shelf: searched where they are, joined without places of their own."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from unchunk.domain import ChunkingStrategy, DocumentId, OwnerId
from unchunk.errors import (
    InvalidInputError,
    ProviderRefusedError,
    ProviderUnavailableError,
    UnchunkError,
)
from unchunk.ports import (
    Among,
    ChunkSource,
    FieldValue,
    ForeignChunk,
    ForeignChunks,
    Lexicon,
    SearchesWords,
)
from unchunk.retrieval.cache import TimedCache
from unchunk.retrieval.fusion import Fusion, Ranking, best_first, by_rank
from unchunk.retrieval.joining import Joined, Unplaced, join
from unchunk.retrieval.shelf import (
    DEPTH,
    NO_SCORE,
    Candidate,
    Card,
    Doubt,
    Dropped,
    FoundBy,
    Layout,
    Metadata,
    MovedError,
    Place,
    Ranked,
    Sheet,
    Way,
    Where,
    too_low,
)
from unchunk.telemetry import log

_NOT_CARRIED = ("folders", "pages", "since", "until")
# What a search found is opened soon, if at all.
_CHUNKS, _SECONDS = 4096, 300.0
# Below the threshold, a chunk still counts if it has this much of the question's words.
_WORDS = 0.5
_QUESTIONS = 64
# The generation of a place whose chunk is kept here, since it cannot be fetched.
_KEPT = 1


class ForeignShelf:
    """`Shelf` over somebody else's chunks.

    `owner_field` names the field that tells whose a chunk is: then nobody is shown a chunk that
    does not carry them there. Without it, all who may search see all. `chunking` is how the
    chunks were cut, if that is known; it is guessed otherwise. With a `lexicon`, a source that can
    be searched by words is searched both ways, and `fusion` makes one ranking of them.

    A chunk without an index is a document of its own, under the chunk's own id. Such a chunk,
    and all of a source that cannot fetch, is kept for a while when it was found, for whoever
    found it. `MovedError` says that it was too long.
    """

    def __init__(
        self,
        source: ChunkSource,
        *,
        owner_field: str = "",
        chunking: ChunkingStrategy | None = None,
        lexicon: Lexicon | None = None,
        fusion: Fusion = by_rank,
    ) -> None:
        self._source = source
        self._lexicon, self._fusion = lexicon, fusion
        self._terms = lru_cache(_QUESTIONS)(self._terms_of)
        self._owner_field = owner_field
        self._chunking = chunking
        self._kept: TimedCache[tuple[OwnerId, Among, DocumentId, int], ForeignChunk] = TimedCache(
            _CHUNKS, _SECONDS
        )
        # What documents are called, and which one a chunk without an index is from.
        self._known: TimedCache[tuple[OwnerId, DocumentId], ForeignChunk] = TimedCache(
            _CHUNKS, _SECONDS
        )

    @property
    def fetches(self) -> bool:
        return self._source.nature.fetches

    async def find(
        self,
        text: str,
        owner: OwnerId,
        where: Where,
        *,
        limit: int,
        min_score: float | None = None,
        also: Sequence[tuple[DocumentId, int]] = (),
        copies: bool = False,  # noqa: ARG002 - nothing tells them here
    ) -> Ranked:
        """One call to the source; one more if `also` names chunks that it did not find, and what
        a search by words takes.
        """
        among, nature = self._among(owner, where), self._source.nature
        if among.is_empty:
            return Ranked(())
        # One way alone is asked for no more than is wanted.
        depth = max(limit, DEPTH) if self._searches_words else limit
        near, worded, notes, most = await self._searched(text, owner, among, depth)
        near += self._own(await self._carried(text, among, also, near), owner)
        floor = nature.min_score if min_score is None else min_score
        # Its embedder is not calibrated: the words decide, also where only meaning was searched.
        is_unknown = min_score is None and floor == 0
        if is_unknown:
            floor = NO_SCORE
        kept, dropped = [], []
        for at, (chunk, ranked) in enumerate(self._ranked(near, worded, depth)):
            candidate, place, score = ranked, ranked.place, ranked.score
            if (place.document, place.chunk_index) not in also:
                if at >= limit:
                    continue
                if floor is not None and chunk.score is not None and score < floor:
                    has_no_words = candidate.ways[-1].name != "lexical"
                    if min_score is not None or (has_no_words and (worded or not is_unknown)):
                        dropped.append(Dropped(place, score, too_low(floor)))
                        continue
                    candidate = replace(ranked, below=floor)
            self._known.put((owner, place.document), chunk)
            if place.generation == _KEPT:
                self._kept.put((owner, among, place.document, place.chunk_index), chunk)
            kept.append(candidate)
        return Ranked(tuple(kept), tuple(dict.fromkeys(notes)), tuple(dropped), most)

    @property
    def _searches_words(self) -> bool:
        return isinstance(self._source, SearchesWords) and self._lexicon is not None

    async def _searched(
        self, text: str, owner: OwnerId, among: Among, limit: int
    ) -> tuple[list[ForeignChunk], list[ForeignChunk], tuple[str, ...], int | None]:
        """What is near in meaning, and what has the words; notes, and how many were asked for."""
        source, notes = self._source, tuple[str, ...]()
        by_words = self._searches_words
        try:
            near = await source.search(text, among, limit)
        except (ProviderUnavailableError, ProviderRefusedError) as error:
            if not by_words:
                raise
            log("searched by words only: %s", error)
            near, notes = ForeignChunks(), (f"searched by words only: {error}",)
        worded = ForeignChunks()
        if by_words and isinstance(source, SearchesWords):
            try:
                worded = await source.search_words(text, among, limit)
            except UnchunkError as error:
                if notes:
                    raise
                log("searched by meaning only: %s", error)
                notes = (f"searched by meaning only: {error}",)
        both = self._own(near.chunks, owner), self._own(worded.chunks, owner)
        return *both, notes + near.notes + worded.notes, near.most

    def _ranked(
        self, near: Sequence[ForeignChunk], worded: Sequence[ForeignChunk], limit: int
    ) -> list[tuple[ForeignChunk, Candidate]]:
        """Best first: in one order, made of both where there was a search by words."""
        chunks = {_key(one): one for one in (*worded, *near)}
        found = {
            "dense": {_key(one): one.score or 0.0 for one in near},
            "lexical": {_key(one): one.word_score or 0.0 for one in worded},
        }
        floors = {"dense": self._source.nature.min_score or 0.0, "lexical": 0.0}
        ways: dict[_Key, list[Way]] = {}
        rankings = []
        for way, scores in found.items():
            ordered = best_first(scores)
            floor = None if len(ordered) >= limit else floors[way]
            rankings.append(Ranking(way, ordered, floor))
            for rank, (key, score) in enumerate(ordered, 1):
                ways.setdefault(key, []).append(Way(way, rank, score))
        fused = self._fusion(rankings) if worded else found["dense"]
        fetches = self._source.nature.fetches
        ranked = []
        for key, rank_score in best_first(fused):
            chunk = chunks[key]
            score = ways[key][0].score if chunk.score is None else chunk.score
            place = _place(chunk, fetches=fetches)
            by: FoundBy = "words" if chunk.score is None else "meaning"
            found_ways = tuple(ways[key])
            ranked.append((chunk, Candidate(place, rank_score, score, found_ways, found_by=by)))
        return ranked

    def has_words(self, question: str, text: str) -> bool:
        """Whether a text has at least half of a question's words."""
        if self._lexicon is None:
            return False
        words = self._terms(question)
        shared = self._lexicon.words(text).intersection(words) if words else ()
        return len(shared) >= _WORDS * max(len(words), 1)

    def _terms_of(self, question: str) -> tuple[int, ...]:
        return self._lexicon.query(question).ids if self._lexicon is not None else ()

    async def open(
        self, owner: OwnerId, wanted: Mapping[tuple[DocumentId, int], Sequence[int]], where: Where
    ) -> dict[DocumentId, Sheet]:
        """One call to the source, or none if nothing has to be fetched."""
        among = self._among(owner, where)
        documents: dict[DocumentId, dict[int, ForeignChunk]] = {}
        stored: dict[DocumentId, list[int]] = {}
        for (document, generation), indices in wanted.items():
            asked = sorted({at for at in indices if at >= 0})
            if asked and generation == _KEPT:
                documents[document] = self._recall(owner, among, document, asked)
            elif asked:
                stored[document] = asked
        notes: tuple[str, ...] = ()
        if stored and not among.is_empty:
            fetched = await self._source.fetch(stored, among)
            notes = fetched.notes
            for chunk in self._own(fetched.chunks, owner):
                at = chunk.chunk_index
                if at is not None and at in stored.get(chunk.document, ()):
                    documents.setdefault(chunk.document, {})[at] = chunk
        joined = await asyncio.to_thread(join, _unplaced(documents), self._chunking)
        sheets = {
            document: _sheet(document, [*chunks.values()], joined[document], notes)
            for document, chunks in documents.items()
        }
        for (document, _), indices in wanted.items():
            # Nothing of it is wanted but what it is called.
            if not indices and (known := self._known.get((owner, document))):
                sheets.setdefault(document, _sheet(document, [known], Joined({}), ()))
        return sheets

    async def layouts(
        self, owner: OwnerId, wanted: Sequence[tuple[DocumentId, int]]
    ) -> dict[DocumentId, Layout]:
        """None: the chunks would have to be fetched for that."""
        del owner, wanted
        return {}

    async def cards(self, owner: OwnerId) -> list[Card]:
        """Documents by their first chunks, some without their number; none says how long it is."""
        every = await self._source.documents(self._among(owner, Where()))
        return [
            Card(one.document, 0, "", one.title or one.document, one.chunk_count, 0)
            for one in every
            if self._is_own(one.metadata, owner)
        ]

    async def related(self, owner: OwnerId, where: Where, to: Place, limit: int) -> list[Candidate]:
        """None: it would take two more calls to somebody else's server for each question."""
        del owner, where, to, limit
        return []

    async def close(self) -> None:
        await self._source.close()

    def _among(self, owner: OwnerId, where: Where) -> Among:
        name = self._source.nature.name
        cannot = [each for each in _NOT_CARRIED if getattr(where, each) is not None]
        cannot += [f"media type {one!r}" for one in where.media_types or () if one.endswith("/")]
        if cannot:
            raise InvalidInputError(
                f"{name} cannot be searched by {', '.join(cannot)}: its chunks do not carry it. "
                "Use documents, names, whole media types, or fields that they carry"
            )
        mine = ((self._owner_field, owner),) if self._owner_field else ()
        documents = where.documents
        if documents is not None:
            documents = tuple(dict.fromkeys(self._document_of(owner, one) for one in documents))
        return Among(documents, where.names, where.media_types, mine + where.fields)

    def _document_of(self, owner: OwnerId, document: DocumentId) -> DocumentId:
        """The document that a chunk without an index is from, if this is one."""
        known = self._known.get((owner, document))
        return document if known is None else known.document

    async def _carried(
        self,
        text: str,
        among: Among,
        also: Sequence[tuple[DocumentId, int]],
        found: Sequence[ForeignChunk],
    ) -> tuple[ForeignChunk, ...]:
        """Chunks that are wanted anyway, with their scores if there is an embedder to tell them."""
        have = {(one.document, one.chunk_index) for one in found}
        missing: dict[DocumentId, list[int]] = {}
        for document, at in also:
            if (document, at) not in have:
                missing.setdefault(document, []).append(at)
        if not missing or not self._source.nature.fetches:
            return ()
        try:
            return (await self._source.search(text, among, len(also), missing)).chunks
        except (ProviderUnavailableError, ProviderRefusedError):
            return (await self._source.fetch(missing, among)).chunks

    def _own(self, chunks: Iterable[ForeignChunk], owner: OwnerId) -> list[ForeignChunk]:
        """Those that show that they are this owner's: no store is trusted with that alone."""
        return [one for one in chunks if self._is_own(one.metadata, owner)]

    def _is_own(self, metadata: Mapping[str, FieldValue], owner: OwnerId) -> bool:
        value = metadata.get(self._owner_field)
        shown = owner in value if isinstance(value, tuple) else value == owner
        return shown or not self._owner_field

    def _recall(
        self, owner: OwnerId, among: Among, document: DocumentId, indices: Sequence[int]
    ) -> dict[int, ForeignChunk]:
        kept = {at: self._kept.get((owner, among, document, at)) for at in indices}
        found = {at: chunk for at, chunk in kept.items() if chunk is not None}
        if not found:
            raise MovedError
        return found


_Key = tuple[DocumentId, int | None, str]


def _key(chunk: ForeignChunk) -> _Key:
    """Which chunk it is: by its place where it has one, else by what its store calls it."""
    index = chunk.chunk_index
    return (chunk.document, index, "" if index is not None else chunk.id)


def _place(chunk: ForeignChunk, *, fetches: bool) -> Place:
    if chunk.chunk_index is None:
        return Place(chunk.id, _KEPT, 0)
    return Place(chunk.document, 0 if fetches else _KEPT, chunk.chunk_index)


def _unplaced(
    documents: Mapping[DocumentId, Mapping[int, ForeignChunk]],
) -> dict[DocumentId, dict[int, Unplaced]]:
    return {
        document: {
            at: Unplaced(chunk.text, chunk.start, chunk.end, chunk.page)
            for at, chunk in sorted(chunks.items())
        }
        for document, chunks in documents.items()
    }


def _sheet(
    document: DocumentId, chunks: Sequence[ForeignChunk], joined: Joined, notes: tuple[str, ...]
) -> Sheet:
    title = next((one.title for one in chunks if one.title), "")
    name = title or chunks[0].document
    counts = {one.chunk_count for one in chunks if one.chunk_count is not None}
    doubts = [Doubt(f"{one.subject} of {name}", one.statement) for one in joined.doubts]
    if len(counts) > 1:
        doubts.append(Doubt(f"the chunks of {name}", "disagree on how many there are"))
    return Sheet(
        document,
        name,
        "",
        title,
        next((one.content_type for one in chunks if one.content_type), ""),
        None if chunks[0].chunk_index is None else max(counts, default=None),
        joined.pieces,
        _common([one.metadata for one in chunks]),
        notes,
        doubts=tuple(doubts),
    )


def _common(many: Sequence[Mapping[str, FieldValue]]) -> Metadata:
    """What all chunks say alike."""
    return {
        name: ", ".join(map(str, value)) if isinstance(value, tuple) else value
        for name, value in many[0].items()
        if all(name in other and other[name] == value for other in many[1:])
    }
