"""What the measures say, by hand and for anything."""

from collections.abc import Sequence
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.evaluation.measures import (
    cover,
    interval,
    mean,
    ndcg,
    paired_p,
    recall,
    reciprocal_rank,
    union,
)
from unchunk.evaluation.questions import Range

ORDERS = st.lists(st.sampled_from("abcdefgh"), unique=True)
GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3), min_size=1)
RANGES = st.lists(
    st.builds(Range, st.sampled_from("ab"), st.integers(0, 30), st.integers(0, 30)), max_size=6
)
FIGURES = st.lists(st.floats(0, 1), min_size=1, max_size=9)


def test_a_document_counts_less_the_later_it_comes() -> None:
    assert ndcg(["a"], {"a": 1}) == 1
    assert ndcg(["x", "a"], {"a": 1}) == pytest.approx(1 / log2(3))
    assert ndcg(["x", "a", "b"], {"a": 1, "b": 1}) == pytest.approx(
        (1 / log2(3) + 1 / 2) / (1 + 1 / log2(3))
    )
    assert ndcg(["x"] * 10 + ["a"], {"a": 1}) == 0


def test_a_better_document_should_come_before_a_good_one() -> None:
    grades = {"best": 2, "good": 1, "bad": 0}
    assert ndcg(["best", "good"], grades) == 1
    assert ndcg(["good", "best"], grades) == pytest.approx((1 + 2 / log2(3)) / (2 + 1 / log2(3)))


def test_more_right_documents_than_places_can_still_be_perfect() -> None:
    grades = dict.fromkeys("abcdef", 1)
    assert ndcg(["a", "b"], grades, 2) == 1
    assert recall(["a", "b"], grades, 2) == pytest.approx(2 / 6)


def test_the_first_right_document_makes_the_reciprocal_rank() -> None:
    assert reciprocal_rank(["x", "a", "b"], "ab") == 0.5
    assert reciprocal_rank(["x", "y", "z", "a"], "a", 3) == 0
    assert recall(["x", "a", "b"], "ab", 2) == 0.5


@given(ORDERS, GRADES)
def test_rankings_are_measured_from_none_to_all(order: list[str], grades: dict[str, int]) -> None:
    right = {one for one, grade in grades.items() if grade > 0}
    figures = [ndcg(order, grades), recall(order, right, 10), reciprocal_rank(order, right)]
    assert all(0 <= figure <= 1 + 1e-9 for figure in figures)
    assert len({figure > 0 for figure in figures}) == 1
    best = sorted(right, key=lambda one: -grades[one])
    assert ndcg(best, grades) == pytest.approx(1.0 if right else 0.0)


def test_characters_are_counted_over_all_documents() -> None:
    right = [Range("a", 0, 10), Range("a", 20, 30)]
    shown = [Range("a", 5, 25), Range("b", 0, 10)]
    found = cover(shown, right)
    assert found.recall == 10 / 20
    assert found.precision == 10 / 30
    assert found.iou == 10 / 40
    assert found.duplicated == 0


def test_what_is_shown_twice_is_found_once() -> None:
    found = cover([Range("a", 0, 10), Range("a", 5, 10)], [Range("a", 0, 10)])
    assert found == (1, 10 / 15, 10 / 15, 5)


def test_nothing_shown_covers_nothing_and_repeats_nothing() -> None:
    assert cover([], [Range("a", 0, 10)]) == (0, 0, 0, 0)
    assert cover([], []) == (0, 0, 0, 0)


def test_ranges_that_touch_or_lie_in_one_another_are_one() -> None:
    given = [Range("a", 5, 9), Range("a", 0, 5), Range("a", 1, 2), Range("b", 4, 4)]
    assert union(given) == [Range("a", 0, 9)]


@given(RANGES, RANGES)
def test_ranges_are_measured_as_their_characters_are(
    shown: list[Range], right: list[Range]
) -> None:
    def characters(ranges: Sequence[Range]) -> list[tuple[str, int]]:
        return [(one.document, at) for one in ranges for at in range(one.start, one.end)]

    given, wanted = characters(shown), set(characters(right))
    hit = len(wanted & set(given))
    found = cover(shown, right)
    assert found.recall == (hit / len(wanted) if wanted else 0)
    assert found.precision == (hit / len(given) if given else 0)
    assert found.duplicated == len(given) - len(set(given))
    assert found.iou <= min(found.recall, found.precision)
    assert set(characters(union(shown))) == set(given)


@given(FIGURES)
def test_the_mean_lies_in_its_interval_and_that_among_the_figures(values: list[float]) -> None:
    low, high = interval(values, 200)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert interval(values, 200) == (low, high)


def test_the_interval_is_that_of_the_normal_distribution_where_that_holds() -> None:
    values = [0.0, 1.0] * 200
    low, high = interval(values)
    # The standard error is 0.5 / 20.
    assert (low, high) == pytest.approx((0.5 - 0.049, 0.5 + 0.049), abs=0.006)
    assert mean(values) == 0.5
    assert mean([]) == 0


def test_p_is_exact_where_few_questions_differ() -> None:
    assert paired_p([1, 1, 1], [0, 0, 0]) == 2 / 8
    assert paired_p([1, 1, 1, 0.5], [0, 0, 0, 0.5]) == 2 / 8
    # Of the eight sums of 3, 2 and 1 with any signs, four are at least 3 + 2 - 1 from nothing.
    assert paired_p([3, 2, 0], [0, 0, 1]) == 4 / 8
    assert paired_p([0.2, 0.7], [0.2, 0.7]) == 1


def test_p_is_small_for_a_difference_that_is_always_there_and_large_for_one_that_is_not() -> None:
    some = [at / 100 for at in range(100)]
    assert paired_p([one + 0.01 for one in some], some) == 1 / 5001
    swung = [one + (0.01 if at % 2 else -0.01) for at, one in enumerate(some)]
    assert paired_p(swung, some) > 0.9


def test_p_by_chance_is_near_the_exact_one() -> None:
    # 13 differences, of which 10 go one way: two-sided binomial.
    one, other = [1.0] * 10 + [0.0] * 3, [0.0] * 10 + [1.0] * 3
    exact = 2 * sum((1, 13, 78, 286)) / 2**13
    assert paired_p(one, other) == pytest.approx(exact, abs=0.02)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_p_does_not_depend_on_which_comes_first(pairs: list[tuple[float, float]]) -> None:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    assert 0 < paired_p(one, other) == paired_p(other, one) <= 1
