"""What two chunks share is found, the longest first, and cut characters do not hide it."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unchunk.text.stitching.borders import (
    CUT,
    Border,
    ChunkOverlapInfo,
    borders,
    detect_chunk_overlap,
    fit,
    is_informative,
    leads,
    loose_border,
)

LEFT = "It was the best of times, it was the worst of times"
SHARED = "it was the worst of times"
few = st.text("ab�", max_size=40)
repeated = st.builds(
    lambda piece, times: piece * times, st.text("abc ", max_size=6), st.integers(0, 9)
)


def test_an_overlap_that_is_the_same_on_both_sides_is_exact() -> None:
    found = detect_chunk_overlap(LEFT, SHARED + ", it was the age")
    assert found == ChunkOverlapInfo(len(SHARED), "exact", "suffix_prefix_match")


def test_of_several_overlaps_the_longest_is_found() -> None:
    assert detect_chunk_overlap("xabab", "ababy").overlap_chars == 4
    assert detect_chunk_overlap("a" * 100, "a" * 40).overlap_chars == 40


@pytest.mark.parametrize(
    ("right", "overlap"),
    [
        ("it  was the\nworst of times, it was", "it  was the\nworst of times"),
        ("it\twas the worst   of\r\ntimes and more", "it\twas the worst   of\r\ntimes"),
    ],
)
def test_an_overlap_that_differs_in_white_space_is_normalized(right: str, overlap: str) -> None:
    assert detect_chunk_overlap(LEFT, right) == ChunkOverlapInfo(len(overlap), "normalized")


@pytest.mark.parametrize(
    ("left", "right", "overlap"),
    [
        ("foo bar baz qux", "bar  baz qux quux", "bar  baz qux"),
        ("foo bar\nbaz", "bar baz qux", "bar baz"),
        ("the end ", "end\nof it", "end"),
    ],
)
def test_a_short_overlap_that_differs_in_white_space_is_normalized_too(
    left: str, right: str, overlap: str
) -> None:
    assert detect_chunk_overlap(left, right) == ChunkOverlapInfo(len(overlap), "normalized")


def test_white_space_may_be_missing_on_either_side() -> None:
    left = "It was the best of times,\n\n   it was the\nworst of times"
    assert detect_chunk_overlap(left, SHARED + ", it was") == ChunkOverlapInfo(25, "normalized")


@pytest.mark.parametrize(
    ("left", "right", "shared"),
    [
        ("Hello world", "Hello  world", 12),
        ("Hello world", "Hello\nworld", 11),
        ("Hello world\n", "Hello world", 11),
        ("a b", " a\tb\n", 4),
        ("ab", "a b", 3),
        # Their last and first letters are the same by chance.
        ("alpha beta", "alpha  beta", 11),
    ],
)
def test_short_chunks_of_one_text_in_other_white_space_are_normalized(
    left: str, right: str, shared: int
) -> None:
    assert detect_chunk_overlap(left, right) == ChunkOverlapInfo(shared, "normalized")


@pytest.mark.parametrize(
    ("left", "right", "info"),
    [
        (" a", "a", ChunkOverlapInfo(1, "exact")),
        ("Hello world", "Hello world\n", ChunkOverlapInfo(11, "exact")),
        (" ", "\n", ChunkOverlapInfo(0, "none")),
        ("", "", ChunkOverlapInfo(0, "none")),
    ],
)
def test_all_letters_matched_exactly_are_exact_and_none_is_none(
    left: str, right: str, info: ChunkOverlapInfo
) -> None:
    assert detect_chunk_overlap(left, right) == info


@pytest.mark.parametrize(
    ("left", "right"),
    [("", ""), ("", "text"), ("text", ""), ("one", "two"), (LEFT, "quite another text")],
)
def test_chunks_that_share_nothing_have_no_overlap(left: str, right: str) -> None:
    assert detect_chunk_overlap(left, right) == ChunkOverlapInfo(0, "none")


@pytest.mark.parametrize("marks", [1, 2, 3])
def test_a_character_that_the_second_chunk_cut_belongs_to_the_overlap(marks: int) -> None:
    found = detect_chunk_overlap(LEFT, CUT * marks + SHARED + " and more")
    assert found == ChunkOverlapInfo(marks + len(SHARED), "exact")


def test_no_character_leaves_more_than_three_marks() -> None:
    assert list(leads(CUT * 9)) == [0, 1, 2, 3]
    assert list(leads(CUT + "a" + CUT)) == [0, 1]
    assert list(leads("")) == [0]
    assert detect_chunk_overlap(LEFT, CUT * 4 + SHARED).confidence == "none"


@given(st.text(), st.data())
def test_an_overlap_is_never_missed_and_never_invented(text: str, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, len(text)))
    left, right = text[:end], text[begin:]
    found = detect_chunk_overlap(left, right)
    assert found.overlap_chars >= end - begin
    if found.confidence == "exact":
        assert any(left.endswith(right[lead : found.overlap_chars]) for lead in leads(right))


@given(few | repeated, few | repeated)
@example("a" * 30, "a" * 30)
@settings(max_examples=300)
def test_all_borders_are_listed_the_longest_first(left: str, right: str) -> None:
    found = [border for border in borders(left, right) if not border.lead]
    assert found == [
        Border(length, 0)
        for length in range(min(len(left), len(right)), 0, -1)
        if left.endswith(right[:length])
    ]


@given(few, few)
@settings(max_examples=300)
def test_behind_cut_marks_the_rest_is_a_border_too(left: str, right: str) -> None:
    found = set(borders(left, right))
    for lead in leads(right):
        for length in range(1, min(len(left), len(right) - lead) + 1):
            shared = left.endswith(right[lead : lead + length])
            assert (Border(length, lead) in found) == shared


def test_the_borders_of_a_huge_periodic_text_are_not_all_compared() -> None:
    found = list(borders("ab" * 50_000, "ab" * 50_000 + "c"))
    assert found[0] == Border(100_000, 0)
    assert len(found) < 5_000


@given(st.text(max_size=30), st.text(max_size=30), st.data())
def test_a_chunk_fits_where_it_repeats_the_rest_or_lies_within_it(
    tail: str, chunk: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(tail)))
    border = fit(tail, at, tail[at:] + chunk)
    assert border == Border(len(tail) - at, 0)
    within = data.draw(st.integers(at, len(tail)))
    assert fit(tail, at, tail[at:within]) == Border(within - at, 0)


@pytest.mark.parametrize(
    ("chunk", "border"),
    [
        ("three", Border(5, 0)),
        ("three four", Border(5, 0)),
        ("th", Border(2, 0)),
        (CUT + "three four", Border(5, 1)),
        (CUT + CUT + "thr", Border(3, 2)),
        ("tree", None),
        (" three", None),
    ],
)
def test_a_chunk_fits_or_does_not(chunk: str, border: Border | None) -> None:
    assert fit("one two three", 8, chunk) == border


@pytest.mark.parametrize(
    "text", ["of the times", "a1b2c3d4e5f6g7", "漢字仮名交じり文の例としてこの文"]
)
def test_many_different_letters_are_hardly_the_same_by_chance(text: str) -> None:
    assert is_informative(text + text[::-1])


@pytest.mark.parametrize("text", ["", "a", "of the time", "a" * 10_000, "ab" * 500, "-|-" * 300])
def test_little_text_or_a_short_period_may_be_the_same_by_chance(text: str) -> None:
    assert not is_informative(text)


def test_what_is_the_same_but_for_white_space_is_measured_on_both_sides() -> None:
    left, right = "so it began:  one two\nthree four five", "one two three   four five six"
    assert loose_border(left, right) == (
        len("one two\nthree four five"),
        len("one two three   four five"),
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [("", ""), ("short end", "end of it"), ("a a a a a a a a", "a a a a a a a a b"), (LEFT, "no")],
)
def test_white_space_is_overlooked_only_where_enough_is_the_same(left: str, right: str) -> None:
    assert loose_border(left, right) is None


def test_a_chunk_within_the_one_before_is_the_same_to_its_end() -> None:
    assert loose_border("one two three four five six", "two three\nfour five six") == (23, 23)
