"""The text grows by what each chunk adds, and every chunk knows where it lies in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.domain import Span
from unchunk.text.stitching.borders import CUT, Border
from unchunk.text.stitching.draft import Draft
from unchunk.text.stitching.seams import Seam


def test_the_first_chunk_is_the_text() -> None:
    draft = Draft("one two", more=False)
    assert draft.text == "one two"
    assert draft.spans == [Span(0, 7)]
    assert draft.seams == []


def test_an_overlap_adds_what_is_new() -> None:
    draft = Draft("one two", more=True)
    draft.overlap("two three", Border(3, 0), 4, "exact", "clock", more=False)
    assert draft.text == "one two three"
    assert draft.spans == [Span(0, 7), Span(4, 13)]
    assert draft.seams == [Seam(1, 4, 3, "exact", "clock", 0)]


def test_a_chunk_that_lies_within_the_text_adds_nothing() -> None:
    draft = Draft("one two three", more=True)
    draft.overlap("two", Border(3, 0), 4, "exact", "clock", more=False)
    assert draft.text == "one two three"
    assert draft.spans[1] == Span(4, 7)
    assert draft.tail[draft.at :] == "two three"


def test_a_chunk_that_repeats_nothing_stands_behind_the_glue() -> None:
    draft = Draft("one", more=True)
    draft.append("two", " ", "assumed", "touch", more=True)
    draft.append("three", "\n", "none", "newline", more=False, missing=2)
    assert draft.text == "one two\nthree"
    assert draft.spans == [Span(0, 3), Span(4, 7), Span(8, 13)]
    assert draft.seams == [
        Seam(1, 4, 0, "assumed", "touch", 0),
        Seam(2, 8, 0, "none", "newline", 2),
    ]


def test_a_character_that_a_chunk_cut_is_taken_from_the_next_one() -> None:
    draft = Draft(f"one 漢{CUT}", more=True)
    assert draft.tail == "one 漢"
    draft.overlap("漢字 two", Border(1, 0), 4, "exact", "clock", more=False)
    assert draft.text == "one 漢字 two"
    assert draft.spans == [Span(0, 6), Span(4, 10)]


def test_a_character_that_the_next_chunk_cut_is_kept_from_the_one_before() -> None:
    draft = Draft("one 漢字", more=True)
    draft.overlap(f"{CUT}字 two", Border(1, 1), 5, "exact", "clock", more=False)
    assert draft.text == "one 漢字 two"
    assert draft.lead == 1
    assert draft.spans[1] == Span(5, 10)


@pytest.mark.parametrize(
    ("left", "right"), [(f"one{CUT}", f"{CUT}{CUT}two"), (f"one{CUT}", "two"), ("one", f"{CUT}two")]
)
def test_a_character_that_no_chunk_holds_is_lost_and_one_mark_stands_for_it(
    left: str, right: str
) -> None:
    draft = Draft(left, more=True)
    draft.append(right, "", "assumed", "touch", more=False)
    assert draft.text == f"one{CUT}two"
    assert draft.seams[0].confidence == "lossy"


def test_the_mark_of_a_cut_character_stays_where_a_newline_follows() -> None:
    draft = Draft(f"one{CUT}", more=True)
    draft.append("two", "\n", "none", "newline", more=False)
    assert draft.text == f"one{CUT}\ntwo"
    assert draft.spans == [Span(0, 4), Span(5, 8)]


def test_a_mark_at_the_end_of_the_last_chunk_is_text() -> None:
    draft = Draft("one two", more=True)
    draft.overlap(f"two{CUT}", Border(3, 0), 4, "exact", "border", more=False)
    assert draft.text == f"one two{CUT}"


@pytest.mark.parametrize(
    ("left", "right", "held", "begun", "text"),
    [
        ("one  two", "two three", 3, 3, "one  two three"),
        ("one two\n\nthree", "two three four", 10, 9, "one two\n\nthree four"),
        ("one two three", "two\n\nthree four", 9, 10, "one two\n\nthree four"),
    ],
)
def test_of_two_sides_that_differ_in_white_space_the_one_that_has_more_is_taken(
    left: str, right: str, held: int, begun: int, text: str
) -> None:
    draft = Draft(left, more=True)
    draft.overlap_loosely(right, held, begun, more=False)
    assert draft.text == text
    assert draft.seams[0].confidence == "normalized"
    assert draft.spans[1] == Span(len(left) - held, len(text))


@given(st.lists(st.tuples(st.text("abc \n", min_size=1, max_size=400), st.integers(0, 400))))
def test_spans_and_joints_lie_where_the_chunks_were_put(parts: list[tuple[str, int]]) -> None:
    text, chunks = "begin", ["begin"]
    draft = Draft("begin", more=True)
    for new, wanted in parts:
        overlap = min(wanted, len(chunks[-1]))
        chunk = text[len(text) - overlap :] + new
        at = len(draft.tail) - overlap
        draft.overlap(chunk, Border(overlap, 0), at, "exact", "border", more=True)
        text += new
        chunks.append(chunk)
    assert draft.text == text
    assert [span.of(text) for span in draft.spans] == chunks
    assert [seam.start for seam in draft.seams] == [span.start for span in draft.spans[1:]]


def test_what_lies_far_behind_is_let_go_so_that_adding_costs_one_chunk() -> None:
    draft = Draft("x" * 1000, more=True)
    for _ in range(100):
        draft.overlap(
            "x" * 1000, Border(500, 0), len(draft.tail) - 500, "exact", "clock", more=True
        )
    assert len(draft.tail) < 2000
    assert draft.text == "x" * 51_000
