"""How many chunks may be found in all, for who counts results and not documents."""

import asyncio

import pytest

from sheets import even, sheet_of
from shelves import WrittenShelf
from unchunk.errors import InvalidInputError
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.query import Turn
from unchunk.retrieval.retriever import Evidence, Retriever
from unchunk.retrieval.shelf import Sheet

QUESTION = "What color is the house?"
FOUND = [("a", 2, 0.9), ("b", 1, 0.8), ("a", 9, 0.7), ("c", 5, 0.6)]


def book(name: str, seed: int) -> Sheet:
    return sheet_of(*even(12, 100, 0, seed=seed), name=name)


def ask(amount: Amount, include: tuple[tuple[str, int], ...] = ()) -> Evidence:
    shelf = WrittenShelf([book(name, at) for at, name in enumerate("abc")], FOUND)
    return asyncio.run(Retriever(shelf).retrieve(QUESTION, amount=amount, include=include))


def found(evidence: Evidence) -> set[tuple[str, int]]:
    return {(one.name, it.chunk_index) for one in evidence.documents for it in one.chunks}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_best_are_found_and_no_more_passages_than_those(count: int) -> None:
    evidence = ask(Amount(chunks_per_doc=None, hits=count))
    assert found(evidence) == {it[:2] for it in FOUND[:count]}
    assert sum(len(one.passages) for one in evidence.documents) == count
    reasons = {one.reason for one in evidence.dropped}
    assert reasons == {"outside the chunk limit"}


def test_without_a_bound_all_are_found() -> None:
    assert found(ask(Amount(chunks_per_doc=None))) == {it[:2] for it in FOUND}


def test_what_is_wanted_anyway_does_not_count() -> None:
    assert found(ask(Amount(chunks_per_doc=None, hits=1), (("id-c", 5),))) == {("a", 2), ("c", 5)}


def test_none_at_all_cannot_be_asked_for() -> None:
    with pytest.raises(InvalidInputError, match="hits 0"):
        ask(Amount(hits=0))


def test_what_the_last_answer_cited_counts_and_comes_first() -> None:
    shelf = WrittenShelf([book(name, at) for at, name in enumerate("abc")], FOUND)
    said = (Turn("user", QUESTION), Turn("assistant", "It is red.", (("id-c", 5),)))
    amount = Amount(chunks_per_doc=None, hits=2)
    evidence = asyncio.run(
        Retriever(shelf).retrieve("And what color was it?", history=said, amount=amount)
    )
    assert found(evidence) == {("c", 5), ("a", 2)}
