"""Where sentences begin."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.text.sentences import sentence_starts


def sentences(text: str) -> list[str]:
    cuts = [0, *sentence_starts(text), len(text)]
    return [text[a:b] for a, b in pairwise(cuts) if a < b]


def test_a_sentence_keeps_the_blank_behind_it() -> None:
    assert sentences("One. Two!  Three?\nFour") == ["One. ", "Two!  ", "Three?\n", "Four"]


def test_quotes_and_brackets_belong_to_the_sentence_they_close() -> None:
    assert sentences("“Call me.” He did. (So.) Then") == [
        "“Call me.” ",
        "He did. ",
        "(So.) ",
        "Then",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Starbuck and Dr. Bunger met J. R. Smith in the U.S. Navy",
        "See e.g. Fig. 3 vs. Eq. 4",
        "It cost 3.50 and took 1.5 h",
        "wait... what",
        "Yahoo! is a name",
        "Capt.\nAhab",
        "Vaswani et al. The authors of (Smith et al. 2019)",
    ],
)
def test_a_stop_that_ends_no_sentence_is_passed_over(text: str) -> None:
    assert sentences(text) == [text]


def test_an_ellipsis_before_a_capital_ends_a_sentence() -> None:
    assert sentences("So it goes... Then") == ["So it goes... ", "Then"]


def test_a_stop_at_the_very_start_is_a_sentence() -> None:
    assert sentences(". A") == [". ", "A"]


def test_scripts_without_blanks_are_cut_behind_their_stop() -> None:
    assert sentences("我叫以实玛利。你呢？「好！」走") == [
        "我叫以实玛利。",
        "你呢？",
        "「好！」",
        "走",
    ]


@pytest.mark.parametrize("text", ["मैं आया। तुम कौन", "من أنت؟ أنا", "میں آیا۔ تم"])
def test_other_scripts_have_stops_of_their_own(text: str) -> None:
    assert len(sentences(text)) == 2


def test_a_blank_line_ends_a_title_and_a_wrapped_line_ends_nothing() -> None:
    assert sentences("Loomings\n\nCall me\nIshmael\n  or so") == [
        "Loomings\n\n",
        "Call me\nIshmael\n  or so",
    ]


def test_a_dotted_line_is_read_once() -> None:
    assert sentences("." * 1_000_000) == ["." * 1_000_000]


def test_looks_only_where_it_is_told() -> None:
    text = "One is. Two is. Three is. Four"
    assert list(sentence_starts(text, 8, 20)) == [16]


@given(st.text(alphabet=" .!?…。a A\n\"'”)"))
def test_starts_grow_and_lie_in_the_text(text: str) -> None:
    starts = list(sentence_starts(text))
    assert starts == sorted(set(starts))
    assert all(0 < start <= len(text) for start in starts)
