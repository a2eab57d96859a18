"""Presentations: slides as pages, titles as headings."""

from adapters.extract import making
from adapters.extract.conftest import Read
from adapters.extract.making import shape
from unchunk.domain import Heading


def test_slides_come_in_their_order_with_titles_first(read: Read) -> None:
    found = read(
        making.pptx(
            [
                shape("A text box") + shape("First", placeholder="title"),
                "",
                shape("Third", placeholder="ctrTitle") + shape("one", "two", placeholder="body"),
            ]
        ),
        "a.pptx",
    )
    assert found.text == "# First\n\nA text box\n\n# Third\n\n- one\n- two"
    assert found.pages == (0, 21, 21)
    assert found.headings == (Heading(0, 1, "First"), Heading(21, 1, "Third"))


def test_levels_are_indented_and_furniture_is_left_out(read: Read) -> None:
    slide = (
        shape("deep", placeholder="body", level=2)
        + shape("12 May", placeholder="dt")
        + shape("7", placeholder="sldNum")
        + shape("Confidential", placeholder="ftr")
        + "<mc:AlternateContent><mc:Choice>"
        + shape("chosen")
        + "</mc:Choice><mc:Fallback>"
        + shape("twice")
        + "</mc:Fallback></mc:AlternateContent>"
        + "<p:sp><a:p><a:pPr lvl='x'/><a:r><a:t>a</a:t></a:r><a:br/><a:r><a:t>b</a:t></a:r></a:p></p:sp>"
    )
    assert read(making.pptx([slide]), "a.pptx").text == "    - deep\n\nchosen\n\na\nb"


def test_tables_notes_diagrams_and_charts(read: Read) -> None:
    cell = "<a:tc><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:tc>"
    rows = "".join(
        f"<a:tr>{cell.format(left)}{cell.format(right)}</a:tr>" for left, right in ("ab", "12")
    )
    slide = f"<p:graphicFrame><a:tbl>{rows}</a:tbl></p:graphicFrame><a:tr/>"
    notes = making.pptx_part(
        "notes",
        shape("Say this", "", "and that", placeholder="body") + shape("7", placeholder="sldNum"),
    )
    diagram = '<d xmlns:a="a"><pt><a:p><a:t>Step</a:t></a:p></pt></d>'
    chart = "<c><ser><tx><v>N</v></tx><val><pt idx='0'><v>4</v></pt></val></ser></c>"
    found = read(
        making.pptx(
            [slide],
            {"ppt/notes.xml": notes, "ppt/data.xml": diagram, "ppt/chart.xml": chart},
            {
                0: making.relationships(
                    ("n", "notesSlide", "../notes.xml"),
                    ("d", "diagramData", "../data.xml"),
                    ("c", "chart", "../chart.xml"),
                    ("x", "chart", "../missing.xml"),
                )
            },
        ),
        "a.pptx",
    )
    assert found.text == (
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nStep\n\nChart:\n\n"
        "|  | N |\n| --- | --- |\n|  | 4 |\n\nNotes:\nSay this\nand that"
    )
