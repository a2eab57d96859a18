"""Text as it is: nothing is added, changed or left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.extract.conftest import Read
from unchunk.adapters.extract.limits import Limits
from unchunk.adapters.extract.plain import read as read_plain
from unchunk.adapters.extract.source import Source
from unchunk.domain import Extracted, Heading
from unchunk.errors import ExtractionError


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv", "a.json", "a.xml", "a.log", "a.py", ""])
def test_every_character_is_kept(read: Read, name: str) -> None:
    text = " \r\nüber\t \r\n\r\n\n trailing \x0c😀 \n\n"
    assert read(text, name).text == text
    assert read("\ufeff" + text, name).text == text


def test_markdown_has_headings(read: Read) -> None:
    text = "Intro\n\n## Two\n\n# One #\r\n```\n# code\n```\nThree\n=====\n"
    found = read(text, "readme.md")
    assert found.media_type == "text/markdown"
    assert found.headings == (Heading(7, 2, "Two"), Heading(15, 1, "One"), Heading(39, 1, "Three"))
    assert found.title == "One"
    assert read(text, "readme.txt").headings == ()


def test_a_note_of_the_encoding_is_handed_on(read: Read) -> None:
    found = read("Съешь же ещё этих мягких французских булок".encode("koi8-r"), "a.txt")
    assert found.notes == ("its encoding is not declared and was taken for koi8-r",)


def test_a_text_that_is_too_long_is_refused(read: Read) -> None:
    with pytest.raises(ExtractionError, match="longer than 5 characters") as refused:
        read("123456", "a.txt", Limits(max_text=5))
    assert refused.value.code == "too-big"


@given(st.text(min_size=1))
def test_any_text_comes_out_as_it_went_in(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    source = Source(tmp_path_factory.getbasetemp(), "a", "text/plain", Limits(), text)
    if text.strip(" \t\r\n\f\v\0"):
        assert read_plain(source) == Extracted(text, "text/plain")
