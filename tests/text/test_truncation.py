"""A text that is too long, cut where it hurts least."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets import texts
from unchunk.text.graphemes import border_before
from unchunk.text.truncation import beginning, cut_points, tail_start


@pytest.mark.parametrize(
    ("text", "length", "kept"),
    [
        ("A rope is here. A lamp is lit, too.", 30, "A rope is here. "),
        ("A rope. A lamp is lit at night, too.", 30, "A rope. A lamp is lit at"),
        ("A rope. " + "x" * 40, 30, "A rope. " + "x" * 22),
        ("每晚的费用，" * 8, 20, ("每晚的费用，" * 8)[:20]),
        ("xx" + "👩‍👩‍👧" * 4, 9, "xx👩‍👩‍👧"),
        ("two words", 3, "two"),
    ],
)
def test_a_sentence_a_word_or_a_character_ends_it(text: str, length: int, kept: str) -> None:
    assert text[: next(cut_points(text, length))] == kept


@pytest.mark.parametrize(
    ("text", "length", "kept"),
    [
        ("A rope is here. A lamp is lit, too.", 25, "A lamp is lit, too."),
        ("A rope is here, and a lamp is lit. Oh.", 25, "and a lamp is lit. Oh."),
        ("x" * 40 + " A rope.", 30, "x" * 22 + " A rope."),
        ("每晚的费用，" * 8, 20, ("每晚的费用，" * 8)[-20:]),
        ("👩‍👩‍👧" * 4 + "xx", 9, "👩‍👩‍👧xx"),
        ("two words", 6, "words"),
    ],
)
def test_an_end_is_cut_off_in_the_same_places(text: str, length: int, kept: str) -> None:
    assert text[tail_start(text, length) :] == kept


def test_a_beginning_that_says_nothing_is_none() -> None:
    assert beginning("A long text without any end", 19) == ""
    assert beginning("A long text without any end", 23) == "A long text without any"


@given(texts, st.integers(0, 60))
def test_an_end_is_within_the_length_and_between_characters(text: str, length: int) -> None:
    if length < len(text):
        places = [*cut_points(text, length)]
        assert all(0 <= at <= length for at in places)
        assert places[-1] == border_before(text, length)
        assert len(text) - tail_start(text, length) <= length


def test_a_run_of_blanks_is_one_place_to_cut() -> None:
    assert len([*cut_points("tide" + " " * 1000 + "tide", 900)]) == 1
