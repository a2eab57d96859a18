"""Stitching to the letter of the first specification."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.errors import InvalidTextError
from unchunk.text.stitching.literal import stitch_chunks


@dataclass(frozen=True)
class Content:
    """A chunk as the OpenAI SDK gives it."""

    text: str


def test_no_chunks_are_no_text() -> None:
    assert stitch_chunks([], 10) == ""


@pytest.mark.parametrize("overlap", [0, 3, 100])
def test_one_chunk_is_the_text(overlap: int) -> None:
    assert stitch_chunks(["only"], overlap) == "only"


def test_the_overlap_is_cut_off_every_chunk_but_the_first() -> None:
    assert stitch_chunks(["abcdef", "efghij", "ijkl"], 2) == "abcdefghijkl"


def test_what_is_cut_off_is_not_looked_at() -> None:
    assert stitch_chunks(["abc", "xyz!"], 3) == "abc!"


def test_with_no_overlap_a_newline_stands_between_the_chunks() -> None:
    assert stitch_chunks(["one", "two", "three"], 0) == "one\ntwo\nthree"


@pytest.mark.parametrize("short", ["", "a", "abc"])
def test_a_chunk_no_longer_than_the_overlap_is_kept_behind_a_newline(short: str) -> None:
    assert stitch_chunks(["xabc", short, "abcdef"], 3) == f"xabc\n{short}def"


def test_chunks_may_be_objects_that_have_a_text() -> None:
    assert stitch_chunks([Content("abcd"), "cdef", Content("efgh")], 2) == "abcdefgh"


def test_chunks_may_come_one_by_one() -> None:
    assert stitch_chunks((chunk for chunk in ("abcd", "cdef")), 2) == "abcdef"


def test_an_overlap_below_nothing_is_refused() -> None:
    with pytest.raises(InvalidTextError, match="at least 0, not -1"):
        stitch_chunks(["a", "b"], -1)


@given(st.text(min_size=1), st.integers(2, 20), st.data())
def test_character_windows_come_back_whole(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(1, size - 1))
    stops = range(0, max(1, len(text) - overlap), size - overlap)
    assert stitch_chunks([text[at : at + size] for at in stops], overlap) == text
