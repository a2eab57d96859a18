"""Chunks as stores give them: shuffled, with holes, with half characters, of a known size."""

import random
from dataclasses import replace
from typing import Any

import pytest

from foreign import tokens
from recovery.vector_stores import prose
from unchunk import ChunkingStrategy, Stitched
from unchunk.errors import InvalidTextError
from unchunk.ports import LostChunks, LostFile
from unchunk.recovery.joining import Fetched, joined, joined_literally

TEXT = prose(900, 3)
HALF = ChunkingStrategy("tokens", 200, 100)
CHUNKS = tuple(tokens(200, 100).cut(TEXT))
FILE = LostFile("file-1", "a.md", size=len(TEXT.encode()))


def one(
    texts: tuple[str, ...] = CHUNKS,
    file: LostFile = FILE,
    strategy: ChunkingStrategy | None = HALF,
    **more: Any,  # noqa: ANN401 - whatever chunks have
) -> Stitched:
    [found] = joined([Fetched(file, LostChunks(texts, **more), strategy)])
    assert isinstance(found, Stitched)
    return found


def test_chunks_that_were_shuffled_are_put_in_order() -> None:
    order = random.Random(1).sample(range(len(CHUNKS)), len(CHUNKS))
    found = one(tuple(CHUNKS[at] for at in order))
    assert found.text == TEXT
    assert [order[at] for at in found.order] == list(range(len(CHUNKS)))
    assert "the chunks were not in the order of the text and were put so" in found.notes


@pytest.mark.parametrize("lost", ["the first", "the last"])
def test_an_end_that_is_missing_shows_in_the_size(lost: str) -> None:
    # Lines of one length, so that nothing shows in a chunk that another was before it.
    lines = [f"Line {at}, {prose(9, at)}"[:99].replace("\n", " ").ljust(99) for at in range(90)]
    text = "".join(f"{line}\n" for line in lines[:-1]) + "\n\n The end.\n"
    chunks = tuple(text[at : at + 200] for at in range(0, len(text), 100))
    texts = chunks[2:] if lost == "the first" else chunks[:-2]
    strategy = ChunkingStrategy("chars", 200, 100)
    file = replace(FILE, size=len(text))
    assert one(chunks, file, strategy).text == text
    assert one(chunks, file, strategy).confidence == "verified"
    found = one(texts, file, strategy)
    assert found.confidence == "ambiguous"
    note = f"the store says that the file had {len(text):,} bytes: {len(found.text):,} came back"
    assert note in found.notes
    if lost == "the first":
        # Without a size nothing tells.
        assert one(texts, replace(FILE, size=None), strategy).confidence == "verified"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_a_size_in_any_usual_encoding_is_the_files(encoding: str) -> None:
    text = TEXT.replace("word1", "wört1")
    file = replace(FILE, size=len(text.encode(encoding)))
    found = one(tuple(tokens(200, 100).cut(text)), file)
    assert (found.text, found.confidence, found.notes) == (text, "verified", ())


def test_that_a_text_begins_as_a_middle_does_is_no_doubt_where_its_size_is_right() -> None:
    text = "and so " + TEXT
    chunks = tuple(tokens(200, 100).cut(text))
    assert one(chunks, replace(FILE, size=len(text.encode()))).confidence == "verified"
    assert one(chunks, replace(FILE, name="a.pdf", size=77)).confidence == "ambiguous"
    assert one(chunks, replace(FILE, size=None)).confidence == "ambiguous"


def test_of_files_that_are_rendered_the_size_says_nothing() -> None:
    for name in ("a.pdf", "a.html", "a", "a."):
        assert one(file=replace(FILE, name=name, size=12)).confidence == "verified"


def test_what_the_store_says_is_missing_makes_it_less_sure() -> None:
    found = one(complete=False, notes=("chunk 7 is not there",))
    assert found.confidence == "ambiguous"
    assert found.notes[-1] == "chunk 7 is not there"


def test_offsets_are_used_where_chunks_carry_them() -> None:
    spans = [(at, at + 300) for at in range(0, len(TEXT), 200)]
    texts = tuple(TEXT[start:end] for start, end in spans)
    found = one(texts, strategy=None, starts=tuple(start for start, _ in spans))
    assert found.text == TEXT
    assert {seam.method for seam in found.seams} == {"offset"}
    wrong = one(texts, strategy=None, starts=tuple(start // 2 for start, _ in spans))
    assert wrong.text == TEXT
    assert "offset" not in {seam.method for seam in wrong.seams}


def test_half_a_character_spoils_no_other_file() -> None:
    broken = (CHUNKS[0][:-5] + "\ud800", *CHUNKS[1:])
    found = joined(
        [
            Fetched(FILE, LostChunks(broken), HALF),
            Fetched(FILE, LostChunks(CHUNKS), HALF),
        ]
    )
    assert isinstance(found[1], Stitched)
    assert found[1].text == TEXT
    if isinstance(found[0], Stitched):
        assert found[0].confidence not in ("verified", "consensus")
    else:
        assert isinstance(found[0], InvalidTextError)


def test_a_file_without_chunks_says_so() -> None:
    found = one(())
    assert (found.text, found.confidence, found.notes) == ("", "none", ("there are no chunks",))


def test_one_overlap_for_all_is_never_sure_of_itself() -> None:
    found = joined_literally(Fetched(FILE, LostChunks(("abcd", "cdef", "efgh")), None), 2)
    assert (found.text, found.confidence) == ("abcdefgh", "none")
    alone = joined_literally(Fetched(FILE, LostChunks(("abcd",)), None), 2)
    assert (alone.text, alone.confidence, alone.notes) == ("abcd", "exact", ())
