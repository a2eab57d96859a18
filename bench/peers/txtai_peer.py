"""txtai with content, dense vectors and BM25; saved whole after each change, or it is lost."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

from txtai import Embeddings  # type: ignore[import-not-found]  # in the peers' interpreter

from bench.peers.asked import NEAREST, Piece
from bench.peers.embedding import Embedding
from bench.peers.playing import Document, Player


class Txtai(Player):
    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self._folder = Path()
        self._made: Any = None
        self._ids: dict[str, list[str]] = {}

    def build(
        self,
        documents: Iterable[Document],
        embedding: Embedding,
        folder: Path,
        wanted: Collection[str],  # noqa: ARG002 -- it has all of them in any case
    ) -> int:
        made = Embeddings(
            method="external", transform=_transform(embedding), content=True, hybrid=True
        )
        made.index(_row(piece) for one in documents for piece in one.pieces())
        made.save(str(folder))
        count = int(made.count())
        assert made.ann is not None, "it searches by meaning"
        assert made.scoring.terms is not None, "and by words"
        made.close()
        return count

    def open(
        self,
        folder: Path,
        embedding: Embedding,
        wanted: Collection[str],  # noqa: ARG002
    ) -> None:
        self._folder = folder
        made = self._made = Embeddings()
        made.load(str(folder), config={"transform": _transform(embedding)})
        self.ways = {
            "vector": lambda question: made.search(question, NEAREST, weights=1.0),
            "lexical": lambda question: made.search(question, NEAREST, weights=0.0),
            "hybrid": lambda question: made.search(question, NEAREST),
        }

    def ask_at_once(self, way: str, questions: Sequence[str], clients: int) -> list[Any]:
        """It is not made for threads: its cursor fails them, so one waits for the other."""
        lock, ask = Lock(), self.ways[way]

        def alone(question: str) -> Any:  # noqa: ANN401
            with lock:
                return ask(question)

        with ThreadPoolExecutor(clients) as pool:
            return list(pool.map(alone, questions))

    def read(self, found: list[dict[str, Any]]) -> Iterator[tuple[str, int, int]]:
        for one in found:
            name, _, at = one["id"].rpartition("_")
            yield name, int(at), int(at)

    def delete(self, name: str) -> None:
        self._made.delete(self._known(name))
        self._made.save(str(self._folder))

    def replace(self, document: Document) -> None:
        self._made.delete(self._known(document.name))
        pieces = document.pieces()
        self._made.upsert([_row(piece) for piece in pieces])
        self._ids[document.name] = [piece.id for piece in pieces]
        self._made.save(str(self._folder))

    def _known(self, name: str) -> list[str]:
        if not self._ids:
            for (one,) in self._made.database.cursor.execute("SELECT DISTINCT id FROM sections"):
                self._ids.setdefault(str(one).rpartition("_")[0], []).append(str(one))
        return self._ids[name]

    def close(self) -> None:
        if self._made is not None:
            self._made.close()


def _row(piece: Piece) -> tuple[str, str, None]:
    return piece.id, piece.text, None


def _transform(embedding: Embedding) -> Any:  # noqa: ANN401
    """It takes nothing but a plain function."""

    def transform(texts: list[str]) -> Any:  # noqa: ANN401
        return embedding.rows(texts)

    return transform


player = Txtai
