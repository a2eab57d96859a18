"""With no strategy, chunks are joined where they share more than chance explains."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpus
from unchunk.text.stitching.borders import CUT, Border
from unchunk.text.stitching.likeness import compare, joint
from unchunk.text.stitching.seams import Seam

PROSE = dict(corpus.generated())["words-6000"]
ROW = "2024-01-01 the request was served in 12 ms\n"


def cut(*spans: tuple[int, int]) -> list[str]:
    return [PROSE[start:end] for start, end in spans]


def test_chunks_that_share_enough_are_joined_there_whatever_the_stride() -> None:
    chunks = cut((0, 300), (250, 400), (310, 900), (860, 1200))
    draft = compare(chunks)
    assert draft.text == PROSE[:1200]
    assert [seam.confidence for seam in draft.seams] == ["exact"] * 3
    assert [span.of(draft.text) for span in draft.spans] == chunks


@given(st.lists(st.tuples(st.integers(60, 300), st.integers(30, 50)), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_any_row_of_chunks_with_enough_in_common_comes_back(
    steps: list[tuple[int, int]],
) -> None:
    spans, start = [], 0
    for length, overlap in steps:
        spans.append((start, start + length))
        start += length - overlap
    draft = compare(cut(*spans))
    assert draft.text == PROSE[: spans[-1][1]]


def test_chunks_that_share_nothing_are_put_on_lines_of_their_own() -> None:
    draft = compare([" one", "two"])
    assert draft.text == " one\ntwo"
    assert draft.seams == [Seam(1, 5, 0, "none", "newline")]


def test_where_others_overlap_stripped_chunks_get_the_gap_that_the_file_shows() -> None:
    text = "One thing or another.\n\nA third thing at last.\n\nA fourth thing there."
    draft = compare([text[:43], text[23:], "A fifth thing.\n\nA sixth."])
    assert draft.text == f"{text}\n\nA fifth thing.\n\nA sixth."
    assert [seam.confidence for seam in draft.seams] == ["exact", "none"]


def test_where_no_chunks_overlap_nothing_shows_a_gap_and_it_is_a_newline() -> None:
    draft = compare(["One thing.\n\nAnother thing.", "A third thing.\n\nA fourth."])
    assert draft.text == "One thing.\n\nAnother thing.\nA third thing.\n\nA fourth."
    assert draft.seams[0].confidence == "none"


def test_stripped_chunks_may_share_a_few_whole_words() -> None:
    draft = compare(["It began with one word", "one word and went on"])
    assert draft.text == "It began with one word and went on"
    assert draft.seams[0].confidence == "ambiguous"


def test_part_of_a_word_is_no_overlap() -> None:
    draft = compare(["It began with a stone", "one word and went on"])
    assert draft.seams[0].confidence == "none"


def test_chunks_that_share_all_but_white_space_are_joined_as_normalized() -> None:
    draft = compare(["It was the best\nof times, it was", "best of times, it was the worst "])
    assert draft.text == "It was the best\nof times, it was the worst "
    assert draft.seams[0].confidence == "normalized"


def test_empty_chunks_add_nothing() -> None:
    chunks = cut((0, 300), (250, 500))
    draft = compare(["", chunks[0], "", chunks[1], ""])
    assert draft.text == PROSE[:500]
    assert len(draft.seams) == 4
    assert compare(["", ""]).text == ""


def test_a_text_that_repeats_itself_is_joined_as_the_rest_of_the_file_is() -> None:
    rows = ROW * 12
    certain = cut((0, 400), (300, 700), (600, 1000))
    text = PROSE[:1000] + rows
    chunks = [*certain, text[900:1300], text[1200:1500]]
    draft = compare(chunks)
    assert draft.text == text[:1500]
    assert [seam.confidence for seam in draft.seams][-1] == "ambiguous"


def test_the_share_of_new_text_may_be_given() -> None:
    rows = ROW * 20
    size = len(ROW) * 8
    shares = {
        new: compare([rows[:size], rows[: size - 9]], new / 8).seams[0].overlap for new in (2, 4, 6)
    }
    assert shares == {new: size - len(ROW) * new for new in (2, 4, 6)}


def test_a_joint_with_one_overlap_that_is_long_enough_is_certain() -> None:
    left, right = cut((0, 300), (250, 500))
    assert joint(left, right, last=False) == ([Border(50, 0)], True)


def test_a_joint_behind_a_character_that_was_cut_is_certain_too() -> None:
    left, right = cut((0, 300), (250, 500))
    found = joint(left + CUT, CUT * 2 + right, last=False)
    assert found.borders == [Border(50, 2)]
    assert found.certain


@pytest.mark.parametrize(
    ("left", "right"),
    [("", ""), ("abc", "abc"), (PROSE[:99], PROSE[500:600]), ("-" * 99, "-" * 50)],
)
def test_too_little_in_common_is_no_joint(left: str, right: str) -> None:
    assert joint(left, right, last=False) == ([], False)


def test_a_joint_with_several_overlaps_lists_them_and_is_not_certain() -> None:
    found = joint("head " + ROW * 6, ROW * 5 + "tail", last=False)
    assert [border.length for border in found.borders] == [
        len(ROW) * rows for rows in (5, 4, 3, 2, 1)
    ]
    assert not found.certain


def test_a_chunk_that_brings_nothing_new_is_no_joint_unless_it_is_the_last() -> None:
    left, right = PROSE[:300], PROSE[200:300]
    assert joint(left, right, last=False) == ([], False)
    assert joint(left, right, last=True) == ([Border(100, 0)], False)
    assert joint(left, left, last=True) == ([], False)


def test_an_overlap_that_is_the_texts_own_period_is_not_certain() -> None:
    row = PROSE[:60]
    assert not joint(row * 2, row + "and more", last=False).certain
    assert not joint(row * 2, row[55:] + row + "and more", last=False).certain
