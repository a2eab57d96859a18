"""PDF files: pages, outline, and what is said of those without text."""

import pytest

from adapters.extract import making
from adapters.extract.conftest import Read
from corpus import DATA, MISSING
from unchunk.adapters.extract.limits import Limits
from unchunk.domain import Heading
from unchunk.errors import ExtractionError

SAMPLES = DATA / "pdf_samples"
CMAP = (
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def "
    "1 begincodespacerange <00> <FF> endcodespacerange "
    "3 beginbfchar <41> <D835DC65> <42> <D800> <43> <0000> endbfchar endcmap end end"
)


def test_pages_begin_where_their_text_does(read: Read) -> None:
    found = read(making.pdf(["First page", "", "Third page\nof two lines"]), "a.pdf")
    assert found.text == "First page\n\n\n\nThird page\nof two lines"
    assert found.pages == (0, 12, 14)
    assert [found.text[at:][:5] for at in found.pages] == ["First", "\n\nThi", "Third"]


def test_a_page_of_pictures_among_others_is_noted(read: Read) -> None:
    found = read(making.pdf(["Words", None, None]), "a.pdf")
    assert found.notes == ("pages without text, perhaps scanned: 2, 3",)
    many = read(making.pdf(["Words", *[None] * 25]), "a.pdf")
    assert many.notes[0].endswith("19, 20, 21 and 5 more")


def test_only_pictures_need_text_recognition_and_nothing_is_empty(read: Read) -> None:
    with pytest.raises(ExtractionError, match="OCR") as refused:
        read(making.pdf([None, None]), "a.pdf")
    assert refused.value.code == "image-only"
    with pytest.raises(ExtractionError) as refused:
        read(making.pdf(["", ""]), "a.pdf")
    assert refused.value.code == "empty"


def test_the_title_comes_from_the_properties(read: Read) -> None:
    assert read(making.pdf(["x"], info="<</Title(The report)>>"), "a.pdf").title == "The report"
    assert not read(making.pdf(["x"], info="<</Title(untitled)>>"), "a.pdf").title
    assert not read(making.pdf(["x"], info="<</Title<FEFFD800>>>"), "a.pdf").title


def test_half_characters_do_not_get_through_and_large_ones_do(read: Read) -> None:
    found = read(making.pdf(["ABxCx A"], cmap=CMAP), "a.pdf")
    assert found.text.encode()
    assert found.text.startswith("\U0001d465")


@pytest.mark.parametrize("kept", [0.05, 0.5, 0.9])
def test_a_truncated_file_is_damaged(read: Read, kept: float) -> None:
    data = making.pdf([f"Page {n} has words" for n in range(50)])
    with pytest.raises(ExtractionError) as refused:
        read(data[: int(len(data) * kept)], "a.pdf")
    assert refused.value.code == "damaged"


def test_a_file_without_its_last_line_is_read_and_noted(read: Read) -> None:
    data = making.pdf(["Words"])
    found = read(data[: data.rindex(b"startxref")] + b"\n" * 2100, "a.pdf")
    assert found.text == "Words"
    assert found.notes == ("its end is missing: it was read as far as it goes, and may lack text",)


def test_a_page_that_cannot_be_read_is_left_out_and_noted(read: Read) -> None:
    data = making.pdf(["One", "Two", "Three"])
    found = read(data.replace(b"9 0 R 11 0 R]", b"99 0 R 11 0 R]"), "a.pdf")
    assert found.text == "One\n\n\n\nThree"
    assert found.notes == ("pages that cannot be read were left out: 2",)
    with pytest.raises(ExtractionError, match="none of its pages") as refused:
        read(data.replace(b"7 0 R 9 0 R 11 0 R]", b"97 0 R 98 0 R 99 0 R]"), "a.pdf")
    assert refused.value.code == "damaged"


def test_an_encryption_that_is_not_known_is_named(read: Read) -> None:
    data = making.pdf(["One"]).replace(b"trailer<<", b"trailer<</Encrypt<</Filter/Odd/V 9/R 9>>")
    with pytest.raises(ExtractionError, match="kind of encryption") as refused:
        read(data, "a.pdf")
    assert refused.value.code == "encrypted"


def test_a_page_that_is_read_the_other_way(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("pypdfium2.PdfTextPage.get_text_range", fail)
    assert read(making.pdf(["One"]), "a.pdf").text == "One"


@pytest.mark.parametrize(
    "entry",
    [
        "<</Title(One)/Parent 4 0 R/Dest[7 0 R/Fit]>>",
        "<</Title(Nowhere)/Parent 4 0 R/Dest[7 0 R/Fit]>>",
        "<</Title(One)/Parent 4 0 R>>",
        "<</Title<FEFFD800>/Parent 4 0 R/Dest[7 0 R/Fit]>>",
        "<</Title(One)/Parent 4 0 R/Dest[7 0 R/Fit]/Next 8 0 R>>",
    ],
)
def test_an_outline_never_costs_the_text(read: Read, entry: str) -> None:
    data = making.pdf(["One line", "Two"], outline="<</First 8 0 R/Last 8 0 R/Count 1>>")
    # The content of the second page gives its place to the entry.
    at = data.index(b"8 0 obj") + len(b"8 0 obj\n")
    end = data.index(b"endobj", at)
    made = entry.encode().ljust(end - at)
    found = read(
        data[:at] + made[: end - at] + data[end:] if len(made) <= end - at else data, "a.pdf"
    )
    assert found.text.startswith("One line")
    assert [heading.title for heading in found.headings] in ([], ["One"])


def test_too_many_pages_and_too_much_text_are_refused(read: Read) -> None:
    data = making.pdf(["Some words"] * 30)
    with pytest.raises(ExtractionError, match="max_pages is 29") as refused:
        read(data, "a.pdf", Limits(max_pages=29))
    assert refused.value.code == "too-many-pages"
    with pytest.raises(ExtractionError) as refused:
        read(data, "a.pdf", Limits(max_text=100))
    assert refused.value.code == "too-big"


def test_ten_thousand_pages_are_read(read: Read) -> None:
    found = read(making.pdf(f"Page {n}" for n in range(1, 10_001)), "a.pdf")
    assert len(found.pages) == 10_000
    assert found.text[found.pages[-1] :] == "Page 10000"


@pytest.mark.skipif(not SAMPLES.exists(), reason=MISSING)
def test_the_outline_gives_headings_where_their_words_stand(read: Read) -> None:
    found = read(
        (SAMPLES / "py-pdf-sample-files/006-pdflatex-outline/pdflatex-outline.pdf").read_bytes()
    )
    assert found.headings[0] == Heading(84, 1, "Foo")
    assert [heading.title for heading in found.headings] == ["Foo", "Bar", "Baz"] * 3
    lines = [found.text[heading.at :].partition("\n")[0] for heading in found.headings]
    assert lines == [
        f"{number} {heading.title}" for number, heading in enumerate(found.headings, 1)
    ]


@pytest.mark.skipif(not SAMPLES.exists(), reason=MISSING)
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("r6-user-password", "encrypted"),
        ("r2-user-password", "encrypted"),
        ("r6-owner-password", ""),
        ("r2-empty-password", ""),
    ],
)
def test_an_empty_password_opens_and_another_does_not(read: Read, name: str, code: str) -> None:
    data = (SAMPLES / "pypdf/resources/encryption" / f"{name}.pdf").read_bytes()
    if not code:
        assert "encrypt" in read(data, "a.pdf").text
        return
    with pytest.raises(ExtractionError, match="remove its password") as refused:
        read(data, "a.pdf")
    assert refused.value.code == code


def test_a_file_that_begins_far_behind_something_else_is_read_by_a_second_parser(
    read: Read,
) -> None:
    data = b"\xff\x00 not a PDF yet \n" * 100 + making.pdf(["First page", "Second page"])
    found = read(data, "a.pdf")
    assert found.text == "First page\n\nSecond page"
    assert found.pages == (0, 12)
    assert "a second parser read what it could" in found.notes[0]
    with pytest.raises(ExtractionError) as refused:
        read(data, "a.pdf", Limits(max_pages=1))
    assert refused.value.code == "too-many-pages"
    with pytest.raises(ExtractionError) as refused:
        read(data.replace(b" page) Tj", b"xpage) Xx"), "a.pdf")
    assert refused.value.code == "damaged"
