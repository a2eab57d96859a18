"""The floor of whatever needs the model: it is loaded and asked, and nothing is kept or found."""

from collections.abc import Collection, Iterable
from pathlib import Path

from bench.peers.embedding import Embedding
from bench.peers.playing import Document, Player


class Nothing(Player):
    def build(
        self,
        documents: Iterable[Document],
        embedding: Embedding,
        folder: Path,  # noqa: ARG002
        wanted: Collection[str],  # noqa: ARG002
    ) -> int:
        texts = [piece.text for one in documents for piece in one.pieces()]
        return len(embedding.rows(texts))

    def open(self, folder: Path, embedding: Embedding, wanted: Collection[str]) -> None:  # noqa: ARG002
        self.ways = dict.fromkeys(wanted, lambda question: embedding.rows([question]))


player = Nothing
