"""Presentations: each slide is a page, its title a heading, its speaker's notes at its end.

Dates, footers and slide numbers are left out.
"""

from unchunk.adapters.extract.archive import Archive
from unchunk.adapters.extract.charts import write_chart
from unchunk.adapters.extract.composing import Composition
from unchunk.adapters.extract.package import main_part, parts_of_kind, relationships, title
from unchunk.adapters.extract.source import Source
from unchunk.adapters.extract.xmlparts import Attributes, Reader, attributes_of, parse
from unchunk.domain import Extracted

_TITLES = {"title", "ctrTitle"}
_FURNITURE = {"dt", "ftr", "sldNum", "hdr", "sldImg"}
_NO_PLACEHOLDER = ""
_BULLETED = {"body", "obj"}


def read(source: Source) -> Extracted:
    with Archive(source.path, source.limits) as archive:
        main = main_part(archive)
        out = Composition(source.limits)
        out.title = title(archive)
        for part in _slides(archive, main):
            out.page()
            slide = _Shapes(out)
            parse(part, archive.pieces(part), slide)
            slide.write()
            for diagram in parts_of_kind(archive, part, "diagramData"):
                parse(diagram, archive.pieces(diagram), drawing := _Shapes(out))
                drawing.write()
            for chart in parts_of_kind(archive, part, "chart"):
                write_chart(archive, chart, out)
            for page in parts_of_kind(archive, part, "notesSlide"):
                parse(page, archive.pieces(page), notes := _Shapes(out))
                notes.write_body("Notes:")
    return out.finish(source.media_type)


def _slides(archive: Archive, main: str) -> list[str]:
    """The parts of the slides, in the order in which they are shown."""
    parts = {found.id: found.part for found in relationships(archive, main)}
    listed = attributes_of(main, archive.pieces(main), "sldId")
    found = [parts.get(record.get("r:id", ""), "") for record in listed]
    return [part for part in found if part in archive]


class _Shape:
    __slots__ = ("paragraphs", "placeholder")

    def __init__(self) -> None:
        self.placeholder = _NO_PLACEHOLDER
        self.paragraphs: list[tuple[int, str]] = []


class _Shapes(Reader):
    """The texts of one slide: its shapes and tables in their order."""

    def __init__(self, out: Composition) -> None:
        self._out = out
        self._shapes: list[_Shape | list[list[str]]] = []
        self._shape = _Shape()
        self._rows: list[list[str]] | None = None
        self._text: list[str] = []
        self._level = 0
        self._inside = False
        self._skipping = 0

    def start(self, name: str, attributes: Attributes) -> None:
        if self._skipping or name == "Fallback":
            self._skipping += 1
            return
        self._inside = name == "t"
        if name in ("sp", "pt", "cxnSp"):
            self._shape = _Shape()
            self._shapes.append(self._shape)
        elif name == "ph":
            self._shape.placeholder = attributes.get("type", "obj")
        elif name == "tbl":
            self._rows = []
            self._shapes.append(self._rows)
        elif name == "tr" and self._rows is not None:
            self._rows.append([])
        elif name == "tc" and self._rows:
            self._rows[-1].append("")
        elif name == "p":
            self._text, self._level = [], 0
        elif name == "pPr":
            level = attributes.get("lvl", "0")
            self._level = int(level) if level in set("012345678") else 0
        elif name == "br":
            self._text.append("\n")

    def end(self, name: str) -> None:
        if self._skipping:
            self._skipping -= 1
            return
        self._inside = False
        if name == "tbl":
            self._rows = None
        elif name == "p":
            text = "".join(self._text).strip()
            if self._rows is None:
                self._shape.paragraphs.append((self._level, text))
            elif self._rows and self._rows[-1]:
                self._rows[-1][-1] += f" {text}"

    def data(self, text: str) -> None:
        if self._inside:
            self._text.append(text)

    def write(self) -> None:
        """The title first, wherever it stands among the shapes."""
        for each in self._shapes:
            if isinstance(each, _Shape) and each.placeholder in _TITLES:
                self._out.heading(1, " ".join(text for _, text in each.paragraphs))
        for shape in self._shapes:
            if isinstance(shape, list):
                self._out.table(shape)
            elif shape.placeholder not in _TITLES | _FURNITURE:
                self._write(shape)

    def write_body(self, label: str) -> None:
        """Only what was written for the speaker."""
        texts = [
            text
            for shape in self._shapes
            if isinstance(shape, _Shape) and shape.placeholder == "body"
            for _, text in shape.paragraphs
            if text
        ]
        if texts:
            self._out.paragraph("\n".join((label, *texts)))

    def _write(self, shape: _Shape) -> None:
        for level, text in shape.paragraphs:
            if level or shape.placeholder in _BULLETED:
                self._out.item(level, text)
            else:
                self._out.paragraph(text)
