"""A question into chunks: by meaning and by words, in every space that documents live in."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from unchunk.domain import Chunk, ChunkKey, DocumentId, Scored, Version, Within
from unchunk.errors import NotFoundError, TransientError
from unchunk.ports import Catalog, Lexicon, OpenSpace
from unchunk.retrieval.fusion import fuse
from unchunk.telemetry import Telemetry, log

# How many more chunks are asked for than wanted: some may be of versions that are not live.
_SPARE = 3
_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found, with its text as the document has it."""

    document: DocumentId
    name: str
    folder: str
    chunk: Chunk
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """The best chunks, best first. `notes` says where the search was less than it should be."""

    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()


class Searcher:
    """Searches the spaces of one library."""

    def __init__(self, catalog: Catalog, lexicon: Lexicon, telemetry: Telemetry) -> None:
        self._catalog = catalog
        self._lexicon = lexicon
        self._telemetry = telemetry

    async def search(
        self, spaces: Sequence[OpenSpace], question: str, within: Within, limit: int
    ) -> Found:
        """Only chunks of live versions of the owner's documents are found.

        `spaces` has the active one first. A document that is written anew while it is searched
        for would fall between its two versions, so the search is then made again.
        """
        self._telemetry.count("searches")
        with self._telemetry.stage("search"):
            for _ in range(_ATTEMPTS):
                found, moved = await self._once(spaces, question, within, limit)
                if not moved:
                    break
        return found

    async def _once(
        self, spaces: Sequence[OpenSpace], question: str, within: Within, limit: int
    ) -> tuple[Found, bool]:
        """What is found, and whether any of it was replaced since."""
        notes: list[str] = []
        rankings: list[list[ChunkKey]] = []
        # Documents move to the active space, so it is searched last.
        for space in reversed(spaces):
            found = [one async for one in self._ways(space, question, within, limit, notes)]
            live = await self._catalog.live(
                sorted({one.key.document for scored in found for one in scored})
            )
            rankings += [
                [one.key for one in scored if _is_live(one.key, space.name, live)]
                for scored in found
            ]
        best = fuse(rankings)[:limit]
        hits = [await self._hit(within, key, score) for key, score in best]
        moved = any(hit == "moved" for hit in hits)
        return Found(tuple(hit for hit in hits if isinstance(hit, Hit)), tuple(notes)), moved

    async def _ways(
        self, space: OpenSpace, question: str, within: Within, limit: int, notes: list[str]
    ) -> AsyncIterator[list[Scored]]:
        """What is found by meaning, if the embedder answers, and what is found by words."""
        try:
            if space.embedder is None:
                notes.append(f"by words alone: embedder {space.spec!r} is not to be had")
            else:
                vector = (await space.embedder.embed([question], "query"))[0]
                yield await space.index.search(vector, within, limit * _SPARE)
        except TransientError as error:
            log("search by words alone: %s", error)
            notes.append(f"by words alone: {error}")
        terms = self._lexicon.query(question)
        if terms.ids:
            yield await space.index.search(terms, within, limit * _SPARE)

    async def _hit(
        self, within: Within, key: ChunkKey, score: float
    ) -> Hit | Literal["moved", "gone"]:
        try:
            document = await self._catalog.get(within.owner, key.document)
        except NotFoundError:
            return "gone"
        version = document.live
        if version is None or version.generation != key.generation:
            return "moved"
        try:
            chunk = (await self._catalog.chunks(version))[key.chunk_index]
            text = await self._catalog.text(version, chunk.start, chunk.end)
        except NotFoundError:
            return "moved"
        return Hit(document.id, document.name, document.folder, chunk, text, score)


def _is_live(key: ChunkKey, space: str, live: Mapping[DocumentId, Version]) -> bool:
    version = live.get(key.document)
    return version is not None and (version.generation, version.space) == (key.generation, space)
