"""Workbooks: sheets as pages, rows as lines, values as people see them."""

import pytest
from python_calamine import PasswordError

from adapters.extract import making
from adapters.extract.conftest import Read
from corpus import DATA, MISSING
from unchunk.domain import Heading
from unchunk.errors import ExtractionError

SAMPLES = DATA / "office_samples" / "markitdown"


def cell(place: str, value: str, more: str = "") -> str:
    return f'<c r="{place}"{more}><v>{value}</v></c>'


def test_values_and_not_formulas(read: Read) -> None:
    rows = (
        '<row r="1"><c r="A1" t="inlineStr"><is><t>a\n b</t></is></c>'
        + cell("B1", "0.1", ' t="n"')
        + cell("C1", "1", ' t="b"')
        + "</row>"
        + f'<row r="3"><c r="A3"><f>SUM(A1:A2)</f><v>3</v></c>{cell("B3", "1234567.5")}</row>'
        + '<row r="4">'
        + cell("A4", "45000", ' s="1"')
        + cell("B4", "45000.5", ' s="1"')
        + cell("C4", "0.30000000000000004")
        + "</row>"
    )
    more = f'<row r="1">{cell("A1", "7")}</row>'
    found = read(making.xlsx({"Costs": rows, "Empty": "", "More": more}), "a.xlsx")
    assert found.text == (
        "# Costs\n\na b\t0.1\tTRUE\n3\t1234567.5\n2023-03-15\t2023-03-15 12:00:00\t0.3\n\n# More\n\n7"
    )
    assert found.headings == (Heading(0, 1, "Costs"), Heading(70, 1, "More"))
    assert found.pages == (0, 70, 70)


@pytest.mark.skipif(not SAMPLES.exists(), reason=MISSING)
def test_old_and_new_workbooks_read_alike(read: Read) -> None:
    new = read((SAMPLES / "test.xlsx").read_bytes(), "a.xlsx")
    old = read((SAMPLES / "test.xls").read_bytes(), "a.xls")
    assert new.text == old.text
    assert new.text.startswith("# Sheet1\n\nAlpha\tBeta\tGamma\tDelta\n89\t82\t100\t12\n")


def test_sheets_that_cannot_be_read_are_damaged(read: Read) -> None:
    broken = making.xlsx({"S": '<row r="1"><c r="A1"'})
    with pytest.raises(ExtractionError) as refused:
        read(broken, "a.xlsx")
    assert refused.value.code == "damaged"


@pytest.mark.skipif(not SAMPLES.exists(), reason=MISSING)
def test_an_old_workbook_that_is_cut_off_is_damaged(read: Read) -> None:
    data = (SAMPLES / "test.xls").read_bytes()
    with pytest.raises(ExtractionError) as refused:
        read(data[: len(data) // 4], "a.xls")
    assert refused.value.code == "damaged"


def test_a_workbook_with_a_password_is_encrypted(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(_: str) -> None:
        raise PasswordError("password protected")

    monkeypatch.setattr(
        "unchunk.adapters.extract.sheets.CalamineWorkbook.from_path", locked, raising=True
    )
    with pytest.raises(ExtractionError) as refused:
        read(making.xlsx({"S": ""}), "a.xlsx")
    assert refused.value.code == "encrypted"
