"""unchunk as its users have it: an open library, many questions at once in one loop.

By meaning or by words alone it is asked through its index and its catalog, as its own search does
for both together.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import unchunk
from bench.peers.asked import NEAREST, Corpus, Span
from bench.peers.embedding import Embedding
from bench.peers.measure import DIMENSIONS, OVERLAP, SIZE
from bench.peers.playing import Document, Player

Ask = Callable[[str], Awaitable[Any]]
_SMALL = "The captain sailed in a ship."


class Ours(Player):
    """Everything happens in one loop of its own, whose processes and threads stay between calls."""

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self._loop = asyncio.new_event_loop()
        self._lib: unchunk.Engine | None = None
        self._asks: dict[str, Ask] = {}

    def prepare(
        self, documents: Iterable[Document], embedding: Embedding, folder: Path
    ) -> Iterable[Document]:
        """Open the library with one small text in it: all of its processes are up then."""
        several = list(documents)
        if several[0].path is not None:
            folder.mkdir(parents=True)
            small = folder.with_suffix(".txt")
            small.write_text(f"{_SMALL}\n", "utf-8")
            self._lib = self._run(self._opened(folder, embedding))
            self._run(self._lib.add(small))
        return several

    def build(
        self,
        documents: list[Document],
        embedding: Embedding,
        folder: Path,
        wanted: Collection[str],  # noqa: ARG002 -- it has all of them in any case
    ) -> int:
        return int(self._run(self._build(documents, embedding, folder)))

    async def _build(self, documents: list[Document], embedding: Embedding, folder: Path) -> int:
        corpus = documents[0].corpus
        if corpus is not None:
            from bench.peers.written import write

            await write(folder, embedding, corpus)
            return len(corpus.chunks)
        lib, self._lib = self._lib, None
        assert lib is not None, "it was prepared"
        outcomes = await lib.add(*(one.path for one in documents if one.path))
        await _rest(folder)
        await lib.close()
        assert {one.result for one in outcomes} == {"added"}, "all texts are new"
        return sum(one.chunks for one in outcomes)

    async def _opened(self, folder: Path, embedding: Embedding) -> unchunk.Engine:
        if embedding.kind == "local":
            return await _opened_as_usual(folder)
        from bench.peers.written import open_given, settings_of

        return await open_given(settings_of(folder), embedding)

    def open(
        self,
        folder: Path,
        embedding: Embedding,
        wanted: Collection[str],  # noqa: ARG002
    ) -> None:
        lib = self._lib = self._run(self._opened(folder, embedding))
        self._asks = {
            "vector": self._by_meaning,
            "lexical": self._by_words,
            "hybrid": lib.search,
            "chunk-aware": lib.search_with_context,
        }

    async def _by_meaning(self, question: str) -> Any:  # noqa: ANN401
        parts = self._parts
        [vector] = await parts.spaces.embedder.embed([question], "query")
        return await self._found(vector)

    async def _by_words(self, question: str) -> Any:  # noqa: ANN401
        return await self._found(self._parts.lexicon.query(question))

    async def _found(self, query: Any) -> Any:  # noqa: ANN401
        """The best chunks of the index, and their texts out of the catalog."""
        from unchunk.domain import Within

        found = await self._parts.spaces.active.index.search(query, Within("local"), NEAREST)
        wanted: dict[str, list[int]] = {}
        for one in found:
            wanted.setdefault(one.key.document, []).append(one.key.chunk_index)
        opened = await self._parts.catalog.open("local", wanted)
        return [
            (opened[key.document].document.name, opened[key.document].chunks[key.chunk_index])
            for key, _ in found
        ]

    @property
    def _parts(self) -> Any:  # noqa: ANN401
        # `unchunk.open` gives an engine that hands work to a server, if there is one.
        engine: Any = getattr(self._lib, "_engine", self._lib)
        return engine._parts  # noqa: SLF001 -- no public way is by one alone

    def ask(self, way: str, questions: Sequence[str]) -> list[Any]:
        async def ask() -> list[Any]:
            return [await self._asks[way](question) for question in questions]

        found: list[Any] = self._run(ask())
        return found

    def ask_at_once(self, way: str, questions: Sequence[str], clients: int) -> list[Any]:
        waiting, found = iter(questions), list[Any]()

        async def client() -> None:
            for question in waiting:
                found.append(await self._asks[way](question))

        async def all_of_them() -> None:
            await asyncio.gather(*(client() for _ in range(clients)))

        self._run(all_of_them())
        return found

    def count(self, found: Any) -> int:  # noqa: ANN401
        return len(found if isinstance(found, list) else found.hits)

    def shown(self, found: Any, corpus: Corpus) -> list[Span]:  # noqa: ANN401
        return list(self._spans(found, corpus))

    def _spans(self, found: Any, corpus: Corpus) -> Iterator[Span]:  # noqa: ANN401
        if isinstance(found, list) and found and isinstance(found[0], tuple):
            yield from ((name, chunk.start, chunk.end) for name, (chunk, _) in found)
        elif isinstance(found, list):
            for one in found:
                for passage in one.passages:
                    begin = int(corpus.documents[corpus.number(one.name), 0])
                    said = corpus.text[begin + passage.start : begin + passage.end]
                    assert passage.text == said, "it is what stands there"
                    yield one.name, passage.start, passage.end
        else:
            yield from ((hit.name, hit.chunk.start, hit.chunk.end) for hit in found.hits)

    def delete(self, name: str) -> None:
        self._run(self._lib.delete(name))  # type: ignore[union-attr]

    def replace(self, document: Document) -> None:
        [outcome] = self._run(self._lib.add(document.path))  # type: ignore[union-attr, arg-type]
        assert outcome.result in ("added", "replaced"), outcome.result

    def close(self) -> None:
        if self._lib is not None:
            self._run(self._lib.close())
            self._lib = None

    def _run(self, work: Any) -> Any:  # noqa: ANN401
        return self._loop.run_until_complete(work)


async def _opened_as_usual(folder: Path) -> unchunk.Engine:
    """With its own default model, and nothing of the bench in it, whatever was opened before."""
    from unchunk.wiring import libraries, providers

    libraries.make_embedder = providers.make_embedder  # type: ignore[attr-defined]
    return await unchunk.open(folder, chunk_size=SIZE, chunk_overlap=OVERLAP).__aenter__()


async def _rest(home: Path) -> None:
    """Wait until nothing is left to optimize, or is worth it."""
    from unchunk.adapters.index.edge_home import Home
    from unchunk.adapters.index.edge_shard import SCANNED_KILOBYTES

    enough = SCANNED_KILOBYTES * 1000 // (4 * DIMENSIONS)
    spaces = [Home(path) for path in (home / "index" / "edge").iterdir() if path.is_dir()]
    due = {space: space.shard for space in spaces if (space.changes() or 0) >= enough}
    # Another process does it, and tells only its own parent.
    while any(space.shard == shard for space, shard in due.items()):  # noqa: ASYNC110
        await asyncio.sleep(0.2)


def player(variant: str) -> Ours:
    return Ours(variant)
