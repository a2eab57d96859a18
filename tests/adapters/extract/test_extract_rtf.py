"""Rich text without its richness."""

import pytest

from adapters.extract.conftest import Read
from unchunk.errors import ExtractionError


def test_the_words_are_kept(read: Read) -> None:
    found = read(
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl\f0 Arial;}\f0 Caf\'e9 \b bold\b0\par \u55357?\u56832? \u8364?}",
        "a.rtf",
    )
    assert found.text == "Café bold\n😀 €"


def test_a_rich_text_that_breaks_its_parser_is_damaged(read: Read) -> None:
    with pytest.raises(ExtractionError) as refused:
        read(rb"{\rtf1{\pict\bin x}}", "a.rtf")
    assert refused.value.code == "damaged"
