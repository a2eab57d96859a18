"""One file is solved under a strategy or without, in the order that mends its joints."""

import random

import pytest

import corpus
import foreign
from unchunk.domain import ChunkingStrategy
from unchunk.text.stitching.solution import may_be_under, under, without

PROSE = dict(corpus.generated())["words-6000"]
CHARS = ChunkingStrategy("chars", 300, 100)
CHUNKS = foreign.chars(300, 100).cut(PROSE)


def shuffled(chunks: list[str]) -> list[str]:
    others = list(chunks)
    random.Random(7).shuffle(others)
    return others


def test_the_right_strategy_gives_the_chunks_again() -> None:
    solution = under(CHUNKS, CHARS)
    assert solution.draft.text == PROSE
    assert solution.check == "same"
    assert solution.strategy == CHARS
    assert solution.broken == 0
    assert not solution.has_gaps


def test_stripped_chunks_are_given_again_but_for_their_edges() -> None:
    solution = under([chunk.strip() for chunk in CHUNKS], CHARS)
    assert solution.draft.text == PROSE.strip()
    assert solution.check == "stripped"


@pytest.mark.parametrize(
    "strategy",
    [
        ChunkingStrategy("chars", 300, 90),
        ChunkingStrategy("chars", 280, 100),
        ChunkingStrategy("tokens", 300, 100),
        ChunkingStrategy("words", 300, 100),
    ],
)
def test_a_wrong_strategy_does_not_give_the_chunks_again(strategy: ChunkingStrategy) -> None:
    assert under(CHUNKS, strategy).check == "no"


def test_chunks_that_came_in_another_order_are_put_in_that_of_the_text() -> None:
    mixed = shuffled(CHUNKS)
    for solution in (under(mixed, CHARS), without(mixed)):
        assert solution.draft.text == PROSE
        assert list(solution.chunks) == CHUNKS
        assert [mixed[at] for at in solution.order] == CHUNKS


def test_without_overlap_the_order_given_stands() -> None:
    pieces = [PROSE[at : at + 300] for at in range(0, 3000, 300)]
    solution = under(pieces[::-1], ChunkingStrategy("chars", 300, 0))
    assert solution.order == tuple(range(10))
    assert solution.draft.text == "".join(pieces[::-1])


def test_an_order_that_mends_too_few_joints_is_not_taken() -> None:
    apart = [PROSE[at : at + 100] for at in range(0, 3000, 300)]
    mixed = [PROSE[3050:3250], *apart, PROSE[3000:3100]]
    assert without(mixed).order == tuple(range(len(mixed)))


def test_an_order_that_puts_a_much_longer_chunk_last_is_not_taken() -> None:
    mixed = [PROSE[100:200], PROSE[180:1000], PROSE[:120]]
    assert without(mixed).order == (0, 1, 2)


def test_a_missing_chunk_breaks_one_joint_and_leaves_the_rest_on_the_clock() -> None:
    solution = under(CHUNKS[:4] + CHUNKS[5:], CHARS)
    assert solution.broken == 1
    assert solution.has_gaps
    assert [seam.missing for seam in solution.draft.seams if seam.missing] == [1]


def test_a_look_at_the_first_joints_tells_whether_a_strategy_may_be_meant() -> None:
    assert may_be_under(CHUNKS, CHARS)
    assert not may_be_under(CHUNKS, ChunkingStrategy("chars", 300, 90))
    assert may_be_under(CHUNKS[:3] + CHUNKS[5:], CHARS) is False
    assert may_be_under(["one", "two"], ChunkingStrategy("chars", 3, 0))


def test_without_a_strategy_nothing_is_checked() -> None:
    solution = without(CHUNKS)
    assert solution.draft.text == PROSE
    assert solution.strategy is None
    assert solution.check == "no"


@pytest.mark.parametrize("seed", range(3))
def test_chunks_that_are_missing_show_where_characters_are_cut_in_two(seed: int) -> None:
    rng = random.Random(seed)
    letters = [chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(3000)]
    strategy = ChunkingStrategy("tokens", 100, 50)
    chunks = foreign.tokens(100, 50).cut("".join(rng.choice(letters) for _ in range(1500)))
    for gone in range(10, 30):
        solution = under(chunks[:gone] + chunks[gone + 1 :], strategy)
        assert solution.holds
        assert sum(seam.missing for seam in solution.draft.seams) == 1
