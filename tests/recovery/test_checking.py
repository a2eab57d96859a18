"""A file read back from the disk and held against the chunks that it was made of."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as any_of

from foreign import tokens
from recovery.vector_stores import prose
from unchunk import ChunkingStrategy, stitch
from unchunk.errors import OutputError
from unchunk.recovery.checking import EDGES, SAME, WITHIN, WITHIN_LOOSELY, check

TEXT = prose(900, 7)
HALF = ChunkingStrategy("tokens", 200, 100)
CHUNKS = tokens(200, 100).cut(TEXT)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.md"
    path.write_bytes(TEXT.encode())
    return path


@pytest.mark.parametrize("to_the_last", [False, True], ids=["until all is covered", "to the last"])
def test_the_file_that_was_cut_is_the_same(file: Path, *, to_the_last: bool) -> None:
    assert check(file, tokens(200, 100, to_the_last=to_the_last).cut(TEXT), HALF) == SAME


def test_white_space_at_the_edges_of_chunks_may_be_gone(file: Path) -> None:
    chunks = [chunk.strip() for chunk in CHUNKS]
    assert chunks != CHUNKS
    assert check(file, chunks, HALF) == EDGES


def test_line_ends_are_read_as_they_are(tmp_path: Path) -> None:
    text = prose(300, 1).replace("\n", "\r\n")
    path = tmp_path / "dos.txt"
    path.write_bytes(text.encode())
    assert check(path, tokens(200, 100).cut(text), HALF) == SAME
    path.write_bytes(text.replace("\r\n", "\n").encode())
    assert not check(path, tokens(200, 100).cut(text), HALF).is_same


@given(at=any_of.integers(0, len(TEXT) - 1), new=any_of.sampled_from(["", "x", "\n", " ", "é"]))
def test_one_character_that_differs_is_found(
    tmp_path_factory: pytest.TempPathFactory, at: int, new: str
) -> None:
    changed = TEXT[:at] + new + TEXT[at + 1 :]
    path = tmp_path_factory.mktemp("changed") / "a.md"
    path.write_bytes(changed.encode())
    assert (check(path, CHUNKS, HALF) == SAME) == (changed == TEXT)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TEXT[: len(TEXT) // 2], "differs at chunk"),
        (TEXT + "more", "differs at chunk"),
        (TEXT + prose(200, 9), "differs at chunk"),
        ("", "differs at chunk 0: the file ends before it"),
        ("x" + TEXT, "differs at chunk 0"),
    ],
)
def test_a_file_that_lacks_something_or_has_more_differs(file: Path, text: str, says: str) -> None:
    file.write_bytes(text.encode())
    found = check(file, CHUNKS, HALF)
    assert not found.is_same
    assert found.said.startswith(says)


def test_a_file_that_goes_on_behind_its_last_chunk_differs(file: Path) -> None:
    found = check(file, CHUNKS[:-2], HALF)
    assert not found.is_same
    assert found.said == f"the file goes on behind chunk {len(CHUNKS) - 3}"


@pytest.mark.parametrize("more", [1, 7, 100, 1000])
def test_a_text_that_repeats_itself_is_not_the_same_as_a_longer_one(
    tmp_path: Path, more: int
) -> None:
    path = tmp_path / "a.txt"
    chunks = ["a" * 200] * 5
    strategy = ChunkingStrategy("chars", 200, 100)
    path.write_text("a" * 600)
    assert check(path, chunks, strategy) == SAME
    path.write_text("a" * (600 + more))
    assert not check(path, chunks, strategy).is_same


def test_without_a_strategy_every_chunk_has_to_stand_in_it_in_order(file: Path) -> None:
    assert check(file, CHUNKS, None) == WITHIN
    assert check(file, [CHUNKS[0], *CHUNKS[3:]], HALF, missing=1) == WITHIN
    swapped = [CHUNKS[1], CHUNKS[0], *CHUNKS[2:]]
    assert check(file, swapped, None).said == "chunk 1 does not stand in it where it should"
    changed = [*CHUNKS[:2], CHUNKS[2].replace("word", "Word", 1), *CHUNKS[3:]]
    assert check(file, changed, None).said == "chunk 2 does not stand in it where it should"


def test_without_a_strategy_white_space_and_cut_characters_are_let_be(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"one  two\n\nthree four")
    assert check(path, ["one two", "two three", "four"], None) == WITHIN_LOOSELY
    emoji = "🙂👍🏽" * 60
    path.write_bytes(emoji.encode())
    chunks = tokens(50, 25).cut(emoji)
    assert any("\ufffd" in chunk for chunk in chunks)
    assert check(path, chunks, None) == WITHIN
    assert check(path, chunks, ChunkingStrategy("tokens", 50, 25)) == SAME


def test_what_is_no_text_or_not_there_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    with pytest.raises(OutputError, match=r"cannot read .* back"):
        check(path, CHUNKS, HALF)
    path.write_bytes(b"\xff\xfe")
    assert check(path, CHUNKS, HALF).said.startswith("the file is not valid UTF-8")


@given(text=any_of.text(min_size=1, max_size=3000), size=any_of.integers(4, 60), data=any_of.data())
def test_what_is_called_verified_is_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    size: int,
    data: any_of.DataObject,
) -> None:
    strategy = ChunkingStrategy("tokens", size, data.draw(any_of.integers(0, size // 2)))
    chunks = tokens(strategy.size, strategy.overlap).cut(text)
    stitched = stitch(chunks, strategy, from_start=True)
    path = tmp_path_factory.mktemp("verified") / "a.md"
    path.write_bytes(stitched.text.encode("utf-8", "surrogatepass"))
    ordered = [chunks[at] for at in stitched.order]
    found = check(path, ordered, stitched.strategy, missing=stitched.missing)
    if stitched.confidence == "verified":
        assert stitched.text == text
        assert found == SAME
