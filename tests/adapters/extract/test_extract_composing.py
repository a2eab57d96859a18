"""Text made from parts, and where each part came to stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.adapters.extract.composing import Composition, cleaned, tidy_title
from unchunk.adapters.extract.limits import Limits
from unchunk.domain import Heading
from unchunk.errors import ExtractionError


def test_blocks_stand_apart_and_items_stand_together() -> None:
    out = Composition(Limits())
    out.heading(1, "One\n  title")
    out.paragraph("  A paragraph \r\nof two lines ")
    out.item(0, "first")
    out.item(1, "below\nit")
    out.item(-1, "  ")
    out.paragraph("")
    out.code("x = `1`", "python")
    out.verbatim("\n  kept  in\n   place \n")
    found = out.finish("text/x")
    assert found.text == (
        "# One title\n\nA paragraph \nof two lines\n\n- first\n  - below\n    it\n\n"
        "```python\nx = `1`\n```\n\n  kept  in\n   place"
    )
    assert found.headings == (Heading(0, 1, "One title"),)


def test_a_fence_is_longer_than_those_inside() -> None:
    out = Composition(Limits())
    out.code("```\ninner\n```")
    out.code(" \n")
    assert out.finish("x").text == "````\n```\ninner\n```\n````"


def test_a_table_has_even_rows_and_its_bars_are_escaped() -> None:
    out = Composition(Limits())
    out.table([["a", "b", "c"], ["", "", ""], ["1\n2", "x|y"]])
    assert out.finish("x").text == "| a | b | c |\n| --- | --- | --- |\n| 1 2 | x\\|y | |"


def test_a_table_of_one_column_is_only_a_frame() -> None:
    out = Composition(Limits())
    out.table([["First"], ["Second"]])
    out.table([])
    assert out.finish("x").text == "First\n\nSecond"


def test_pages_begin_where_their_first_part_stands() -> None:
    out = Composition(Limits())
    for text in ("one", "", "three"):
        out.page()
        out.paragraph(text)
    out.page()
    found = out.finish("x")
    assert found.text == "one\n\nthree"
    assert found.pages == (0, 5, 5, 10)


def test_limits_are_kept() -> None:
    out = Composition(Limits(max_text=10, max_pages=2))
    out.page()
    out.page()
    with pytest.raises(ExtractionError) as refused:
        out.page()
    assert refused.value.code == "too-many-pages"
    out.paragraph("123456")
    with pytest.raises(ExtractionError) as refused:
        out.paragraph("789")
    assert refused.value.code == "too-big"


def test_nothing_is_empty() -> None:
    with pytest.raises(ExtractionError) as refused:
        Composition(Limits()).finish("x")
    assert refused.value.code == "empty"


def test_a_heading_without_words_is_none() -> None:
    out = Composition(Limits())
    out.heading(2, " \n ")
    out.heading(12, "deep\u200b")
    found = out.finish("x")
    assert found.text == "###### deep"
    assert found.headings == (Heading(0, 6, "deep"),)


@pytest.mark.parametrize("title", ["Untitled", "PowerPoint Presentation", " (anonymous) ", ""])
def test_titles_that_a_program_puts_there_are_none(title: str) -> None:
    assert not tidy_title(title)
    assert tidy_title("A \n Title\0") == "A Title"


@given(st.text(st.characters(codec=None, categories=None), max_size=200))
def test_clean_text_can_be_encoded_and_keeps_what_shows(text: str) -> None:
    clean = cleaned(text)
    assert clean.encode("utf-8").decode("utf-8") == clean
    assert cleaned(clean) == clean
    assert [c for c in text if c.isalnum()] == [c for c in clean if c.isalnum()]
    assert "\r" not in clean
