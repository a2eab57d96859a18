"""Electronic books: their pages in the order of the spine."""

import pytest

from adapters.extract import making
from adapters.extract.conftest import Read
from unchunk.domain import Heading
from unchunk.errors import ExtractionError

PAGES = {
    "two": '<?xml version="1.0" encoding="utf-8"?><html><head><title/></head><body><h1>Zwei</h1>'
    "<p>Später</p></body></html>",
    "one": "<html><body><h2>Eins</h2></body></html>",
}


def encryption(algorithm: str) -> dict[str, str]:
    part = f'<e><EncryptionMethod Algorithm="{algorithm}"/></e>'
    return {"META-INF/encryption.xml": part}


def test_pages_come_in_the_order_of_the_spine(read: Read) -> None:
    found = read(making.epub(PAGES), "a.epub")
    assert found.text == "# Zwei\n\nSpäter\n\n## Eins"
    assert found.headings == (Heading(0, 1, "Zwei"), Heading(16, 2, "Eins"))
    assert found.title == "A Book"


def test_a_page_that_is_no_text_is_passed_over(read: Read) -> None:
    data = making.epub({"one": PAGES["one"], "odd": "\0\1\2" * 400})
    assert read(data, "a.epub").text == "## Eins"


def test_garbled_fonts_do_no_harm_and_locked_books_are_refused(read: Read) -> None:
    fonts = making.epub(PAGES, encryption("http://www.idpf.org/2008/embedding"))
    assert read(fonts, "a.epub").text
    locked = making.epub(PAGES, encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc"))
    with pytest.raises(ExtractionError) as refused:
        read(locked, "a.epub")
    assert refused.value.code == "encrypted"
