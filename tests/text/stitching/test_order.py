"""Chunks are put in the order of the text where their overlaps tell it, and else let be."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpus
import foreign
from unchunk.text.stitching.order import chain

PROSE = dict(corpus.generated())["words-15000"]
CHUNKS = foreign.chars(500, 100).cut(PROSE)


@given(st.permutations(range(len(CHUNKS))))
@settings(max_examples=50, deadline=None)
def test_shuffled_chunks_are_put_in_the_order_of_the_text(order: list[int]) -> None:
    shuffled = [CHUNKS[at] for at in order]
    assert [shuffled[at] for at in chain(shuffled)] == CHUNKS


@pytest.mark.parametrize("name", ["cjk-6000", "emoji-6000", "words-6000", "base64-6000"])
def test_characters_that_were_cut_do_not_hide_the_order(name: str) -> None:
    chunks = foreign.tokens(200, 100).cut(dict(corpus.generated())[name])
    shuffled = list(chunks)
    random.Random(1).shuffle(shuffled)
    assert [shuffled[at] for at in chain(shuffled)] == chunks


def test_chunks_in_order_stay_so() -> None:
    assert chain(CHUNKS) == list(range(len(CHUNKS)))


@pytest.mark.parametrize("chunks", [[], ["one"], ["one", "two", "three"], ["", "", ""]])
def test_chunks_that_share_nothing_stay_as_they_came(chunks: list[str]) -> None:
    assert chain(chunks) == list(range(len(chunks)))


def test_chains_that_nothing_links_stay_in_the_order_of_their_first_chunks() -> None:
    first, second = CHUNKS[:3], CHUNKS[10:13]
    mixed = [second[0], first[2], first[0], second[2], first[1], second[1]]
    assert [mixed[at] for at in chain(mixed)] == second + first


def test_chunks_too_short_to_tell_go_last() -> None:
    mixed = ["short", CHUNKS[1], CHUNKS[0]]
    assert chain(mixed) == [2, 1, 0]


def test_where_many_chunks_begin_alike_their_order_is_not_read_from_that() -> None:
    row = "2024-01-01 the request was served in 12 ms\n"
    assert chain([row * 3] * 9) == list(range(9))


def test_chunks_of_one_letter_stay_as_they_came() -> None:
    assert chain(["a" * 50_000, "a" * 40_000, "a" * 30_000]) == [0, 1, 2]


def test_two_followers_that_share_the_same_leave_the_order_open() -> None:
    shared = CHUNKS[0][-100:]
    assert chain([shared + " and this", CHUNKS[0], shared + " or that"]) == [0, 1, 2]


def test_the_follower_that_shares_more_is_the_one() -> None:
    longer, shorter = CHUNKS[0][-200:], CHUNKS[0][-60:]
    mixed = [shorter + " the less likely end", longer + " the likelier end", CHUNKS[0]]
    assert chain(mixed) == [0, 2, 1]


def test_a_ring_has_no_beginning_and_stays_as_it_came() -> None:
    a, b, c = PROSE[:200], PROSE[1000:1200], PROSE[2000:2200]
    assert chain([b + c, a + b, c + a]) == [0, 1, 2]
