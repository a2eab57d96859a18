"""A library as a shelf: chunks found by meaning and by words, in every space documents live in."""

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from functools import lru_cache

from unchunk.domain import (
    Chunk,
    ChunkKey,
    Document,
    DocumentId,
    Opened,
    OwnerId,
    Version,
    Within,
)
from unchunk.ports import Catalog, Lexicon, OpenSpace
from unchunk.retrieval.fusion import Fusion, best_first, by_rank
from unchunk.retrieval.layouts import layouts_of, touches
from unchunk.retrieval.shelf import (
    DEPTH,
    EVERYWHERE,
    NO_SCORE,
    Candidate,
    Card,
    Dropped,
    Layout,
    Metadata,
    MovedError,
    Piece,
    Place,
    Ranked,
    Sheet,
    Way,
    Where,
    too_low,
)
from unchunk.retrieval.sighting import MOST, SPARE, Asked, Seen, Sight, is_live
from unchunk.retrieval.smoothing import smoothed
from unchunk.telemetry import Telemetry

# A chunk that means little to the embedder still counts if it has this much of the words.
_WORDS = 0.5
# Whose terms are at hand while they are answered.
_QUESTIONS = 64
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
        *,
        refresh: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """`refresh` looks for spaces that another process made or dropped: whether there are."""
        self._catalog, self._lexicon, self._fusion = catalog, lexicon, fusion
        self._telemetry = telemetry
        self._terms = lru_cache(_QUESTIONS)(lexicon.query)
        self._sight = Sight(catalog, telemetry, spaces, refresh)

    @property
    def fetches(self) -> bool:
        return True

    async def find(
        self,
        text: str,
        owner: OwnerId,
        where: Where,
        *,
        limit: int,
        min_score: float | None = None,
        also: Sequence[tuple[DocumentId, int]] = (),
        copies: bool = False,
    ) -> Ranked:
        """By default a chunk below its embedder's threshold is left out, unless it has the
        question's words: names and numbers mean little to a model. Of an embedder that is not
        calibrated, no cosine says enough, and the words decide alone.
        """
        within = await self._within(owner, where)
        if within is None:
            return Ranked((), (_NOTHING_THERE,))
        asked = Asked(text, self._terms(text), within, await self._keys(within, also))
        depth = max(limit, DEPTH)
        while True:
            seen = await self._sight.look(asked, depth)
            fused = self._fusion_of(seen)([it for one in seen for it in one.to_fuse(depth)])
            found, twins = [key for key, _ in best_first(fused)], dict[ChunkKey, DocumentId]()
            if not copies:
                found, twins = _without_twins(found, seen, asked)
            if where.pages is not None:
                found = await self._on_pages(owner, found, where.pages)
            if len(found) >= limit or all(one.complete for one in seen) or depth >= MOST:
                break
            depth *= 4
        if not found and where != EVERYWHERE and any(one.vector is not None for one in seen):
            # By meaning anything is found that there is.
            asked.notes.append(_NOTHING_THERE)
        carried = {key for key, _ in asked.also}
        best = found[:limit] + [key for key in found[limit:] if key in carried]
        cosines = await self._cosines(seen, best)
        candidates = _candidates(seen, best, fused, cosines)
        kept, dropped = _above(
            candidates,
            _floors(seen, min_score),
            {place_of(key) for key in carried},
            by_words=min_score is None,
        )
        dropped += (
            Dropped(place_of(key), fused[key], "has the same bytes as another", same_as=original)
            for key, original in twins.items()
        )
        return Ranked(tuple(kept), tuple(dict.fromkeys(asked.notes)), tuple(dropped))

    def has_words(self, question: str, text: str) -> bool:
        words = self._terms(question).ids
        shared = self._lexicon.words(text).intersection(words) if words else ()
        return len(shared) >= _WORDS * max(len(words), 1)

    async def open(
        self, owner: OwnerId, wanted: Mapping[tuple[DocumentId, int], Sequence[int]], where: Where
    ) -> dict[DocumentId, Sheet]:
        with self._telemetry.stage("open"):
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

    async def layouts(
        self, owner: OwnerId, wanted: Sequence[tuple[DocumentId, int]]
    ) -> dict[DocumentId, Layout]:
        return await layouts_of(self._catalog, owner, wanted)

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
        async with self._sight.unless_dropped(space):
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
            if score >= (space.threshold or NO_SCORE)
        ]

    async def _within(self, owner: OwnerId, where: Where) -> Within | None:
        """None if nothing can be there."""
        documents = where.documents
        asked = (where.names, where.media_types, where.since, where.until)
        if where.fields or any(it is not None for it in asked):
            matching = await self._catalog.matching(
                owner,
                folders=where.folders,
                names=where.names,
                media_types=where.media_types,
                since=where.since,
                until=where.until,
                attributes=where.fields,
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

    async def _on_pages(
        self, owner: OwnerId, found: Sequence[ChunkKey], pages: tuple[int, int]
    ) -> list[ChunkKey]:
        wanted: dict[DocumentId, list[int]] = {}
        for key in found:
            wanted.setdefault(key.document, []).append(key.chunk_index)
        opened = await self._catalog.open(owner, wanted)
        return [
            key
            for key in found
            if (chunk := _chunk(opened, key)) is not None and touches(chunk, pages)
        ]

    async def _cosines(
        self, seen: Sequence[Seen], best: Sequence[ChunkKey]
    ) -> dict[ChunkKey, float]:
        """Of those that were found by their words alone; one fetch for each space."""
        cosines: dict[ChunkKey, float] = {}
        for one in seen:
            if one.vector is not None and "lexical" in one.rankings:
                by_words = {scored.key for scored in one.rankings["lexical"]}
                by_words.difference_update(scored.key for scored in one.rankings["dense"])
                missing = [key for key in best if key in by_words]
                if missing:
                    async with self._sight.unless_dropped(one.space):
                        vectors = await one.space.index.fetch(missing)
                    cosines |= {key: float(it @ one.vector) for key, it in vectors.items()}
        return cosines


def _without_twins(
    found: Sequence[ChunkKey], seen: Sequence[Seen], asked: Asked
) -> tuple[list[ChunkKey], dict[ChunkKey, DocumentId]]:
    """Of documents with the same bytes, only the one that was found first; and the best of others.

    They would take the places of all that says something else.
    """
    live = {document: it for one in seen for document, it in one.live.items()}
    carried = {key for key, _ in asked.also}
    first: dict[str, DocumentId] = {}
    kept: list[ChunkKey] = []
    twins: dict[ChunkKey, DocumentId] = {}
    told: set[DocumentId] = set()
    for key in found:
        checksum = live[key.document].checksum if key.document in live else key.document
        original = first.setdefault(checksum, key.document)
        if original == key.document or key in carried:
            kept.append(key)
        elif key.document not in told:
            told.add(key.document)
            twins[key] = original
    return kept, twins


def _candidates(
    seen: Sequence[Seen],
    best: Sequence[ChunkKey],
    fused: Mapping[ChunkKey, float],
    cosines: Mapping[ChunkKey, float],
) -> list[Candidate]:
    ways: dict[ChunkKey, list[Way]] = {key: [] for key in best}
    counts: dict[DocumentId, int] = {}
    for one in seen:
        counts |= {document: it.chunk_count for document, it in one.live.items()}
        for way, ranking in one.rankings.items():
            for rank, (key, score) in enumerate(ranking, 1):
                if key in ways:
                    ways[key].append(Way(way, rank, score))
    return [
        Candidate(
            place_of(key),
            fused[key],
            cosines.get(key, ways[key][0].score),  # dense comes first
            tuple(ways[key]),
            smoothed(key, fused, counts.get(key.document)),
            found_by=(
                "words" if key not in cosines and ways[key][0].name == "lexical" else "meaning"
            ),
        )
        for key in best
    ]


def _floors(seen: Sequence[Seen], min_score: float | None) -> dict[DocumentId, float]:
    """Below what a chunk of each document means nothing; a cosine says nothing of words alone."""
    return {
        document: (one.space.threshold or NO_SCORE) if min_score is None else min_score
        for one in seen
        if one.vector is not None
        for document in one.live
    }


def _above(
    found: Sequence[Candidate],
    floors: Mapping[DocumentId, float],
    carried: Container[Place],
    *,
    by_words: bool,
) -> tuple[list[Candidate], list[Dropped]]:
    """Without those that are below; with `by_words` those that have words only say that they are."""
    kept, dropped = [], []
    for one in found:
        floor = floors.get(one.place.document)
        if floor is None or one.score >= floor or one.place in carried:
            kept.append(one)
        elif by_words and one.ways[-1].name == "lexical":
            kept.append(replace(one, below=floor))
        else:
            dropped.append(Dropped(one.place, one.score, too_low(floor)))
    return kept, dropped


def place_of(key: ChunkKey) -> Place:
    return Place(key.document, key.generation, key.chunk_index)


def _chunk(opened: Mapping[DocumentId, Opened], key: ChunkKey) -> Chunk | None:
    """None if its document was deleted since; raises `MovedError` if it was written anew."""
    here = opened.get(key.document)
    if here is None:
        return None
    if here.version.generation != key.generation or key.chunk_index not in here.chunks:
        raise MovedError
    return here.chunks[key.chunk_index][0]


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
        and all(_is_said(document.attributes, name, value) for name, value in where.fields)
    )


def _is_said(attributes: Mapping[str, object], name: str, value: str | int | bool) -> bool:
    """As the catalog sees it: 1 is 1.0, and not true."""
    said = attributes.get(name)
    return said == value and isinstance(said, bool) == isinstance(value, bool)


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
            if pages is None or touches(chunk, pages)
        },
        _metadata(document, version),
        length=version.text_length,
        checksum=version.checksum,
    )


def _metadata(document: Document, version: Version) -> Metadata:
    """What is known of it, and what its owner says besides; nobody's word stands against ours."""
    known: dict[str, str | int | float | bool | None] = {
        "pages": version.page_count or None,
        "updated_at": document.updated_at.isoformat(timespec="seconds"),
        "checksum": version.checksum,
    }
    for name, value in document.attributes.items():
        if value is None or isinstance(value, (str, int, float)):
            known.setdefault(name, value)
    return known
