"""What an index holds of a question, by meaning and by words, in every space of a library."""

from asyncio import gather
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from unchunk.domain import ChunkKey, DocumentId, Scored, Terms, Version, Within
from unchunk.errors import IndexUnavailableError, ProviderRefusedError, ProviderUnavailableError
from unchunk.ports import Catalog, OpenSpace, Vectors, search_many, start
from unchunk.retrieval.cache import TimedCache
from unchunk.retrieval.fusion import Ranking
from unchunk.retrieval.shelf import MovedError
from unchunk.telemetry import Telemetry, log

# More chunks are asked for than wanted: some may be of versions that are not live.
SPARE = 16
MOST = 20_000
_QUESTIONS, _SECONDS = 1000, 300.0
# How long an unavailable embedder is left alone, so that not every question waits for it.
_OUTAGE_SECONDS = 10.0
_DOCUMENTS = 100_000


class Live(NamedTuple):
    """Of the live version of a document, what a search has to know."""

    generation: int
    space: str
    chunk_count: int
    checksum: str


@dataclass(slots=True)
class Seen:
    """What one space holds: its rankings of live chunks, and what makes their scores."""

    space: OpenSpace
    vector: Vectors | None
    rankings: dict[str, list[Scored]]
    complete: bool
    live: Mapping[DocumentId, Live]

    def to_fuse(self, depth: int) -> list[Ranking]:
        floors = {"dense": self.space.threshold, "lexical": 0.0}
        return [
            Ranking(way, it, None if len(it) >= depth else floors[way])
            for way, it in self.rankings.items()
        ]


@dataclass(slots=True)
class Asked:
    """A question and where it is asked; `also` are chunks wanted anyway, each with its space."""

    text: str
    terms: Terms
    within: Within
    also: list[tuple[ChunkKey, str]]
    notes: list[str] = field(default_factory=list)


class Sight:
    """Looks into the spaces that `spaces` tells, the active one first. Only live chunks are seen."""

    def __init__(
        self,
        catalog: Catalog,
        telemetry: Telemetry,
        spaces: Callable[[], Sequence[OpenSpace]],
        refresh: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._catalog, self._telemetry, self.spaces = catalog, telemetry, spaces
        self._refresh = refresh
        self._revision = -1
        self._known: dict[DocumentId, Live | None] = {}
        self._vectors: TimedCache[tuple[str, str], Vectors] = TimedCache(_QUESTIONS, _SECONDS)
        self._outages: TimedCache[str, str] = TimedCache(_QUESTIONS, _OUTAGE_SECONDS)

    async def look(self, asked: Asked, depth: int) -> list[Seen]:
        """Documents move to the active space, so it is searched last."""
        seen = []
        spaces = self.spaces()
        for space in reversed(spaces):
            async with self.unless_dropped(space):
                seen.append(await self._in(space, asked, depth))
        known = {space.name for space in spaces}
        if any(space.name not in known for space in self.spaces()):
            # Another search has learned of one meanwhile, and what lives there is not seen.
            raise MovedError
        return seen

    @asynccontextmanager
    async def unless_dropped(self, space: OpenSpace) -> AsyncIterator[None]:
        try:
            yield
        except IndexUnavailableError:
            if self._refresh is not None:
                await self._refresh()
            if space in self.spaces():
                raise
            raise MovedError from None

    async def _in(self, space: OpenSpace, asked: Asked, depth: int) -> Seen:
        vector = await self._vector(space, asked)
        ways: dict[str, Vectors | Terms] = {}
        if vector is not None:
            ways["dense"] = vector
        if asked.terms.ids:
            ways["lexical"] = asked.terms
        wanted = depth + SPARE
        outdated: set[tuple[DocumentId, int]] = set()
        while True:
            with self._telemetry.stages(*ways):
                found = await search_many(space.index, [*ways.values()], asked.within, wanted)
            keys = {scored.key.document for one in found for scored in one}
            live = await self._live(keys) if keys or self._refresh else {}
            there = {(it, one.generation) for it, one in live.items() if one.space == space.name}
            gone = [it.key for one in found for it in one if it.key[1:3] not in there]
            overtaken = _overtaken(gone, space.name, live)
            if not overtaken <= outdated:
                # They were written anew after they were found: what they say now is not seen.
                outdated |= overtaken
                continue
            rankings = {
                way: [it for it in one if not gone or it.key[1:3] in there][:depth]
                for way, one in zip(ways, found, strict=True)
            }
            complete = all(len(one) < wanted for one in found)
            enough = all(
                len(rankings[way]) >= depth or len(one) < wanted
                for way, one in zip(ways, found, strict=True)
            )
            if enough or wanted >= MOST:
                await self._carry(space, vector, rankings, asked)
                return Seen(space, vector, rankings, complete, live)
            wanted *= 4

    async def _live(self, documents: set[DocumentId]) -> dict[DocumentId, Live]:
        """Remembered while nothing changes. To be asked when the index has answered: what was
        made live before that is then known here, and what comes later is noticed by whoever
        opens it.
        """
        revision = await self._catalog.revision()
        if revision != self._revision or len(self._known) > _DOCUMENTS:
            # A space that this process does not know yet is there before anything is live in it.
            if self._refresh is not None and await self._refresh():
                raise MovedError
            self._revision, self._known = revision, {}
        known = self._known
        missing = documents.difference(known)
        if missing:
            found = await self._catalog.live(sorted(missing))
            known |= dict.fromkeys(missing)
            for document, version in found.items():
                known[document] = Live(
                    version.generation, version.space, version.chunk_count, version.checksum
                )
        return {document: live for document in documents if (live := known[document])}

    async def _carry(
        self,
        space: OpenSpace,
        vector: Vectors | None,
        rankings: dict[str, list[Scored]],
        asked: Asked,
    ) -> None:
        """Put what is wanted anyway where its meaning has it, or last if that is not known."""
        ranking = rankings.setdefault("lexical" if vector is None else "dense", [])
        known = {scored.key for scored in ranking}
        keys = [key for key, name in asked.also if name == space.name and key not in known]
        if vector is None:
            ranking += [Scored(key, 0.0) for key in keys]
        elif keys:
            vectors = await space.index.fetch(keys)
            ranking += [Scored(key, float(vectors[key] @ vector)) for key in keys if key in vectors]
            ranking.sort(key=lambda scored: -scored.score)

    async def _vector(self, space: OpenSpace, asked: Asked) -> Vectors | None:
        """The question as a vector; None, and a note, if the embedder does not answer."""
        if space.embedder is None:
            asked.notes.append(f"searched by words only: embedder {space.spec!r} is unavailable")
            return None
        known = self._vectors.get((space.name, asked.text))
        # One that is not calibrated is asked anew: its next answer may show that it can be.
        if known is not None and space.threshold:
            self._telemetry.count("question_cache_hits")
            return known
        if outage := self._outages.get(space.name):
            asked.notes.append(outage)
            return None
        # An index that has to be started is, while the question is embedded.
        embedded, failure = await gather(
            space.embedder.embed([asked.text], "query"), start(space.index), return_exceptions=True
        )
        if failure is not None:
            raise failure
        if isinstance(embedded, ProviderUnavailableError | ProviderRefusedError):
            log("searched by words only: %s", embedded)
            asked.notes.append(f"searched by words only: {embedded}")
            if isinstance(embedded, ProviderUnavailableError):
                self._outages.put(space.name, asked.notes[-1])
            return None
        if isinstance(embedded, BaseException):
            raise embedded
        made: Vectors = embedded[0]
        self._vectors.put((space.name, asked.text), made)
        return made


def _overtaken(
    keys: Iterable[ChunkKey], space: str, live: Mapping[DocumentId, Live | Version]
) -> set[tuple[DocumentId, int]]:
    """Documents of which an older version was found, with the version that is live."""
    return {
        (key.document, version.generation)
        for key in keys
        if (version := live.get(key.document)) is not None
        and version.space == space
        and key.generation < version.generation
    }


def is_live(key: ChunkKey, space: str, live: Mapping[DocumentId, Live | Version]) -> bool:
    version = live.get(key.document)
    return version is not None and (version.generation, version.space) == (key.generation, space)
