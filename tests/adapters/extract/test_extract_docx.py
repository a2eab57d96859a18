"""Word documents: what is kept of them, and how it is written."""

from adapters.extract import making
from adapters.extract.conftest import Read
from adapters.extract.making import paragraph, w
from unchunk.domain import Heading

STYLES = making.styles(
    ("berschrift1", "heading 1", ""),
    ("Kapitel", "Mein Kapitel", w("basedOn", val="berschrift1")),
    ("Nummer2", "Titre 2", ""),
    ("Gliederung", "Eigen", w("pPr", w("outlineLvl", val="2"))),
    ("TOC", "TOC Heading", w("basedOn", val="berschrift1") + w("outlineLvl", val="9")),
    ("Titel", "Title", ""),
    ("Liste", "List Bullet", w("pPr", w("numPr", w("numId", val="3")))),
    ("Ring", "Ring", w("basedOn", val="Gnir")),
    ("Gnir", "Gnir", w("basedOn", val="Ring")),
)


def styled(text: str, style: str) -> str:
    return paragraph(text, w("pStyle", val=style))


def document(body: str, more: making.Parts | None = None) -> bytes:
    return making.docx(body, {"word/styles.xml": STYLES, **(more or {})})


def test_headings_are_found_by_style_whatever_its_language(read: Read) -> None:
    found = read(
        document(
            styled("Alles", "Titel")
            + styled("Eins", "berschrift1")
            + styled("Zwei", "Kapitel")
            + styled("Deux", "Nummer2")
            + styled("Drei", "Gliederung")
            + styled("Inhalt", "TOC")
            + styled("Kreis", "Ring")
            + paragraph("Direkt", w("outlineLvl", val="4"))
            + paragraph("Kein", w("pStyle", val="berschrift1") + w("outlineLvl", val="9"))
            + paragraph("Unsinn", w("outlineLvl", val="x"))
        ),
        "a.docx",
    )
    assert [(heading.level, heading.title) for heading in found.headings] == [
        (1, "Alles"),
        (1, "Eins"),
        (1, "Zwei"),
        (2, "Deux"),
        (3, "Drei"),
        (5, "Direkt"),
    ]
    assert found.text.startswith(
        "# Alles\n\n# Eins\n\n# Zwei\n\n## Deux\n\n### Drei\n\nInhalt\n\nKreis"
    )
    assert found.title == "Alles"


def test_the_properties_give_the_title(read: Read) -> None:
    core = '<c xmlns:dc="dc"><dc:title>From the properties</dc:title></c>'
    found = read(document(styled("Eins", "berschrift1"), {"docProps/core.xml": core}), "a.docx")
    assert found.title == "From the properties"


def test_lists_tabs_and_breaks(read: Read) -> None:
    number = w("numPr", w("ilvl", val="1") + w("numId", val="7"))
    body = (
        styled("one", "Liste")
        + paragraph("two", number)
        + paragraph("none", w("pStyle", val="Liste") + w("numPr", w("numId", val="0")))
        + w("p", w("r", "<w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/>"))
    )
    assert read(document(body), "a.docx").text == "- one\n  - two\n\nnone\n\na\tb\nc\u2011"


def test_tables_become_markdown(read: Read) -> None:
    def row(*cells: str) -> str:
        return w("tr", "".join(w("tc", cell) for cell in cells))

    inner = w("tbl", row(paragraph("inner 1"), paragraph("inner 2")))
    body = w(
        "tbl",
        row(w("tcPr", w("gridSpan", val="2")) + paragraph("wide"), paragraph("c"))
        + row(paragraph("1") + paragraph("2"), inner, paragraph("3")),
    )
    found = read(document(paragraph("Before") + body + paragraph("After")), "a.docx")
    assert found.text == (
        "Before\n\n| wide |  | c |\n| --- | --- | --- |\n| 1 2 | inner 1 inner 2 | 3 |\n\nAfter"
    )


def test_a_text_box_is_read_once_and_follows_its_paragraph(read: Read) -> None:
    box = w("txbxContent", paragraph("in the box"))
    body = w(
        "p",
        w("r", "<w:t>Host</w:t>")
        + "<mc:AlternateContent><mc:Choice>"
        + w("r", box)
        + "</mc:Choice><mc:Fallback>"
        + w("r", w("pict", box))
        + "</mc:Fallback></mc:AlternateContent>"
        + w("r", "<w:t> goes on</w:t>"),
    )
    assert read(document(body), "a.docx").text == "Host goes on\n\nin the box"
    old = w("p", w("r", "<w:t>Host</w:t>" + w("pict", box)))
    assert read(document(old), "a.docx").text == "Host\n\nin the box"


def test_what_was_deleted_or_moved_away_is_gone_and_old_styles_do_not_count(read: Read) -> None:
    change = w("pPrChange", w("pPr", w("pStyle", val="berschrift1")))
    body = (
        w("p", w("del", w("r", "<w:delText>old</w:delText>")) + w("ins", w("r", "<w:t>new</w:t>")))
        + w("p", w("moveFrom", w("r", "<w:t>away</w:t>")) + w("r", "<w:t>here</w:t>"))
        + paragraph("plain", change)
        + w("p", w("r", "<w:instrText>PAGE</w:instrText>"))
    )
    found = read(document(body), "a.docx")
    assert found.text == "new\n\nhere\n\nplain"
    assert not found.headings


def test_notes_stand_at_the_end_and_comments_are_counted(read: Read) -> None:
    footnotes = making.word_part(
        "footnotes",
        w("footnote", paragraph("a line"), id="-1")
        + w("footnote", paragraph("See there."), id="2"),
    )
    endnotes = making.word_part("endnotes", w("endnote", paragraph("The end."), id="2"))
    body = w(
        "p",
        w("r", "<w:t>Said</w:t>" + w("footnoteReference", id="2"))
        + w("r", "<w:t> and done</w:t>" + w("endnoteReference", id="2"))
        + w("r", w("commentReference", id="1")),
    )
    more = {"word/footnotes.xml": footnotes, "word/endnotes.xml": endnotes}
    found = read(document(body, more), "a.docx")
    assert found.text == "Said[^2] and done[^e2]\n\n[^2]: See there.\n\n[^e2]: The end."
    assert found.notes == ("its comments (1) were left out",)


def test_the_strict_form_with_its_other_names_reads_alike(read: Read) -> None:
    transitional = document(styled("Eins", "berschrift1") + paragraph("Text"))
    assert read(transitional, "a.docx").headings == (Heading(0, 1, "Eins"),)
    strict = making.docx(
        f'<s:p xmlns:s="http://purl.oclc.org/ooxml/wordprocessingml/main"><s:pPr>'
        f'<s:pStyle s:val="berschrift1"/></s:pPr><s:r><s:t>Eins</s:t></s:r></s:p>{paragraph("Text")}',
        {"word/styles.xml": STYLES},
    )
    assert read(strict, "a.docx") == read(transitional, "a.docx")


def test_text_outside_of_cells_and_rows_does_no_harm(read: Read) -> None:
    body = paragraph("Words") + w("tbl", w("tc", paragraph("lost")) + paragraph("lost too"))
    assert read(document(body), "a.docx").text == "Words"


def test_a_chart_stands_at_the_end(read: Read) -> None:
    chart = (
        '<c:c xmlns:c="c" xmlns:a="a"><c:title><c:tx><a:t>Sales</a:t></c:tx></c:title>'
        "<c:ser><c:tx><c:v>North</c:v></c:tx><c:cat><c:pt idx='0'><c:v>2023</c:v></c:pt>"
        "<c:pt idx='1'><c:v>2024</c:v></c:pt></c:cat><c:val><c:pt idx='0'><c:v>5</c:v></c:pt>"
        "<c:pt idx='1'><c:v>7</c:v></c:pt></c:val></c:ser>"
        "<c:ser><c:tx><c:v>South</c:v></c:tx><c:val><c:pt idx='1'><c:v>9</c:v></c:pt></c:val></c:ser>"
        "<c:valAx><c:title><c:tx><a:t>Tons</a:t></c:tx></c:title></c:valAx></c:c>"
    )
    data = making.docx(paragraph("Words"), {"word/chart.xml": chart})
    assert read(data, "a.docx").text == (
        "Words\n\nChart: Sales Tons\n\n|  | North | South |\n| --- | --- | --- |\n"
        "| 2023 | 5 |  |\n| 2024 | 7 | 9 |"
    )
    empty = making.docx(paragraph("Words"), {"word/chart.xml": "<c><v>1</v><pt idx='x'/></c>"})
    assert read(empty, "a.docx").text == "Words\n\nChart:"
