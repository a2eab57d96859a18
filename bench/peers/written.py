"""A library of ours that is written at once by its own parts, and how one is opened with any vectors.

Texts and kept vectors by the catalog, originals as files, points by the shard, which is then
optimized at once. A copy of that shard is for the bare engine.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from bench.peers.asked import Corpus, batches
from bench.peers.embedding import Embedding
from bench.peers.measure import DIMENSIONS, OVERLAP, SIZE
from unchunk.adapters.catalog import SqlCatalog, SqlVectorCache, open_database
from unchunk.adapters.embed.models import DEFAULT_MODEL, local_model
from unchunk.adapters.index.edge_home import Home
from unchunk.adapters.index.edge_optimize import copy
from unchunk.adapters.index.edge_shard import Shard
from unchunk.adapters.index.packing import pack
from unchunk.adapters.lexicon.bm25 import Bm25Lexicon
from unchunk.domain import Chunk, ChunkKey, EmbedderIdentity, Space, Whole
from unchunk.engine import Engine
from unchunk.library.embedding import digest
from unchunk.library.keys import blob_key
from unchunk.ports import Embedder, Point, Role, Vectors
from unchunk.settings import Settings
from unchunk.wiring import libraries as wiring

_AT_ONCE = 40  # documents
OWNER = "local"
_DAY = date(2026, 1, 1)


class Given:
    """`Embedder` of the vectors that all contestants have.

    It passes for the default model, so that the same library can be opened with that.
    """

    def __init__(self, embedding: Embedding) -> None:
        least = embedding.corpus.min_score if embedding.corpus else 0.0
        self.identity = replace(local_model(DEFAULT_MODEL).identity, min_score=least)
        self._embedding = embedding

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) // 4 + 1 for text in texts]

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:  # noqa: ARG002 -- one for both
        return self._embedding.rows(texts)

    async def close(self) -> None:
        """Nothing is held."""


def settings_of(home: Path, index: str = "edge", seconds: float = 10.0) -> Settings:
    return Settings(
        home,
        index=index,
        chunk_size=SIZE,
        chunk_overlap=OVERLAP,
        owner=OWNER,
        index_timeout=seconds,
    )


async def open_given(settings: Settings, embedding: Embedding) -> Engine:
    async def make(
        settings: Settings,  # noqa: ARG001 -- as the wiring calls it
        spec: str,  # noqa: ARG001
        known: EmbedderIdentity | None,  # noqa: ARG001
    ) -> Embedder:
        return Given(embedding)

    wiring.make_embedder = make  # type: ignore[attr-defined]  # it is imported there
    return await wiring.open_engine(settings)


def bare_of(home: Path) -> Path:
    """Where the copy for the bare engine is: beside it, for it is no part of the library."""
    return home.with_name(f"{home.name}-bare")


async def write(home: Path, embedding: Embedding, corpus: Corpus) -> None:
    for left in (home, bare_of(home)):
        shutil.rmtree(left, ignore_errors=True)
    await (await open_given(settings_of(home), embedding)).close()
    database = await open_database(home / "catalog.sqlite")
    catalog, cache = SqlCatalog(database), SqlVectorCache(database)
    fingerprint = Given(embedding).identity.fingerprint
    space = Space((await catalog.notes())["active space"], DIMENSIONS)
    place = Home(home / "index" / "edge" / space.name)
    path = place.fresh()
    shard = Shard.create(path, DIMENSIONS)
    for some in batches(range(len(corpus.documents)), _AT_ONCE):
        wholes = [await begun(catalog, corpus, number, space.name) for number in some]
        for number, whole in zip(some, wholes, strict=True):
            keep_original(home, whole)
            await cache.keep(OWNER, fingerprint, whole.version.document, vectors_of(corpus, number))
        points = [
            point
            for number, whole in zip(some, wholes, strict=True)
            for point in points_of(corpus, number, whole)
        ]
        shard.upsert(pack(points, space))
        await catalog.go_live(wholes)
    await catalog.close()
    shard.flush()
    shard.optimize()
    shard.flush()
    shard.close()
    place.make_current(path, DIMENSIONS)
    place.note_changes(0)
    copy(path, bare_of(home))


async def begun(catalog: SqlCatalog, corpus: Corpus, number: int, space: str) -> Whole:
    start, end = corpus.documents[number].tolist()
    text = corpus.text[start:end]
    checksum = sha256(text.encode()).hexdigest()
    blob = blob_key(OWNER, _DAY, UUID(int=number))
    document = await catalog.begin(
        OWNER, "", corpus.name(number), checksum=checksum, size=len(text), blob=blob
    )
    assert document.draft is not None
    first, last = corpus.bounds[number]
    chunks = tuple(
        Chunk(at, int(begin) - start, int(stop) - start)
        for _, at, begin, stop in corpus.chunks[first:last].tolist()
    )
    version = replace(
        document.draft,
        media_type="text/plain",
        text_checksum=checksum,
        text_length=len(text),
        chunk_count=len(chunks),
        space=space,
    )
    return Whole(version, text, chunks)


def keep_original(home: Path, whole: Whole) -> None:
    path = home / "uploads" / whole.version.blob
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(whole.text, "utf-8")


def vectors_of(corpus: Corpus, number: int) -> dict[bytes, Vectors]:
    first, last = corpus.bounds[number]
    return {digest(corpus.chunk_text(row)): corpus.vectors[row] for row in range(first, last)}


def points_of(corpus: Corpus, number: int, whole: Whole) -> list[Point]:
    lexicon = Bm25Lexicon()
    key = ChunkKey(OWNER, whole.version.document, whole.version.generation, 0)
    first, last = corpus.bounds[number]
    return [
        Point(
            key._replace(chunk_index=row - first),
            "",
            corpus.vectors[row],
            lexicon.document(corpus.chunk_text(row)),
        )
        for row in range(first, last)
    ]
