"""The stride says where each chunk begins; where chunks contradict it, that is told."""

import pytest

import corpus
import foreign
from unchunk.domain import ChunkingStrategy
from unchunk.text.stitching.clock import follow, recuts
from unchunk.text.stitching.draft import Draft
from unchunk.text.stitching.rulers import ruler_for
from unchunk.text.stitching.seams import Seam

TEXT = "the quick brown fox jumps over the lazy dog and runs away into the deep dark wood"
WORDS = TEXT.split()
GENERATED = dict(corpus.generated())


def followed(chunks: list[str], strategy: ChunkingStrategy) -> Draft:
    return follow(chunks, strategy, ruler_for(strategy))


def words(first: int, last: int) -> str:
    return " ".join(WORDS[first:last])


def test_each_chunk_is_joined_where_the_clock_says() -> None:
    draft = followed([words(0, 4), words(3, 7), words(6, 9)], ChunkingStrategy("words", 4, 1))
    assert draft.text == words(0, 9)
    assert draft.seams == [
        Seam(1, len("the quick brown "), len("fox"), "exact", "clock"),
        Seam(2, len("the quick brown fox jumps over "), len("the"), "exact", "clock"),
    ]


def test_a_text_of_one_letter_is_joined_by_the_clock_too() -> None:
    draft = followed(["a" * 20, "a" * 20, "a" * 7], ChunkingStrategy("chars", 20, 5))
    assert draft.text == "a" * 37


def test_a_chunk_that_was_stripped_is_joined_behind_the_blank_at_the_clock() -> None:
    draft = followed(["one two  three", "three four"], ChunkingStrategy("chars", 14, 7))
    assert draft.text == "one two  three four"
    assert draft.seams == [Seam(1, 9, 5, "exact", "clock")]


def test_a_stripped_chunk_of_blanks_alone_is_no_reason_to_stop() -> None:
    draft = followed(["one   ", "   ", "two"], ChunkingStrategy("chars", 6, 3))
    assert draft.text == "one   two"


def test_an_overlap_that_begins_a_little_beside_the_clock_is_taken() -> None:
    draft = followed([TEXT[:20], TEXT[12:30]], ChunkingStrategy("chars", 20, 10))
    assert draft.text == TEXT[:30]
    assert draft.seams == [Seam(1, 12, 8, "exact", "border")]


def test_an_overlap_two_strides_on_shows_that_a_chunk_is_missing() -> None:
    draft = followed([TEXT[:60], TEXT[40:80]], ChunkingStrategy("chars", 60, 40))
    assert draft.text == TEXT[:80]
    assert draft.seams == [Seam(1, 40, 20, "exact", "border", missing=1)]


def test_of_several_overlaps_beside_the_clock_the_nearest_wins() -> None:
    row = "0123456789abcdefghij"
    draft = followed(["x" + row * 3, row * 3], ChunkingStrategy("chars", 61, 23))
    assert draft.seams == [Seam(1, 41, 20, "exact", "border")]


def test_where_windows_may_touch_chunks_that_share_nothing_are_put_end_to_end() -> None:
    draft = followed([TEXT[:20], TEXT[20:40]], ChunkingStrategy("chars", 20, 10))
    assert draft.text == TEXT[:40]
    assert draft.seams == [Seam(1, 20, 0, "assumed", "touch", missing=1)]
    in_words = followed([words(0, 6), words(6, 12)], ChunkingStrategy("words", 6, 3))
    assert in_words.text == words(0, 12)


def test_where_windows_cannot_touch_a_newline_stands_for_what_is_missing() -> None:
    draft = followed([words(0, 4), words(7, 11)], ChunkingStrategy("words", 4, 1))
    assert draft.text == words(0, 4) + "\n" + words(7, 11)
    assert draft.seams == [Seam(1, 20, 0, "none", "newline", missing=1)]


def test_with_no_overlap_chunks_are_put_end_to_end() -> None:
    draft = followed(["one tw", "o thre", "e"], ChunkingStrategy("chars", 6, 0))
    assert draft.text == "one two three"
    assert {seam.confidence for seam in draft.seams} == {"assumed"}


def test_words_that_do_not_overlap_stand_apart_unless_they_do_already() -> None:
    draft = followed(["one", "two ", "three", "\nfour"], ChunkingStrategy("words", 1, 0))
    assert draft.text == "one two three\nfour"


def test_a_character_that_windows_without_overlap_cut_is_lossy() -> None:
    draft = followed(["a�", "�b"], ChunkingStrategy("tokens", 3, 0))
    assert draft.text == "a�b"
    assert draft.seams[0].confidence == "lossy"


@pytest.mark.parametrize("name", ["cjk-6000", "emoji-6000", "replacement-6000", "spaces-6000"])
@pytest.mark.parametrize(("size", "overlap"), [(100, 50), (64, 16), (30, 20)])
def test_characters_that_windows_cut_come_back_whole(name: str, size: int, overlap: int) -> None:
    chunker = foreign.tokens(size, overlap)
    assert chunker.strategy is not None
    draft = followed(chunker.cut(GENERATED[name]), chunker.strategy)
    assert draft.text == GENERATED[name]


def test_a_text_that_gives_the_same_chunks_again_is_confirmed() -> None:
    strategy = ChunkingStrategy("chars", 20, 5)
    chunks = [TEXT[at : at + 20] for at in range(0, 75, 15)]
    draft = followed(chunks, strategy)
    assert recuts(draft.text, chunks, ruler_for(strategy), draft.seams)
    assert not recuts(draft.text + "!", [*chunks[:-1], "else"], ruler_for(strategy), draft.seams)
    assert not recuts(draft.text[:40], chunks, ruler_for(strategy), draft.seams)


def test_chunks_known_to_be_missing_are_passed_over_when_the_text_is_cut_again() -> None:
    strategy = ChunkingStrategy("chars", 20, 10)
    chunks = [TEXT[:20], TEXT[20:40], TEXT[30:50]]
    draft = followed(chunks, strategy)
    assert draft.text == TEXT[:50]
    assert recuts(draft.text, chunks, ruler_for(strategy), draft.seams)
    whole = [Seam(seam.index, seam.start, 0, "exact", "clock") for seam in draft.seams]
    assert not recuts(draft.text, chunks, ruler_for(strategy), whole)


def test_white_space_at_the_edges_of_chunks_is_let_be_where_asked_and_for_words() -> None:
    strategy = ChunkingStrategy("chars", 14, 7)
    chunks = ["one two  three", "three four"]
    draft = followed(chunks, strategy)
    assert not recuts(draft.text, chunks, ruler_for(strategy), draft.seams)
    assert recuts(draft.text, chunks, ruler_for(strategy), draft.seams, stripped=True)
    in_words = ChunkingStrategy("words", 2, 1)
    padded = [" one two", "two three\n"]
    draft = followed(padded, in_words)
    assert recuts(draft.text, padded, ruler_for(in_words), draft.seams)
