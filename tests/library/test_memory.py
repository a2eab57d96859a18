"""A small sample of `bench.memory`: much text goes through, and memory stays where it is."""

import pytest
from bench import memory

import corpus


def test_a_library_is_stopped_and_goes_on_with_bounded_memory() -> None:
    if not corpus.DATA.exists():
        pytest.skip("the texts under shared/data are not here")
    few, many = memory.measure(4), memory.measure(16)
    for figures in (few, many):
        assert figures.interrupted == 130
        assert set(figures.results) <= {"added", "unchanged"}
        assert figures.healthy
    assert max(many.own) < 600
    # Four times the text is not four times the memory.
    assert max(many.own) < 2.5 * max(few.own)
