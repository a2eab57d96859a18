"""Word documents: the body with its headings, lists, tables, text boxes and notes.

Read from the XML itself: a large document needs no tree, and a hostile one finds no parser that
expands or fetches. Charts and notes stand at the end. Page headers and footers, deleted text
and comments are left out; left-out comments are noted.
"""

import re
from collections import defaultdict

from unchunk.adapters.extract.archive import Archive
from unchunk.adapters.extract.charts import write_chart
from unchunk.adapters.extract.composing import Composition
from unchunk.adapters.extract.package import main_part, parts_of_kind, title
from unchunk.adapters.extract.source import Source
from unchunk.adapters.extract.xmlparts import Attributes, Reader, parse
from unchunk.domain import Extracted

# Word calls its styles by English names in every language; other programs may not.
_HEADING = re.compile(
    r"(?:heading|überschrift|titre|título|titulo|titolo|kop|rubrik|overskrift|otsikko|nagłówek"
    r"|nadpis|címsor|başlık|заголовок|标题|標題|見出し|제목)\s*([1-9])",
    re.IGNORECASE,
)
_BODY = 9  # the outline level of what is no heading
_IN_TEXT = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\N{NON-BREAKING HYPHEN}"}
_SKIPPED = {"Fallback", "del", "moveFrom", "pPrChange"}  # what was, or stands there twice


def read(source: Source) -> Extracted:
    with Archive(source.path, source.limits) as archive:
        main = main_part(archive)
        out = Composition(source.limits)
        out.title = title(archive)
        styles = _Styles()
        for part in parts_of_kind(archive, main, "styles"):
            parse(part, archive.pieces(part), styles)
        notes = _Notes()
        for kind in ("footnotes", "endnotes"):
            for part in parts_of_kind(archive, main, kind):
                notes.mark = "^e" if kind == "endnotes" else "^"
                parse(part, archive.pieces(part), notes)
        body = _Body(out, styles)
        parse(main, archive.pieces(main), body)
        for chart in parts_of_kind(archive, main, "chart"):
            write_chart(archive, chart, out)
        for mark in body.marks:
            if notes.texts[mark]:
                out.paragraph(f"[{mark}]: {' '.join(' '.join(notes.texts[mark]).split())}")
        if body.comments:
            out.notes.append(f"its comments ({body.comments}) were left out")
    return out.finish(source.media_type)


class _Styles(Reader):
    """Which paragraph styles are headings, and of which level; styles inherit."""

    def __init__(self) -> None:
        self._own: dict[str, int] = {}
        self._parents: dict[str, str] = {}
        self._lists: set[str] = set()
        self._id = ""

    def start(self, name: str, attributes: Attributes) -> None:
        value = attributes.get("val", "")
        if name == "style":
            self._id = attributes.get("styleId", "")
        elif name == "name" and self._id:
            heading = _HEADING.fullmatch(value.strip())
            if heading:
                self._own.setdefault(self._id, int(heading[1]) - 1)
            elif value == "Title":
                self._own.setdefault(self._id, 0)
        elif name == "basedOn":
            self._parents[self._id] = value
        elif name == "outlineLvl" and self._id:
            self._own[self._id] = _number(value, _BODY)
        elif name == "numId" and self._id and value != "0":
            self._lists.add(self._id)

    def end(self, name: str) -> None:
        if name == "style":
            self._id = ""

    def outline_level(self, style: str) -> int:
        for known in self._ancestry(style):
            if known in self._own:
                return self._own[known]
        return _BODY

    def is_list(self, style: str) -> bool:
        return any(known in self._lists for known in self._ancestry(style))

    def _ancestry(self, style: str) -> list[str]:
        line = [style]
        while (parent := self._parents.get(line[-1])) and parent not in line and len(line) < 30:
            line.append(parent)
        return line


class _Notes(Reader):
    """The texts of footnotes and endnotes, by the marks that the body gives them."""

    def __init__(self) -> None:
        self.mark = "^"
        self.texts: dict[str, list[str]] = defaultdict(list)
        self._key = ""
        self._inside = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name in ("footnote", "endnote"):
            self._key = self.mark + attributes.get("id", "")
        self._inside = name == "t"

    def end(self, name: str) -> None:
        self._inside = False
        if name == "p":
            self.texts[self._key].append(" ")

    def data(self, text: str) -> None:
        if self._inside:
            self.texts[self._key].append(text)


class _Paragraph:
    """One that is being read; those of a text box stand inside another."""

    __slots__ = ("depth", "listed", "outline", "style", "text")

    def __init__(self) -> None:
        self.text: list[str] = []
        self.style = ""
        self.outline: int | None = None
        self.listed: bool | None = None
        self.depth = 0


class _Body(Reader):
    def __init__(self, out: Composition, styles: _Styles) -> None:
        self.marks: list[str] = []
        self.comments = 0
        self._out = out
        self._styles = styles
        self._open: list[_Paragraph] = []
        self._boxed: list[_Paragraph] = []
        # A table inside a cell is read as text of that cell, so one level of rows is enough.
        self._rows: list[list[list[str]]] = []
        self._tables = 0
        self._span = 0
        self._skipping = 0
        self._inside = False

    def start(self, name: str, attributes: Attributes) -> None:
        if self._skipping or name in _SKIPPED:
            self._skipping += 1
            return
        self._inside = name == "t"
        if name == "p":
            self._open.append(_Paragraph())
        elif name == "tbl":
            self._tables += 1
        elif name == "tr" and self._tables == 1:
            self._rows.append([])
        elif name == "tc" and self._tables == 1 and self._rows:
            self._rows[-1].append([])
        elif name == "gridSpan":
            self._span = min(_number(attributes.get("val", ""), 1), 100) - 1
        elif self._open:
            self._in_paragraph(self._open[-1], name, attributes)

    def end(self, name: str) -> None:
        if self._skipping:
            self._skipping -= 1
            return
        self._inside = False
        if name == "p" and self._open:
            self._close(self._open.pop())
        elif name == "tc" and self._tables == 1 and self._rows:
            self._rows[-1] += [[]] * self._span
            self._span = 0
        elif name == "tbl":
            self._tables -= 1
            if not self._tables:
                self._out.table([["\n".join(cell) for cell in row] for row in self._rows])
                self._rows = []

    def data(self, text: str) -> None:
        if self._inside and self._open and not self._skipping:
            self._open[-1].text.append(text)

    def _in_paragraph(self, paragraph: _Paragraph, name: str, attributes: Attributes) -> None:
        value = attributes.get("val", "")
        if name in _IN_TEXT:
            paragraph.text.append(_IN_TEXT[name])
        elif name == "pStyle":
            paragraph.style = value
        elif name == "outlineLvl":
            paragraph.outline = _number(value, _BODY)
        elif name == "numId":
            paragraph.listed = value != "0"
        elif name == "ilvl":
            paragraph.depth = _number(value, 0)
        elif name in ("footnoteReference", "endnoteReference"):
            mark = ("^e" if name[0] == "e" else "^") + attributes.get("id", "")
            self.marks.append(mark)
            paragraph.text.append(f"[{mark}]")
        elif name == "commentReference":
            self.comments += 1

    def _close(self, paragraph: _Paragraph) -> None:
        if self._open:  # it stands in a text box: it follows the paragraph that holds the box
            self._boxed.append(paragraph)
            return
        boxed, self._boxed = self._boxed, []
        for each in (paragraph, *boxed):
            self._write(each)

    def _write(self, paragraph: _Paragraph) -> None:
        text = "".join(paragraph.text)
        if self._tables:
            if text.strip() and self._rows and self._rows[-1]:
                self._rows[-1][-1].append(text)
            return
        level = paragraph.outline
        if level is None:
            level = self._styles.outline_level(paragraph.style)
        listed = paragraph.listed
        if listed is None:
            listed = self._styles.is_list(paragraph.style)
        if level < _BODY:
            self._out.heading(level + 1, text)
            self._out.title = self._out.title or (" ".join(text.split()) if level == 0 else "")
        elif listed:
            self._out.item(paragraph.depth, text)
        else:
            self._out.paragraph(text)


def _number(value: str, otherwise: int) -> int:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 4 else otherwise
