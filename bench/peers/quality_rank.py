"""Ranked by meaning alone, as those who use the peers do, with the library's own embedder.

Vectors are kept on disk: what was embedded once is not embedded again.
"""

import sqlite3
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Self

import numpy as np

from bench.peers.quality_cut import Item
from unchunk.evaluation.measures import cover, mean
from unchunk.evaluation.questions import Question, Range
from unchunk.ports import Embedder, Role, Vectors
from unchunk.text.tokens import get_encoding

DEEP = 150
"""How many are ranked: more than any budget here can show."""
_AT_ONCE = 256
_MOST_TOKENS = 40_000


class KeptVectors:
    """One embedder's vectors in a file."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self._embedder, self._base = embedder, sqlite3.connect(path)
        self._base.execute("create table if not exists vectors (key blob primary key, row blob)")

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        keys = [self._key(text, role) for text in texts]
        waiting = [(key, text) for key, text in dict(zip(keys, texts, strict=True)).items()]
        waiting = [(key, text) for key, text in waiting if self._kept(key) is None]
        for first in range(0, len(waiting), _AT_ONCE):
            some = waiting[first : first + _AT_ONCE]
            made = await self._embedder.embed([text for _, text in some], role)
            rows = [(key, row.tobytes()) for (key, _), row in zip(some, made, strict=True)]
            self._base.executemany("insert or replace into vectors values (?, ?)", rows)
            self._base.commit()
            print(f"\r  {first + len(some)} of {len(waiting)} embedded", end="", file=sys.stderr)
        if waiting:
            print(file=sys.stderr)
        every = [np.frombuffer(self._kept(key) or b"", np.float32) for key in keys]
        return np.stack(every)

    def _kept(self, key: bytes) -> bytes | None:
        found = self._base.execute("select row from vectors where key = ?", (key,)).fetchone()
        return found[0] if found else None

    def _key(self, text: str, role: Role) -> bytes:
        about = f"{self._embedder.identity}\0{role}\0{text}"
        return blake2b(about.encode(), digest_size=16).digest()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._base.close()


Measure = Literal["tokens", "recall", "iou"]


class Outcome(NamedTuple):
    """What was shown for one question: how much, and how it covers what answers.

    `share` is how much of the shown characters had been shown already.
    """

    tokens: float
    recall: float
    precision: float
    iou: float
    share: float


def outcome(shown: Sequence[Range], tokens: int, right: Sequence[Range]) -> Outcome:
    covered = cover(shown, right)
    characters = sum(one.end - one.start for one in shown)
    twice = covered.duplicated / characters if characters else 0.0
    return Outcome(tokens, covered.recall, covered.precision, covered.iou, twice)


class Ranked:
    """What a peer finds for one question, best first; any number of whole items can be shown."""

    def __init__(
        self,
        items: Sequence[Range],
        cosines: Sequence[float],
        texts: Mapping[str, str],
        question: Question,
        counts: Callable[[Range], int],
    ) -> None:
        self._items, self._texts, self._question = items, texts, question
        self._falls = [-one / cosines[0] for one in cosines]
        self._tokens = list(accumulate((counts(one) for one in items), initial=0))
        self._known: dict[int, Outcome] = {}

    def best(self, number: int) -> Outcome:
        if number not in self._known:
            shown = self._items[:number]
            tokens = self._tokens[len(shown)]
            self._known[number] = outcome(shown, tokens, self._question.ranges)
        return self._known[number]

    def within(self, budget: int) -> Outcome:
        """As many as fit; of a best one that does not fit by itself, its beginning, as with us."""
        number = bisect_right(self._tokens, budget) - 1
        if number:
            return self.best(number)
        first = self._items[0]
        text = self._texts[first.document][first.start : first.end]
        length = get_encoding().bounds(text)[budget]
        cut = first._replace(end=first.start + length)
        return outcome([cut], budget, self._question.ranges)

    def reaching(self, tokens: float) -> Outcome:
        """The fewest that are as much as this, or more."""
        return self.best(min(bisect_left(self._tokens, tokens), len(self._items)))

    def above(self, share: float) -> Outcome:
        """Those whose cosine is at least this share of the best one's."""
        return self.best(bisect_right(self._falls, -share))


class Peer:
    """A peer's ranked lists for all questions, in their order."""

    def __init__(self, name: str, lists: Sequence[Ranked]) -> None:
        self.name, self.lists = name, lists

    def best(self, number: int) -> list[Outcome]:
        return [one.best(number) for one in self.lists]

    def within(self, budget: int) -> list[Outcome]:
        return [one.within(budget) for one in self.lists]

    def above(self, hundredths: int) -> list[Outcome]:
        """So many hundredths of a percent below the best cosine, and nearer."""
        return [one.above(1 - hundredths / 10_000) for one in self.lists]

    def at_least(self, tokens: Sequence[float]) -> list[Outcome]:
        """On each question as many tokens, or more."""
        return [one.reaching(it) for one, it in zip(self.lists, tokens, strict=True)]

    def with_budget(self, measure: Measure, target: float) -> list[Outcome] | None:
        """With the budget for which the mean is the target; None where none is enough."""
        return _met(self.within, measure, target, _MOST_TOKENS)

    def with_stop(self, measure: Measure, target: float) -> list[Outcome] | None:
        """The same by a share of the best cosine in place of a budget."""
        return _met(self.above, measure, target, 10_000)


def _met(
    way: Callable[[int], list[Outcome]], measure: Measure, target: float, most: int
) -> list[Outcome] | None:
    """Between the last amount with too little and the next: as if a coin chose one of the two.

    Items are whole in either, so that a mean is hardly ever met by one amount.
    """

    def reached(amount: int) -> float:
        return mean([getattr(one, measure) for one in way(amount)])

    low, high = 1, most
    if reached(high) < target:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reached(middle) < target else (low, middle)
    less, more = reached(low), reached(high)
    share = min(max((target - less) / (more - less), 0.0), 1.0) if more > less else 1.0
    pairs = zip(way(low), way(high), strict=True)
    return [
        Outcome(*(a + share * (b - a) for a, b in zip(few, many, strict=True)))
        for few, many in pairs
    ]


Hits = list[list[tuple[str, int]]]


async def rank(
    name: str,
    cut: Mapping[str, Sequence[Item]],
    texts: Mapping[str, str],
    questions: Sequence[Question],
    vectors: KeptVectors,
) -> tuple[Peer, Hits]:
    """The peer's lists, and each of their entries as a document and a number in it."""
    keys = [(document, at) for document, items in cut.items() for at in range(len(items))]
    every = [(document, item) for document, items in cut.items() for item in items]
    print(f"  {name}: {len(every)} items", file=sys.stderr)
    rows = await vectors.embed([texts[it][one[0] : one[1]] for it, one in every], "document")
    asked = await vectors.embed([one.text for one in questions], "query")
    known: dict[Range, int] = {}

    def counts(one: Range) -> int:
        if one not in known:
            known[one] = get_encoding().count(texts[one.document][one.start : one.end])
        return known[one]

    lists: list[Ranked] = []
    hits: Hits = []
    for question, vector in zip(questions, asked, strict=True):
        cosines = rows @ vector
        order = np.argsort(-cosines, kind="stable")[:DEEP].tolist()
        shown = [Range(every[at][0], every[at][1][2], every[at][1][3]) for at in order]
        lists.append(Ranked(shown, cosines[order].tolist(), texts, question, counts))
        hits.append([keys[at] for at in order])
    return Peer(name, lists), hits
