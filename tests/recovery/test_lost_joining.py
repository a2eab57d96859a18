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
from unchunk.recovery.joining import FIRST, Fetched, joined, joined_literally
from unchunk.text.stitching.verdict import MIDDLE

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
        # Without a size nothing tells, and so much is said.
        unsized = one(texts, replace(FILE, size=None), strategy)
        assert (unsized.confidence, unsized.notes) == ("exact", (FIRST,))


@pytest.mark.parametrize(
    ("encoding", "noted"),
    [
        ("utf-8", ""),
        ("utf-8-sig", "byte order mark"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("latin-1", "one byte for each character"),
    ],
)
def test_a_size_in_another_encoding_is_the_files_and_is_told(encoding: str, noted: str) -> None:
    text = TEXT.replace("word1", "wört1")
    file = replace(FILE, size=len(text.encode(encoding)))
    found = one(tuple(tokens(200, 100).cut(text)), file, from_start=True)
    assert found.text == text
    assert found.confidence == ("normalized" if noted else "verified")
    assert noted in " ".join(found.notes)
    assert len(found.notes) == bool(noted)


def test_a_text_of_more_letters_than_a_byte_has_is_not_of_one_byte_each() -> None:
    text = "\n\n" + "".join(map(chr, range(0x4E00, 0x4F00))) + "\n"
    found = one((text,), replace(FILE, size=len(text)), from_start=True)
    assert found.confidence == "ambiguous"
    assert "came back" in found.notes[-1]


def test_half_of_a_text_is_not_taken_for_all_of_one_in_utf_16() -> None:
    text = "a text of two halves, each as long as the other: the second half of it follows here."
    half = text[len(text) // 2 :]
    assert one((half,), replace(FILE, size=len(text)), None).confidence == "ambiguous"


def test_that_a_text_begins_as_a_middle_does_is_no_doubt_where_its_size_is_right() -> None:
    text = "and so " + TEXT
    chunks = tuple(tokens(200, 100).cut(text))
    assert one(chunks, replace(FILE, size=len(text.encode()))).confidence == "verified"
    assert one(chunks, replace(FILE, name="a.pdf", size=77)).confidence == "ambiguous"
    assert one(chunks, replace(FILE, size=None)).confidence == "ambiguous"


def test_of_files_that_are_rendered_the_size_says_nothing() -> None:
    for name in ("a.pdf", "a.html", "a", "a."):
        file = replace(FILE, name=name, size=12)
        assert one(file=file, from_start=True).confidence == "verified"
        assert one(file=file).confidence == "exact"


def test_a_file_of_which_nothing_shows_where_it_begins_is_at_most_exact() -> None:
    file = replace(FILE, name="a.pdf")
    for strategy in (HALF, None):
        found = one(file=file, strategy=strategy)
        assert (found.text, found.confidence, found.notes) == (TEXT, "exact", (FIRST,))
        assert one(file=file, strategy=strategy, from_start=True).confidence == "verified"
    starts = tuple(TEXT.index(chunk) for chunk in CHUNKS)
    assert FIRST not in one(file=file, strategy=None, starts=starts).notes


@pytest.mark.parametrize("begin", ["\n\n", "    if ", "17,19\n", "2024-01-01 ", "> ", "_of", '", '])
def test_what_begins_as_code_or_tables_or_logs_do_in_the_middle_may_lack_its_beginning(
    begin: str,
) -> None:
    text = begin + TEXT
    chunks = tuple(tokens(200, 100).cut(text))
    found = one(chunks, replace(FILE, name="a.pdf"))
    assert (found.text, found.confidence) == (text, "ambiguous")
    assert found.notes == (MIDDLE,)
    assert one(chunks, replace(FILE, size=len(text.encode()))).confidence == "verified"


@pytest.mark.parametrize("begin", ["# ", "<p>", '"', "* ", "---\n", "// ", "Ä ", "漢字 ", "\ufeff"])
def test_what_begins_as_texts_do_is_let_be(begin: str) -> None:
    found = one(tuple(tokens(200, 100).cut(begin + TEXT)), replace(FILE, name="a.pdf"))
    assert (found.text, found.confidence) == (begin + TEXT, "exact")


def test_what_the_store_says_is_missing_makes_it_less_sure() -> None:
    found = one(complete=False, notes=("chunk 7 is not there",))
    assert found.confidence == "ambiguous"
    assert found.notes == ("chunk 7 is not there", "the store itself says that chunks are missing")


def test_a_size_that_is_right_makes_a_file_sure_whose_white_space_does_not_show() -> None:
    text = "A title\n" + " ".join(TEXT.split())[:5000]
    chunks = tuple(tokens(200, 100).cut(text))
    assert one(chunks, replace(FILE, size=len(text.encode()))).confidence == "verified"
    assert one(chunks, replace(FILE, name="a.pdf")).confidence == "normalized"


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
    told = "the store says that the file had 8,919 bytes"
    assert (found.text, found.confidence) == ("", "none")
    assert found.notes == ("there are no chunks", told)


def test_one_overlap_for_all_is_never_sure_of_itself() -> None:
    found = joined_literally(Fetched(FILE, LostChunks(("abcd", "cdef", "efgh")), None), 2)
    assert isinstance(found, Stitched)
    assert (found.text, found.confidence) == ("abcdefgh", "none")


def test_a_chunk_alone_is_as_sure_by_one_overlap_for_all_as_by_any() -> None:
    for file in (FILE, replace(FILE, name="a.pdf"), replace(FILE, size=len(CHUNKS[0].encode()))):
        for chunk in (CHUNKS[0], CHUNKS[1]):
            fetched = Fetched(file, LostChunks((chunk,)), HALF)
            assert joined_literally(fetched, 2) == joined([fetched])[0]
    found = joined_literally(Fetched(FILE, LostChunks(CHUNKS[1:2]), HALF), 2)
    assert isinstance(found, Stitched)
    assert found.confidence == "ambiguous"
    assert "came back" in " ".join(found.notes)
