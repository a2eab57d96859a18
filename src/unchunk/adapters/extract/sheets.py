"""Excel workbooks, new and old: each sheet is a page and a heading, each row a line.

Cells are separated by tabs and hold values, never formulas; numbers as Excel shows them at
most, in 15 digits, dates in ISO form. Rows without a value are left out.
"""

import datetime as dt

import python_calamine
from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from unchunk.adapters.extract.archive import Archive, is_zip
from unchunk.adapters.extract.composing import Composition
from unchunk.adapters.extract.package import title
from unchunk.adapters.extract.source import Source
from unchunk.domain import Extracted
from unchunk.errors import ExtractionError

Cell = int | float | str | bool | dt.time | dt.date | dt.timedelta


def read(source: Source) -> Extracted:
    out = Composition(source.limits)
    with source.path.open("rb") as file:
        zipped = is_zip(file.read(4))
    if zipped:
        with Archive(source.path, source.limits) as archive:
            out.title = title(archive)
            archive.test()
    try:
        workbook = CalamineWorkbook.from_path(str(source.path))
        for sheet in workbook.sheets_metadata:
            if sheet.typ == python_calamine.SheetTypeEnum.WorkSheet:
                out.page()
                _write(workbook, sheet.name, out)
    except PasswordError as error:
        raise ExtractionError("encrypted", "it is encrypted: remove its password") from error
    except CalamineError as error:
        raise ExtractionError("damaged", f"its sheets cannot be read: {error}") from error
    return out.finish(source.media_type)


def _write(workbook: CalamineWorkbook, name: str, out: Composition) -> None:
    lines = []
    for row in workbook.get_sheet_by_name(name).iter_rows():
        line = "\t".join(map(_shown, row)).rstrip()
        if line:
            lines.append(line)
    if lines:
        out.heading(1, name)
        out.verbatim("\n".join(lines))


def _shown(value: Cell) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, dt.datetime):
        return value.isoformat(" ") if value.time() != dt.time() else str(value.date())
    return str(value)
