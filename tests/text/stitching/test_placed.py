"""Texts put together by the offsets that their chunks carry."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import corpus
from unchunk.domain import Span
from unchunk.errors import InvalidTextError
from unchunk.text.stitching import stitch_placed

PROSE = (
    "It was the best of times, it was the worst of times.\n\n"
    "It was the age of wisdom, it was the age of foolishness;\n"
    "it was the epoch of belief, it was the epoch of incredulity."
)
SURE = ("verified", "consensus", "exact")


def cut(text: str, *places: tuple[int, int]) -> tuple[list[str], list[int]]:
    return [text[start:end] for start, end in places], [start for start, _ in places]


def test_overlapping_chunks_come_back_and_each_joint_is_told() -> None:
    chunks, starts = cut(PROSE, (0, 60), (30, 120), (90, len(PROSE)))
    result = stitch_placed(chunks, starts)
    assert result is not None
    assert result.text == PROSE
    assert [(seam.start, seam.overlap, seam.method) for seam in result.seams] == [
        (30, 30, "offset"),
        (90, 30, "offset"),
    ]
    assert {seam.confidence for seam in result.seams} == {"exact"}
    assert result.spans == (Span(0, 60), Span(30, 120), Span(90, len(PROSE)))


def test_the_order_of_the_chunks_does_not_matter() -> None:
    places = [(90, len(PROSE)), (0, 60), (30, 120)]
    result = stitch_placed(*cut(PROSE, *places))
    assert result is not None
    assert result.text == PROSE
    assert result.order == (1, 2, 0)
    assert result.reordered


def test_dropped_white_space_is_guessed_in_its_length_and_the_joint_says_so() -> None:
    first, second = PROSE.index("\n\n"), PROSE.index(";\n") + 1
    places = [(0, first), (first + 2, second), (second + 1, len(PROSE))]
    result = stitch_placed(*cut(PROSE, *places))
    assert result is not None
    assert len(result.text) == len(PROSE)
    assert result.text.split() == PROSE.split()
    assert [seam.confidence for seam in result.seams] == ["none", "none"]
    assert result.confidence == "none"
    assert result.notes[-1].endswith("guessed: 2")


def test_white_space_that_the_chunks_show_elsewhere_is_put_where_its_length_fits() -> None:
    text = "\n\n\t\t".join(f"paragraph {at} is here\nand goes on" for at in range(8))
    gap = text.index("\n\n\t\t", 60)
    result = stitch_placed(*cut(text, (0, gap), (gap + 4, len(text))))
    assert result is not None
    assert result.text == text
    assert result.confidence == "none"


def sentences(blank: str, *, at_once: int) -> tuple[str, list[tuple[int, int]]]:
    """A text of sentences, and where so many of them lie at once."""
    each = [f"This is sentence {at}, of many words that tell nothing." for at in range(30)]
    places, end = [], 0
    for at in range(0, 30, at_once):
        some = blank.join(each[at : at + at_once])
        places.append((end, end + len(some)))
        end += len(some) + len(blank)
    return blank.join(each), places


@pytest.mark.parametrize(("blank", "at_once"), [("  ", 5), ("   ", 1)])
def test_between_sentences_no_lines_are_made_up(blank: str, at_once: int) -> None:
    text, places = sentences(blank, at_once=at_once)
    result = stitch_placed(*cut(text, *places))
    assert result is not None
    assert result.text == text


def test_more_than_white_space_that_is_missing_is_counted() -> None:
    result = stitch_placed(*cut(PROSE, (0, 40), (100, len(PROSE))), from_start=True)
    assert result is not None
    assert result.text == f"{PROSE[:40]}\n{PROSE[100:]}"
    assert result.missing == 1
    assert result.confidence == "none"
    assert "at least 1 missing" in " ".join(result.notes)


def test_offsets_that_the_texts_contradict_are_not_followed() -> None:
    chunks, starts = cut(PROSE, (0, 60), (30, 120))
    assert stitch_placed(chunks, [0, 31]) is None
    assert stitch_placed(chunks, [0, -1]) is None
    assert stitch_placed([], []) is None
    with pytest.raises(InvalidTextError, match="2 chunks and 1 offsets"):
        stitch_placed(chunks, starts[:1])


def test_chunks_that_lie_upon_each_other_tell_nothing() -> None:
    row = "2024-01-01,ok,100,EUR\n" * 20
    assert stitch_placed([row] * 9, [at * 22 for at in range(9)]) is None


def test_a_text_that_repeats_itself_is_never_sure() -> None:
    # A search found each chunk too early: all agree, and most of the text is not there.
    row = "2024-01-01,ok,100,EUR\n" * 20
    result = stitch_placed([row] * 9, [at * 220 for at in range(9)])
    assert result is not None
    assert result.confidence == "ambiguous"


def test_a_beginning_that_is_not_there_is_told() -> None:
    text = "  " + PROSE
    result = stitch_placed(*cut(text, (2, 62), (32, len(text))))
    assert result is not None
    assert result.text == PROSE
    assert result.notes[-1] == "characters at the beginning that are in no chunk: 2"
    late = stitch_placed(*cut(PROSE, (40, 100), (70, len(PROSE))))
    assert late is not None
    assert late.confidence == "ambiguous"
    known = stitch_placed(*cut(PROSE, (40, 100), (70, len(PROSE))), from_start=False)
    assert known is not None
    assert "the first chunk is missing" in known.notes


def test_chunks_that_touch_or_share_little_are_assumed() -> None:
    result = stitch_placed(*cut(PROSE, (0, 60), (60, 120), (118, len(PROSE))))
    assert result is not None
    assert result.text == PROSE
    assert [seam.confidence for seam in result.seams] == ["assumed", "assumed"]


def test_empty_and_blank_chunks_lie_where_they_are_said_to() -> None:
    result = stitch_placed(["", "ab", " ", "cd"], [0, 0, 2, 5])
    assert result is not None
    assert result.text.split() == ["ab", "cd"]
    assert len(result.text) == 7


@st.composite
def cuttings(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """A text, and places that cover it but for white space."""
    text = draw(st.text("ab c\n", min_size=1, max_size=60)) * draw(st.integers(1, 4))
    places, begin = [], 0
    while begin < len(text):
        end = draw(st.integers(begin + 1, len(text)))
        places.append((begin, end))
        if end == len(text):
            break
        back = draw(st.integers(0, end - begin - 1))
        rest = text[end:]
        begin = end - back if back else end + len(rest) - len(rest.lstrip())
    return text, places


@given(cuttings(), st.randoms(use_true_random=False))
@example(("a\nb", [(0, 1), (2, 3)]), random.Random(0))
def test_whatever_is_cut_comes_back_where_chunks_hold_it(
    cutting: tuple[str, list[tuple[int, int]]], rng: random.Random
) -> None:
    text, places = cutting
    rng.shuffle(places)
    result = stitch_placed(*cut(text, *places))
    if result is None:
        return
    end = max(end for _, end in places)
    gaps = {at for at in range(end) if not any(start <= at < stop for start, stop in places)}
    assert len(result.text) == end
    assert all(result.text[at] == text[at] for at in range(end) if at not in gaps)
    assert not gaps or result.confidence == "none"
    assert [result.text[span.start : span.end] for span in result.spans] == [
        text[slice(*places[at])] for at in result.order
    ]


@given(
    st.lists(st.tuples(st.text("ab \n", max_size=12), st.integers(-1, 40)), max_size=8),
    st.sampled_from([None, True, False]),
)
def test_any_offsets_are_followed_or_refused(
    placed: list[tuple[str, int]], from_start: bool | None
) -> None:
    result = stitch_placed(
        [it for it, _ in placed], [at for _, at in placed], from_start=from_start
    )
    if result is not None:
        assert sorted(result.order) == list(range(len(placed)))
        for at, span in zip(result.order, result.spans, strict=True):
            assert result.text[span.start : span.end] == placed[at][0]


@pytest.mark.skipif(not corpus.DATA.exists(), reason=corpus.MISSING)
def test_real_texts_in_windows_come_back_and_are_sure_only_of_what_is_right() -> None:
    for name, text in corpus.natural()[::40]:
        places = [(at, min(len(text), at + 700)) for at in range(0, max(1, len(text) - 150), 550)]
        result = stitch_placed(*cut(text, *places))
        assert result is not None
        assert result.text == text, name
        cropped = stitch_placed(*cut(text, *places[:-1])) if len(places) > 2 else None
        assert cropped is None or cropped.confidence not in SURE
