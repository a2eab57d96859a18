"""Haystack: its store in memory, kept as a file; or a Qdrant server, which is this one's child.

SentenceWindow works on the first, AutoMerging on the second, with its parents in memory as its
documentation has them. What is in memory is saved whole after each change.
"""

import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from haystack import Document as Chunk  # type: ignore[import-not-found]  # in the peers' interpreter
from haystack.document_stores.types import (  # type: ignore[import-not-found]  # likewise
    DuplicatePolicy,
)

from bench.peers.asked import NEAREST, TOGETHER, Parent, Piece, batches, parent_id
from bench.peers.embedding import Embedding
from bench.peers.measure import DIMENSIONS
from bench.peers.playing import Document, Player
from bench.peers.qdrant_server import QdrantServer

_AT_ONCE = 2000


def leaves(
    pieces: list[Piece], embedding: Embedding, start: dict[str, int], *, merges: bool
) -> list[Any]:
    made = []
    rows = embedding.lists([piece.text for piece in pieces])
    for piece, row in zip(pieces, rows, strict=True):
        meta = {"source_id": piece.document, "split_id": piece.number}
        if piece.id in start:
            meta["split_idx_start"] = start[piece.id]
        if merges:
            meta |= {
                "__parent_id": parent_id(piece, len(pieces)),
                "__level": 1,
                "__block_size": 1,
            }
        made.append(Chunk(id=piece.id, content=piece.text, meta=meta, embedding=row))
    return made


def above(parent: Parent) -> Any:  # noqa: ANN401 -- it has no types here
    children = [f"{parent.document}_{at}" for at in range(parent.first, parent.last + 1)]
    meta = {"__children_ids": children, "__level": 0, "__block_size": TOGETHER}
    return Chunk(id=parent.id, content=parent.text, meta=meta)


def starts(document: Document) -> dict[str, int]:
    """Where each chunk begins: with that it leaves out what its windows have twice."""
    if document.corpus is None:
        return {}
    corpus = document.corpus
    pieces = corpus.pieces(corpus.number(document.name))
    return {one.id: corpus.span(one.document, one.number, one.number)[1] for one in pieces}


class Haystack(Player):
    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self._folder = Path()
        self._store: Any = None
        self._embedding: Any = None
        self._counts: dict[str, int] = {}
        self._server: QdrantServer | None = None

    def prepare(
        self,
        documents: Iterable[Document],
        embedding: Embedding,  # noqa: ARG002
        folder: Path,
    ) -> Iterable[Document]:
        folder.mkdir(parents=True)
        self._store = self._qdrant(folder) if self.variant == "qdrant" else _in_memory()
        return documents

    def build(
        self,
        documents: Iterable[Document],
        embedding: Embedding,
        folder: Path,
        wanted: Collection[str],
    ) -> int:
        store, with_context = self._store, "chunk-aware" in wanted
        merges = with_context and self.variant == "qdrant"
        chunks: list[Any] = []
        parents: list[Any] = []
        for one in documents:
            begin = starts(one) if with_context and not merges else {}
            chunks += leaves(one.pieces(), embedding, begin, merges=merges)
            parents += [above(it) for it in one.parents() if merges]
        for some in batches(chunks, _AT_ONCE):
            store.write_documents(list(some), policy=DuplicatePolicy.OVERWRITE)
        if self.variant == "memory":
            store.save_to_disk(str(folder / "store.json"))
        else:
            _rest(store)
            self.close()
        if parents:
            kept = _in_memory()
            kept.write_documents(parents)
            kept.save_to_disk(str(folder / "parents.json"))
        return len(chunks)

    def open(self, folder: Path, embedding: Embedding, wanted: Collection[str]) -> None:
        self._folder, self._embedding = folder, embedding
        if self.variant == "memory":
            self._open_in_memory(folder, embedding)
        else:
            self._open_qdrant(folder, embedding, wanted)

    def _open_in_memory(self, folder: Path, embedding: Embedding) -> None:
        from haystack.components.joiners import (  # type: ignore[import-not-found]  # likewise
            DocumentJoiner,
        )
        from haystack.components.retrievers import (  # type: ignore[import-not-found]  # likewise
            SentenceWindowRetriever,
        )
        from haystack.components.retrievers.in_memory import (  # type: ignore[import-not-found]  # likewise
            InMemoryBM25Retriever,
            InMemoryEmbeddingRetriever,
        )
        from haystack.document_stores.in_memory import (  # type: ignore[import-not-found]  # likewise
            InMemoryDocumentStore,
        )

        store = self._store = InMemoryDocumentStore.load_from_disk(str(folder / "store.json"))
        dense = InMemoryEmbeddingRetriever(store, top_k=NEAREST)
        words = InMemoryBM25Retriever(store, top_k=NEAREST)
        joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=NEAREST)
        window = SentenceWindowRetriever(store, window_size=1)

        def by_meaning(question: str) -> Any:  # noqa: ANN401
            return dense.run(query_embedding=embedding.lists([question])[0])["documents"]

        def by_words(question: str) -> Any:  # noqa: ANN401
            return words.run(query=question)["documents"]

        self.ways = {
            "vector": by_meaning,
            "lexical": by_words,
            "hybrid": lambda question: joiner.run([by_meaning(question), by_words(question)])[
                "documents"
            ],
            "chunk-aware": lambda question: window.run(retrieved_documents=by_meaning(question)),
        }

    def _open_qdrant(self, folder: Path, embedding: Embedding, wanted: Collection[str]) -> None:
        from haystack_integrations.components.retrievers.qdrant import (  # type: ignore[import-not-found]  # likewise
            QdrantEmbeddingRetriever,
        )

        self._store = self._qdrant(folder)
        dense = QdrantEmbeddingRetriever(self._store, top_k=NEAREST)

        def by_meaning(question: str) -> Any:  # noqa: ANN401
            return dense.run(query_embedding=embedding.lists([question])[0])["documents"]

        self.ways["vector"] = by_meaning
        if "chunk-aware" in wanted:
            from haystack.components.retrievers import AutoMergingRetriever
            from haystack.document_stores.in_memory import InMemoryDocumentStore

            parents = InMemoryDocumentStore.load_from_disk(str(folder / "parents.json"))
            merging = AutoMergingRetriever(parents)
            self.ways["chunk-aware"] = lambda question: merging.run(by_meaning(question))[
                "documents"
            ]

    def read(self, found: Any) -> Iterator[tuple[str, int, int]]:  # noqa: ANN401
        """Of a window: all of it; what it has in common with another is in both."""
        if isinstance(found, dict):
            yield from _windows(found)
            return
        for one in found:
            name, _, place = one.id.rpartition("_")
            first, _, last = place.partition("-")
            yield name, int(first), int(last or first)

    def count(self, found: Any) -> int:  # noqa: ANN401
        return len(found["context_documents"] if isinstance(found, dict) else found)

    def delete(self, name: str) -> None:
        self._store.delete_documents([f"{name}_{at}" for at in range(self._count(name))])
        self._counts.pop(name)
        self._save()

    def replace(self, document: Document) -> None:
        self._store.delete_documents(
            [f"{document.name}_{at}" for at in range(self._count(document.name))]
        )
        pieces = document.pieces()
        self._counts[document.name] = len(pieces)
        self._store.write_documents(
            leaves(pieces, self._embedding, {}, merges=False), policy=DuplicatePolicy.OVERWRITE
        )
        self._save()

    def _count(self, name: str) -> int:
        """How many chunks a document has: whoever deletes one knows that."""
        if not self._counts:
            for one in self._store.filter_documents():
                source = one.meta["source_id"]
                self._counts[source] = self._counts.get(source, 0) + 1
        return self._counts[name]

    def _save(self) -> None:
        if self.variant == "memory":
            self._store.save_to_disk(str(self._folder / "store.json"))

    def _qdrant(self, folder: Path) -> Any:  # noqa: ANN401
        from haystack_integrations.document_stores.qdrant import (  # type: ignore[import-not-found]  # likewise
            QdrantDocumentStore,
        )

        self._server = QdrantServer(folder / "qdrant")
        return QdrantDocumentStore(
            url=self._server.url,
            embedding_dim=DIMENSIONS,
            progress_bar=False,
            write_batch_size=_AT_ONCE,
        )

    def close(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None


def _windows(found: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Each window once, as the chunks in it: they come one window after the other, in order."""
    begun: tuple[str, int, int] | None = None
    for one in found["context_documents"]:
        name, at = one.meta["source_id"], one.meta["split_id"]
        if begun and begun[0] == name and begun[2] + 1 == at and at - begun[1] < 3:
            begun = name, begun[1], at
        else:
            if begun:
                yield begun
            begun = name, at, at
    if begun:
        yield begun


def _in_memory() -> Any:  # noqa: ANN401
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    return InMemoryDocumentStore()


def _rest(store: Any) -> None:  # noqa: ANN401
    """Wait until the server has nothing left to index."""
    client: Any = store._client  # noqa: SLF001 -- it tells in no other way
    while client.get_collection(store.index).status != "green":
        time.sleep(0.1)


player = Haystack
