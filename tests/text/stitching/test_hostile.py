"""Chunks that once made stitching wrong, too sure, or fail."""

import random
from collections.abc import Callable
from typing import Any, cast

import pytest

import foreign
from unchunk import chunk_text, detect_chunk_overlap, stitch, stitch_chunks, stitch_files
from unchunk.domain import ChunkingStrategy, Unit
from unchunk.errors import InvalidStrategyError, InvalidTextError

SURE = ("verified", "consensus", "exact")


def prose(seed: int, length: int) -> str:
    rng = random.Random(seed)
    words = ("".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(length))
    return " ".join(words)[:length]


def test_a_chunk_that_lies_inside_the_one_before_proves_no_overlap() -> None:
    words = [f"w{number}{chr(97 + number)}" for number in range(20)]
    chunks = chunk_text(" ".join((words * 6)[:97]), 40, 5)
    damaged = [chunks[0], chunks[2]]
    assert stitch(damaged, ChunkingStrategy("words", 40, 5)).confidence not in SURE
    assert stitch(damaged).confidence not in SURE


def test_banners_that_alternate_are_not_taken_for_overlap() -> None:
    banners = ["=== ACME quarterly, even page ===\n", "--- confidential, odd side here -\n"]
    chunks = [banners[at % 2] + prose(at, 200) + banners[(at + 1) % 2] for at in range(6)]
    chunks.append(banners[0] + prose(99, 90) + " \n")
    assert stitch(chunks).confidence not in SURE


@pytest.mark.parametrize("edge", [str.strip, str.lstrip, str.rstrip])
def test_a_text_that_was_stripped_in_part_is_not_called_exact(edge: Callable[[str], str]) -> None:
    text = (
        "\n" + "".join(f"Line {number} is {prose(number, 60)}.\n" for number in range(90)) + "\n\n"
    )
    chunks = [edge(chunk) for chunk in foreign.tokens(512, 64).cut(text)]
    for result in (stitch(chunks), stitch(chunks, ChunkingStrategy("tokens", 512, 64))):
        assert result.text.strip() == text.strip()
        assert result.text != text
        assert result.confidence not in SURE


def test_an_iterator_is_as_good_as_a_list() -> None:
    chunks = foreign.chars(60, 20).cut(prose(1, 300))
    assert stitch(cast("list[str]", iter(chunks))) == stitch(chunks)


@pytest.mark.parametrize("chunks", [["", ""], [" ", " "], ["\n\n", "\n\n", "\n\r"], ["", "a", ""]])
@pytest.mark.parametrize("strategy", [None, ChunkingStrategy("words", 2, 1), ChunkingStrategy()])
def test_blank_chunks_are_no_trouble(chunks: list[str], strategy: ChunkingStrategy | None) -> None:
    result = stitch(chunks, strategy)
    assert result.text.split() == "".join(chunks).split()
    assert len(result.spans) == len(chunks)


def test_an_empty_chunk_does_not_part_its_neighbours() -> None:
    text = "".join(f"w{number} " for number in range(400))
    left, right = text[:1200], text[600:].replace(" ", "  ")
    with_empty, without = stitch([left, "", right]), stitch([left, right])
    assert with_empty.text == without.text
    assert with_empty.text.split() == text.split()


def test_no_overlap_is_not_believed_of_chunks_that_overlap() -> None:
    text = prose(3, 6000) + "\n"
    chunks = foreign.tokens(100, 50).cut(text)
    result = stitch(chunks, ChunkingStrategy("tokens", 300, 0))
    assert result.text == text
    assert result.strategy == ChunkingStrategy("tokens", 100, 50)


def test_a_file_that_cannot_be_encoded_is_named() -> None:
    files = {"good": ["a", "b"], "bad": ["a\ud800", "b"]}
    with pytest.raises(InvalidTextError, match=r"bad: .*lone surrogate"):
        stitch_files(files, ChunkingStrategy())


@pytest.mark.parametrize("unit", ["tokens", "words", "chars"])
def test_no_span_leaves_the_text(unit: Unit) -> None:
    rng = random.Random(5)
    for _ in range(200):
        chunks = ["".join(rng.choices("a \n�é", k=rng.randint(0, 6))) for _ in range(4)]
        result = stitch(chunks, ChunkingStrategy(unit, 2, 1))
        assert all(0 <= span.start <= span.end <= len(result.text) for span in result.spans)


def test_wrong_types_are_named() -> None:
    wrong: Any = None
    for call in (
        lambda: stitch(wrong),
        lambda: stitch([wrong]),
        lambda: detect_chunk_overlap(wrong, "a"),
        lambda: stitch_chunks([wrong], 1),
    ):
        with pytest.raises(InvalidTextError, match="NoneType"):
            call()
    with pytest.raises(InvalidStrategyError, match="not a ChunkingStrategy"):
        stitch(["a", "b"], cast("ChunkingStrategy", (800, 400)))


def test_a_size_beyond_all_measure_is_a_size() -> None:
    chunks = ["one two three\n"]
    assert stitch(chunks, ChunkingStrategy("words", 2**32 + 9, 1)).text == chunks[0]
    assert stitch(["a b", "b c"], ChunkingStrategy("words", 2**33, 1)).text.startswith("a b")


ROW = "[info] request served in 12 ms\n"


@pytest.mark.parametrize("head", [" #\n", " " + prose(7, 1500) + "\n\n"])
def test_a_chunk_missing_among_rows_is_not_overlooked(head: str) -> None:
    for chunker in (foreign.chars(124, 31), foreign.tokens(800, 400), foreign.tokens(60, 4)):
        chunks = chunker.cut(head + ROW * 130 + "\n" + prose(8, 3000) + " \n")
        for at in range(1, len(chunks) - 1):
            damaged = chunks[:at] + chunks[at + 1 :]
            assert stitch(damaged, chunker.strategy).confidence not in SURE
            assert stitch(damaged).confidence not in SURE


@pytest.mark.parametrize("size", [25, 30, 41, 60])
@pytest.mark.parametrize("overlap", [0, 1, 2, 5, 8, 12, 20])
def test_a_short_period_is_not_taken_for_overlap(size: int, overlap: int) -> None:
    for text in (" x\n\n" + "Some words. " * 9 + " \n", " k\n\n" + ROW * 12 + " \n"):
        result = stitch(foreign.chars(size, overlap).cut(text))
        assert result.text == text or result.confidence not in SURE


def test_a_replacement_character_is_a_character_where_none_is_cut() -> None:
    assert stitch(["�", "�", " "], ChunkingStrategy("chars", 1, 0)).text == "�� "
    text = "�� �� "
    assert stitch(foreign.chars(4, 1).cut(text), ChunkingStrategy("chars", 4, 1)).text == text


def test_one_chunk_three_times_is_no_overlap() -> None:
    assert stitch(["the quick brown fox jumps over"] * 3).text.count("fox") == 3


def test_an_overlap_that_ends_in_a_cut_character_is_seen() -> None:
    found = detect_chunk_overlap("some text about 漢字�", "text about 漢字か more")
    assert (found.overlap_chars, found.confidence) == (13, "exact")
