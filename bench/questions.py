"""Contestants with an open library each, asked in turns, at a pace that they can stand."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from bench.contestants import contestants
from bench.libraries import made
from bench.peers.asked import Corpus, Span
from bench.turns import Contestant, Field, Seat, Sheet, Told, TurnError, seat

BATCH = 20
_TRIED = 3
# Seconds: who takes longer for one question is not tried further, and is asked once.
_LONG, _SLOW = 2.0, 5.0
# How many batches' time a look may take.
_LOOKING = 10
BUILDING, OPENING, ASKING = 1500.0, 300.0, 240.0


Looked = tuple[list[str], list[list[Span]]]
"""Questions, and what was found for each."""


class Questions:
    """A library's questions one after the other: whoever remembers what it was asked gains nothing."""

    def __init__(self, corpus: Corpus) -> None:
        self._all = corpus.questions
        self.asked = 0

    def some(self, count: int) -> list[str]:
        """Round and round, where there are few."""
        first, self.asked = self.asked, self.asked + count
        return [self._all[at % len(self._all)] for at in range(first, first + count)]


class Asking:
    """What is opened here stays in `field`; `paces` are seconds for a question, by name and way.

    A batch takes about as many seconds as its budget says; where that is too few, it is one question.
    """

    def __init__(self, field: Field, corpus: Path) -> None:
        self.field, self._corpus = field, corpus
        self._budget = 0.15 if field.run.is_quick else 1.0
        self._all = contestants(field.run)
        self.data = Corpus(corpus)
        self.questions = Questions(self.data)
        self._warming = self.questions.some(1 + _TRIED)
        self.paces: dict[tuple[str, str], float] = {}
        self.held: dict[str, int] = {}
        """Bytes of memory that the open library of each one takes, once it was asked."""

    def enter(
        self, names: Iterable[str] | None = None, ways: Collection[str] | None = None
    ) -> None:
        """Have those named, or all, open their libraries."""
        self.build(names)
        chosen = [one for one in self._all if names is None or one.name in set(names)]
        able = [one for one in chosen if one.name not in self.field.missing]

        def begin(one: Contestant, its: Seat) -> None:
            self._open(one, its, [way for way in one.ways if ways is None or way in ways])

        self.field.enter(able, begin)

    def build(self, names: Iterable[str] | None = None) -> None:
        """Have those named, or all, make what libraries are not there."""
        for one in self._all:
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
            first, some = self._warming[:1], self._warming[1:]
            pace = self._asked(contestant, its, "ask", way, first).wall
            if pace < _LONG:
                pace = self._asked(contestant, its, "ask", way, some).wall / len(some)
            self.paces[contestant.name, way] = pace
        self.held[contestant.name] = its.do("spent").value - before

    def ask(self, sheet: Sheet, way: str, row: str, number: int) -> None:
        """Everybody who has that way, the `number`-th time; milliseconds for a question."""
        batch = self.questions.some(BATCH)
        for one, its in self.field.each(number):
            pace = self.paces.get((one.name, way))
            if pace is None or (pace > _SLOW and number):
                continue
            some = batch[: self.count(pace)]
            with self.field.leaving(one.name):
                took = self._asked(one, its, "ask", way, some)
                each = 1000 / len(some)
                sheet.note(row, one.ways[way], took.cpu * each, took.wall * each)

    def ask_at_once(self, sheet: Sheet, way: str, clients: int, number: int) -> None:
        """As `ask`, by several clients: milliseconds of CPU, and questions for each second."""
        batch = self.questions.some(2 * BATCH)
        for one, its in self.field.each(number):
            pace = self.paces.get((one.name, way))
            if pace is None or pace > _SLOW / 2 or (pace > self._budget / 4 and number):
                continue
            some = batch[: max(clients, 2 * self.count(pace))]
            with self.field.leaving(one.name):
                took = self._asked(one, its, "ask_at_once", way, some, clients=clients)
                sheet.note(f"{way} CPU", one.ways[way], took.cpu * 1000 / len(some))
                sheet.note(f"{way} rate", one.ways[way], len(some) / took.wall)

    def _asked(
        self, one: Contestant, its: Seat, what: str, way: str, some: Sequence[str], **more: int
    ) -> Told:
        """Whoever finds nothing is no measure for others: it leaves."""
        took = its.do(what, seconds=ASKING, way=way, questions=list(some), **more)
        if took.value < len(some):
            raise TurnError(
                f"{one.name}: {way}: {took.value} of {len(some)} questions found anything"
            )
        return took

    def look(self, contestant: Contestant, way: str, some: Sequence[str]) -> Looked:
        """What it found for some questions: as many as it answers in a few seconds."""
        pace = self.paces[contestant.name, way]
        asked = list(some[: max(1, int(_LOOKING * self._budget / pace))])
        told = self.field.seats[contestant.name].do(
            "look", seconds=ASKING, way=way, questions=asked
        )
        return asked, [[tuple(span) for span in spans] for spans in told.value]

    def count(self, pace: float) -> int:
        return max(1, min(BATCH, int(self._budget / max(pace, 1e-6))))
