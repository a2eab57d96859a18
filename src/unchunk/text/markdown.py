"""The outline of a Markdown text: its headings, and the blocks that are not to be cut.

Reads what a chunker needs of CommonMark and of GitHub's tables, in one pass over the lines
that can matter; it is no parser. Headings in quotes, lists, code and HTML do not count.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

# Only lines that begin like this are looked at. A line begins behind a newline, so the text
# is read with one put before it: a match then starts where its line starts in the text itself.
_NOTABLE = re.compile(
    r"\n(?P<indent>[ \t]*+)(?:"
    r"(?P<hashes>#{1,6}+)(?=[ \t\r\n]|\Z)"
    r"|(?P<fence>`{3,}+(?![^\n`]*+`)|~{3,}+)"
    r"|(?P<html><(?:!--|(?i:pre|script|style|textarea)\b))"
    r"|(?P<rule>=++|[-|: \t]++)(?=[ \t\r]*+(?:\n|\Z))"
    r")"
)
_FRONT_MATTER = re.compile(
    r"---[ \t]*+\r?\n(?=\S)(?:(?!---|\.\.\.)[^\n]*+\n)*+(?:---|\.\.\.)[ \t\r]*+(?:\n|\Z)"
)
_COMMENT_END = re.compile("-->")
_HTML_END = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
# What begins a quote, a list item or indented code begins no paragraph of the outermost level.
_QUOTE_OR_ITEM = re.compile(r"[ \t]*+(?:>|[-+*](?=\s)|\d{1,9}[.)](?=\s))")
_THEMATIC_BREAK = re.compile(r" {0,3}(?:(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\r?\n")
_INDENTED = re.compile(r" {4}| {0,3}\t")
_TABLE_ROWS = re.compile(
    r"(?:(?![ \t\r]*+(?:\n|\Z)| {0,3}(?:#{1,6}[ \t]|```|~~~|>|<))[^\n]*+(?:\n|\Z))*+"
)
_CLOSING_HASHES = re.compile(r"(?:^|(?<=[ \t]))#+[ \t]*$")
_SPACE = re.compile(r"\s*+")
_LONGEST_TITLE = 200  # a path is kept with each chunk, and a whole paragraph can be underlined


class Heading(NamedTuple):
    """`path` is the titles from the outermost heading down to this one."""

    start: int
    body: int
    level: int
    path: tuple[str, ...]


class Outline(NamedTuple):
    """Headings in order; `solids` are the code fences and tables, in order and apart."""

    headings: list[Heading]
    solids: list[tuple[int, int]]

    def sections(self, text: str) -> Iterator[tuple[int, int]]:
        """Each heading with its body, and what stands before the first. They tile the text.

        A heading without a body stays with its first subsection: alone it would be found for
        its words and answer nothing. Small neighbours are not merged: one chunk would then
        answer under a heading that is not its own, and whoever wants the neighbours can widen
        the passage by offsets.
        """
        start = body = level = 0
        for heading in self.headings:
            empty = _skip_space(text, body, heading.start) == heading.start
            if heading.start > start and not (empty and heading.level > level):
                yield start, heading.start
                start = heading.start
            body, level = heading.body, heading.level
        yield start, len(text)

    def path_of(self, text: str, start: int, end: int) -> tuple[str, ...]:
        """The headings above the first visible character of a part of the text."""
        visible = min(_skip_space(text, start, end), end - 1)
        above = bisect_right(self.headings, visible, key=attrgetter("start"))
        return self.headings[above - 1].path if above else ()


def read_outline(text: str) -> Outline:
    """Linear in the text, whatever is left open in it; an open fence reaches to the end."""
    reader = _Reader(text)
    for line in _NOTABLE.finditer("\n" + text, reader.done):
        if line.start() >= reader.done:
            reader.take(line)
    reader.finish()
    return Outline(reader.headings, reader.solids)


class _Reader:
    """Takes notable lines one by one; all before `done` belongs to blocks that have ended."""

    def __init__(self, text: str) -> None:
        self.headings: list[Heading] = []
        self.solids: list[tuple[int, int]] = []
        front_matter = _FRONT_MATTER.match(text)
        self.done = front_matter.end() if front_matter else 0
        self._text = text
        self._fence: re.Match[str] | None = None
        self._open: list[tuple[int, str]] = []

    def take(self, line: re.Match[str]) -> None:
        if self._fence is not None:
            marks = line["fence"] or ""
            if marks.startswith(self._fence["fence"]) and not self._rest(line).strip():
                self._close_fence(self._fence, self._end(line))
                return
            if not line["hashes"] or _is_deep(line) or not _is_deep(self._fence):
                return
            # The fence stood in a list, and this heading ends the list.
            self._close_fence(self._fence, line.start())
        if line["fence"]:
            self._fence = line
        elif not _is_deep(line):
            if line["hashes"]:
                title = _CLOSING_HASHES.sub("", self._rest(line).strip())
                self._add_heading(line.start(), self._end(line), len(line["hashes"]), title)
            elif line["html"]:
                end = _COMMENT_END if line["html"] == "<!--" else _HTML_END
                found = end.search(self._text, line.start())
                self.done = _next_line(self._text, found.end()) if found else len(self._text)
            else:
                self._take_rule(line)

    def finish(self) -> None:
        if self._fence is not None:
            self._close_fence(self._fence, len(self._text))

    def _take_rule(self, line: re.Match[str]) -> None:
        """The underline of a heading, or of the titles of a table, or nothing."""
        start, end, marks = line.start(), self._end(line), line["rule"].strip()
        self.done, done = end, self.done
        if "|" in marks:
            head = self._line_above(done, start)
            titles = self._text[head:start]
            if "-" in marks and "|" in titles and _columns(titles) == _columns(marks):
                rows = _TABLE_ROWS.match(self._text, end)
                self.done = rows.end() if rows else end
                self.solids.append((head, self.done))
        elif not marks.strip("=") or not marks.strip("-"):
            first = self._paragraph_above(done, start)
            if first < start:
                self._add_heading(first, end, 1 if marks[0] == "=" else 2, self._text[first:start])

    def _add_heading(self, start: int, end: int, level: int, title: str) -> None:
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, " ".join(title.split())[:_LONGEST_TITLE]))
        self.headings.append(Heading(start, end, level, tuple(name for _, name in self._open)))
        self.done = end

    def _close_fence(self, fence: re.Match[str], end: int) -> None:
        self.solids.append((fence.start(), end))
        self._fence, self.done = None, end

    def _paragraph_above(self, done: int, line: int) -> int:
        """Where the paragraph that ends before `line` begins; `line` if there is none."""
        first = line
        while first > done:
            above = self._line_above(done, first)
            if self._text[above:first].isspace() or _THEMATIC_BREAK.match(self._text, above):
                break
            if _QUOTE_OR_ITEM.match(self._text, above):
                return line
            first = above
        return line if _INDENTED.match(self._text, first) else first

    def _line_above(self, done: int, line: int) -> int:
        return max(done, self._text.rfind("\n", done, max(done, line - 1)) + 1)

    def _rest(self, line: re.Match[str]) -> str:
        return self._text[line.end() - 1 : self._end(line)]

    def _end(self, line: re.Match[str]) -> int:
        return _next_line(self._text, line.end() - 1)


def _next_line(text: str, offset: int) -> int:
    return text.find("\n", offset) + 1 or len(text)


def _skip_space(text: str, start: int, end: int) -> int:
    space = _SPACE.match(text, start, end)
    return space.end() if space else start


def _is_deep(line: re.Match[str]) -> bool:
    """So far from the margin that it is code, or the content of a list item."""
    return bool(_INDENTED.match(line["indent"]))


def _columns(row: str) -> int:
    cells = row.replace("\\|", "").strip()
    return cells.removeprefix("|").removesuffix("|").count("|") + 1
