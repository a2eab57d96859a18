"""Several rankings into one."""

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.retrieval.fusion import Ranking, best_first, blend, by_rank

K = TypeVar("K", bound=Hashable)


def fuse(rankings: Iterable[Sequence[K]]) -> list[tuple[K, float]]:
    return best_first(by_rank([Ranking("dense", [(it, 0.0) for it in one]) for one in rankings]))


RANKINGS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), max_size=4)


def test_one_ranking_stays_as_it_is() -> None:
    assert [key for key, _ in fuse([["c", "a", "b"]])] == ["c", "a", "b"]


def test_what_two_rankings_agree_on_goes_before_what_one_of_them_likes_best() -> None:
    assert [key for key, _ in fuse([["a", "both"], ["b", "both"]])] == ["both", "a", "b"]


def test_a_high_rank_is_worth_more_than_a_low_one() -> None:
    assert [key for key, _ in fuse([["a", "b", "c"], ["c", "a", "b"]])] == ["a", "c", "b"]


def test_equals_stay_in_the_order_in_which_they_were_seen() -> None:
    assert [key for key, _ in fuse([["x"], ["y"], ["z"]])] == ["x", "y", "z"]


def test_nothing_gives_nothing() -> None:
    assert fuse([]) == fuse([[], []]) == []


@given(RANKINGS)
def test_every_key_comes_once_with_the_sum_of_its_ranks_best_first(
    rankings: list[list[int]],
) -> None:
    fused = fuse(rankings)
    assert sorted(key for key, _ in fused) == sorted({key for one in rankings for key in one})
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)
    for key, score in fused:
        ranks = [one.index(key) + 1 for one in rankings if key in one]
        assert abs(score - sum(1 / (60 + rank) for rank in ranks)) < 1e-12


@given(RANKINGS, st.integers(0, 30))
def test_one_more_vote_never_makes_a_key_fall(rankings: list[list[int]], key: int) -> None:
    before = [one for one, _ in fuse(rankings)]
    after = [one for one, _ in fuse([*rankings, [key]])]
    if key in before:
        assert after.index(key) <= before.index(key)
    else:
        assert key in after


def test_a_blend_weighs_the_two_ways_by_alpha() -> None:
    rankings = [
        Ranking("dense", [("a", 0.9), ("b", 0.7), ("c", 0.5)]),
        Ranking("lexical", [("c", 20.0), ("a", 12.0), ("d", 4.0)]),
    ]
    assert blend(0.75)(rankings) == pytest.approx({"a": 0.875, "b": 0.375, "c": 0.25, "d": 0.0})
    assert best_first(blend(1)(rankings))[0][0] == "a"
    assert best_first(blend(0)(rankings))[0][0] == "c"


def test_a_blend_of_scores_that_are_all_alike_holds_them_all_for_good() -> None:
    alike = [Ranking("dense", [("a", 0.5), ("b", 0.5)]), Ranking("lexical", [])]
    assert blend(0.5)(alike) == {"a": 0.5, "b": 0.5}
    assert blend(0.5)([]) == {}


def test_what_is_first_by_words_is_not_outvoted_by_many_that_mean_something_like_it() -> None:
    alike = [(f"near {at}", 0.9 - at / 1000) for at in range(50)]
    rankings = [Ranking("dense", alike), Ranking("lexical", [("exact", 20.0), ("word", 1.0)])]
    order = [key for key, _ in best_first(blend(0.6)(rankings))]
    assert order.index("exact") == 4
    assert [key for key in order if key.startswith("near")] == [key for key, _ in alike]
    assert best_first(blend(1)(rankings))[4][0] == "near 4"  # by meaning alone is by meaning alone
    assert best_first(blend(0)(rankings))[0][0] == "exact"


@given(RANKINGS, st.floats(0.1, 0.9))
def test_whoever_is_first_by_one_way_is_among_the_best_few(
    rankings: list[list[int]], alpha: float
) -> None:
    ways = zip(("dense", "lexical"), rankings, strict=False)
    given = [
        Ranking(way, [(key, 1 - at * at / 1000) for at, key in enumerate(it)]) for way, it in ways
    ]
    order = [key for key, _ in best_first(blend(alpha)(given))]
    assert all(order.index(it.scored[0][0]) <= 5 for it in given if it.scored)
