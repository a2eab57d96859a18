"""A library as a shelf: chunks found by meaning and by words, in every space documents live in."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC

from unchunk.domain import (
    Chunk,
    ChunkKey,
    DocumentId,
    Opened,
    OwnerId,
    Within,
)
from unchunk.errors import InvalidInputError
from unchunk.ports import Catalog, Lexicon, OpenSpace
from unchunk.retrieval.evidence import Piece
from unchunk.retrieval.fusion import Fusion, Ranking, best_first, by_rank
from unchunk.retrieval.shelf import (
    Candidate,
    Card,
    Dropped,
    MovedError,
    Place,
    Ranked,
    Sheet,
    Way,
    Where,
)
from unchunk.retrieval.sighting import MOST, SPARE, Asked, Seen, Sight, is_live
from unchunk.retrieval.smoothing import beside, smoothed
from unchunk.telemetry import Telemetry

# How far down each way is looked, however few are wanted: what both ways agree on may be deep.
_DEPTH = 50
# A chunk that means little to the embedder still counts if it has this much of the words.
_WORDS = 0.5
_EVERYWHERE = Where()
_NOTHING_THERE = "no document is as the filters say"


class LibraryShelf:
    """The shelf of one library; `spaces` tells which spaces there are, the active one first."""

    def __init__(
        self,
        catalog: Catalog,
        lexicon: Lexicon,
        telemetry: Telemetry,
        spaces: Callable[[], Sequence[OpenSpace]],
        fusion: Fusion = by_rank,
    ) -> None:
        self._catalog, self._lexicon, self._fusion = catalog, lexicon, fusion
        self._sight = Sight(catalog, telemetry, spaces)

    async def find(
        self,
        text: str,
        owner: OwnerId,
        where: Where,
        *,
        limit: int,
        min_score: float | None = None,
        also: Sequence[tuple[DocumentId, int]] = (),
    ) -> Ranked:
        """By default a chunk below its embedder's threshold is left out, unless it has at least
        half of the question's words: names and numbers mean little to a model.
        """
        within = await self._within(owner, where)
        if within is None:
            return Ranked((), (_NOTHING_THERE,))
        asked = Asked(text, self._lexicon.query(text), within, await self._keys(within, also))
        depth = max(limit, _DEPTH)
        while True:
            seen = await self._sight.look(asked, depth)
            found = self._fused(seen)
            if where.pages is not None:
                found = await self._on_pages(owner, found, where.pages)
            if len(found) >= limit or all(one.complete for one in seen) or depth >= MOST:
                break
            depth *= 4
        if not found and where != _EVERYWHERE and any(one.vector is not None for one in seen):
            # By meaning anything is found that there is.
            asked.notes.append(_NOTHING_THERE)
        carried = {place_of(key) for key, _ in asked.also}
        best = [one for at, one in enumerate(found) if at < limit or one.place in carried]
        weighed, near = await self._weighed(seen, found, best, owner)
        kept, dropped = await self._above(seen, weighed, asked, min_score)
        return Ranked(tuple(kept), tuple(dict.fromkeys(asked.notes)), tuple(dropped), near)

    async def open(
        self, owner: OwnerId, wanted: Mapping[tuple[DocumentId, int], Sequence[int]], where: Where
    ) -> dict[DocumentId, Sheet]:
        opened = await self._catalog.open(
            owner, {document: indices for (document, _), indices in wanted.items()}
        )
        sheets = {}
        for (document, generation), indices in wanted.items():
            # What was deleted since is not there; what was written anew has to be searched anew.
            if document in opened and _is_within(opened[document], where):
                here = opened[document]
                known = range(here.version.chunk_count)
                if here.version.generation != generation or any(
                    at in known and at not in here.chunks for at in indices
                ):
                    raise MovedError
                sheets[document] = _sheet(here, where.pages)
        return sheets

    async def cards(self, owner: OwnerId) -> list[Card]:
        return [
            Card(
                one.id,
                one.live.generation,
                one.folder,
                one.name,
                one.live.chunk_count,
                one.live.text_length,
            )
            for one in await self._catalog.find(owner)
            if one.live is not None
        ]

    async def related(self, owner: OwnerId, where: Where, to: Place, limit: int) -> list[Candidate]:
        """In the active space alone."""
        within = await self._within(owner, where)
        if within is None:
            return []
        [space, *_] = self._sight.spaces()
        with self._sight.unless_dropped(space):
            own = await space.index.fetch([ChunkKey(owner, *to)])
            if not own:
                return []
            [vector] = own.values()
            near = await space.index.search(vector, within, limit + SPARE)
        live = await self._catalog.live(sorted({scored.key.document for scored in near}))
        return [
            Candidate(place_of(key), score, score, (Way("dense", rank, score),))
            for rank, (key, score) in enumerate(near, 1)
            if key.document != to.document and is_live(key, space.name, live)
            if score >= space.identity.min_score
        ]

    async def _within(self, owner: OwnerId, where: Where) -> Within | None:
        """None if nothing can be there."""
        if where.fields:
            names = ", ".join(name for name, _ in where.fields)
            raise InvalidInputError(f"documents of a library have no such fields: {names}")
        documents = where.documents
        if any(it is not None for it in (where.names, where.media_types, where.since, where.until)):
            matching = await self._catalog.matching(
                owner,
                folders=where.folders,
                names=where.names,
                media_types=where.media_types,
                since=where.since,
                until=where.until,
            )
            chosen = None if documents is None else set(documents)
            documents = tuple(it for it in matching if chosen is None or it in chosen)
        if documents == () or where.folders == ():
            return None
        return Within(owner, documents, where.folders)

    async def _keys(
        self, within: Within, also: Sequence[tuple[DocumentId, int]]
    ) -> list[tuple[ChunkKey, str]]:
        """Those of the chunks that are there and may be searched, each with its space."""
        if not also:
            return []
        mine = await self._catalog.open(within.owner, {document: [] for document, _ in also})
        return [
            (ChunkKey(within.owner, document, version.generation, index), version.space)
            for document, index in also
            if document in mine
            and 0 <= index < (version := mine[document].version).chunk_count
            and (within.documents is None or document in within.documents)
            and (within.folders is None or mine[document].document.folder in within.folders)
        ]

    def _fusion_of(self, seen: Sequence[Seen]) -> Fusion:
        """Scores of several spaces do not compare: the best of one may be worse than all of another's."""
        return self._fusion if len(seen) == 1 else by_rank

    def _fused(self, seen: Sequence[Seen]) -> list[Candidate]:
        ways: dict[ChunkKey, list[Way]] = {}
        rankings = []
        for one in seen:
            for way, scored in one.rankings.items():
                rankings.append(Ranking(way, scored))
                for rank, (key, score) in enumerate(scored, 1):
                    ways.setdefault(key, []).append(Way(way, rank, score))
        return [
            Candidate(
                place_of(key),
                rank_score,
                ways[key][0].score,  # dense comes first
                tuple(ways[key]),
            )
            for key, rank_score in best_first(self._fusion_of(seen)(rankings))
        ]

    async def _on_pages(
        self, owner: OwnerId, found: Sequence[Candidate], pages: tuple[int, int]
    ) -> list[Candidate]:
        opened = await self._catalog.open(owner, _by_document(found))
        return [
            one
            for one in found
            if (here := _chunk(opened, one.place)) is not None and _touches(here[0], pages)
        ]

    async def _weighed(
        self,
        seen: Sequence[Seen],
        found: Sequence[Candidate],
        best: Sequence[Candidate],
        owner: OwnerId,
    ) -> tuple[list[Candidate], dict[Place, float]]:
        """The best with their values, and those of chunks beside them.

        What was found by its words alone gets its cosine, too. One fetch for each space.
        """
        worth = {one.place: one.rank_score for one in found}
        counts = {document: count for one in seen for document, count in one.counts.items()}
        cosines: dict[Place, float] = {}
        for one in seen:
            if one.vector is None:
                continue
            own = {place_of(key) for key in one.chunks()}
            mine = [it for it in best if it.place in own]
            by_words = [it.place for it in mine if it.ways[0].name != "dense"]
            near = {
                place
                for it in mine
                for place in beside(it.place, counts.get(it.place.document))
                if place not in worth
            }
            keys = [ChunkKey(owner, *place) for place in (*by_words, *near)]
            if keys:
                with self._sight.unless_dropped(one.space):
                    vectors = await one.space.index.fetch(keys)
                cosines |= {place_of(key): float(it @ one.vector) for key, it in vectors.items()}
                dense = one.rankings["dense"]
                worth |= {
                    it: self._fusion_of(seen).beside(cosines[it], dense)
                    for it in near & cosines.keys()
                }
        weighed = [
            replace(
                one,
                score=cosines.get(one.place, one.score),
                value=smoothed(one.place, worth, counts.get(one.place.document)),
            )
            for one in best
        ]
        known = {one.place for one in found}
        values = {
            place: smoothed(place, worth, counts.get(place.document))
            for place in worth.keys() - known
        }
        return weighed, values

    async def _above(
        self,
        seen: Sequence[Seen],
        found: Sequence[Candidate],
        asked: Asked,
        min_score: float | None,
    ) -> tuple[list[Candidate], list[Dropped]]:
        floors = {
            place_of(key): one.space.identity.min_score if min_score is None else min_score
            for one in seen
            if one.vector is not None  # a threshold for cosines means nothing for words
            for key in one.chunks()
        }
        carried = {place_of(key) for key, _ in asked.also}
        weak = [
            one
            for one in found
            if one.score < floors.get(one.place, one.score) and one.place not in carried
        ]
        if not weak:
            return list(found), []
        by_words = [one for one in weak if min_score is None and one.ways[-1].name == "lexical"]
        saved: set[Place] = set()
        if by_words:
            opened = await self._catalog.open(asked.within.owner, _by_document(by_words))
            saved = {
                one.place
                for one in by_words
                if (here := _chunk(opened, one.place)) and self._share(asked, here[1]) >= _WORDS
            }
        gone = {one.place for one in weak} - saved
        return [one for one in found if one.place not in gone], [
            Dropped(one.place, one.score, f"scored below {floors[one.place]:.2f}")
            for one in weak
            if one.place in gone
        ]

    def _share(self, asked: Asked, text: str) -> float:
        """How many of the question's words a text has."""
        words = set(asked.terms.ids)
        return len(words.intersection(self._lexicon.document(text).ids)) / len(words)


def place_of(key: ChunkKey) -> Place:
    return Place(key.document, key.generation, key.chunk_index)


def _by_document(found: Iterable[Candidate]) -> dict[DocumentId, list[int]]:
    wanted: dict[DocumentId, list[int]] = {}
    for one in found:
        wanted.setdefault(one.place.document, []).append(one.place.chunk_index)
    return wanted


def _chunk(opened: Mapping[DocumentId, Opened], place: Place) -> tuple[Chunk, str] | None:
    """None if its document was deleted since; raises `MovedError` if it was written anew."""
    here = opened.get(place.document)
    if here is None:
        return None
    if here.version.generation != place.generation or place.chunk_index not in here.chunks:
        raise MovedError
    return here.chunks[place.chunk_index]


def _is_within(opened: Opened, where: Where) -> bool:
    """As the filters say, but for pages, which are chunks' own."""
    document, kind = opened.document, opened.version.media_type
    return (
        (where.documents is None or document.id in where.documents)
        and (where.folders is None or document.folder in where.folders)
        and (where.names is None or document.name in where.names)
        and (where.since is None or where.since.astimezone(UTC) <= document.updated_at)
        and (where.until is None or document.updated_at <= where.until.astimezone(UTC))
        and (
            where.media_types is None
            or any(
                kind.startswith(one) if one.endswith("/") else kind == one
                for one in where.media_types
            )
        )
    )


def _touches(chunk: Chunk, pages: tuple[int, int]) -> bool:
    if chunk.first_page is None or chunk.last_page is None:
        return False
    return chunk.first_page <= pages[1] and pages[0] <= chunk.last_page


def _sheet(opened: Opened, pages: tuple[int, int] | None) -> Sheet:
    document, version = opened.document, opened.version
    return Sheet(
        document.id,
        document.name,
        document.folder,
        version.title or document.name,
        version.media_type,
        version.chunk_count,
        {
            at: Piece(chunk, text)
            for at, (chunk, text) in opened.chunks.items()
            if pages is None or _touches(chunk, pages)
        },
        {
            "pages": version.page_count or None,
            "updated_at": document.updated_at.isoformat(timespec="seconds"),
            "checksum": version.checksum,
        },
        length=version.text_length,
    )
