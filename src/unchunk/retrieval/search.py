"""A question into chunks: by meaning and by words, in every space that documents live in."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from unchunk.domain import Chunk, ChunkKey, Document, DocumentId, Terms, Version, Within
from unchunk.errors import (
    IndexUnavailableError,
    NotFoundError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.ports import Catalog, Lexicon, OpenSpace, Vectors
from unchunk.retrieval.fusion import fuse
from unchunk.telemetry import Telemetry, log

# How many more chunks are asked for than wanted: some may be of versions that are not live.
_SPARE = 3
_ATTEMPTS = 10
_MOST = 20_000


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
    """Searches the spaces of one library; `spaces` tells which there are, the active one first."""

    def __init__(
        self,
        catalog: Catalog,
        lexicon: Lexicon,
        telemetry: Telemetry,
        spaces: Callable[[], Sequence[OpenSpace]],
    ) -> None:
        self._catalog = catalog
        self._lexicon = lexicon
        self._telemetry = telemetry
        self._spaces = spaces

    async def search(self, question: str, within: Within, limit: int) -> Found:
        """Only chunks of live versions of the owner's documents are found.

        A document that is written anew while it is searched for would fall between its two
        versions, and an index may be dropped: the search is then made again.
        """
        self._telemetry.count("searches")
        with self._telemetry.stage("search"):
            asked = _Asked(question, within, limit, self._lexicon.query(question), {})
            for _ in range(_ATTEMPTS):
                found, moved = await self._once(asked)
                if not moved:
                    break
        return found

    async def _once(self, asked: "_Asked") -> tuple[Found, bool]:
        """What is found, and whether any of it was replaced since."""
        notes: list[str] = []
        rankings: list[list[ChunkKey]] = []
        # Documents move to the active space, so it is searched last.
        for space in reversed(self._spaces()):
            try:
                rankings += [one async for one in self._ways(space, asked, notes)]
            except IndexUnavailableError:
                if space in self._spaces():
                    raise
                return Found((), tuple(notes)), True  # it was dropped meanwhile
        best = fuse(rankings)[: asked.limit]
        opened: dict[DocumentId, _Opened | None] = {}
        hits = []
        try:
            for key, score in best:
                if key.document not in opened:
                    opened[key.document] = await self._open(asked.within.owner, key)
                if document := opened[key.document]:
                    hits.append(await self._hit(document, key, score))
        except _MovedError:
            return Found(tuple(hits), tuple(notes)), True
        return Found(tuple(hits), tuple(notes)), False

    async def _ways(
        self, space: OpenSpace, asked: "_Asked", notes: list[str]
    ) -> AsyncIterator[list[ChunkKey]]:
        """What is found by meaning, if the embedder answers, and what is found by words."""
        try:
            if space.embedder is None:
                notes.append(f"by words alone: embedder {space.spec!r} is not to be had")
            else:
                if space.name not in asked.vectors:
                    made = await space.embedder.embed([asked.question], "query")
                    asked.vectors[space.name] = made[0]
                yield await self._live(space, asked.vectors[space.name], asked)
        except (ProviderUnavailableError, ProviderRefusedError) as error:
            log("search by words alone: %s", error)
            notes.append(f"by words alone: {error}")
        if asked.terms.ids:
            yield await self._live(space, asked.terms, asked)

    async def _live(
        self, space: OpenSpace, query: Vectors | Terms, asked: "_Asked"
    ) -> list[ChunkKey]:
        """The best live chunks. Drafts and what is being purged may be many, so more is asked
        for until there are enough, or there is no more.
        """
        wanted = asked.limit * _SPARE
        while True:
            scored = await space.index.search(query, asked.within, wanted)
            live = await self._catalog.live(sorted({one.key.document for one in scored}))
            keys = [one.key for one in scored if _is_live(one.key, space.name, live)]
            if len(keys) >= asked.limit or len(scored) < wanted or wanted >= _MOST:
                return keys
            wanted *= 4

    async def _open(self, owner: str, key: ChunkKey) -> "_Opened | None":
        """The document of a hit; None if it was deleted since."""
        try:
            document = await self._catalog.get(owner, key.document)
        except NotFoundError:
            return None
        version = document.live
        if version is None or version.generation != key.generation:
            raise _MovedError
        try:
            return _Opened(document, version, await self._catalog.chunks(version))
        except NotFoundError:
            raise _MovedError from None

    async def _hit(self, opened: "_Opened", key: ChunkKey, score: float) -> Hit:
        document, version, chunks = opened
        if version.generation != key.generation:
            raise _MovedError
        chunk = chunks[key.chunk_index]
        try:
            text = await self._catalog.text(version, chunk.start, chunk.end)
        except NotFoundError:
            raise _MovedError from None
        return Hit(document.id, document.name, document.folder, chunk, text, score)


class _Opened(NamedTuple):
    document: Document
    version: Version
    chunks: list[Chunk]


class _MovedError(Exception):
    """A document was written anew since it was found."""


class _Asked(NamedTuple):
    """A question, and its vector in each space once it is made."""

    question: str
    within: Within
    limit: int
    terms: Terms
    vectors: dict[str, Vectors]


def _is_live(key: ChunkKey, space: str, live: Mapping[DocumentId, Version]) -> bool:
    version = live.get(key.document)
    return version is not None and (version.generation, version.space) == (key.generation, space)
