"""OpenDocument texts, presentations and spreadsheets, read from their content part.

Slides and sheets are pages. Deleted text and annotations are left out. Cells hold what the
program showed, so no number is formatted anew.
"""

import re

from unchunk.adapters.extract.archive import Archive
from unchunk.adapters.extract.composing import Composition
from unchunk.adapters.extract.source import Source
from unchunk.adapters.extract.xmlparts import Attributes, Reader, first_text, parse
from unchunk.domain import Extracted
from unchunk.errors import ExtractionError

_SKIPPED = {"tracked-changes", "annotation", "forms", "desc"}
_FURNITURE = {"date-time", "footer", "page-number", "header"}
_VALUES = ("string-value", "date-value", "time-value", "boolean-value", "value")
_CELLS = {"table-cell", "covered-table-cell"}
# An empty cell or row is often repeated to the end of the sheet, a million times.
_WIDEST = 1024
_MOST_REPEATED = 100_000  # cells of one row, all its copies together
_MOST_SPACES = 1000
_SPACE = re.compile(r"[ \t\r\n]+")


def read(source: Source) -> Extracted:
    with Archive(source.path, source.limits) as archive:
        manifest = "META-INF/manifest.xml"
        if manifest in archive and b"encryption-data" in archive.read(manifest):
            raise ExtractionError("encrypted", "it is encrypted: remove its password")
        out = Composition(source.limits)
        if "meta.xml" in archive:
            out.title = first_text("meta.xml", archive.pieces("meta.xml"), "title")
        content = _Content(out, sheets="spreadsheet" in source.media_type)
        parse("content.xml", archive.pieces("content.xml"), content)
        for note in content.notes:
            out.paragraph(note)
    return out.finish(source.media_type)


class _Content(Reader):
    def __init__(self, out: Composition, *, sheets: bool) -> None:
        self.notes: list[str] = []
        self._out = out
        self._table = _Table(out, sheets=sheets)
        self._texts: list[list[str]] = []
        self._levels: list[int] = []
        self._lists = 0
        self._role = ""
        self._note: list[str] | None = None
        self._skipping = 0

    def start(self, name: str, attributes: Attributes) -> None:
        role = attributes.get("class", "") if name == "frame" else ""
        if self._skipping or name in _SKIPPED or role in _FURNITURE:
            self._skipping += 1
        elif name in ("p", "h", "note-citation"):
            self._texts.append([])
            self._levels.append(_number(attributes, "outline-level", 1) if name == "h" else 0)
        elif name == "s":
            self._add(" " * min(_number(attributes, "c", 1), _MOST_SPACES))
        elif name == "tab":
            self._add("\t")
        elif name == "line-break":
            self._add("\n")
        elif name == "list":
            self._lists += 1
        elif name == "frame":
            self._role = role
        elif name == "page":
            self._out.page()
        elif name == "note":
            self._note = []
        else:
            self._table.start(name, attributes)

    def end(self, name: str) -> None:
        if self._skipping:
            self._skipping -= 1
        elif name in ("p", "h", "note-citation"):
            self._write("".join(self._texts.pop()), self._levels.pop())
        elif name == "list":
            self._lists -= 1
        elif name == "frame":
            self._role = ""
        elif name == "note":
            citation, *body = self._note or [""]
            self._note = None
            self._add(f"[^{citation}]")
            self.notes.append(f"[^{citation}]: {' '.join(' '.join(body).split())}")
        else:
            self._table.end(name)

    def data(self, text: str) -> None:
        if not self._skipping:
            # White space in the XML is layout; the text's own is elements.
            self._add(_SPACE.sub(" ", text))

    def _add(self, text: str) -> None:
        if self._texts:
            self._texts[-1].append(text)

    def _write(self, text: str, level: int) -> None:
        if self._note is not None:
            self._note.append(text.strip())
        elif self._table.depth:
            self._table.add(text)
        elif level or self._role == "title":
            self._out.heading(level or 1, text)
        elif self._lists:
            self._out.item(self._lists - 1, text)
        elif self._role == "notes" and text.strip():
            self._out.paragraph(f"Notes: {text.strip()}")
        else:
            self._out.paragraph(text)


class _Table:
    """The rows of one table; the text of a table in its cells belongs to the cell."""

    def __init__(self, out: Composition, *, sheets: bool) -> None:
        self.depth = 0
        self._out = out
        self._sheets = sheets
        self._name = ""
        self._rows: list[list[str]] = []
        self._value = ""
        self._cells = self._lines = 1

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "table":
            self.depth += 1
            if self.depth == 1:
                self._rows, self._name = [], attributes.get("name", "")
                if self._sheets:
                    self._out.page()
        elif self.depth == 1 and name == "table-row":
            self._rows.append([])
            self._lines = _number(attributes, "number-rows-repeated", 1)
        elif self.depth == 1 and name in _CELLS and self._rows:
            self._rows[-1].append("")
            self._cells = _number(attributes, "number-columns-repeated", 1)
            self._value = next(filter(None, map(attributes.get, _VALUES)), "")

    def add(self, text: str) -> None:
        if text.strip() and self._rows and self._rows[-1]:
            row = self._rows[-1]
            row[-1] += f" {text}" if row[-1] else text

    def end(self, name: str) -> None:
        if name == "table":
            self.depth -= 1
            if not self.depth:
                self._write()
        elif self.depth == 1 and name in _CELLS and self._rows:
            row = self._rows[-1]
            row[-1] = row[-1] or self._value
            row += row[-1:] * min(self._cells - 1, _WIDEST - len(row))
        elif self.depth == 1 and name == "table-row":
            row = self._rows.pop()
            while row and not row[-1]:
                row.pop()
            if row:
                self._rows += [row] * min(self._lines, _MOST_REPEATED // len(row))

    def _write(self) -> None:
        if not self._sheets:
            self._out.table(self._rows)
        elif self._rows:
            lines = ("\t".join(" ".join(cell.split()) for cell in row) for row in self._rows)
            self._out.heading(1, self._name)
            self._out.verbatim("\n".join(lines))


def _number(attributes: Attributes, name: str, otherwise: int) -> int:
    value = attributes.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 9 else otherwise
