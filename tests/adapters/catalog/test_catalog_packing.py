"""What is packed comes out as it went in."""

from hypothesis import example, given
from hypothesis import strategies as st

from unchunk.adapters.catalog.packing import (
    pack_chunks,
    pack_outline,
    unpack_chunks,
    unpack_outline,
    unpack_some,
)
from unchunk.domain import Chunk, Heading

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
PLACES = st.integers(0, 2**50)
PAGES = st.none() | st.integers(1, 2**33)
CHUNKS = st.builds(
    Chunk, PLACES, PLACES, PLACES, PAGES, PAGES, st.lists(ANY_TEXT, max_size=3).map(tuple)
)


@given(st.lists(CHUNKS, max_size=20))
@example([Chunk(0, 0, 2, heading_path=("\ud83d\ude00", "😀", "a\nb"))])
def test_chunks_come_back(chunks: list[Chunk]) -> None:
    assert unpack_chunks(pack_chunks(chunks)) == chunks


@given(st.lists(CHUNKS, max_size=20), st.lists(st.integers(-2, 22)))
def test_some_chunks_are_the_same_as_among_all(chunks: list[Chunk], wanted: list[int]) -> None:
    packed = pack_chunks(chunks)
    every = unpack_chunks(packed)
    there = sorted(set(wanted).intersection(range(len(chunks))))
    assert unpack_some(packed, wanted) == [every[at] for at in there]


@given(
    st.lists(PLACES, max_size=20).map(tuple),
    st.lists(st.builds(Heading, PLACES, st.integers(1, 9), ANY_TEXT), max_size=20).map(tuple),
)
def test_outlines_come_back(pages: tuple[int, ...], headings: tuple[Heading, ...]) -> None:
    assert unpack_outline(pack_outline(pages, headings)) == (pages, headings)


def test_usual_numbers_take_four_bytes() -> None:
    chunks = [Chunk(index, index, index + 9, 1, 2, ("Part",)) for index in range(1000)]
    assert len(pack_chunks(chunks)) < 1000 * 6 * 4 + 100
