"""Each unit knows where the next chunk begins, how much a text holds, and how it is cut."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import corpus
import foreign
from unchunk.domain import ChunkingStrategy
from unchunk.text.stitching.borders import Border
from unchunk.text.stitching.draft import Draft
from unchunk.text.stitching.rulers import (
    CharRuler,
    TokenRuler,
    WordRuler,
    ruler_for,
    word_marks,
)
from unchunk.text.tokens import get_encoding

GENERATED = dict(corpus.generated())
PROSE = GENERATED["words-15000"]
PIECES = [*"ab. \n漢。\x00�", "word ", "👨‍👩‍👧‍👦", "12345", "\r\n", "\u3000"]
texts = st.lists(st.sampled_from(PIECES) | st.characters(codec="utf-8"), max_size=60).map("".join)
MANY = settings(max_examples=200, deadline=None)


def test_a_strategy_is_measured_by_the_ruler_of_its_unit() -> None:
    assert isinstance(ruler_for(ChunkingStrategy("tokens", 5, 2)), TokenRuler)
    assert isinstance(ruler_for(ChunkingStrategy("words", 5, 2)), WordRuler)
    assert isinstance(ruler_for(ChunkingStrategy("chars", 5, 2)), CharRuler)


def test_only_words_stand_apart() -> None:
    assert ruler_for(ChunkingStrategy("tokens", 5, 2)).glue == ""
    assert ruler_for(ChunkingStrategy("words", 5, 2)).glue == " "
    assert ruler_for(ChunkingStrategy("chars", 5, 2)).glue == ""


@given(texts, st.integers(1, 20), st.data())
@MANY
def test_every_ruler_cuts_as_the_chunkers_of_others_do(
    text: str, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    tokens = foreign.tokens(size, overlap, to_the_last=True)
    assert tokens.strategy is not None
    if text:
        assert list(ruler_for(tokens.strategy).recut(text)) == tokens.cut(text)
    words = foreign.words(size, overlap, to_the_last=True)
    assert words.strategy is not None
    plain = " ".join(text.split())
    assert list(ruler_for(words.strategy).recut(plain)) == words.cut(text)
    chars = ruler_for(ChunkingStrategy("chars", size, overlap))
    starts = range(0, len(text), size - overlap)
    assert list(chars.recut(text)) == [text[at : at + size] for at in starts]


def test_words_are_cut_with_the_white_space_between_them() -> None:
    ruler = ruler_for(ChunkingStrategy("words", 2, 1))
    assert list(ruler.recut("  one\n\ntwo  three ")) == ["one\n\ntwo", "two  three", "three"]


@given(texts)
@MANY
def test_a_text_is_counted_in_units(text: str) -> None:
    assert ruler_for(ChunkingStrategy("tokens", 5, 2)).count(text) == get_encoding().count(text)
    assert ruler_for(ChunkingStrategy("words", 5, 2)).count(text) == len(text.split())
    assert ruler_for(ChunkingStrategy("chars", 5, 2)).count(text) == len(text)


@given(texts)
@example("")
@example(" \n ")
@MANY
def test_words_are_marked_where_they_begin_and_the_text_where_it_ends(text: str) -> None:
    marks = word_marks(text)
    assert marks[-1] == len(text)
    assert [text[mark:].split(maxsplit=1)[0] for mark in marks[:-1]] == text.split()


@pytest.mark.parametrize(
    ("unit", "clock"), [("chars", 3), ("words", len("one two three ")), ("tokens", len("one two three"))]
)  # fmt: skip
def test_the_next_chunk_begins_one_stride_further(unit: str, clock: int) -> None:
    strategy = {
        "chars": ChunkingStrategy("chars", 5, 2),
        "words": ChunkingStrategy("words", 5, 2),
        "tokens": ChunkingStrategy("tokens", 5, 2),
    }[unit]
    assert ruler_for(strategy).next(Draft("one two three four five", more=True)) == clock


@pytest.mark.parametrize("strategy", [
    ChunkingStrategy("chars", 50, 2),
    ChunkingStrategy("words", 50, 2),
    ChunkingStrategy("tokens", 50, 2),
])  # fmt: skip
def test_where_the_text_does_not_reach_so_far_the_clock_is_at_its_end(
    strategy: ChunkingStrategy,
) -> None:
    assert ruler_for(strategy).next(Draft("one two three", more=True)) == len("one two three")


@pytest.mark.parametrize(
    "name", ["words-15000", "minified-json-15000", "log-15000", "base64-15000"]
)
@pytest.mark.parametrize(("size", "overlap"), [(800, 400), (512, 64), (100, 50)])
def test_the_clock_of_tokens_is_that_of_the_whole_text(name: str, size: int, overlap: int) -> None:
    text = GENERATED[name]
    bounds = get_encoding().bounds(text)
    starts = bounds[: -size : size - overlap]
    ruler = ruler_for(ChunkingStrategy("tokens", size, overlap))
    draft, end = Draft(text[: bounds[size]], more=True), bounds[size]
    for unit, start in list(enumerate(starts))[1:]:
        at = ruler.next(draft)
        assert len(draft.text) - len(draft.tail) + at == start
        held = end - start
        end = bounds[unit * (size - overlap) + size]
        draft.overlap(text[start:end], Border(held, 0), at, "exact", "clock", more=True)


def test_the_clock_goes_on_from_the_token_that_a_chunk_began_inside_a_character_with() -> None:
    ruler = ruler_for(ChunkingStrategy("tokens", 4, 3))
    text = "a🙃b and so on"
    windows = list(get_encoding().windows(text, 4, 3))
    assert windows[1:4] == ["🙃b", "��b and", "�b and so"]
    draft = Draft("a🙃", more=True)
    for window, start in ((windows[1], 1), (windows[2], 2), (windows[3], 2)):
        assert ruler.next(draft) == start
        border = Border(len(draft.tail) - start, window.count("�"))
        draft.overlap(window, border, start, "exact", "clock", more=True)
    assert draft.text == "a🙃b and so"
