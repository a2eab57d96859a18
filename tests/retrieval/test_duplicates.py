"""The same text in several places."""

from hypothesis import given
from hypothesis import strategies as st

from unchunk.retrieval.duplicates import copies
from unchunk.retrieval.shelf import Place

LONG = "The white whale swam before him as the monomaniac incarnation of all malicious agencies"


def at(number: int) -> Place:
    return Place(f"d{number}", 1, 0)


def test_a_copy_is_told_with_its_original_and_the_best_one_stays() -> None:
    found = [(at(1), 0.9, LONG), (at(2), 0.5, "quite another"), (at(3), 0.9, LONG.upper())]
    assert copies(found) == {at(3): at(1)}


def test_a_word_or_a_blank_more_is_still_a_copy() -> None:
    found = [(at(1), 0.9, LONG), (at(2), 0.893, LONG.replace(" ", "\n") + " ever")]
    assert copies(found) == {at(2): at(1)}


def test_a_copy_of_a_copy_points_to_the_first() -> None:
    found = [(at(n), 0.9, LONG) for n in range(3)]
    assert copies(found) == {at(1): at(0), at(2): at(0)}


def test_texts_that_share_half_their_words_are_not_copies() -> None:
    half = LONG[: len(LONG) // 2] + " another end with other words than the ones before it"
    assert copies([(at(1), 0.9, LONG), (at(2), 0.9, half)]) == {}


def test_short_texts_are_copies_only_if_they_are_the_same() -> None:
    found = [
        (at(1), 0.9, "yes it is so"),
        (at(2), 0.9, "yes it is not"),
        (at(3), 0.9, "Yes it is so"),
    ]
    assert copies(found) == {at(3): at(1)}


@given(st.lists(st.tuples(st.floats(-1, 1), st.text("ab ", max_size=12)), max_size=12))
def test_every_copy_has_an_original_that_stands_before_it_and_is_none_itself(
    texts: list[tuple[float, str]],
) -> None:
    found = [(at(n), score, text) for n, (score, text) in enumerate(texts)]
    places = [place for place, _, _ in found]
    for copy, original in copies(found).items():
        assert places.index(original) < places.index(copy)
        assert original not in copies(found)
