"""Stitching as it is called: one file or a store, whatever the chunks are."""

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import corpus
import foreign
from unchunk.domain import ChunkingStrategy, Unit
from unchunk.errors import InvalidTextError
from unchunk.text.stitching import Stitched, stitch, stitch_files
from unchunk.text.tokens import get_encoding

GENERATED = dict(corpus.generated())
WORDS = "A title\n\n" + GENERATED["words-15000"]
# 3,001 tokens, so that the last window of every strategy here is shorter than the others.
PROSE = WORDS[: get_encoding().bounds(WORDS)[3000]] + "\n"
OPENAI = ChunkingStrategy("tokens", 800, 400)
SURE = ("verified", "consensus", "exact")
UNITS: list[Unit] = ["tokens", "words", "chars"]
PIECES = [
    *"ab. \n\r\t漢。\x00",
    "word ",
    "Some words. ",
    "the quick brown fox jumps over the lazy dog ",
    "2024-01-01,ok,100,EUR\n",
    "\r\n",
    "\n\n",
    "👨‍👩‍👧‍👦",
    "👍🏽",
    "🇩🇪",
    "한국어",
    "\u3000",
]
CUT = "�"
MANY = settings(max_examples=400, deadline=None)


def repeat(pieces: list[tuple[str, int]]) -> str:
    return "".join(piece * times for piece, times in pieces)


def texts(*more: str) -> st.SearchStrategy[str]:
    others = st.characters(codec="utf-8", exclude_characters=CUT)
    piece = st.sampled_from([*PIECES, *more]) | others
    return st.lists(st.tuples(piece, st.integers(1, 6)), max_size=40).map(repeat)


@st.composite
def strategies(draw: st.DrawFn, units: tuple[Unit, ...] = ("tokens", "words", "chars"),
               least: int = 0) -> ChunkingStrategy:  # fmt: skip
    size = draw(st.integers(1 + least, 60))
    overlap = draw(st.integers(least, size - 1))
    return ChunkingStrategy(draw(st.sampled_from(units)), size, overlap)


def chunker_for(strategy: ChunkingStrategy, *, to_the_last: bool = False) -> foreign.Chunker:
    if strategy.unit == "tokens":
        return foreign.tokens(strategy.size, strategy.overlap, to_the_last=to_the_last)
    if strategy.unit == "words":
        return foreign.words(strategy.size, strategy.overlap, to_the_last=to_the_last)
    return foreign.chars(strategy.size, strategy.overlap)


def is_well_formed(result: Stitched, chunks: list[str]) -> bool:
    return (
        len(result.seams) == len(chunks) - 1
        and len(result.spans) == len(chunks)
        and sorted(result.order) == list(range(len(chunks)))
        and [seam.index for seam in result.seams] == list(range(1, len(chunks)))
    )


@given(texts(CUT, CUT + CUT + " "), strategies(), st.booleans())
@MANY
def test_under_the_strategy_that_made_them_chunks_never_give_a_wrong_text_that_is_sure(
    text: str, strategy: ChunkingStrategy, to_the_last: bool
) -> None:
    chunker = chunker_for(strategy, to_the_last=to_the_last)
    chunks = chunker.cut(text)
    assume(chunks)
    result = stitch(chunks, strategy)
    assert is_well_formed(result, chunks)
    if result.confidence in SURE:
        assert result.text == chunker.leaves(text)
    if result.confidence == "verified":
        assert result.text == text


@given(texts(), strategies(("words", "chars"), 1), st.booleans())
@MANY
def test_words_and_characters_that_overlap_come_back_as_the_chunker_left_them(
    text: str, strategy: ChunkingStrategy, to_the_last: bool
) -> None:
    chunker = chunker_for(strategy, to_the_last=to_the_last)
    chunks = chunker.cut(text)
    assume(any(map(str.strip, chunks)))
    assert stitch(chunks, strategy).text == chunker.leaves(text)


@given(texts(), strategies(("tokens",), 1), st.booleans())
@MANY
def test_tokens_that_overlap_and_cut_no_character_come_back(
    text: str, strategy: ChunkingStrategy, to_the_last: bool
) -> None:
    chunks = chunker_for(strategy, to_the_last=to_the_last).cut(text)
    assume(chunks and not any(CUT in chunk or not chunk.strip() for chunk in chunks))
    result = stitch(chunks, strategy)
    assert result.text == text
    assert all(0 <= start <= end <= len(result.text) for start, end, _ in result.spans)


@given(texts(), strategies(("chars",)))
@MANY
def test_character_windows_lie_where_their_spans_say(text: str, strategy: ChunkingStrategy) -> None:
    chunks = chunker_for(strategy).cut(text)
    assume(any(map(str.strip, chunks)))
    result = stitch(chunks, strategy)
    assert [span.of(result.text) for span in result.spans] == [chunks[at] for at in result.order]
    assert [seam.start for seam in result.seams] == [span.start for span in result.spans[1:]]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_shuffled_chunks_come_back_in_the_order_of_the_text(known: bool, seed: int) -> None:
    chunks = foreign.tokens(800, 400).cut(PROSE)
    places = list(range(len(chunks)))
    random.Random(seed).shuffle(places)
    shuffled = [chunks[at] for at in places]
    result = stitch(shuffled, OPENAI if known else None)
    assert result.text == PROSE
    assert result.reordered
    assert [shuffled[at] for at in result.order] == chunks
    assert result.strategy == OPENAI


@pytest.mark.parametrize("known", [True, False])
def test_chunks_in_order_are_not_said_to_be_reordered(known: bool) -> None:
    result = stitch(foreign.tokens(800, 400).cut(PROSE), OPENAI if known else None)
    assert result.text == PROSE
    assert result.confidence == "verified"
    assert not result.reordered
    assert result.missing == 0


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("at", [2, 3, 4])
def test_where_windows_overlap_by_half_a_missing_chunk_leaves_its_neighbours_touching(
    known: bool, at: int
) -> None:
    chunks = foreign.tokens(800, 400).cut(PROSE)
    result = stitch(chunks[:at] + chunks[at + 1 :], OPENAI if known else None)
    assert result.text == PROSE
    assert result.missing == 1
    assert result.confidence == "assumed"
    assert result.seams[at - 1].method == "touch"


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("at", [2, 3, 4])
def test_where_windows_overlap_by_less_a_missing_chunk_leaves_a_hole_that_is_told(
    known: bool, at: int
) -> None:
    chunker = foreign.tokens(512, 64)
    chunks = chunker.cut(PROSE)
    result = stitch(chunks[:at] + chunks[at + 1 :], chunker.strategy if known else None)
    seam = result.seams[at - 1]
    assert result.confidence == seam.confidence == "none"
    assert seam.missing >= 1
    before, after = result.text[: seam.start - 1], result.text[seam.start :]
    assert PROSE.startswith(before)
    assert PROSE.endswith(after)


@pytest.mark.parametrize("chunker", [
    foreign.tokens(800, 400), foreign.tokens(512, 64), foreign.words(320, 80),
    foreign.chars(1000, 200),
], ids=lambda chunker: chunker.name)  # fmt: skip
def test_a_text_that_lacks_a_chunk_is_never_sure(chunker: foreign.Chunker) -> None:
    chunks = chunker.cut(WORDS)
    for at in range(1, len(chunks)):
        for known in (chunker.strategy, None):
            assert stitch(chunks[:at] + chunks[at + 1 :], known).confidence not in SURE


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("chunker", [
    foreign.tokens(800, 400), foreign.tokens(512, 64), foreign.chars(1000, 200),
], ids=lambda chunker: chunker.name)  # fmt: skip
def test_a_missing_last_chunk_leaves_a_full_one_and_is_noted(
    chunker: foreign.Chunker, known: bool
) -> None:
    result = stitch(chunker.cut(PROSE)[:-1], chunker.strategy if known else None)
    assert PROSE.startswith(result.text)
    assert result.confidence == "ambiguous"
    assert "the last chunk is full: more may have followed" in result.notes


@pytest.mark.parametrize("known", [True, False])
def test_a_last_chunk_shorter_than_the_overlap_adds_nothing(known: bool) -> None:
    chunks = foreign.tokens(800, 400, to_the_last=True).cut(PROSE)
    assert chunks[-2].endswith(chunks[-1])
    result = stitch(chunks, OPENAI if known else None)
    assert result.text == PROSE
    assert result.confidence == "verified"


def test_files_of_one_store_may_be_cut_in_different_ways() -> None:
    chunkers = {
        "half": foreign.tokens(800, 400),
        "eighth": foreign.tokens(512, 64),
        "words": foreign.words(320, 80),
        "letters": foreign.chars(1000, 200),
    }
    files = {name: chunker.cut(WORDS) for name, chunker in chunkers.items()}
    for given_ones in ({name: chunker.strategy for name, chunker in chunkers.items()}, None):
        for name, result in stitch_files(files, given_ones).items():
            assert result.text == chunkers[name].leaves(WORDS)
            assert result.strategy == chunkers[name].strategy


def test_a_strategy_that_the_chunks_contradict_is_not_followed() -> None:
    chunker = foreign.tokens(512, 64)
    for wrong in (OPENAI, ChunkingStrategy("chars", 100, 20), ChunkingStrategy("words", 50, 10)):
        result = stitch(chunker.cut(PROSE), wrong)
        assert result.text == PROSE
        assert result.strategy == chunker.strategy


def test_a_strategy_that_joints_only_lean_to_gives_the_text_and_no_certainty() -> None:
    chunker = foreign.tokens(137, 34)
    text = GENERATED["blank-lines-6000"]
    result = stitch(chunker.cut(text))
    assert result.text == text
    assert result.strategy == chunker.strategy
    assert result.confidence == "ambiguous"


def test_where_no_strategy_fits_the_one_given_still_mends_what_it_can() -> None:
    chunker = foreign.tokens(100, 50, foreign.collapse)
    text = GENERATED["spaces-6000"]
    known = stitch(chunker.cut(text), chunker.strategy)
    unknown = stitch(chunker.cut(text))
    broken = [
        sum(seam.method in ("newline", "touch") for seam in result.seams)
        for result in (known, unknown)
    ]
    assert broken[0] <= broken[1]
    assert known.confidence not in SURE


def test_a_strategy_may_be_given_for_some_files_only() -> None:
    chunker = foreign.chars(1000, 200)
    files = {"known": chunker.cut(PROSE), "unknown": chunker.cut(WORDS), "unnamed": ["one"]}
    results = stitch_files(files, {"known": chunker.strategy, "unknown": None})
    assert results["known"].text == PROSE
    assert results["unknown"].text == WORDS
    assert results["unnamed"].text == "one"


def test_progress_names_each_file_once() -> None:
    done: list[str] = []
    chunker = foreign.chars(1000, 200)
    files = {"a": chunker.cut(PROSE), "b": chunker.cut(WORDS), "c": ["alone"], "d": []}
    results = stitch_files(files, {"a": chunker.strategy}, progress=done.append)
    assert list(results) == ["a", "b", "c", "d"]
    assert sorted(done) == ["a", "b", "c"]


def test_no_files_are_no_results() -> None:
    assert stitch_files({}) == {}


STRATEGIES = [None, *(ChunkingStrategy(unit, 5, 2) for unit in UNITS)]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_no_chunks_are_no_text(strategy: ChunkingStrategy | None) -> None:
    result = stitch([], strategy)
    assert (result.text, result.confidence, result.seams) == ("", "none", ())


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize("chunk", ["", " ", "one", "one chunk\n", "\x00", "漢字", CUT])
def test_one_chunk_is_the_text(chunk: str, strategy: ChunkingStrategy | None) -> None:
    result = stitch([chunk], strategy)
    assert result.text == chunk
    assert result.order == (0,)
    assert len(result.spans) == 1
    assert result.seams == ()


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize("wrong", [b"bytes", None, 7, 1.5, ["text"]])
def test_what_is_no_text_is_refused_by_its_place_and_type(
    wrong: object, strategy: ChunkingStrategy | None
) -> None:
    with pytest.raises(InvalidTextError, match=f"chunk 1 is {type(wrong).__name__}, not text"):
        stitch(["text", wrong], strategy)  # type: ignore[list-item]  # the point of the test
    with pytest.raises(InvalidTextError, match="chunk 0 of 'a file' is"):
        stitch_files({"a file": [wrong]}, strategy)  # type: ignore[list-item]  # the point


@pytest.mark.parametrize("wrong", ["text", b"bytes"])
def test_one_text_in_place_of_a_list_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidTextError, match=f"are one {type(wrong).__name__}, not a list"):
        stitch(wrong)
    with pytest.raises(InvalidTextError, match="the chunks of 'a file' are one"):
        stitch_files({"a file": wrong})


SURROGATES = PROSE.replace("e", "\ud800", 40).replace("t", "\udfff", 40)


def test_a_lone_surrogate_cannot_be_counted_in_tokens() -> None:
    with pytest.raises(InvalidTextError, match="lone surrogate"):
        stitch(foreign.chars(300, 60).cut(SURROGATES), OPENAI)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "chunker", [foreign.words(60, 15), foreign.chars(300, 60)], ids=lambda chunker: chunker.name
)
def test_a_lone_surrogate_is_no_matter_in_words_and_characters(
    chunker: foreign.Chunker, known: bool
) -> None:
    result = stitch(chunker.cut(SURROGATES), chunker.strategy if known else None)
    assert result.text == chunker.leaves(SURROGATES)
    assert result.strategy == chunker.strategy


@pytest.mark.parametrize("known", [True, False])
def test_nul_bytes_are_text(known: bool) -> None:
    text = PROSE.replace(" ", "\x00 \x00")
    chunker = foreign.tokens(512, 64)
    result = stitch(chunker.cut(text), chunker.strategy if known else None)
    assert result.text == text
    zeros = stitch(["\x00" * 5, "\x00" * 5, "\x00" * 4], ChunkingStrategy("chars", 5, 2))
    assert zeros.text == "\x00" * 10


@pytest.mark.parametrize("text", [" " * 300, " \n\t" * 20, "\n" * 41 + "\u3000"])
@pytest.mark.parametrize("strategy", [
    ChunkingStrategy("chars", 5, 2), ChunkingStrategy("chars", 5, 0),
    ChunkingStrategy("tokens", 3, 1), ChunkingStrategy("tokens", 2, 0),
], ids=str)  # fmt: skip
def test_white_space_alone_is_text_under_the_strategy_that_cut_it(
    text: str, strategy: ChunkingStrategy
) -> None:
    result = stitch(chunker_for(strategy).cut(text), strategy)
    assert result.text == text
    assert result.confidence not in SURE


def test_megabytes_of_one_letter_have_no_joint_that_is_sure() -> None:
    chunks = ["a" * 4_000_000, "a" * 2_000_000]
    assert stitch(chunks).confidence not in SURE
    known = stitch(chunks, ChunkingStrategy("chars", 4_000_000, 1_000_000), from_start=True)
    assert known.text == "a" * 5_000_000
    assert known.confidence == "assumed"


def test_two_chunks_of_ten_megabytes_are_joined_under_a_strategy_or_none() -> None:
    text = "".join(f"{number} " for number in range(1_500_000))[:10_200_000]
    chunks = [text[:10_000_000], text[200_000:]]
    strategy = ChunkingStrategy("chars", 10_000_000, 9_800_000)
    for known in (strategy, None):
        result = stitch(chunks, known)
        assert result.text == text
        assert result.strategy == strategy


def test_two_hundred_thousand_small_chunks_are_joined() -> None:
    text = "".join(f"{number} " for number in range(300_000))[:1_600_004]
    chunker = foreign.chars(12, 4)
    chunks = chunker.cut(text)
    assert len(chunks) == 200_000
    result = stitch(chunks, chunker.strategy)
    assert result.text == text
    assert len(result.seams) == 199_999


def test_a_last_chunk_that_repeats_a_few_tokens_is_read_as_the_other_files_show() -> None:
    texts = {f"{n}": " ".join(f"{word}{n}" for word in range(400)) for n in range(6)}
    texts["short"] = " ".join(f"word{n}" for n in range(151)) + "."
    strategy = ChunkingStrategy("tokens", 400, 100)
    cut = {
        name: list(get_encoding().windows(text, strategy.size, strategy.overlap))
        for name, text in texts.items()
    }
    assert len(cut["short"]) == 2
    assert get_encoding().count(cut["short"][1]) < 10
    assert stitch(cut["short"]).text != texts["short"]
    found = stitch_files(cut)["short"]
    assert found.text == texts["short"]
    assert found.strategy == strategy


def test_stripped_chunks_tell_how_many_tokens_they_had() -> None:
    text = " ".join(f"word{n}" for n in range(151)) + "."
    chunks = [chunk.strip() for chunk in get_encoding().windows(text, 100, 50)]
    assert len(chunks[-1]) < 24, "its overlap alone would prove nothing"
    found = stitch(chunks)
    assert found.text == text
    assert found.strategy == ChunkingStrategy("tokens", 100, 50)
