"""Contestants take turns: ours and the floors, on a library of 200 chunks, and what may go wrong."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import libraries
from bench.contestants import BARE, CONTEXT, HYBRID, LEXICAL, SCAN, VECTOR
from bench.figures import OURS
from bench.libraries import corpus_of
from bench.measures import asking, growth, ingestion, start
from bench.peers.asked import Corpus, repeated
from bench.questions import Asking
from bench.running import Run
from bench.turns import Contestant, Field, Seat, Sheet, TurnError, entered, seat

HEARS = "import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n    "
ANSWER = "print(json.dumps({'cpu': 1, 'wall': 2, 'value': asked}), flush=True)"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("bench"), is_quick=True, say=lambda _: None)


@pytest.fixture
def seats(tmp_path: Path) -> Iterator["Seats"]:
    made = Seats(tmp_path)
    yield made
    made.close()


class Seats:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[Seat] = []

    def __call__(self, program: str) -> Seat:
        command = [sys.executable, "-c", program]
        self._made.append(Seat("somebody", command, self._folder / "log.txt"))
        return self._made[-1]

    def close(self) -> None:
        for one in self._made:
            one.end(0)


def test_a_turn_gives_what_was_said_and_what_it_took(seats: Seats) -> None:
    told = seats(HEARS + ANSWER).do("sing", loudly=True)
    assert told == (1, 2, {"do": "sing", "loudly": True})


def test_a_contestant_that_dies_is_told_with_its_last_words(seats: Seats) -> None:
    one = seats("import sys; input(); sys.exit('no more memory')")
    with pytest.raises(TurnError, match=r"somebody: build: ended with status 1\nno more memory"):
        one.do("build")


def test_a_contestant_that_is_gone_is_told(seats: Seats) -> None:
    one = seats("")
    time.sleep(0.5)
    with pytest.raises(TurnError, match=r"somebody: build: (is gone|ended with status 0)"):
        one.do("build")


def test_a_contestant_that_hangs_is_ended_and_told(seats: Seats) -> None:
    one = seats("import time; time.sleep(600)")
    with pytest.raises(TurnError, match="did not answer within 0 s"):
        one.do("build", seconds=0.3)
    with pytest.raises(TurnError, match="is gone"):
        one.do("build")


@pytest.mark.parametrize("said", ["good morning", "[1, 2]", "{}", '{"cpu": 1}'])
def test_a_contestant_that_talks_nonsense_is_told(seats: Seats, said: str) -> None:
    one = seats(HEARS + f"print({said!r}, flush=True)")
    with pytest.raises(TurnError, match="somebody: build: talks nonsense"):
        one.do("build")


def test_a_contestant_that_fails_can_be_asked_for_something_else(run: Run) -> None:
    one = seat(Contestant("nobody", "nothing"), run)
    try:
        with pytest.raises(TurnError, match="nobody: delete: NotImplementedError"):
            one.do("delete", name="it")
        assert one.do("spent").cpu > 0
    finally:
        one.end()


def test_whoever_has_no_environment_says_why(run: Run) -> None:
    absent = Run(run.cache, absent={"txtai": "no matching distribution"}, say=lambda _: None)
    with entered(absent) as field:
        field.enter([Contestant("peer", "txtai_peer", "", "txtai")], lambda *_: None)
        assert field.missing == {"peer": "no matching distribution"}
        assert not list(field.each())


def test_whoever_fails_leaves_and_the_others_go_on(run: Run) -> None:
    with entered(run) as field:
        field.enter(
            [Contestant("one", "nothing"), Contestant("two", "nothing", "other")],
            lambda one, its: its.do("nonsense" if one.name == "one" else "spent"),
        )
        assert [one.name for one, _ in field.each()] == ["two"]
        assert "nonsense" in field.missing["one"]


def test_turns_go_round(run: Run) -> None:
    field = Field(run)
    field.contestants = {name: Contestant(name, "") for name in "abc"}
    field.seats = dict.fromkeys("abc")  # type: ignore[assignment]  # only their order is looked at
    orders = ["".join(one.name for one, _ in field.each(number)) for number in range(4)]
    assert orders == ["abc", "bca", "cab", "abc"]


def test_what_stands_in_two_spans_is_counted_once_more() -> None:
    assert repeated([("a", 0, 10), ("a", 8, 12), ("b", 0, 5), ("a", 20, 30)]) == (29, 2)


def test_ours_and_the_floors_answer_about_the_same_library(run: Run) -> None:
    folder = corpus_of(run, 200)
    data, sheet = Corpus(folder), Sheet()
    with entered(run) as field:
        asked = Asking(field, folder)
        asked.enter([OURS, BARE, SCAN])
        assert field.missing == {}
        some = asked.questions.some(20)
        for one, _ in field.each():
            questions, found = asked.look(one, VECTOR, some)
            assert data.recall(questions, found) == 1, "so few are all looked at"
        [ours] = [one for one, _ in field.each() if one.name == OURS]
        _, passages = asked.look(ours, CONTEXT, some)
        assert all(repeated(spans)[1] == 0 for spans in passages)
        assert any(passages)
        for way in (VECTOR, LEXICAL, HYBRID, CONTEXT):
            asked.ask(sheet, way, way, 0)
            asked.ask_at_once(sheet, way, 8, 0)
        assert set(sheet.cells(VECTOR)) == {OURS, BARE, SCAN}
        assert set(sheet.cells(CONTEXT)) == {OURS, BARE}
        assert all(sheet.cells(HYBRID)[name].median > 0 for name in (OURS, BARE))
        assert sheet.cells(f"{HYBRID} rate")[OURS].median > 0


def test_whoever_finds_nothing_leaves(run: Run, seats: Seats) -> None:
    folder = corpus_of(run, 200)
    nothing = seats(HEARS + "print(json.dumps({'cpu': 1, 'wall': 2, 'value': 0}), flush=True)")
    with entered(run) as field:
        asked = Asking(field, folder)
        field.contestants = {"somebody": Contestant("somebody", "", ways={VECTOR: "somebody"})}
        field.seats = {"somebody": nothing}
        asked.paces["somebody", VECTOR] = 0.07
        asked.ask(Sheet(), VECTOR, VECTOR, 0)
        assert field.missing == {"somebody": "vector: 0 of 2 questions found anything"}


def test_a_library_is_made_up_anew_where_its_sentences_are_others(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = corpus_of(run, 100)
    before = (folder / "texts.txt").read_text("ascii")
    assert corpus_of(run, 100) == folder
    assert (folder / "texts.txt").read_text("ascii") == before
    monkeypatch.setattr(libraries, "sentences", lambda: ["A ship sailed out at dawn."] * 600)
    assert (corpus_of(run, 100) / "texts.txt").read_text("ascii") != before


def test_what_is_asked_and_grows_comes_as_tables_and_no_question_is_timed_twice(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, timed = asking._look, list[int]()

    def counted(asked: Asking, sheet: Sheet) -> None:
        timed.append(len(asked.data.questions) - asked.questions.asked)
        look(asked, sheet)

    monkeypatch.setattr(asking, "_look", counted)
    tables = [*asking.measure(run), *growth.measure(run, (200,))]
    assert timed[0] >= 0, "there are too few questions"
    assert [table.missing.get(OURS) for table in tables] == [None] * len(tables)
    assert "LangChain, Chroma" in tables[0].missing
    assert {row.what for row in tables[0].rows if OURS in row.cells} == {
        row.what for row in tables[0].rows
    }
    assert "times bare calls" in tables[0].targets[0]


def test_documents_are_taken_in_changed_and_embedded(run: Run) -> None:
    taken, changed = ingestion.measure(run, 3)
    assert not {OURS, BARE}.intersection(taken.missing)
    free, with_model = taken.rows
    assert free.cells[OURS].median > free.cells[BARE].median
    # Were it not the real model, it would take a small part of that.
    assert with_model.cells[OURS].median > 0.5 * with_model.cells[ingestion.ALONE].median
    assert [len(row.cells[OURS].values) for row in changed.rows] == [2, 2]


def test_a_library_answers_from_a_cold_start(run: Run) -> None:
    imports, first = start.measure(run, 200)
    package, taken = imports.rows
    assert package.cells[OURS].median <= taken.cells[OURS].median
    assert set(first.rows[0].cells) == {OURS, start.ALONE}
    assert first.rows[0].cells[OURS].median > first.rows[0].cells[start.ALONE].median
    assert "txtai" in imports.missing
    assert "txtai" in first.missing
