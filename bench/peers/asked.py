"""A library that is made up once, as all contestants read it: chunks, vectors, and questions.

Knows nothing of any of them and needs only numpy, so that it runs in any interpreter.
"""

import json
import statistics
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")

NEAREST = 10
"""How many are asked for, and are compared with what an exact search finds."""
TOGETHER = 4
"""So many chunks that follow each other have a parent, for those who want one."""

Rows = npt.NDArray[np.float32]
Span = tuple[str, int, int]
"""A document, and where something of it starts and ends."""


class Piece(NamedTuple):
    """A chunk of a document, and which one it is there."""

    document: str
    number: int
    text: str

    @property
    def id(self) -> str:
        return f"{self.document}_{self.number}"


class Parent(NamedTuple):
    """The text of chunks that follow each other, `first` to `last`, in one."""

    document: str
    first: int
    last: int
    text: str

    @property
    def id(self) -> str:
        return f"{self.document}_{self.first}-{self.last}"


def parent_id(piece: Piece, count: int) -> str:
    """Of the one that has this piece of a document of so many."""
    first = piece.number // TOGETHER * TOGETHER
    return f"{piece.document}_{first}-{min(first + TOGETHER, count) - 1}"


class Corpus:
    """Chunks of one long text, in documents; the vectors of all; questions, theirs, their nearest."""

    def __init__(self, folder: Path) -> None:
        self.text = (folder / "texts.txt").read_text("ascii")
        self.documents: npt.NDArray[np.int64] = np.load(folder / "documents.npy")
        # Of each chunk: its document, its index there, where it starts and ends in the text.
        self.chunks: npt.NDArray[np.int64] = np.load(folder / "chunks.npy")
        self.vectors: Rows = np.load(folder / "vectors.npy", mmap_mode="r")
        self.asked: Rows = np.load(folder / "asked.npy")
        self.nearest: npt.NDArray[np.int64] = np.load(folder / "nearest.npy")
        self.questions: list[str] = json.loads((folder / "questions.json").read_text("utf-8"))
        self.min_score: float = json.loads((folder / "note.json").read_text("utf-8"))["min_score"]
        self._asked = {question: at for at, question in enumerate(self.questions)}
        starts = [0, *(self.chunks[1:, 0] != self.chunks[:-1, 0]).nonzero()[0] + 1]
        self.bounds = [
            (int(one), int(other)) for one, other in pairwise([*starts, len(self.chunks)])
        ]
        """The rows of each document's chunks."""

    def name(self, number: int) -> str:
        return f"document-{number:06}.txt"

    def number(self, name: str) -> int:
        return int(name[-10:-4])

    def chunk_text(self, at: int) -> str:
        """As it is embedded: with single blanks between its words."""
        _, _, start, end = self.chunks[at]
        return " ".join(self.text[start:end].split())

    def pieces(self, number: int) -> list[Piece]:
        first, end = self.bounds[number]
        name = self.name(number)
        return [Piece(name, at - first, self.chunk_text(at)) for at in range(first, end)]

    def parents(self, number: int) -> Iterator[Parent]:
        first, end = self.bounds[number]
        for at in range(first, end, TOGETHER):
            last = min(at + TOGETHER, end) - 1
            text = " ".join(self.text[self.chunks[at, 2] : self.chunks[last, 3]].split())
            yield Parent(self.name(number), at - first, last - first, text)

    def vector(self, question: str) -> Rows:
        row: Rows = self.asked[self._asked[question]]
        return row

    def span(self, document: str, first: int, last: int) -> Span:
        """Of chunks `first` to `last` of a document: where they stand there."""
        number = self.number(document)
        row, begin = self.bounds[number][0], int(self.documents[number, 0])
        return (
            document,
            int(self.chunks[row + first, 2]) - begin,
            int(self.chunks[row + last, 3]) - begin,
        )

    def recall(self, asked: Sequence[str], found: Sequence[Sequence[Span]]) -> float:
        """Of what an exact search finds for the questions, how much was found, in the mean."""
        shares = []
        for question, spans in zip(asked, found, strict=True):
            exact = set()
            for row in self.nearest[self._asked[question]].tolist():
                number, index = self.chunks[row, :2].tolist()
                exact.add(self.span(self.name(number), index, index))
            shares.append(len(exact.intersection(spans)) / NEAREST)
        return statistics.fmean(shares)


def batches(questions: Sequence[T], size: int) -> list[Sequence[T]]:
    return [questions[at : at + size] for at in range(0, len(questions), size)]


def repeated(spans: Sequence[Span]) -> tuple[int, int]:
    """Of spans of documents: how many characters they have, and how many of these again."""
    total = once = 0
    reached: dict[str, int] = {}
    for document, start, end in sorted(spans):
        total += end - start
        before = reached.get(document, 0)
        once += max(end - max(start, before), 0)
        reached[document] = max(end, before)
    return total, total - once
