"""unchunk's questions, and the calls that they make of the engine, made without us.

The library is made once, by its own parts: texts by the catalog, points by the shard, which is
then optimized at once. The bare engine has a copy of that shard.
"""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import qdrant_edge as engine

from bench.peers.asked import (
    NEAREST,
    Answer,
    Asking,
    Corpus,
    Times,
    batches,
    give,
    read_asking,
    repeated,
)
from bench.peers.measure import DIMENSIONS, OVERLAP, SIZE, cpu
from bench.peers.ours import Profiles
from unchunk.adapters.catalog import SqlCatalog, open_database
from unchunk.adapters.index.edge import EdgeIndex
from unchunk.adapters.index.edge_home import Home
from unchunk.adapters.index.edge_optimize import copy
from unchunk.adapters.index.edge_shard import Shard
from unchunk.adapters.index.packing import pack
from unchunk.adapters.lexicon.bm25 import Bm25Lexicon
from unchunk.domain import (
    Chunk,
    ChunkKey,
    EmbedderIdentity,
    Scored,
    Space,
    Terms,
    Whole,
    Within,
)
from unchunk.engine import Engine
from unchunk.ports import Embedder, Point, Role, Vectors
from unchunk.settings import Settings
from unchunk.wiring import libraries as wiring

_AT_ONCE = 40  # documents
_PAUSE = 0.005  # seconds
OWNER = "local"

Ask = Callable[[str], Awaitable[object]]


class Prepared:
    """`Embedder` that knows the vectors of the questions."""

    def __init__(self, corpus: Corpus) -> None:
        self.identity = EmbedderIdentity(
            "prepared", DIMENSIONS, max_tokens=512, min_score=corpus.min_score
        )
        self._corpus = corpus

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) // 4 + 1 for text in texts]

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:  # noqa: ARG002 -- of questions alone
        [text] = texts
        return self._corpus.vector(text).reshape(1, -1)

    async def close(self) -> None:
        """Nothing is held."""


async def open_engine(home: Path, corpus: Corpus) -> Engine:
    async def make(
        settings: Settings,  # noqa: ARG001 -- as the wiring calls it
        spec: str,  # noqa: ARG001
        known: EmbedderIdentity | None,  # noqa: ARG001
    ) -> Embedder:
        return Prepared(corpus)

    wiring.make_embedder = make  # type: ignore[attr-defined]  # it is imported there
    settings = Settings(home, chunk_size=SIZE, chunk_overlap=OVERLAP, owner=OWNER)
    return await wiring.open_engine(settings)


async def build(home: Path, corpus: Corpus) -> None:
    shutil.rmtree(home, ignore_errors=True)
    await (await open_engine(home, corpus)).close()
    catalog = SqlCatalog(await open_database(home / "catalog.sqlite"))
    space = Space((await catalog.notes())["active space"], DIMENSIONS)
    place = Home(home / "index" / "edge" / space.name)
    path = place.fresh()
    shard = Shard.create(path, DIMENSIONS)
    lexicon = Bm25Lexicon()
    bounds = [0, *(corpus.chunks[1:, 0] != corpus.chunks[:-1, 0]).nonzero()[0] + 1]
    for some in batches(range(len(corpus.documents)), _AT_ONCE):
        wholes, points = [], []
        for number in some:
            end = bounds[number + 1] if number + 1 < len(bounds) else len(corpus.chunks)
            rows = range(bounds[number], end)
            whole = await begun(catalog, corpus, number, rows, space.name)
            wholes.append(whole)
            key = ChunkKey(OWNER, whole.version.document, whole.version.generation, 0)
            points += [
                Point(
                    key._replace(chunk_index=at),
                    "",
                    corpus.vectors[row],
                    lexicon.document(corpus.chunk_text(row)),
                )
                for at, row in enumerate(rows)
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
    copy(path, home / "bare")
    (home / "built").touch()


async def begun(catalog: SqlCatalog, corpus: Corpus, number: int, rows: range, space: str) -> Whole:
    start, end = corpus.documents[number].tolist()
    text = corpus.text[start:end]
    checksum = sha256(text.encode()).hexdigest()
    document = await catalog.begin(
        OWNER, "", f"document-{number:06}.txt", checksum=checksum, size=len(text), blob=""
    )
    assert document.draft is not None
    chunks = tuple(
        Chunk(at, int(begin) - start, int(stop) - start)
        for _, at, begin, stop in corpus.chunks[rows.start : rows.stop].tolist()
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


class Calls:
    """What an index is asked for one question, while `recording`, and what it finds by meaning."""

    def __init__(self) -> None:
        self.searches: list[tuple[Vectors | Terms, int]] = []
        self.fetches: list[Sequence[ChunkKey]] = []
        self.nearest: list[ChunkKey] = []

    @contextmanager
    def recording(self) -> Iterator[None]:
        search, fetch = EdgeIndex.search, EdgeIndex.fetch

        async def noted_search(
            index: EdgeIndex, query: Vectors | Terms, within: Within, limit: int
        ) -> list[Scored]:
            found = await search(index, query, within, limit)
            self.searches.append((query, limit))
            if not isinstance(query, Terms):
                self.nearest = [one.key for one in found[:NEAREST]]
            return found

        async def noted_fetch(
            index: EdgeIndex, keys: Sequence[ChunkKey]
        ) -> dict[ChunkKey, Vectors]:
            self.fetches.append(keys)
            return await fetch(index, keys)

        setattr(EdgeIndex, "search", noted_search)  # noqa: B010 -- for this while
        setattr(EdgeIndex, "fetch", noted_fetch)  # noqa: B010
        try:
            yield
        finally:
            setattr(EdgeIndex, "search", search)  # noqa: B010
            setattr(EdgeIndex, "fetch", fetch)  # noqa: B010


class Bare:
    """The same calls of the engine in this process, and their answers read."""

    def __init__(self, folder: Path, calls: dict[str, Calls]) -> None:
        self._shard = engine.EdgeShard.load(str(folder))
        owner: Any = engine.FieldCondition(key="owner", match=engine.MatchValue(OWNER))
        self._filter = engine.Filter(must=[owner])
        self._asked = {
            question: (
                [(_plain(query), limit) for query, limit in its.searches],
                [[key.id for key in keys] for keys in its.fetches],
            )
            for question, its in calls.items()
        }

    async def ask(self, question: str) -> object:
        searches, fetches = self._asked[question]
        found: list[Any] = [self._search(query, limit) for query, limit in searches]
        for ids in fetches:
            wanted: list[Any] = list(ids)
            records = self._shard.retrieve(wanted, False, ["dense"])
            found.append([(record.id, record.vector) for record in records])
        return found

    async def ask_now_and_then(self, question: str) -> object:
        """Not in a loop that does nothing else: then the processor's caches have other things."""
        await asyncio.sleep(_PAUSE)
        return await self.ask(question)

    def _search(self, query: list[float] | Terms, limit: int) -> object:
        if isinstance(query, Terms):
            sparse = engine.SparseVector(list(query.ids), list(query.weights))
            nearest = engine.Query.Nearest(sparse, using="terms")
        else:
            nearest = engine.Query.Nearest(query, using="dense")
        request = engine.QueryRequest(
            query=nearest, limit=limit, with_payload=True, filter=self._filter
        )
        return [(hit.score, hit.payload) for hit in self._shard.query(request)]

    def close(self) -> None:
        self._shard.close()


def _plain(query: Vectors | Terms) -> list[float] | Terms:
    if isinstance(query, Terms):
        return query
    row: list[float] = query.tolist()
    return row


async def look(lib: Engine, corpus: Corpus, answer: Answer) -> dict[str, Calls]:
    """Ask all once, see what that takes and gives."""
    numbers = {one.id: int(one.name[-10:-4]) for one in await lib.documents()}
    rows = {(number, at): row for row, (number, at) in enumerate(corpus.chunks[:, :2].tolist())}
    calls: dict[str, Calls] = {}
    nearest = []
    characters = twice = passages = 0
    for question in corpus.questions:
        its = calls[question] = Calls()
        with its.recording():
            documents = await lib.search_with_context(question)
        nearest.append([rows[numbers[key.document], key.chunk_index] for key in its.nearest])
        spans = []
        for number, passage in [
            (numbers[one.document], passage) for one in documents for passage in one.passages
        ]:
            start = int(corpus.documents[number, 0])
            spans.append((number, start + passage.start, start + passage.end))
            said = corpus.text[start + passage.start : start + passage.end]
            assert passage.text == said, "it is what stands there"
        total, again = repeated(spans)
        characters, twice, passages = characters + total, twice + again, passages + len(spans)
    count = len(corpus.questions)
    answer.recall = corpus.recall(nearest)
    answer.duplicated["search_with_context"] = twice / characters
    answer.notes = {
        "characters of context": characters / count,
        "passages": passages / count,
        "searches of the engine": sum(len(one.searches) for one in calls.values()) / count,
        "vectors fetched": sum(len(it) for one in calls.values() for it in one.fetches) / count,
    }
    return calls


async def measure(asking: Asking, corpus: Corpus, home: Path) -> Answer:
    answer, profiles = Answer(), Profiles()
    lib = await open_engine(home, corpus)
    calls = await look(lib, corpus, answer)
    await lib.close()
    if asking.profile:
        profiles.start()
    warm, *counted = batches(corpus.questions, asking.batch)
    bare = Bare(home / "bare", calls)
    for _ in range(asking.repeats):
        # Opened anew: what was asked is remembered for a while.
        lib = await open_engine(home, corpus)
        ways: dict[str, Ask] = {
            "bare engine": bare.ask,
            "bare engine, now and then": bare.ask_now_and_then,
            "search_with_context": lib.search_with_context,
            "retrieve": lib.retrieve,
            "search": lib.search,
        }
        if asking.profile:
            ways = {"search_with_context": lib.search_with_context}
        for ask in ways.values():
            for question in warm:
                await ask(question)
        for number, some in enumerate(counted):
            turn = number % len(ways)
            for name, ask in [*ways.items()][turn:] + [*ways.items()][:turn]:
                await _timed(answer.times.setdefault(name, Times()), some, ask)
        await lib.close()
    bare.close()
    if asking.profile:
        answer.profile = profiles.table()
    return answer


async def _timed(times: Times, questions: Sequence[str], ask: Ask) -> None:
    begun, cpu_begun = time.perf_counter(), cpu()
    for question in questions:
        await ask(question)
    times.wall.append((time.perf_counter() - begun) / len(questions) * 1e3)
    times.cpu.append((cpu() - cpu_begun) / len(questions) * 1e3)


async def run(asking: Asking) -> Answer:
    home = Path(asking.work)
    corpus = Corpus(Path(asking.corpus))
    if not (home / "built").exists():
        await build(home, corpus)
    return await measure(asking, corpus, home)


if __name__ == "__main__":
    give(asyncio.run(run(read_asking())))
