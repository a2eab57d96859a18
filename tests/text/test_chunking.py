"""What holds for every chunking, and what each kind of boundary promises."""

import sys
from collections.abc import Callable
from functools import partial
from itertools import accumulate, pairwise
from types import FrameType

import pytest
import regex  # ships no types
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unchunk.domain import Boundaries, ChunkingStrategy, Span, Unit
from unchunk.errors import InvalidStrategyError, InvalidTextError
from unchunk.text.chunking import chunk, chunk_text, uncovered
from unchunk.text.markdown import read_outline
from unchunk.text.tokens import get_encoding

KINDS: list[Boundaries] = ["window", "boundary", "markdown"]
UNITS: list[Unit] = ["chars", "words", "tokens"]
PIECES = [
    *"ab. \n\r漢。한",
    "word ",
    "Some words. ",
    "\n\n",
    "\r\n",
    "\n# Title\n",
    "\n```\ncode\n\n# code\n```\n",
    "\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "e\u0301",
    "\u0301\u0301",
    " \u0301",
    "\u0600",
    "\u200d",
    "👨‍👩‍👧‍👦",
    "👍🏽",
    "🇩🇪",
    "🇩",
    "각",
    "\u0e33",
    "\x00",
    "\u3000",
]
texts = st.lists(st.sampled_from(PIECES) | st.characters(codec="utf-8"), max_size=60).map("".join)
kinds = st.sampled_from(KINDS)
# No deadline: the first example that counts tokens loads their encoding.
MANY = settings(max_examples=400, deadline=None)


@st.composite
def strategies(draw: st.DrawFn) -> ChunkingStrategy:
    size = draw(st.integers(1, 12) | st.integers(20, 60))
    return ChunkingStrategy(
        draw(st.sampled_from(UNITS)),
        size,
        draw(st.integers(0, size - 1)),
        draw(st.sampled_from(["cl100k_base", "o200k_base"])),
    )


def borders_of(text: str) -> list[int]:
    return [0, *(match.end() for match in regex.finditer(r"\X", text))]


def whole_tokens(text: str, strategy: ChunkingStrategy) -> list[tuple[int, int]]:
    encoding = get_encoding(strategy.encoding)
    ends = list(accumulate(len(encoding.decode_bytes([id_])) for id_ in encoding.encode(text)))
    return list(pairwise([0, *ends]))


def units_in(text: str, start: int, end: int, strategy: ChunkingStrategy) -> int:
    if strategy.unit == "chars":
        return end - start
    if strategy.unit == "words":
        return len(text[start:end].split())
    first, last = len(text[:start].encode()), len(text[:end].encode())
    return sum(first <= a and b <= last for a, b in whole_tokens(text, strategy))


def count_calls(work: Callable[[], object]) -> int:
    calls = 0

    def count(_frame: FrameType, _event: str, _arg: object) -> None:
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@given(texts, strategies(), kinds)
@MANY
def test_spans_tile_the_text(text: str, strategy: ChunkingStrategy, kind: Boundaries) -> None:
    spans = chunk(text, strategy, boundaries=kind)
    assert bool(spans) == bool(text)
    assert all(span.start < span.end for span in spans)
    assert [span.start for span in spans[:1]] == [0][: len(text)]
    assert [span.end for span in spans[-1:]] == [len(text)][: len(text)]
    assert all(after.start <= before.end for before, after in pairwise(spans))


@given(texts, strategies(), kinds)
@MANY
def test_each_span_begins_and_ends_later_than_the_one_before(
    text: str, strategy: ChunkingStrategy, kind: Boundaries
) -> None:
    for before, after in pairwise(chunk(text, strategy, boundaries=kind)):
        assert before.start < after.start
        assert before.end < after.end


@given(texts, strategies(), kinds)
@MANY
def test_what_no_earlier_span_covers_joins_to_the_text(
    text: str, strategy: ChunkingStrategy, kind: Boundaries
) -> None:
    spans = chunk(text, strategy, boundaries=kind)
    assert "".join(span.of(text) for span in uncovered(spans)) == text


@given(texts, strategies(), kinds)
@MANY
def test_no_span_is_larger_than_the_size_unless_it_is_one_cluster(
    text: str, strategy: ChunkingStrategy, kind: Boundaries
) -> None:
    for start, end, _ in chunk(text, strategy, boundaries=kind):
        if units_in(text, start, end, strategy) > strategy.size:
            assert len(regex.findall(r"\X", text[start:end])) == 1


@given(texts, strategies(), kinds)
@MANY
def test_no_two_spans_share_more_than_the_overlap(
    text: str, strategy: ChunkingStrategy, kind: Boundaries
) -> None:
    for before, after in pairwise(chunk(text, strategy, boundaries=kind)):
        assert units_in(text, after.start, before.end, strategy) <= strategy.overlap


@given(texts, strategies(), kinds)
@MANY
def test_no_grapheme_cluster_is_cut(
    text: str, strategy: ChunkingStrategy, kind: Boundaries
) -> None:
    borders = set(borders_of(text))
    for start, end, _ in chunk(text, strategy, boundaries=kind):
        assert start in borders
        assert end in borders


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", UNITS)
def test_an_empty_text_has_no_chunks(kind: Boundaries, unit: Unit) -> None:
    assert chunk("", ChunkingStrategy(unit, 5, 2), boundaries=kind) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", UNITS)
def test_blank_text_is_tiled_too(kind: Boundaries, unit: Unit) -> None:
    text = " \n\t\r\n \u3000" * 9
    spans = chunk(text, ChunkingStrategy(unit, 5, 2), boundaries=kind)
    assert "".join(span.of(text) for span in uncovered(spans)) == text


@pytest.mark.parametrize("wrong", [b"bytes", None, 7, ["text"]])
def test_what_is_no_text_is_refused_by_name(wrong: object) -> None:
    with pytest.raises(InvalidTextError, match=type(wrong).__name__):
        chunk(wrong, ChunkingStrategy())  # type: ignore[arg-type]  # the point of the test


def test_an_unknown_kind_of_boundary_is_refused() -> None:
    with pytest.raises(InvalidStrategyError, match="'page' is unknown"):
        chunk("text", ChunkingStrategy(), boundaries="page")  # type: ignore[arg-type]  # the point


@pytest.mark.parametrize("kind", KINDS)
def test_a_lone_surrogate_can_be_counted_in_characters_and_words_only(kind: Boundaries) -> None:
    text = "one \ud800 two \udfff"
    for unit in ("chars", "words"):
        spans = chunk(text, ChunkingStrategy(unit, 3, 1), boundaries=kind)
        assert "".join(span.of(text) for span in uncovered(spans)) == text
    with pytest.raises(InvalidTextError, match="lone surrogate"):
        chunk(text, ChunkingStrategy("tokens", 3, 1), boundaries=kind)


HOSTILE = {
    "a million accents on one letter": "x y e" + "\u0301" * 1_000_000 + " z end. More",
    "flags": "🇩🇪" * 50_000,
    "families": "👨‍👩‍👧‍👦" * 30_000,
    "line ends": "\r\n" * 200_000,
    "no blank": "a" * 500_000,
    "NUL": "\x00" * 200_000,
    "dots": "." * 300_000,
    "short lines": "a\n" * 100_000,
    "blank": " " * 500_000,
    "prepended marks": "\u0600" * 300_000,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_cut_all_the_same(kind: Boundaries, unit: Unit, name: str) -> None:
    text = HOSTILE[name]
    spans = chunk(text, ChunkingStrategy(unit, 1000, 900), boundaries=kind)
    assert sum(span.end - span.start for span in uncovered(spans)) == len(text)
    assert (spans[0].start, spans[-1].end) == (0, len(text))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("overlap", [0, 5, 19])
@pytest.mark.parametrize(
    "piece",
    ["A sentence. ", "a\n", "\u0600", "🇩🇪", "e\u0301\u0301 ", "# A\n\nb\n", "漢字", "```\n"],
)
def test_twice_the_text_takes_twice_the_steps(kind: Boundaries, overlap: int, piece: str) -> None:
    strategy = ChunkingStrategy("chars", 20, overlap)
    single, double = (
        count_calls(partial(chunk, piece * times, strategy, boundaries=kind))
        for times in (400, 800)
    )
    assert double <= 2.1 * single + 50


def test_fifty_megabytes_are_no_matter() -> None:
    text = "0123456789" * 5_000_000
    spans = chunk(text, ChunkingStrategy("chars", 100_000, 20_000))
    assert len(spans) == 625
    assert spans[-1] == Span(49_920_000, 50_000_000)


@pytest.mark.parametrize("unit", UNITS)
def test_a_size_beyond_the_text_gives_one_chunk(unit: Unit) -> None:
    assert chunk("one two.", ChunkingStrategy(unit, 10**12, 10**11)) == [Span(0, 8)]


def test_chunks_of_markdown_begin_with_headings_and_know_their_path() -> None:
    text = "intro\n\n# A\n\none\n\n## B\n\ntwo two two two two\n\n# C\n\nthree\n"
    spans = chunk(text, ChunkingStrategy("chars", 20, 5), boundaries="markdown")
    assert [(span.of(text), span.heading_path) for span in spans] == [
        ("intro\n\n", ()),
        ("# A\n\none\n\n", ("A",)),
        ("## B\n\ntwo two two ", ("A", "B")),
        ("two two two\n\n", ("A", "B")),
        ("# C\n\nthree\n", ("C",)),
    ]


FENCE = "```\nx = 1\n\ny = 2\n\nz = 3\n```\n"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"


@pytest.mark.parametrize("block", [FENCE, TABLE])
@pytest.mark.parametrize("before", range(0, 120, 7))
@pytest.mark.parametrize("overlap", [0, 20])
def test_a_fence_or_table_that_fits_is_not_cut(block: str, before: int, overlap: int) -> None:
    text = "# A\n\n" + "word " * (before // 5) + "\n\n" + block + "\n" + "more " * 30
    spans = chunk(text, ChunkingStrategy("chars", 50, overlap), boundaries="markdown")
    start = text.index(block)
    inside = range(start + 1, start + len(block))
    assert not [span for span in spans if span.start in inside or span.end in inside]


@given(texts, strategies())
@MANY
def test_chunks_of_markdown_keep_to_sections_and_cut_no_block_that_fits(
    text: str, strategy: ChunkingStrategy
) -> None:
    assume(text)
    spans = chunk(text, strategy, boundaries="markdown")
    outline = read_outline(text)
    for start, end in outline.sections(text):
        inside = [span for span in spans if start <= span.start < end]
        assert inside[0].start == start
        assert inside[-1].end == end
    for start, end in zip(outline.solids[::2], outline.solids[1::2], strict=True):
        if strategy.unit == "chars" and end - start <= strategy.size:
            cuts = {cut for span in spans for cut in (span.start, span.end)}
            assert not cuts & set(range(start + 1, end))


def test_a_fence_that_does_not_fit_is_cut_at_its_lines() -> None:
    text = "```\n" + "line = 'a value'\n" * 20 + "```\n"
    spans = chunk(text, ChunkingStrategy("chars", 60, 0), boundaries="markdown")
    assert len(spans) > 4
    assert all(span.of(text).endswith("\n") for span in spans)


def test_a_block_border_without_a_blank_line_is_a_place_to_cut() -> None:
    text = "Some text stands here\n" + FENCE + "and goes on behind it for a while longer"
    spans = chunk(text, ChunkingStrategy("chars", 60, 0), boundaries="markdown")
    assert spans[0].of(text) == "Some text stands here\n" + FENCE


def test_word_chunks_keep_the_white_space_of_the_text() -> None:
    content = "  one\n\ntwo  three\tfour five "
    assert chunk_text(content, 2, 1) == [
        "  one\n\ntwo  ",
        "two  three\t",
        "three\tfour ",
        "four five ",
    ]


def test_word_chunks_are_320_words_with_80_shared_unless_told_otherwise() -> None:
    words = [f"w{index}" for index in range(1000)]
    chunks = chunk_text(" ".join(words))
    assert [part.split() for part in chunks] == [
        words[first : first + 320] for first in range(0, 721, 240)
    ]


@pytest.mark.parametrize("arguments", [(0, 0), (10, 10), (10, -1), (2.5, 1)])
def test_word_chunks_that_make_no_sense_are_refused(arguments: tuple[int, int]) -> None:
    with pytest.raises(InvalidStrategyError):
        chunk_text("one two three", *arguments)


def test_a_span_inside_another_adds_nothing() -> None:
    spans = [Span(0, 5, ("A",)), Span(1, 4), Span(3, 7, ("B",))]
    assert list(uncovered(spans)) == [Span(0, 5, ("A",)), Span(5, 7, ("B",))]
