"""Where a chunk ends, and where the next one begins."""

import pytest

from unchunk.domain import ChunkingStrategy
from unchunk.text.boundaries import NO_SOLIDS, Solids, split
from unchunk.text.units import measure


def cut(text: str, size: int, overlap: int, solids: Solids = NO_SOLIDS) -> list[str]:
    strategy = ChunkingStrategy("chars", size, overlap)
    edges = split(text, measure(text, strategy), strategy, (0, len(text)), solids)
    return [text[start:end] for start, end in edges]


def test_a_chunk_ends_with_the_last_paragraph_that_fits() -> None:
    text = "First one here.\n\nSecond. Third line\nfourth.\n\nFifth paragraph."
    assert cut(text, 50, 0) == [text[:45], text[45:]]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one two three:\n- four five six seven", "one two three:\n"),
        ("Some words. Other ones\nthat go on here", "Some words. "),
        ("Some words go.\r\nOther ones that go on", "Some words go.\r\n"),
        ("the sea and\nthe sky and the wind", "the sea and\n"),
        ("one two three four five six seven", "one two three four "),
        ("one\ttwo\tthreethreethreethree", "one\ttwo\tthreethreeth"),
        ("onetwo three\tfour\u3000fivefive", "onetwo three\tfour\u3000"),
        (
            "我们我们我们。他们他们他们他们他们他们他们他们",
            "我们我们我们。他们他们他们他们他们他们他",
        ),
        ("\nthe one and two three four five", "\nthe one and two "),
    ],
)
def test_else_with_a_line_a_sentence_or_a_word(text: str, first: str) -> None:
    assert cut(text, 20, 0)[0] == first


def test_the_next_chunk_begins_with_a_sentence_of_the_overlap() -> None:
    text = "Alpha beta gamma delta. One two. Three four. Five six seven eight."
    assert cut(text, 46, 26) == [
        "Alpha beta gamma delta. One two. Three four. ",
        "One two. Three four. Five six seven eight.",
    ]


def test_or_with_a_word_if_the_sentence_would_leave_little_of_it() -> None:
    text = "Alpha beta gamma delta one two three. Four. Five six seven eight."
    assert [part[:9] for part in cut(text, 46, 20)] == ["Alpha bet", "two three"]


def test_a_solid_part_is_neither_cut_nor_begun_inside() -> None:
    text = "one two three\n[four\n\nfive\n\nsix]\nseven eight nine ten"
    solid = [text.index("["), text.index("seven")]
    assert cut(text, 26, 12, solid) == [
        "one two three\n",
        "[four\n\nfive\n\nsix]\n",
        "seven eight nine ten",
    ]


def test_the_overlap_gives_way_to_a_solid_part_that_would_not_fit_beside_it() -> None:
    text = "one two three four\n[five six seven eight nine]\nten"
    solid = [text.index("["), text.index("ten")]
    assert cut(text, 30, 10, solid) == [
        "one two three four\n",
        "[five six seven eight nine]\n",
        "ten",
    ]


def test_solid_parts_may_touch_each_other() -> None:
    text = "one two three\n[four\n\nfive]\n[six\n\nseven]\neight nine"
    solids = [text.index("[f"), text.index("[s"), text.index("[s"), text.index("eight")]
    assert cut(text, 29, 0, solids)[0] == text[: text.index("[s")]
    assert cut(text, 16, 6, solids) == [
        "one two three\n",
        "[four\n\nfive]\n",
        "[six\n\nseven]\n",
        "eight nine",
    ]


def test_a_paragraph_behind_a_solid_part_is_a_better_place_than_its_edge() -> None:
    text = "one two three\n[four]\nfive six\n\nseven eight nine"
    solid = [text.index("["), text.index("five")]
    assert cut(text, 34, 0, solid) == [text[: text.index("seven")], "seven eight nine"]
    assert cut(text, 28, 0, solid)[0] == text[: text.index("five")]


def test_blank_lines_behind_a_solid_part_stay_with_it() -> None:
    text = "one two three\n[four]\n\nfive six seven"
    solid = [text.index("["), text.index("\nfive")]
    assert cut(text, 25, 6, solid) == [text[: text.index("five")], "five six seven"]
