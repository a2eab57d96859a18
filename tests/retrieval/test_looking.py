"""What becomes of what was found: copies, order, budgets, rerankers, and what else to see."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from zlib import crc32

import pytest

from gates import in_time
from homes import Home
from sheets import WORDS, coverage, even, prose, sheet_of
from shelves import Found, WrittenShelf
from unchunk.domain import Span
from unchunk.engine import Engine
from unchunk.errors import InvalidSettingError, ProviderRefusedError, ProviderUnavailableError
from unchunk.ports import Reranker
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.retriever import Evidence, Retriever
from unchunk.retrieval.shelf import Ranked, Sheet

QUESTION = "What color is the house?"
EXPLAIN = "Explain the color of the house"


def book(name: str, count: int = 20, length: int = 100) -> Sheet:
    text, spans = even(count, length, seed=crc32(name.encode()))
    return sheet_of(text, spans, name=name)


def ask(
    shelf: WrittenShelf,
    question: str = QUESTION,
    amount: Amount | None = None,
    reranker: Reranker | None = None,
) -> Evidence:
    retriever = Retriever(shelf, reranker=reranker)
    return asyncio.run(retriever.retrieve(question, amount=amount))


def shown(evidence: Evidence) -> dict[str, list[int]]:
    return {one.name: [hit.chunk_index for hit in one.chunks] for one in evidence.documents}


def size(documents: Sequence[ReconstructedDocument]) -> int:
    return sum(len(one.full_content) for one in documents)


# How wide the net is.


class RefusingShelf(WrittenShelf):
    """Refuses more than 30 chunks at once."""

    async def find(self, *arguments: Any, limit: int, **options: Any) -> Ranked:  # noqa: ANN401 - the protocol's own
        if limit > 30:
            raise ProviderRefusedError("at most 30 at once")
        return await super().find(*arguments, limit=limit, **options)


def test_where_a_wider_search_is_refused_what_was_found_first_is_shown() -> None:
    shelf = RefusingShelf([book("a.txt", 40)], [("a.txt", at, 0.9) for at in range(40)])
    [document], notes = asyncio.run(Retriever(shelf).passages(QUESTION, amount=Amount(10)))
    assert [one.chunk_index for one in document.chunks][:3] == [0, 1, 2]
    assert notes == (
        "the search could not be extended, so documents may be missing: at most 30 at once",
    )


# Copies.


def test_the_same_file_under_two_names_shows_once_and_the_other_is_named(home: Home) -> None:
    text = "\n\n".join(
        f"The harbour master of section {at} counts the boats. {prose(300, seed=at)}"
        for at in range(12)
    )
    home.file("rules.txt", text)
    home.file("old/rules copy.txt", text)
    home.file("other.txt", "Boats are counted by the harbour master in summer, too.")

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        for question in (
            "Which boats does the harbour master count?",
            "counts the boats section 7",
        ):
            evidence = await engine.retrieve(question, amount=Amount())
            names = [one.name for one in evidence.documents]
            assert len({"rules.txt", "old/rules copy.txt"}.intersection(names)) == 1, names
            [copy] = [one for one in evidence.also_see if "rules" in one.name]
            assert copy.name not in names
            assert copy.reason.endswith("which is the same file")
            [shown_one] = [one for one in evidence.documents if "rules" in one.name]
            assert len(shown_one.chunks) >= 3

    home.run(in_time(work), chunk_size=400, chunk_overlap=0)


def test_a_copy_is_dropped_with_its_reason_and_named_as_worth_a_look() -> None:
    text, spans = even(3)
    sheets = [sheet_of(text, spans, name=name) for name in ("a.txt", "b.txt")]
    evidence = ask(WrittenShelf(sheets, [("a.txt", 1, 0.9), ("b.txt", 1, 0.9)]))
    assert shown(evidence) == {"a.txt": [1]}
    [dropped] = evidence.dropped
    assert dropped.reason == "says the same as chunk 1 of a.txt"
    assert [(one.name, one.reason) for one in evidence.also_see] == [("b.txt", dropped.reason)]


def test_of_two_copies_the_one_that_was_found_first_keeps_all_its_hits() -> None:
    text, spans = even(20)
    sheets = [sheet_of(text, spans, name=name) for name in ("a.txt", "b.txt")]
    # Engines give equal scores in any order.
    found = [("a.txt", 2, 0.9), ("b.txt", 2, 0.9), ("b.txt", 9, 0.8), ("a.txt", 9, 0.8)]
    evidence = ask(WrittenShelf(sheets, found))
    assert shown(evidence) == {"a.txt": [2, 9]}
    assert [one.name for one in evidence.also_see] == ["b.txt"]


def test_texts_that_differ_in_a_number_are_no_copies() -> None:
    common = " ".join(f"{one}{other}" for one in "abcdefgh" for other in WORDS)
    sheets = []
    for name, year in (("a.txt", 2023), ("b.txt", 2024)):
        text = f"In {year} the harbour took in {year - 1509} crowns. {common}"
        sheets.append(sheet_of(text, [Span(0, len(text))], name=name))
    evidence = ask(WrittenShelf(sheets, [("a.txt", 0, 0.9), ("b.txt", 0, 0.89)]))
    assert shown(evidence) == {"a.txt": [0], "b.txt": [0]}


def test_copies_make_room_for_documents_that_say_something_else() -> None:
    text, spans = even(3)
    copies = [sheet_of(text, spans, name=f"copy{at}.txt") for at in range(3)]
    found: list[Found] = [(one.name, 1, 0.9) for one in copies]
    found += [("other.txt", 1, 0.5), ("third.txt", 1, 0.4)]
    shelf = WrittenShelf([*copies, book("other.txt"), book("third.txt")], found)
    assert shown(ask(shelf, amount=Amount(limit=2))) == {"copy0.txt": [1], "other.txt": [1]}


# Diversity and order.


def test_documents_come_in_the_order_of_their_best_chunks() -> None:
    found = [("b.txt", 3, 0.9), ("a.txt", 1, 0.85), ("a.txt", 9, 0.8), ("c.txt", 2, 0.5)]
    evidence = ask(WrittenShelf([book(name) for name in ("a.txt", "b.txt", "c.txt")], found))
    assert list(shown(evidence)) == ["b.txt", "a.txt", "c.txt"]


def test_of_hits_that_are_about_as_good_those_of_different_documents_come_first() -> None:
    names = ["a.txt", "b.txt"]
    found = [("a.txt", 1, 0.9), ("a.txt", 9, 0.895), ("a.txt", 17, 0.89), ("b.txt", 3, 0.888)]
    shelf = WrittenShelf([book(name) for name in names], found)
    # Room for three hits and no more.
    evidence = ask(shelf, amount=Amount(budget=380))
    assert shown(evidence) == {"a.txt": [1, 9], "b.txt": [3]}


def test_clearly_better_hits_of_one_document_come_before_another_document() -> None:
    names = ["a.txt", "b.txt"]
    found = [("a.txt", 1, 0.9), ("a.txt", 9, 0.895), ("a.txt", 17, 0.89), ("b.txt", 3, 0.5)]
    shelf = WrittenShelf([book(name) for name in names], found)
    evidence = ask(shelf, amount=Amount(budget=380))
    assert shown(evidence) == {"a.txt": [1, 9, 17]}


def test_what_is_weak_beside_the_best_is_left_out_where_that_is_asked_for() -> None:
    names = ["a.txt", "b.txt", "c.txt"]
    found = [("a.txt", 1, 0.9), ("b.txt", 3, 0.6), ("a.txt", 9, 0.4), ("c.txt", 5, 0.3)]
    shelf = WrittenShelf([book(name) for name in names], found)
    assert shown(ask(shelf)) == {"a.txt": [1, 9], "b.txt": [3], "c.txt": [5]}
    evidence = ask(shelf, amount=Amount(stop=0.6))
    assert shown(evidence) == {"a.txt": [1], "b.txt": [3]}
    assert {(it.place[::2], it.reason) for it in evidence.dropped} == {
        (("id-a.txt", 9), "weak beside the best"),
        (("id-c.txt", 5), "weak beside the best"),
    }
    assert [one.name for one in evidence.also_see] == ["c.txt"]


# Budget.


@pytest.mark.parametrize("budget", [1, 90, 101, 150, 400, 777, 1500, 5000])
def test_the_lowest_leave_first_no_hit_for_a_neighbour_and_every_omission_is_listed(
    budget: int,
) -> None:
    names = ["a.txt", "b.txt", "c.txt"]
    sheets = [book(name) for name in names]
    scores = {("a.txt", 2): 0.9, ("b.txt", 5): 0.8, ("a.txt", 12): 0.7, ("c.txt", 8): 0.6}
    found = [(name, index, score) for (name, index), score in scores.items()]
    evidence = ask(WrittenShelf(sheets, found), amount=Amount(budget=budget))
    assert size(evidence.documents) <= budget
    here = {(one.name, hit.chunk_index) for one in evidence.documents for hit in one.chunks}
    gone = {
        (one.name, at)
        for one in evidence.omitted
        for first, last in one.chunks
        for at in range(first, last + 1)
    }
    # The better ones stay.
    assert here == set(list(scores)[: len(here)])
    assert set(scores) - here <= gone
    beside = {
        (one.name, at)
        for one in evidence.documents
        for first, last in coverage(one)
        for at in range(first, last + 1)
    } - set(scores)
    if set(scores) - here:
        assert not beside
    everything = {(name, at + step) for name, at in scores for step in (-1, 0, 1)}
    assert beside | here | gone == everything
    for omission in evidence.omitted:
        assert omission.reason


def test_tokens_may_be_the_measure() -> None:
    def words(text: str) -> int:
        return len(text.split())

    sheets = [book(name) for name in ("a.txt", "b.txt")]
    found = [("a.txt", 2, 0.9), ("a.txt", 12, 0.8), ("b.txt", 5, 0.7)]
    evidence = ask(WrittenShelf(sheets, found), amount=Amount(budget=60, measure=words))
    assert evidence.documents
    assert sum(words(one.full_content) for one in evidence.documents) <= 60
    assert evidence.omitted


def test_full_documents_keep_within_the_budget_and_what_does_not_fit_is_listed() -> None:
    names = ["a.txt", "b.txt", "c.txt"]
    found = [("a.txt", 2, 0.9), ("b.txt", 5, 0.8), ("c.txt", 8, 0.7)]
    shelf = WrittenShelf([book(name) for name in names], found)
    evidence = ask(shelf, EXPLAIN, Amount(budget=3000))
    assert [one.kind for one in evidence.documents] == ["excerpt"] * 3
    # They share the room, and each leaves less than a chunk of its share unused.
    assert all(900 <= size([one]) <= 1100 for one in evidence.documents)
    assert size(evidence.documents) <= 3000
    for name in names:
        covered = {
            at
            for one in evidence.documents
            if one.name == name
            for first, last in coverage(one)
            for at in range(first, last + 1)
        }
        left_out = {
            at
            for one in evidence.omitted
            if one.name == name
            for first, last in one.chunks
            for at in range(first, last + 1)
        }
        assert covered or left_out, name


def test_no_hit_leaves_for_the_rest_of_a_full_document() -> None:
    names = ["a.txt", "b.txt", "c.txt"]
    found = [("a.txt", 2, 0.9), ("b.txt", 5, 0.8), ("c.txt", 8, 0.7)]
    shelf = WrittenShelf([book(name) for name in names], found)
    evidence = ask(shelf, EXPLAIN, Amount(budget=2000))
    assert shown(evidence) == {"a.txt": [2], "b.txt": [5], "c.txt": [8]}


@pytest.mark.parametrize("question", [QUESTION, EXPLAIN, "What is said? source:a.txt source:c.txt"])
def test_whatever_the_budget_it_is_kept_and_every_hit_is_shown_or_listed(question: str) -> None:
    names = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"]
    sheets = [book(name, 30) for name in names]
    found = [(name, at, 0.9 - at / 100) for at in (3, 14, 25) for name in names]
    shelf = WrittenShelf(sheets, sorted(found, key=lambda one: -one[2]))
    wanted_hits = {(one.place[::2]) for one in ask(shelf, question).found}
    for budget in range(0, 12_000, 173):
        evidence = ask(shelf, question, Amount(budget=budget))
        assert size(evidence.documents) <= budget
        told = {(one.document, hit.chunk_index) for one in evidence.documents for hit in one.chunks}
        told |= {
            (one.document, at)
            for one in evidence.omitted
            for first, last in one.chunks
            for at in range(first, last + 1)
        }
        assert wanted_hits <= told, budget


def test_a_named_document_that_there_is_no_room_for_is_listed() -> None:
    sheets = [book("a.txt", 1, 40), book("b.txt", 1, 60)]
    evidence = ask(WrittenShelf(sheets, ()), "source:a.txt source:b.txt", Amount(budget=45))
    assert [one.name for one in evidence.documents] == ["a.txt"]
    assert [(one.name, one.chunks) for one in evidence.omitted] == [("b.txt", ((0, 0),))]


def test_a_single_chunk_that_had_to_be_cut_is_listed_in_full_documents_too() -> None:
    shelf = WrittenShelf([book("a.txt", 1, 800)], [("a.txt", 0, 0.9)])
    evidence = ask(shelf, EXPLAIN, Amount(budget=300))
    [one] = evidence.documents
    assert 0 < len(one.full_content) <= 300
    assert one.kind == "excerpt"
    assert [(it.name, it.chunks) for it in evidence.omitted] == [("a.txt", ((0, 0),))]


def test_a_budget_of_nothing_shows_nothing_and_says_so() -> None:
    shelf = WrittenShelf([book("a.txt")], [("a.txt", 4, 0.9)])
    for question in (QUESTION, EXPLAIN, "What is said? source:a.txt"):
        evidence = ask(shelf, question, Amount(budget=0))
        assert evidence.documents == ()
        assert evidence.omitted


# Rerankers.


@dataclass
class Longest:
    """Likes texts by how often they have a letter; fails if it is told to."""

    letter: str = "e"
    error: Exception | None = None
    read: list[str] = field(default_factory=list)
    name: str = "longest"

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        self.read += [question, *texts]
        if self.error is not None:
            raise self.error
        return [text.count(self.letter) / max(len(text), 1) for text in texts]

    async def close(self) -> None:
        """Nothing is held."""


def lettered(name: str, share: int) -> Sheet:
    text = ("z" * share).ljust(20, "y") + prose(80, seed=crc32(name.encode()))[:80]
    return sheet_of(text, even(1)[1], name=name)


def test_what_a_reranker_likes_rises_and_tells_its_score() -> None:
    sheets = [lettered(f"{at}.txt", at) for at in range(6)]
    shelf = WrittenShelf(sheets, [(f"{at}.txt", 0, 0.9 - at / 100) for at in range(6)])
    reranker = Longest("z")
    evidence = ask(shelf, reranker=reranker)
    assert reranker.read[0] == QUESTION
    assert set(reranker.read[1:]) == {sheet.pieces[0].text for sheet in sheets}
    names = [one.name for one in evidence.documents]
    assert names != [f"{at}.txt" for at in range(6)]
    # Last of six in one way and first in the other: about as good as first and last.
    assert names.index("5.txt") < 3
    [best, *_] = [one for one in evidence.found if one.place.document == "id-5.txt"]
    assert [(way.name, way.rank) for way in best.ways] == [("dense", 6), ("longest", 1)]
    # The score that people see stays the search's own.
    assert best.score == pytest.approx(0.85)


def test_a_reranker_reads_ten_and_the_rest_stays_behind_them() -> None:
    sheets = [lettered(f"{at}.txt", at) for at in range(20)]
    shelf = WrittenShelf(sheets, [(f"{at}.txt", 0, 0.9 - at / 100) for at in range(20)])
    reranker = Longest("z")
    evidence = ask(shelf, amount=Amount(limit=15), reranker=reranker)
    assert len(reranker.read) == 11
    names = [one.name for one in evidence.documents]
    assert set(names[:10]) == {f"{at}.txt" for at in range(10)}
    assert names[10:] == [f"{at}.txt" for at in range(10, 15)]
    ranks = [one.rank_score for one in evidence.found]
    assert all(before >= after for before, after in pairwise(ranks))


def test_how_many_chunks_a_reranker_reads_is_a_setting(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = Longest("z")
    monkeypatch.setattr("unchunk.wiring.manners.make_reranker", lambda _: reranker)
    for at in range(15):
        home.file(f"{at}.txt", f"The house number {at} has a color. {prose(100, seed=at)}")

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        await engine.retrieve(QUESTION, amount=Amount(limit=15, min_score=0.0))

    for setting in (3, 12):
        reranker.read.clear()
        home.run(in_time(work), reranked_chunks=setting)
        assert len(reranker.read) == 1 + setting
    with pytest.raises(InvalidSettingError, match="reranked_chunks has to be at least 1"):
        home.run(in_time(work), reranked_chunks=0)


@pytest.mark.parametrize(
    "error", [ProviderUnavailableError("it is down"), ProviderRefusedError("the key is wrong")]
)
def test_a_reranker_that_fails_leaves_a_note_and_the_order_as_it_was(error: Exception) -> None:
    sheets = [lettered(f"{at}.txt", at) for at in range(6)]
    shelf = WrittenShelf(sheets, [(f"{at}.txt", 0, 0.9 - at / 100) for at in range(6)])
    plain = ask(shelf)
    evidence = ask(shelf, reranker=Longest("z", error))
    assert evidence.notes == (f"not reranked: {error}",)
    assert evidence.documents == plain.documents


@pytest.mark.parametrize("valued", [False, True])
def test_what_a_reranker_likes_best_is_the_last_to_leave(valued: bool) -> None:
    sheets = [lettered("0.txt", 0), lettered("1.txt", 9), lettered("2.txt", 5)]
    found = [(f"{at}.txt", 0, 0.9 - at / 10) for at in range(3)]
    shelf = WrittenShelf(sheets, found, valued=valued)
    assert next(iter(shown(ask(shelf, reranker=Longest("z"))))) == "1.txt"
    evidence = ask(shelf, amount=Amount(budget=100), reranker=Longest("z"))
    assert list(shown(evidence)) == ["1.txt"]


def test_a_reranker_is_not_asked_about_nothing() -> None:
    reranker = Longest("z")
    assert ask(WrittenShelf([book("a.txt")], ()), reranker=reranker).documents == ()
    assert reranker.read == []


# Also see.


def test_what_was_found_and_did_not_come_in_is_named_with_its_reason() -> None:
    names = [f"{at}.txt" for at in range(4)]
    shelf = WrittenShelf(
        [book(name) for name in names], [(name, 3, 0.9 - at / 10) for at, name in enumerate(names)]
    )
    evidence = ask(shelf, amount=Amount(limit=2))
    assert [(one.name, one.reason) for one in evidence.also_see] == [
        ("2.txt", "chunk 3 also matched"),
        ("3.txt", "chunk 3 also matched"),
    ]
    assert [one.score for one in evidence.also_see] == pytest.approx([0.7, 0.6])


def test_what_is_close_to_the_best_is_named_and_nothing_that_is_shown() -> None:
    names = ["a.txt", "b.txt", "c.txt"]
    shelf = WrittenShelf(
        [book(name) for name in names],
        [("a.txt", 3, 0.9), ("b.txt", 3, 0.8)],
        near=[("b.txt", 4, 0.7), ("c.txt", 5, 0.6), ("c.txt", 6, 0.5)],
    )
    evidence = ask(shelf)
    assert [(one.name, one.reason) for one in evidence.also_see] == [
        ("c.txt", "close in meaning to a.txt")
    ]
    assert ask(shelf, amount=Amount(also_see=False)).also_see == ()


def test_what_left_for_want_of_room_is_named_too() -> None:
    names = ["a.txt", "b.txt"]
    found = [("a.txt", 3, 0.9), ("b.txt", 3, 0.8)]
    evidence = ask(WrittenShelf([book(name) for name in names], found), amount=Amount(budget=150))
    assert list(shown(evidence)) == ["a.txt"]
    assert [one.name for one in evidence.also_see] == ["b.txt"]
