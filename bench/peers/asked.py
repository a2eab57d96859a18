"""The library that `bench.query` asks, as all contestants read it, and how they are timed.

Knows nothing of any of them and needs only numpy, so that it runs in any interpreter.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from bench.peers.measure import cpu

T = TypeVar("T")

NEAREST = 10
"""How many are asked for, and are compared with what an exact search finds."""

Rows = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Asking:
    """A corpus on disk, `work` to keep an index of it in, and how often all is asked."""

    corpus: str
    work: str
    batch: int
    repeats: int
    profile: bool = False


@dataclass(slots=True)
class Times:
    """Milliseconds for a question, one figure for each batch of them."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Answer:
    """`recall` is that of the dense search against an exact one, of the best ten.

    `duplicated` is the share of characters that a context holds a second time, where a
    contestant widens what it found.
    """

    times: dict[str, Times] = field(default_factory=dict)
    recall: float = 0.0
    duplicated: dict[str, float] = field(default_factory=dict)
    notes: dict[str, float] = field(default_factory=dict)
    profile: str = ""


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
        self._rows = {question: at for at, question in enumerate(self.questions)}

    def chunk_text(self, at: int) -> str:
        """As it is embedded: with single blanks between its words."""
        _, _, start, end = self.chunks[at]
        return " ".join(self.text[start:end].split())

    def vector(self, question: str) -> Rows:
        row: Rows = self.asked[self._rows[question]]
        return row

    def recall(self, found: Sequence[Sequence[int]]) -> float:
        """Of what an exact search finds for the questions, how much was found, in the mean."""
        shares = [
            len(set(some).intersection(exact)) / NEAREST
            for some, exact in zip(found, self.nearest.tolist(), strict=True)
        ]
        return statistics.fmean(shares)


def read_asking() -> Asking:
    return Asking(**json.loads(sys.argv[1]))


def give(answer: Answer) -> None:
    sys.stdout.flush()
    print("\n" + json.dumps(asdict(answer)))


def batches(questions: Sequence[T], size: int) -> list[Sequence[T]]:
    return [questions[at : at + size] for at in range(0, len(questions), size)]


def timed(times: Times, count: int, work: Callable[[], object]) -> None:
    begun, cpu_begun = time.perf_counter(), cpu()
    work()
    times.wall.append((time.perf_counter() - begun) / count * 1e3)
    times.cpu.append((cpu() - cpu_begun) / count * 1e3)


def ask_all(corpus: Corpus, asking: Asking, name: str, ask: Callable[[str], object]) -> Answer:
    """Ask every question, in batches, after a first batch that does not count."""
    answer = Answer({name: Times()})
    warm, *counted = batches(corpus.questions, asking.batch)
    for question in warm:
        ask(question)
    for _ in range(asking.repeats):
        for some in counted:
            timed(answer.times[name], len(some), lambda some=some: [ask(one) for one in some])  # type: ignore[misc]
    return answer


def repeated(spans: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
    """Of spans of documents: how many characters they have, and how many of these twice."""
    total = once = 0
    reached: dict[int, int] = {}
    for document, start, end in sorted(spans):
        total += end - start
        before = reached.get(document, 0)
        once += max(end - max(start, before), 0)
        reached[document] = max(end, before)
    return total, total - once
