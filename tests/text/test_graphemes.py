r"""Borders of grapheme clusters, checked against `\X` over the whole text."""

import re
import sys

import pytest
import regex  # ships no types
from hypothesis import example, given
from hypothesis import strategies as st

from unchunk.text import graphemes
from unchunk.text.graphemes import always_whole, border_after, border_before, surely_apart

PIECES = [
    *"aé .\n\r漢か",
    "\r\n",
    "e\u0301",
    "\u0301",
    "\u200d",
    "\ufe0f",
    "\u0600",
    "\u0903",
    "\u0e33",
    "क्षि",
    "한",
    "\u1100",
    "\u1161",
    "\u11a8",
    "👨‍👩‍👧‍👦",
    "👍🏽",
    "©",
    "🇩",
    "🇩🇪",
    "🏴\U000e0067\U000e007f",
    "\x00",
    "\x85",
    "\ud800",
]
texts = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=30).map("".join)


def borders_of(text: str) -> list[int]:
    return [0, *(match.end() for match in regex.finditer(r"\X", text))]


@given(texts)
@example("🇩" * 9)
@example("\u0600🇩🇪🇫🇷")
@example("\u1100\u1161\u11a8가각\u11a8")
def test_finds_the_borders_that_reading_the_whole_text_finds(text: str) -> None:
    borders = borders_of(text)
    for offset in range(len(text) + 1):
        assert border_before(text, offset) == max(b for b in borders if b <= offset)
        assert border_after(text, offset) == min(b for b in borders if b >= offset)


@given(texts, st.data())
def test_any_known_border_gives_the_same_answer(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    known = data.draw(st.sampled_from([b for b in borders_of(text) if b <= offset]))
    assert border_before(text, offset, known) == border_before(text, offset)
    assert border_after(text, offset, known) == border_after(text, offset)


def test_what_lies_before_the_known_border_is_that_border() -> None:
    assert border_before("abc", 1, known=2) == 2
    assert border_after("abc", 1, known=2) == 2


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_ascii_needs_no_look(text: str) -> None:
    assert not always_whole(text + "\r")
    if always_whole(text):
        assert borders_of(text) == list(range(len(text) + 1))


def test_plain_characters_never_join_one_another() -> None:
    plain = [c for c in map(chr, range(sys.maxunicode + 1)) if re.match(f"[{graphemes._PLAIN}]", c)]
    assert len(plain) > 20_000
    run = "".join(plain)
    assert borders_of(run) == list(range(len(run) + 1))
    assert borders_of(run[::-1]) == list(range(len(run) + 1))


@given(texts, texts)
def test_is_sure_only_of_characters_that_stand_apart(before: str, after: str) -> None:
    if surely_apart(before, after):
        assert all(len(borders_of(a + b)) == 3 for a in before for b in after)


def test_plain_text_is_surely_apart_and_marks_are_not() -> None:
    assert surely_apart("an—漢", "b”か\n")
    assert not surely_apart("e", "\u0301")
    assert not surely_apart("\r", "\n")


@pytest.mark.parametrize(
    ("text", "largest"),
    [("a" + "\u0301" * 1_000_000, 1_000_001), ("\u0600" * 500_000, 500_000), ("🇩" * 200_000, 2)],
)
def test_hostile_runs_are_read_once(text: str, largest: int) -> None:
    assert border_after(text, 1) == largest
    middle = len(text) // 2 - 1
    assert border_after(text, middle) - border_before(text, middle) in (0, largest)
