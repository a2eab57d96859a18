"""The floors: the engine alone in this process, and numpy alone.

`engine` makes the very calls that our questions make, on a copy of our shard; it has to be opened
before our library is. `scan` multiplies all vectors with the question's. `points` takes documents
in, cut and embedded beforehand as ours are: points in, flushed now and then, optimized, closed. One
that is deleted or replaced is flushed.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid5

import numpy as np
import qdrant_edge as engine

from bench.peers.asked import NEAREST, Corpus, Rows
from bench.peers.embedding import Embedding, table
from bench.peers.measure import DIMENSIONS, OVERLAP, SIZE
from bench.peers.playing import Document, Player
from bench.peers.recorded import Calls, by_terms, by_vector, recording
from bench.peers.written import OWNER, bare_of, open_given, settings_of
from unchunk.adapters.index.edge_home import Home
from unchunk.adapters.index.edge_shard import Shard
from unchunk.adapters.lexicon.bm25 import Bm25Lexicon
from unchunk.domain import Chunking, ChunkingStrategy, Extracted
from unchunk.library.layout import embedded_text, lay_out

# As many documents as ours brings in at a time share a flush.
_DOCUMENTS_PER_FLUSH = 16
_SPACE = UUID(int=7)


class Cut(NamedTuple):
    """A document's chunks, with all that is known before the engine is called."""

    name: str
    texts: list[str]
    vectors: Rows


class BareEngine(Player):
    def open(self, folder: Path, embedding: Embedding, wanted: Collection[str]) -> None:
        owner: Any = engine.FieldCondition(key="owner", match=engine.MatchValue(OWNER))
        self._filter = engine.Filter(must=[owner])
        corpus = embedding.corpus
        assert corpus is not None, "it is asked about a made-up library"
        recorded = asyncio.run(record(folder, embedding, corpus, wanted))
        self._names: dict[str, str] = recorded.names
        # As the process of our index does, or each question would pay for what it first touches.
        Home(bare_of(folder)).read_ahead()
        self._shard = engine.EdgeShard.load(str(bare_of(folder)))
        lexicon = Bm25Lexicon()
        self._asked: dict[str, dict[str, Calls]] = {
            "vector": {
                one: _only(by_vector(corpus.vector(one).tolist())) for one in corpus.questions
            },
            "lexical": {
                one: _only(by_terms(its.ids, its.weights))
                for one in corpus.questions
                for its in [lexicon.query(one)]
            },
            **recorded.calls,
        }
        self.ways = {way: self._asks(way) for way in wanted}

    def _asks(self, way: str) -> Callable[[str], Any]:
        asked = self._asked[way]

        def ask(question: str) -> list[Any]:
            its = asked[question]
            found: list[Any] = [self._search(query, limit) for query, limit in its.searches]
            for ids in its.fetches:
                records = self._shard.retrieve(list(ids), False, ["dense"])
                found.append([(record.id, record.vector) for record in records])
            return found

        return ask

    def _search(self, query: Any, limit: int) -> object:  # noqa: ANN401
        request = engine.QueryRequest(
            query=query, limit=limit, with_payload=True, filter=self._filter
        )
        return [(hit.score, hit.payload) for hit in self._shard.query(request)]

    def read(self, found: Any) -> Iterator[tuple[str, int, int]]:  # noqa: ANN401
        for _, payload in found[0][:NEAREST]:
            at = payload["chunk_index"]
            yield self._names[payload["document"]], at, at

    def count(self, found: Any) -> int:  # noqa: ANN401
        return sum(map(len, found))

    def close(self) -> None:
        if self.ways:
            self._shard.close()


class BarePoints(Player):
    """Takes documents in as points, deletes and replaces them."""

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self._shard: Shard | None = None
        self._embedding = table()
        self._lexicon = engine.Bm25(
            engine.Bm25Config(language="english", ascii_folding=True, avg_len=128.0)
        )

    def prepare(
        self,
        documents: Iterable[Document],
        embedding: Embedding,
        folder: Path,  # noqa: ARG002
    ) -> list[Cut]:
        return [cut(one.path, embedding) for one in documents if one.path]

    def build(
        self,
        documents: list[Cut],
        embedding: Embedding,  # noqa: ARG002 -- all are embedded
        folder: Path,
        wanted: Collection[str],  # noqa: ARG002
    ) -> int:
        shard = Shard.create(folder / "shard", DIMENSIONS)
        for at, document in enumerate(documents):
            self._put(shard, document)
            if at % _DOCUMENTS_PER_FLUSH == _DOCUMENTS_PER_FLUSH - 1:
                shard.flush()
        shard.flush()
        shard.optimize()
        shard.flush()
        shard.close()
        return sum(len(document.texts) for document in documents)

    def open(self, folder: Path, embedding: Embedding, wanted: Collection[str]) -> None:  # noqa: ARG002
        self._shard, self._embedding = Shard.load(folder / "shard"), embedding

    def delete(self, name: str) -> None:
        assert self._shard is not None, "it is open"
        self._shard.delete(name, None)
        self._shard.flush()

    def replace(self, document: Document) -> None:
        assert self._shard is not None, "it is open"
        assert document.path is not None, "it is a file"
        self._shard.delete(document.name, None)
        self._put(self._shard, cut(document.path, self._embedding))
        self._shard.flush()

    def close(self) -> None:
        if self._shard is not None:
            self._shard.close()
            self._shard = None

    def _put(self, shard: Shard, document: Cut) -> None:
        shard.put(list(points(document, self._lexicon)))


class Recorded(NamedTuple):
    """The names of documents by their ids; by way and question, what is asked of the engine."""

    names: dict[str, str]
    calls: dict[str, dict[str, Calls]]


async def record(
    home: Path, embedding: Embedding, corpus: Corpus, wanted: Collection[str]
) -> Recorded:
    lib = await open_given(settings_of(home), embedding)
    asks: dict[str, Any] = {"hybrid": lib.search, "chunk-aware": lib.search_with_context}
    calls: dict[str, dict[str, Calls]] = {}
    for way in [one for one in asks if one in wanted]:
        calls[way] = {}
        for question in corpus.questions:
            with recording() as its:
                await asks[way](question)
            calls[way][question] = its
    names = {one.id: one.name for one in await lib.documents()}
    await lib.close()
    return Recorded(names, calls)


def _only(query: Any) -> Calls:  # noqa: ANN401
    return Calls([(query, NEAREST)], [])


class Scan(Player):
    def build(
        self,
        documents: list[Document],
        embedding: Embedding,  # noqa: ARG002
        folder: Path,
        wanted: Collection[str],  # noqa: ARG002
    ) -> int:
        """There is nothing to build."""
        folder.mkdir(parents=True)
        return len(documents)

    def open(self, folder: Path, embedding: Embedding, wanted: Collection[str]) -> None:  # noqa: ARG002
        assert embedding.corpus is not None, "it is asked about a made-up library"
        corpus = self._corpus = embedding.corpus
        vectors = np.array(corpus.vectors)

        def ask(question: str) -> list[tuple[int, float]]:
            cosines = vectors @ corpus.vector(question)
            best = np.argpartition(-cosines, NEAREST)[:NEAREST]
            order = best[np.argsort(-cosines[best])]
            return list(zip(order.tolist(), cosines[order].tolist(), strict=True))

        self.ways = {"vector": ask}

    def read(self, found: Sequence[tuple[int, float]]) -> Iterator[tuple[str, int, int]]:
        for row, _ in found:
            number, at = self._corpus.chunks[row, :2].tolist()
            yield self._corpus.name(number), at, at


def cut(path: Path, embedding: Embedding) -> Cut:
    text = path.read_text("utf-8")
    chunking = Chunking(ChunkingStrategy("chars", SIZE, OVERLAP), "boundary")
    chunks = lay_out(Extracted(text, "text/plain"), chunking, lambda them: [1] * len(them), 512)
    texts = [embedded_text(text, chunk) for chunk in chunks]
    return Cut(path.name, texts, embedding.rows(texts))


def points(document: Cut, lexicon: engine.Bm25) -> Iterator[engine.Point]:
    rows = document.vectors.tolist()
    for at, (text, row) in enumerate(zip(document.texts, rows, strict=True)):
        yield engine.Point(
            uuid5(_SPACE, f"{document.name}{at}"),
            {"dense": row, "terms": lexicon.embed_document(text)},
            {
                "owner": OWNER,
                "document": document.name,
                "folder": "",
                "generation": 1,
                "chunk_index": at,
            },
        )


def player(variant: str) -> Player:
    kinds: dict[str, type[Player]] = {"scan": Scan, "points": BarePoints, "engine": BareEngine}
    return kinds[variant](variant)
