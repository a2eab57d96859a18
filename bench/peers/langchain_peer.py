"""LangChain: a Chroma collection on disk, BM25 in memory, both as an ensemble; or FAISS.

ParentDocument finds in the same collection, and has its parents in a store of files. BM25 lives
in memory alone, and is made anew at each start out of the collection. FAISS is saved whole after
each change.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from langchain_core.documents import Document as Chunk
from langchain_core.embeddings import Embeddings

from bench.peers.asked import NEAREST, Parent, Piece, batches, parent_id
from bench.peers.embedding import Embedding
from bench.peers.playing import Document, Player

_MOST = 5000  # rows that the collection takes at once


class Given(Embeddings):
    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._embedding.lists(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._embedding.lists([text])[0]


def chunk(piece: Piece | Parent, **more: str) -> Chunk:
    first, last = piece[1], piece[2] if isinstance(piece, Parent) else piece[1]
    place = {"document": piece.document, "first": first, "last": last}
    return Chunk(page_content=piece.text, id=piece.id, metadata=place | more)


class LangChain(Player):
    """`_ids` are those of each document's chunks: to delete by them costs less than by source."""

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self._ids: dict[str, list[str]] = {}
        self._store: Any = None
        self._folder = Path()

    def build(
        self,
        documents: Iterable[Document],
        embedding: Embedding,
        folder: Path,
        wanted: Collection[str],
    ) -> int:
        chunks: list[Chunk] = []
        parents: list[tuple[str, Chunk]] = []
        for document in documents:
            pieces = document.pieces()
            more = {one.id: {"doc_id": parent_id(one, len(pieces))} for one in pieces}
            if "chunk-aware" not in wanted:
                more = {}
            chunks += [chunk(one, **more.get(one.id, {})) for one in pieces]
            parents += [(one.id, chunk(one)) for one in document.parents() if more]
        self._create(folder, embedding, chunks)
        if parents:
            _parents_in(folder).mset(parents)
        return len(chunks)

    def _create(self, folder: Path, embedding: Embedding, chunks: list[Chunk]) -> None:
        if self.variant == "faiss":
            from langchain_community.vectorstores import (  # type: ignore[import-not-found]  # likewise
                FAISS,
            )

            FAISS.from_documents(chunks, Given(embedding)).save_local(str(folder))
        else:
            store = _chroma(folder, embedding)
            for some in batches(chunks, _MOST):
                store.add_documents(some)

    def open(self, folder: Path, embedding: Embedding, wanted: Collection[str]) -> None:
        self._folder = folder
        if self.variant == "faiss":
            from langchain_community.vectorstores import FAISS

            self._store = FAISS.load_local(
                str(folder), Given(embedding), allow_dangerous_deserialization=True
            )
        else:
            self._store = _chroma(folder, embedding)
        dense = self._store.as_retriever(search_kwargs={"k": NEAREST})
        self.ways["vector"] = dense.invoke
        if "lexical" in wanted or "hybrid" in wanted:
            from langchain_classic.retrievers import (  # type: ignore[import-not-found]  # likewise
                EnsembleRetriever,
            )
            from langchain_community.retrievers import (  # type: ignore[import-not-found]  # likewise
                BM25Retriever,
            )

            words = BM25Retriever.from_documents(list(_all(self._store)), k=NEAREST)
            both = EnsembleRetriever(retrievers=[dense, words], weights=[0.5, 0.5])
            self.ways |= {"lexical": words.invoke, "hybrid": both.invoke}
        if "chunk-aware" in wanted:
            from langchain_classic.retrievers import ParentDocumentRetriever
            from langchain_text_splitters import RecursiveCharacterTextSplitter

            parents = ParentDocumentRetriever(
                vectorstore=self._store,
                docstore=_parents_in(folder),
                child_splitter=RecursiveCharacterTextSplitter(),
                search_kwargs={"k": NEAREST},
            )
            self.ways["chunk-aware"] = parents.invoke

    def read(self, found: list[Chunk]) -> Iterator[tuple[str, int, int]]:
        for one in found[:NEAREST]:
            yield one.metadata["document"], one.metadata["first"], one.metadata["last"]

    def delete(self, name: str) -> None:
        self._store.delete(self._known(name))
        self._save()

    def replace(self, document: Document) -> None:
        self._store.delete(self._known(document.name))
        chunks = [chunk(one) for one in document.pieces()]
        self._store.add_documents(chunks, ids=[one.id for one in chunks])
        self._ids[document.name] = [str(one.id) for one in chunks]
        self._save()

    def _known(self, name: str) -> list[str]:
        if not self._ids:
            for one in _all(self._store):
                self._ids.setdefault(one.metadata["document"], []).append(str(one.id))
        return self._ids[name]

    def _save(self) -> None:
        if self.variant == "faiss":
            self._store.save_local(str(self._folder))


def _chroma(folder: Path, embedding: Embedding) -> Any:  # noqa: ANN401 -- it has no types here
    import chromadb
    from chromadb.config import Settings
    from langchain_chroma import Chroma  # type: ignore[import-not-found]  # in the peers' interpreter

    client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
    return Chroma("bench", Given(embedding), client=client)


def _all(store: Any) -> Iterator[Chunk]:  # noqa: ANN401
    """All chunks that a store has, with their ids."""
    if not hasattr(store, "get"):
        yield from store.docstore._dict.values()  # noqa: SLF001 -- it tells in no other way
        return
    # In parts: its SQL takes no more ids than so many at once.
    for first in count(step=_MOST):
        found = store.get(limit=_MOST, offset=first)
        rows = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        yield from (Chunk(page_content=text, id=one, metadata=place) for one, text, place in rows)
        if len(found["ids"]) < _MOST:
            return


def _parents_in(folder: Path) -> Any:  # noqa: ANN401
    from langchain_classic.storage import (  # type: ignore[import-not-found]  # likewise
        LocalFileStore,
        create_kv_docstore,
    )

    return create_kv_docstore(LocalFileStore(str(folder / "parents")))


player = LangChain
