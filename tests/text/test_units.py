"""Texts measured in characters, words and tokens."""

import pytest

from unchunk.domain import ChunkingStrategy
from unchunk.text.units import end_of, measure, unit_at, units_before


def test_characters_are_measured_without_a_list_of_them() -> None:
    assert measure("abc", ChunkingStrategy("chars", 2, 0)) == range(4)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [(" a  b c ", [0, 4, 6, 8]), ("", [0]), (" \n", [0, 2]), ("one", [0, 3])],
)
def test_words_own_the_white_space_behind_them(text: str, bounds: list[int]) -> None:
    assert list(measure(text, ChunkingStrategy("words", 2, 0))) == bounds


def test_tokens_are_those_of_the_encoding() -> None:
    assert list(measure("hello world", ChunkingStrategy("tokens", 2, 0))) == [0, 5, 11]


# Three tokens: the first character is the first two of them.
BOUNDS = [0, 1, 1, 4]


@pytest.mark.parametrize(("offset", "unit"), [(0, 0), (1, 2), (3, 2), (4, 3)])
def test_an_offset_lies_in_the_last_unit_that_begins_there(offset: int, unit: int) -> None:
    assert unit_at(BOUNDS, offset) == unit


@pytest.mark.parametrize(("offset", "count"), [(0, 0), (1, 2), (2, 3), (4, 3)])
def test_a_unit_that_has_begun_counts(offset: int, count: int) -> None:
    assert units_before(BOUNDS, offset) == count


@pytest.mark.parametrize(("units", "end"), [(0, 0), (1, 0), (2, 1), (3, 4), (9, 4)])
def test_a_character_that_is_too_many_units_is_left_out(units: int, end: int) -> None:
    assert end_of(BOUNDS, units) == end
