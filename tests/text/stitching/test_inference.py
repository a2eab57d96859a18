"""The joints that are certain show the strategy; where none is, habit proposes some."""

import pytest

import corpus
import foreign
from unchunk.domain import ChunkingStrategy
from unchunk.text.stitching.inference import habits, is_round, leanings, votes
from unchunk.text.stitching.likeness import compare
from unchunk.text.tokens import get_encoding

GENERATED = dict(corpus.generated())
PROSE = GENERATED["words-6000"]
OVERLAPPING = [
    foreign.tokens(200, 50),
    foreign.tokens(128, 64),
    foreign.words(60, 15),
    foreign.chars(300, 60),
]
TOUCHING = [foreign.tokens(200, 0), foreign.words(60, 0), foreign.chars(300, 0)]


def voted(chunks: list[str]) -> list[tuple[ChunkingStrategy, int]]:
    return votes(chunks, compare(chunks)).most_common()


@pytest.mark.parametrize("chunker", OVERLAPPING, ids=lambda chunker: chunker.name)
def test_every_joint_speaks_for_the_strategy_that_made_it(chunker: foreign.Chunker) -> None:
    chunks = chunker.cut(PROSE)
    assert voted(chunks) == [(chunker.strategy, len(chunks) - 1)]


@pytest.mark.parametrize("name", ["cjk-6000", "emoji-6000", "replacement-6000"])
def test_characters_that_were_cut_do_not_hide_the_strategy(name: str) -> None:
    chunker = foreign.tokens(200, 50)
    assert voted(chunker.cut(GENERATED[name]))[0][0] == chunker.strategy


def test_the_newer_encoding_is_recognised() -> None:
    encoding = get_encoding("o200k_base")
    ids = encoding.encode(GENERATED["cjk-6000"])
    chunks = [encoding.decode(ids[at : at + 200]) for at in range(0, len(ids) - 50, 150)]
    assert voted(chunks)[0][0] == ChunkingStrategy("tokens", 200, 50, "o200k_base")


@pytest.mark.parametrize("chunker", TOUCHING, ids=lambda chunker: chunker.name)
def test_chunks_of_one_size_that_share_nothing_have_no_overlap(chunker: foreign.Chunker) -> None:
    chunks = chunker.cut(PROSE)
    assert voted(chunks)[0] == (chunker.strategy, len(chunks) - 1)


@pytest.mark.parametrize("start", range(0, 700, 100))
@pytest.mark.parametrize("size", [40, 100])
def test_three_windows_of_words_are_no_windows_of_about_as_many_tokens(
    start: int, size: int
) -> None:
    words = PROSE.split()[start:]
    chunks = [" ".join(words[at * size : at * size + size]) for at in range(3)]
    assert voted(chunks) == [(ChunkingStrategy("words", size, 0), 2)]


def test_chunks_of_many_sizes_that_share_nothing_show_nothing() -> None:
    words = PROSE.split()
    chunks = [" ".join(words[at * at : at * at + at]) for at in range(3, 12)]
    assert voted(chunks) == []


@pytest.mark.parametrize(
    "chunks",
    [
        ["alpha beta gamma delta", "epsilon zeta eta theta", "iota kappa"],
        ["First para.", "Third para.", "Fifth para."],
        [f"In row {at} of the long table stands the number {at} alone." for at in range(9)],
        [PROSE[:300].strip(), PROSE[300:500].strip()],
    ],
    ids=["words", "paragraphs", "sentences of one length", "two chunks"],
)
def test_lengths_that_fit_by_chance_show_no_strategy(chunks: list[str]) -> None:
    assert voted(chunks) == []
    assert compare(chunks).text == "\n".join(chunks)


def test_three_windows_of_characters_or_two_with_their_white_space_show_no_overlap() -> None:
    chunks = [PROSE[:100], PROSE[100:200], PROSE[200:260]]
    assert not voted(chunks)[0][0].overlap
    cut = PROSE.index(" ", 300)
    assert not voted([PROSE[:cut], PROSE[cut : cut + 90]])[0][0].overlap


def test_a_last_chunk_longer_than_the_others_shows_that_they_have_no_size() -> None:
    chunks = [PROSE[:100], PROSE[100:200], PROSE[200:900]]
    assert voted(chunks) == []
    assert list(habits(chunks)) == []


def test_joints_that_share_as_much_as_chance_would_have_it_show_nothing() -> None:
    spans = [(0, 200), (150, 400), (310, 700), (690, 900), (800, 1300), (1210, 1500)]
    assert voted([PROSE[start:end] for start, end in spans]) == []


def test_what_no_encoding_can_hold_may_still_be_words_or_characters() -> None:
    text = PROSE.replace("e", "\ud800")
    in_words, in_chars = foreign.words(60, 15), foreign.chars(300, 60)
    assert voted(in_words.cut(text))[0][0] == in_words.strategy
    assert voted(in_chars.cut(text))[0][0] == in_chars.strategy
    assert {one.unit for one in habits(in_chars.cut(text))} == {"chars"}
    assert voted(foreign.chars(300, 0).cut(text))[0][0] == ChunkingStrategy("chars", 300, 0)


def test_joints_with_one_long_overlap_and_others_that_may_be_chance_lean_to_a_strategy() -> None:
    chunker = foreign.tokens(137, 34)
    chunks = chunker.cut(GENERATED["blank-lines-6000"])
    assert voted(chunks) == []
    assert list(leanings(chunks, compare(chunks))) == [chunker.strategy]


def test_chunks_that_share_nothing_lean_to_nothing() -> None:
    chunks = foreign.words(60, 0).cut(PROSE)
    assert list(leanings(chunks, compare(chunks))) == []


def test_habit_proposes_half_an_eighth_and_a_quarter_of_the_size_first() -> None:
    proposed = list(habits(foreign.tokens(800, 100).cut(PROSE * 3)))
    assert [str(one) for one in proposed[:3]] == [
        "800/400 tokens",
        "800/100 tokens",
        "800/200 tokens",
    ]
    assert len(proposed) == len(set(proposed))
    assert all(0 < one.overlap < one.size for one in proposed)


@pytest.mark.parametrize("chunker", OVERLAPPING, ids=lambda chunker: chunker.name)
def test_habit_proposes_what_people_use(chunker: foreign.Chunker) -> None:
    assert chunker.strategy in list(habits(chunker.cut(PROSE)))


@pytest.mark.parametrize(
    ("size", "overlap", "is_so"),
    [(800, 400, True), (512, 64, True), (320, 80, True), (1000, 200, True), (799, 400, False),
     (800, 401, False), (137, 12, False), (300, 0, True)],
)  # fmt: skip
def test_numbers_that_a_person_would_choose_are_round(size: int, overlap: int, is_so: bool) -> None:
    assert is_round(ChunkingStrategy("tokens", size, overlap)) is is_so
