"""Texts into chunks that know where they stand and that the embedder reads whole."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.domain import Chunking, ChunkingStrategy, Extracted, Heading, Span
from unchunk.library.layout import embedded_text, lay_out
from unchunk.text.chunking import uncovered

CHUNKING = Chunking(ChunkingStrategy("chars", 100, 20), "boundary")


def by_bytes(texts: Sequence[str]) -> list[int]:
    return [len(text.encode()) for text in texts]


@given(st.text(max_size=2000), st.integers(8, 300))
def test_chunks_tile_the_text_and_none_is_more_than_the_embedder_reads(
    text: str, limit: int
) -> None:
    chunks = lay_out(Extracted(text, "text/plain"), CHUNKING, by_bytes, limit)
    spans = [Span(chunk.start, chunk.end) for chunk in chunks]
    assert "".join(span.of(text) for span in uncovered(spans)) == text
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    assert all(len(span.of(text).encode()) <= limit for span in spans)


def test_a_chunk_that_is_too_long_is_parted_behind_white_space() -> None:
    text = "one two three four five six seven eight nine ten"
    chunks = lay_out(Extracted(text, "text/plain"), CHUNKING, by_bytes, 30)
    parts = [text[chunk.start : chunk.end] for chunk in chunks]
    assert parts == ["one two three four five ", "six seven eight nine ten"]


def test_a_chunk_knows_the_pages_that_it_has_visible_text_on() -> None:
    pages = ["First page. " * 5, "\n\nSecond page. " * 5, "\n\nThird."]
    text = "".join(pages)
    starts = (0, len(pages[0]), len(pages[0]) + len(pages[1]))
    chunks = lay_out(Extracted(text, "application/pdf", starts), CHUNKING, by_bytes, 500)
    assert chunks[0].first_page == 1
    assert chunks[-1].last_page == 3
    for chunk in chunks:
        assert chunk.first_page is not None
        assert chunk.last_page is not None
        visible = text[chunk.start : chunk.end].strip()
        assert ("First" in visible) <= (chunk.first_page == 1)
        assert ("Third" in visible) == (chunk.last_page == 3)


def test_a_text_without_pages_has_none() -> None:
    [chunk] = lay_out(Extracted("short", "text/plain"), CHUNKING, by_bytes, 500)
    assert (chunk.first_page, chunk.last_page) == (None, None)


def test_a_chunk_knows_the_headings_that_it_stands_under() -> None:
    text = "Title\nintro\nPart one\n" + "words " * 30 + "\nPart two\nend"
    headings = (
        Heading(0, 1, "Title"),
        Heading(text.index("Part one"), 2, "Part one"),
        Heading(text.index("Part two"), 2, "Part two"),
    )
    chunks = lay_out(Extracted(text, "text/plain", (), headings), CHUNKING, by_bytes, 500)
    assert chunks[0].heading_path == ("Title",)
    assert chunks[1].heading_path == ("Title", "Part one")


def test_markdown_is_cut_at_its_headings_and_other_text_is_not() -> None:
    text = "# One\n\nfirst\n\n# Two\n\nsecond\n"
    chunking = Chunking(ChunkingStrategy("chars", 1000, 100), "markdown")
    paths = {
        kind: [one.heading_path for one in lay_out(Extracted(text, kind), chunking, by_bytes, 999)]
        for kind in ("text/markdown", "text/plain")
    }
    assert paths == {"text/markdown": [("One",), ("Two",)], "text/plain": [()]}


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_a_text_without_words_embeds_as_nothing(text: str) -> None:
    for chunk in lay_out(Extracted(text, "text/plain"), CHUNKING, by_bytes, 500):
        assert not embedded_text(text, chunk)


def test_what_is_embedded_has_single_blanks() -> None:
    text = "  one\r\n\r\ntwo\t three "
    [chunk] = lay_out(Extracted(text, "text/plain"), CHUNKING, by_bytes, 500)
    assert embedded_text(text, chunk) == "one two three"
