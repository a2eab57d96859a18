"""Chunks into one text: by the places that they came with, or by what they share."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpus
import foreign
from unchunk.domain import ChunkingStrategy
from unchunk.retrieval.joining import Joined, Unplaced, join
from unchunk.retrieval.shelf import Piece
from unchunk.text.chunking import chunk, chunk_text

needs_data = pytest.mark.skipif(not corpus.DATA.exists(), reason=corpus.MISSING)


def joined(
    chunks: Mapping[int, str | Unplaced], strategy: ChunkingStrategy | None = None
) -> Joined:
    unplaced = {
        at: one if isinstance(one, Unplaced) else Unplaced(one) for at, one in chunks.items()
    }
    return join({"d": unplaced}, strategy)["d"]


def merged(pieces: Mapping[int, Piece]) -> list[str]:
    """The texts of what touches, by slicing alone."""
    texts: list[str] = []
    covered = -1
    for _, piece in sorted(pieces.items()):
        start, end = piece.chunk.start, piece.chunk.end
        assert end - start == len(piece.text)
        if start > covered:
            texts.append(piece.text)
        else:
            assert texts[-1].endswith(piece.text[: covered - start])
            texts[-1] += piece.text[covered - start :]
        covered = max(covered, end)
    return texts


def chapters() -> list[str]:
    return [text for name, text in corpus.natural() if name.startswith("chapter_")]


# No deadline: on a busy machine an example may take its time.
@settings(deadline=None)
@given(
    st.text(st.sampled_from("ab \n日é"), min_size=1, max_size=200),
    st.integers(1, 12),
    st.data(),
)
def test_chunks_with_places_are_slices_of_their_text(
    text: str, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    spans = chunk(text, ChunkingStrategy("chars", size, overlap))
    some = data.draw(st.sets(st.sampled_from(range(len(spans))), min_size=1))
    chunks: dict[int, str | Unplaced] = {
        at: Unplaced(spans[at].of(text), spans[at].start, spans[at].end) for at in some
    }
    made = joined(chunks)
    assert made.doubts == ()
    for at, piece in made.pieces.items():
        assert (piece.chunk.start, piece.chunk.end) == spans[at][:2]
        assert piece.text == spans[at].of(text)
    assert all(part in text for part in merged(made.pieces))


@needs_data
def test_chunks_without_places_become_slices_of_a_real_text() -> None:
    for text in chapters()[:60]:
        parts = chunk_text(text)
        picked = {at: part for at, part in enumerate(parts) if at % 5 != 3}
        made = joined({**picked})
        whole = merged(made.pieces)
        assert all(one in text for one in whole), text[:80]
        assert len(whole) == sum(at - 1 not in picked for at in picked)
        assert {at: piece.text for at, piece in made.pieces.items()} == picked
        assert made.doubts == ()


@needs_data
@pytest.mark.parametrize("name", ["recursive", "sentences"])
def test_other_peoples_splitters_are_joined_where_they_overlap(name: str) -> None:
    cutter = foreign.recursive() if name == "recursive" else foreign.sentences()
    for text in chapters()[:8]:
        parts = cutter.cut(text)
        made = joined(dict(enumerate(parts)))
        (whole,) = merged(made.pieces)
        doubtful = {int(one.subject.split()[1]) for one in made.doubts}
        for at in range(len(parts) - 1):
            if at not in doubtful:
                left, right = made.pieces[at].chunk, made.pieces[at + 1].chunk
                # What is guessed to stand behind goes with it.
                assert whole[left.start : right.end].rstrip() in text


@needs_data
def test_runs_that_are_apart_never_touch() -> None:
    parts = chunk_text(max(chapters(), key=len))
    made = joined({at: parts[at] for at in (0, 1, 4, 5, 9)})
    places = [piece.chunk for _, piece in sorted(made.pieces.items())]
    assert places[1].end < places[2].start
    assert places[3].end < places[4].start
    assert len(merged(made.pieces)) == 3


def test_chunks_that_share_nothing_are_put_behind_each_other_and_it_is_said() -> None:
    made = joined({3: "The first ends here.", 4: "Another begins."})
    (whole,) = merged(made.pieces)
    assert whole.split() == ["The", "first", "ends", "here.", "Another", "begins."]
    assert whole.startswith("The first ends here.\n")
    assert made.doubts == (
        ("chunks 3 and 4", "share nothing: what stands between them is a guess"),
    )


def test_what_may_only_touch_does_not_run_into_each_other() -> None:
    chunks = {
        0: "The rope costs 10 euros per metre, they said.",
        1: "Berth 1 of the quay is for yachts only.",
        2: "Berth 2 is for ferries.",
    }
    (whole,) = merged(joined(chunks).pieces)
    assert whole.split("\n") == [*chunks.values()]
    text = (corpus.ROOT / "examples" / "harbour-rules.md").read_text("utf-8")
    windows = {at: text[at * 100 : at * 100 + 100] for at in range(5)}
    (whole,) = merged(joined(windows).pieces)
    assert whole == text[:500]


def test_a_joint_that_may_be_elsewhere_is_named() -> None:
    row = "2024-01-01,ok,100,EUR\n"
    made = joined({0: row * 20, 1: row * 20})
    assert [one for one in made.doubts if one.subject == "chunks 0 and 1"]


@needs_data
def test_the_numbers_of_chunks_count_more_than_the_order_that_overlaps_tell() -> None:
    parts = chunk_text(max(chapters(), key=len))[:6]
    order = [2, 3, 4, 5, 0, 1]
    made = joined({at: parts[other] for at, other in enumerate(order)})
    places = [piece.chunk.start for _, piece in sorted(made.pieces.items())]
    assert places == sorted(places)
    assert any(one.subject == "chunks 3 and 4" for one in made.doubts)
    for at, other in enumerate(order):
        assert made.pieces[at].text.startswith(parts[other])


@needs_data
def test_a_chunk_that_the_stride_shows_to_be_missing_is_named() -> None:
    parts = chunk_text(max(chapters(), key=len))
    numbered = dict(enumerate([*parts[:5], *parts[7:12]]))
    made = joined({**numbered}, ChunkingStrategy("words", 320, 80))
    assert any(one.subject == "chunks 4 and 5" for one in made.doubts)


def test_what_was_said_to_share_nothing_is_no_doubt() -> None:
    words = [f"word{n} " for n in range(40)]
    parts = ["".join(words[at : at + 10]) for at in range(0, 40, 10)]
    made = joined(dict(enumerate(parts)), ChunkingStrategy("words", 10, 0))
    assert merged(made.pieces) == ["".join(words)]
    assert made.doubts == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {0: Unplaced("abcdef", 0, 6), 1: Unplaced("defghi", 3, 8)},  # not as long as its text
        {0: Unplaced("abcdef", 0, 6), 1: Unplaced("xefghi", 3, 9)},  # another text
        {0: Unplaced("abcdef", 5, 11), 1: Unplaced("defghi", 3, 9)},  # before its neighbour
        {0: Unplaced("abcdef", 0, 6), 1: Unplaced("de", 3, 5)},  # ends within it
        {0: Unplaced("abcdef", 0, 6), 1: Unplaced("ghi", 8, 11)},  # something is lost between
        {0: Unplaced("abcdef", 0, 6), 1: Unplaced("defghi")},  # only one has a place
    ],
)
def test_places_that_cannot_be_are_not_believed(wrong: dict[int, Unplaced]) -> None:
    made = joined({**wrong})
    assert len(made.doubts) == 1
    assert [piece.text.rstrip() for piece in made.pieces.values()] == [
        one.text for one in wrong.values()
    ]


def test_a_page_comes_along() -> None:
    for chunks in ({2: Unplaced("abc", 5, 8, 7)}, {2: Unplaced("abc", page=7)}):
        (piece,) = joined({**chunks}).pieces.values()
        assert piece.chunk.first_page == piece.chunk.last_page == 7


def test_nothing_is_joined_to_nothing() -> None:
    assert join({}) == {}
