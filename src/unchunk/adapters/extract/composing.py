"""Text made from parts: paragraphs, headings, lists, tables, with the offsets that they get.

Headings are written as lines of Markdown (`## Costs`), list items with `- `, tables as Markdown
tables, so that who reads the text, a chunker too, sees them. Nothing else is escaped or marked:
a paragraph that begins with a `#` stays as it is, and `headings` says which lines are real.
"""

import re
from collections.abc import Sequence

from unchunk.adapters.extract.limits import Limits
from unchunk.domain import Extracted, Heading
from unchunk.errors import ExtractionError

_DEEPEST = 6
_LONGEST_TITLE = 200
_PLACEHOLDERS = frozenset(
    {
        *("untitled", "untitled document", "(anonymous)", "document", "title"),
        *("presentation", "powerpoint presentation", "slide 1"),
    }
)
# What no text needs: controls, noncharacters, soft hyphens, and surrogates without a partner,
# which no encoding can hold.
UNWANTED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\ufdd0-\ufdef\ufeff\ufffe\uffff\ud800-\udfff]"
)


def cleaned(text: str) -> str:
    """Without characters that show nothing; line ends become newlines."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.isascii() and text.isprintable() else UNWANTED.sub("", text)


def tidy_title(title: str) -> str:
    """On one line, and empty if it is only what a program puts there by itself."""
    title = " ".join(cleaned(title).split())[:_LONGEST_TITLE]
    return "" if title.casefold() in _PLACEHOLDERS else title


class Composition:
    """Takes a document part by part and knows where each came to stand."""

    def __init__(self, limits: Limits) -> None:
        self.title = ""
        self.notes: list[str] = []
        self._limits = limits
        self._parts: list[str] = []
        self._length = 0
        self._tight = False
        self._pages: list[int] = []
        self._waiting = 0
        self._headings: list[Heading] = []

    def paragraph(self, text: str) -> None:
        self._add(cleaned(text).strip())

    def verbatim(self, text: str) -> None:
        """Lines that keep their indentation."""
        self._add(cleaned(text).strip("\n").rstrip())

    def heading(self, level: int, title: str) -> None:
        title = " ".join(cleaned(title).split()).strip("\N{ZERO WIDTH SPACE}")
        if title:
            level = min(max(level, 1), _DEEPEST)
            at = self._add(f"{'#' * level} {title}")
            self._headings.append(Heading(at, level, title[:_LONGEST_TITLE]))

    def item(self, depth: int, text: str) -> None:
        """An item of a list; items stand on lines of their own without a blank one between."""
        text = cleaned(text).strip()
        if text:
            indent = "  " * min(max(depth, 0), 8)
            self._add(f"{indent}- " + text.replace("\n", f"\n{indent}  "), tight=True)

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """A Markdown table; one of a single column is only a frame, and becomes paragraphs."""
        kept = [[" ".join(cleaned(cell).split()) for cell in row] for row in rows]
        kept = [row for row in kept if any(row)]
        width = max(map(len, kept), default=0)
        if width < 2:
            for row in rows:
                for cell in row:
                    self.paragraph(cell)
            return
        lines = [
            f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)}{' |' * (width - len(row))} |"
            for row in kept
        ]
        lines.insert(1, "|" + " --- |" * width)
        self._add("\n".join(lines))

    def code(self, text: str, language: str = "") -> None:
        text = cleaned(text).strip("\n").rstrip()
        if text:
            longest = max(map(len, re.findall("`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            self._add(f"{fence}{language}\n{text}\n{fence}")

    def page(self) -> None:
        """What follows stands on a new page."""
        self._waiting += 1
        self._limits.check_pages(len(self._pages) + self._waiting)
        self._tight = False

    def finish(self, media_type: str) -> Extracted:
        text = "".join(self._parts)
        if not text or text.isspace():
            raise ExtractionError("empty", "it has no text")
        self._pages += [len(text)] * self._waiting
        return Extracted(
            text=text,
            media_type=media_type,
            pages=tuple(self._pages),
            headings=tuple(self._headings),
            title=tidy_title(self.title),
            notes=tuple(self.notes),
        )

    def _add(self, text: str, *, tight: bool = False) -> int:
        if not text:
            return self._length
        if self._parts:
            between = "\n" if tight and self._tight else "\n\n"
            self._parts.append(between)
            self._length += len(between)
        at = self._length
        self._pages += [at] * self._waiting
        self._waiting, self._tight = 0, tight
        self._parts.append(text)
        self._length += len(text)
        self._limits.check_text(self._length)
        return at
