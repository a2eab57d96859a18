"""The shared values refuse what makes no sense."""

from typing import Any

import pytest

from unchunk.domain import ChunkingStrategy, Span
from unchunk.errors import InvalidStrategyError


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"unit": "lines"}, "unit 'lines' is unknown"),
        ({"encoding": "gpt2"}, "encoding 'gpt2' is unknown"),
        ({"size": 0}, "size must be at least 1"),
        ({"size": 10.5}, "size must be a whole number"),
        ({"size": True}, "size must be a whole number"),
        ({"size": 10, "overlap": 10}, "overlap must be at least 0 and less than size"),
        ({"size": 10, "overlap": -1}, "overlap must be at least 0"),
    ],
)
def test_a_strategy_that_cannot_be_carried_out_says_why(
    arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidStrategyError, match=says):
        ChunkingStrategy(**arguments)


def test_the_default_strategy_is_the_one_of_openai() -> None:
    assert str(ChunkingStrategy()) == "800/400 tokens"
    assert ChunkingStrategy().stride == 400


def test_a_span_is_a_slice_of_its_text() -> None:
    assert Span(2, 5).of("0123456") == "234"
