"""What stood between stripped chunks is read from how the chunks look inside."""

import pytest

from unchunk.text.stitching.gaps import Gaps

PARAGRAPHS = ["First paragraph.\n\nSecond one.", "Third one here.\n\nFourth one."]
LINES = ["alpha beta gamma\ndelta epsilon", "zeta eta theta iota\nkappa lambda mu"]


def test_chunks_of_paragraphs_had_an_empty_line_between_them() -> None:
    assert Gaps(PARAGRAPHS, 0, []).between(*PARAGRAPHS) == "\n\n"


def test_with_no_line_to_look_at_an_empty_line_is_assumed() -> None:
    assert Gaps(["one", "two"], 0, []).between("one", "two") == "\n\n"


def test_the_commonest_run_of_the_kind_is_taken() -> None:
    chunks = ["a\n\n\nb\n\n\nc", "d\n\ne"]
    assert Gaps(chunks, 0, []).between(*chunks) == "\n\n\n"


def test_the_run_before_the_same_word_is_taken_before_the_commonest() -> None:
    chunks = ["a\n\nb\n\nc\n\n  * item", "* item"]
    assert Gaps(chunks, 0, []).between(*chunks) == "\n\n  "


def test_lines_too_long_for_one_chunk_may_be_of_one_paragraph() -> None:
    chunks = [
        "one line of some length\nand a second line of it",
        "third line that is long too\nfour",
    ]
    assert Gaps(chunks, 10, []).between(*chunks) == "\n"


def test_lines_that_fit_into_one_chunk_and_are_not_in_one_are_not_of_one_paragraph() -> None:
    chunks = [*LINES, "short\nline", "new\nline"]
    assert Gaps(chunks, 1, []).between("short\nline", "new\nline") == "\n\n"


def test_a_line_short_enough_to_be_overlap_that_is_none_ended_its_paragraph() -> None:
    left, right = (
        "a rather long line that fills the chunk\nend",
        "another long line to fill it up\nx",
    )
    assert Gaps([left, right], 10, []).between(left, right) == "\n\n"
    assert Gaps([left, right], 2, []).between(left, right) == "\n"


def test_chunks_of_one_line_each_are_paragraphs_where_the_file_has_such() -> None:
    left, right = "l" * 60, "r" * 60
    assert Gaps([left, right, "a\n\nb"], 1, []).between(left, right) == "\n\n"
    assert Gaps([left, right, "a\nb"], 1, []).between(left, right) == "\n"


@pytest.mark.parametrize("before", [["One. ", "Two! "], ["“One.” ", "(Two.) ", "三。"]])
def test_chunks_whose_overlaps_begin_behind_sentences_stand_a_blank_apart(
    before: list[str],
) -> None:
    assert Gaps(["One. Two.", "Three."], 5, before).between("One. Two.", "Three.") == " "


@pytest.mark.parametrize("before", [["One. "], ["One. ", "no sentence "], ["One.\n", "Two.\n"]])
def test_too_few_sentences_or_others_show_no_splitter_of_sentences(before: list[str]) -> None:
    assert Gaps(["One. Two.", "Three."], 5, before).between("One. Two.", "Three.") == "\n\n"


def test_between_sentences_stands_what_stands_there_elsewhere() -> None:
    chunks = ["A one.  A two.  A three.", "A four."]
    assert Gaps(chunks, 5, ["x. ", "y. "]).between("A three.", "A four.") == "  "
    cjk = ["一。一二。一三。", "一四。"]
    assert Gaps(cjk, 5, ["x. ", "y. "]).between("三。", "一四。") == ""


def test_a_chunk_of_blanks_has_no_first_word_to_go_by() -> None:
    assert Gaps(["a\n\nb", "  "], 0, []).between("a\n\nb", "  ") == "\n\n"
