"""Contestants with an open library each, asked in turns, at a pace that they can stand."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from bench.contestants import CONTESTANTS
from bench.libraries import made
from bench.peers.asked import Corpus, Span
from bench.turns import Contestant, Field, Seat, Sheet, seat

BATCH = 20
WARM = 20
_TRIED = 3
# Seconds: who takes longer for one question is not tried further, and is asked once.
_LONG, _SLOW = 2.0, 5.0
BUILDING, OPENING, ASKING = 1500.0, 300.0, 240.0


Looked = tuple[list[str], list[list[Span]]]
"""Questions, and what was found for each."""


class Questions:
    """Slices of a library's questions, so that nobody who remembers is asked the same again."""

    def __init__(self, corpus: Corpus) -> None:
        self._all = corpus.questions

    def slice(self, first: int, count: int) -> list[str]:
        """Round and round, where there are few."""
        return [self._all[at % len(self._all)] for at in range(first, first + count)]


class Asking:
    """What is opened here stays in `field`; `paces` are seconds for a question, by name and way.

    A batch takes about as many seconds as its budget says; where that is too few, it is one question.
    """

    def __init__(self, field: Field, corpus: Path) -> None:
        self.field, self._corpus = field, corpus
        self._budget = 0.3 if field.run.is_quick else 1.0
        self.data = Corpus(corpus)
        self.questions = Questions(self.data)
        self.paces: dict[tuple[str, str], float] = {}
        self.held: dict[str, int] = {}
        """Bytes of memory that the open library of each one takes, once it was asked."""

    def enter(
        self, names: Iterable[str] | None = None, ways: Collection[str] | None = None
    ) -> None:
        """Have those named, or all, open their libraries."""
        self.build(names)
        chosen = [one for one in CONTESTANTS if names is None or one.name in set(names)]
        able = [one for one in chosen if one.name not in self.field.missing]

        def begin(one: Contestant, its: Seat) -> None:
            self._open(one, its, [way for way in one.ways if ways is None or way in ways])

        self.field.enter(able, begin)

    def build(self, names: Iterable[str] | None = None) -> None:
        """Have those named, or all, make what libraries are not there."""
        for one in CONTESTANTS:
            if not one.shares and (names is None or one.name in set(names)):
                with self.field.leaving(one.name):
                    self._build(one)

    def _build(self, contestant: Contestant) -> None:
        """In a process of its own: what building leaves in memory is not the library's."""
        run, begun = self.field.run, []

        def begin() -> Seat:
            begun.append(seat(contestant, run))
            begun[0].do("prepare", kind="prepared", place=str(self._corpus))
            return begun[0]

        try:
            made(run, contestant, begin, self._corpus, BUILDING)
        finally:
            for one in begun:
                one.end()

    def _open(self, contestant: Contestant, its: Seat, ways: Sequence[str]) -> None:
        before = its.do("prepare", kind="prepared", place=str(self._corpus)).value
        folder = self._corpus.parent / contestant.place
        its.do("open", seconds=OPENING, folder=str(folder), ways=list(ways))
        for way in ways:
            # The first may load what others do not.
            took = its.do("ask", seconds=ASKING, way=way, questions=self.questions.slice(0, 1))
            pace = took.wall
            if pace < _LONG:
                some = self.questions.slice(1, _TRIED)
                pace = its.do("ask", seconds=ASKING, way=way, questions=some).wall / len(some)
            self.paces[contestant.name, way] = pace
        self.held[contestant.name] = its.do("spent").value - before

    def ask(self, sheet: Sheet, way: str, row: str, number: int, first: int) -> None:
        """Everybody who has that way, the `number`-th time; milliseconds for a question."""
        for one, its in self.field.each(number):
            pace = self.paces.get((one.name, way))
            if pace is None or (pace > _SLOW and number):
                continue
            some = self.questions.slice(first, self.count(pace))
            with self.field.leaving(one.name):
                took = its.do("ask", seconds=ASKING, way=way, questions=some)
                each = 1000 / len(some)
                sheet.note(row, one.ways[way], took.cpu * each, took.wall * each)

    def ask_at_once(self, sheet: Sheet, way: str, clients: int, number: int, first: int) -> None:
        """As `ask`, by several clients: milliseconds of CPU, and questions for each second."""
        for one, its in self.field.each(number):
            pace = self.paces.get((one.name, way))
            if pace is None or pace > _SLOW / 2 or (pace > self._budget / 4 and number):
                continue
            some = self.questions.slice(first, max(clients, 2 * self.count(pace)))
            with self.field.leaving(one.name):
                took = its.do(
                    "ask_at_once", seconds=ASKING, way=way, questions=some, clients=clients
                )
                sheet.note(f"{way} CPU", one.ways[way], took.cpu * 1000 / len(some))
                sheet.note(f"{way} rate", one.ways[way], len(some) / took.wall)

    def look(self, contestant: Contestant, way: str, first: int, most: int) -> Looked:
        """What it found for some questions: as many as it answers in a few seconds."""
        pace = self.paces[contestant.name, way]
        asked = self.questions.slice(first, max(1, min(most, int(10 * self._budget / pace))))
        told = self.field.seats[contestant.name].do(
            "look", seconds=ASKING, way=way, questions=asked
        )
        return asked, [[tuple(span) for span in spans] for spans in told.value]

    def count(self, pace: float) -> int:
        return max(1, min(BATCH, int(self._budget / max(pace, 1e-6))))
