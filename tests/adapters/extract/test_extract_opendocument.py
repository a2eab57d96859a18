"""OpenDocument texts, presentations and spreadsheets."""

import pytest

from adapters.extract import making
from adapters.extract.conftest import Read
from unchunk.adapters.extract.limits import Limits
from unchunk.domain import Heading
from unchunk.errors import ExtractionError


def text(body: str, more: making.Parts | None = None) -> bytes:
    return making.opendocument("text", f"<office:text>{body}</office:text>", more)


def test_a_text_with_headings_lists_and_white_space(read: Read) -> None:
    body = (
        '<text:h text:outline-level="2">A  heading</text:h><text:h>Another</text:h>'
        "<text:p>one\n   line<text:s text:c='3'/>x<text:tab/>y<text:line-break/>z</text:p>"
        "<text:list><text:list-item><text:p>item</text:p><text:list><text:list-item>"
        "<text:p>below</text:p></text:list-item></text:list></text:list-item></text:list>"
    )
    meta = '<m xmlns:dc="dc"><dc:title>The title</dc:title></m>'
    found = read(text(body, {"meta.xml": meta}), "a.odt")
    assert found.text == "## A heading\n\n# Another\n\none line   x\ty\nz\n\n- item\n  - below"
    assert found.headings == (Heading(0, 2, "A heading"), Heading(14, 1, "Another"))
    assert found.title == "The title"


def test_notes_stand_at_the_end_and_deleted_text_is_gone(read: Read) -> None:
    body = (
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        "<text:p>Said<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>Why.</text:p></text:note-body></text:note> so"
        "<office:annotation><text:p>hm</text:p></office:annotation>.</text:p>"
        "<text:p>Odd<text:note/></text:p>"
    )
    assert read(text(body), "a.odt").text == "Said[^1] so.\n\nOdd[^]\n\n[^1]: Why.\n\n[^]:"


def test_tables_repeat_cells_and_rows_only_as_far_as_they_say_something(read: Read) -> None:
    body = (
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p><text:p>b</text:p>"
        "</table:table-cell><table:covered-table-cell/><table:table-cell>"
        "<table:table><table:table-row><table:table-cell><text:p>in</text:p></table:table-cell>"
        "</table:table-row></table:table></table:table-cell>"
        "<table:table-cell table:number-columns-repeated='16000'/></table:table-row>"
        "<table:table-row table:number-rows-repeated='2'>"
        "<table:table-cell table:number-columns-repeated='2'><text:p>x</text:p></table:table-cell>"
        "</table:table-row><table:table-row table:number-rows-repeated='1048576'>"
        "<table:table-cell/></table:table-row></table:table>"
    )
    assert read(text(body), "a.odt").text == (
        "| a b |  | in |\n| --- | --- | --- |\n| x | x | |\n| x | x | |"
    )


def test_a_spreadsheet_shows_what_its_program_showed(read: Read) -> None:
    body = (
        "<office:spreadsheet><table:table table:name='Kosten'><table:table-row>"
        "<table:table-cell office:value='0.5'><text:p>50 %</text:p></table:table-cell>"
        "<table:table-cell office:value='3'/></table:table-row></table:table>"
        "<table:table table:name='Leer'/></office:spreadsheet>"
    )
    found = read(making.opendocument("spreadsheet", body), "a.ods")
    assert found.text == "# Kosten\n\n50 %\t3"
    assert found.pages == (0, len(found.text))


def test_a_presentation_has_pages(read: Read) -> None:
    frame = "<draw:frame presentation:class='{}'><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    first = frame.format("title", "Welcome") + frame.format("outline", "Words")
    first += frame.format("footer", "gone") + "<svg:desc>a picture</svg:desc>"
    first += f"<presentation:notes>{frame.format('notes', 'Say hello')}</presentation:notes>"
    body = f"<office:presentation><draw:page>{first}</draw:page><draw:page/></office:presentation>"
    found = read(making.opendocument("presentation", body), "a.odp")
    assert found.text == "# Welcome\n\nWords\n\nNotes: Say hello"
    assert found.pages == (0, len(found.text))


def test_an_encrypted_text_is_refused(read: Read) -> None:
    manifest = "<m><file-entry><encryption-data/></file-entry></m>"
    with pytest.raises(ExtractionError) as refused:
        read(text("<text:p>x</text:p>", {"META-INF/manifest.xml": manifest}), "a.odt")
    assert refused.value.code == "encrypted"


def test_numbers_made_to_do_harm_do_none(read: Read) -> None:
    body = (
        "<text:p>a<text:s text:c='999999999999'/>b<text:s text:c='99999999'/>c</text:p>"
        "<table:table><table:table-row table:number-rows-repeated='99999999'>"
        "<table:table-cell table:number-columns-repeated='99999999'><text:p>x</text:p>"
        "</table:table-cell></table:table-row></table:table>"
    )
    assert len(read(text(body), "a.odt").text) < 1_000_000
    with pytest.raises(ExtractionError) as refused:
        read(text(body), "a.odt", Limits(max_text=100_000))
    assert refused.value.code == "too-big"
