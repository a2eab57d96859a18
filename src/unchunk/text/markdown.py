"""The outline of a Markdown text: its headings, and the blocks that are not to be cut.

Reads what a chunker needs of CommonMark and of GitHub's tables, in one pass over the lines
that can matter; it is no parser. Headings in quotes, lists, code and HTML do not count.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

# Only lines that begin like this are looked at. A line begins behind a newline, so the text
# is read with one put before it: a match then starts where its line starts in the text itself.
# What most lines fail by comes first. Most fences are blocks, which are matched whole: they begin
# at the margin, and the next marks that are long enough close them there. A block's newline is
# left to the line behind it.
_NOTABLE = re.compile(
    r"\n(?=[ \t#`~<=|:-])(?:"
    r"(?P<block>```++)(?:[^`]*+"  # most have no mark inside
    r"|[^\n`]*+\n[^`]*+(?:(?!(?P=block))`++[^`]*+)++"
    r")(?<=\n)(?P=block)`*+[^\S\n]*+(?!.)"
    r"| {0,3}+(?=[#<=|:-])(?:"  # further in, it is code or the content of a list item
    r"(?P<hashes>#{1,6}+)(?=[ \t\r\n]|\Z)(?P<title>.*+)"
    r"|(?P<html><(?:!--|(?i:pre|script|style|textarea)\b))"
    r"|(?P<rule>=++|[-|: \t]++)(?=[ \t\r]*+(?:\n|\Z))"
    r")"
    r"|(?P<indent>[ \t]*+)(?P<fence>`{3,}+(?![^\n`]*+`)|~{3,}+)"
    r")"
)
# What may end a fence: marks alone on a line, or a heading.
_FENCE_END = re.compile(
    r"\n(?=[ \t`~#])(?:[ \t]*+(?P<marks>`{3,}+|~{3,}+)[^\S\n]*+(?!.)"
    r"| {0,3}+(?P<hashes>#{1,6}+)(?=[ \t\r\n]|\Z))"
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
    """Headings in order, and where each starts; `solids` is where the code fences and tables
    begin and end, in turn.
    """

    headings: list[Heading]
    starts: list[int]
    solids: list[int]

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

    def common_path(self, start: int, end: int) -> tuple[str, ...] | None:
        """`path_of` whatever lies between these two; None if another heading begins there."""
        above = bisect_right(self.starts, start)
        if above < len(self.starts) and self.starts[above] < end:
            return None
        return self.headings[above - 1].path if above else ()

    def path_of(self, text: str, start: int, end: int) -> tuple[str, ...]:
        """The headings above the first visible character of a part of the text."""
        if text[start].isspace():
            start = min(_skip_space(text, start, end), end - 1)
        above = bisect_right(self.starts, start)
        return self.headings[above - 1].path if above else ()


def read_outline(text: str) -> Outline:
    """Linear in the text, whatever is left open in it; an open fence reaches to the end."""
    reader, padded = _Reader(text), "\n" + text
    solids = reader.solids
    while True:
        for line in _NOTABLE.finditer(padded, reader.done):
            if line.lastgroup == "block":
                solids.extend(line.span())
            elif reader.take(line):
                break
        else:
            break
    if solids and solids[-1] > len(text):  # a block at the end, without a newline
        solids[-1] = len(text)
    starts = [heading.start for heading in reader.headings]
    return Outline(reader.headings, starts, solids)


class _Reader:
    """Takes notable lines one by one; all before `done` and in `solids` has ended."""

    def __init__(self, text: str) -> None:
        self.headings: list[Heading] = []
        self.solids: list[int] = []
        front_matter = _FRONT_MATTER.match(text)
        self.done = front_matter.end() if front_matter else 0
        self._text = text
        self._open: list[Heading] = []

    def take(self, line: re.Match[str]) -> bool:
        """Take any but a block; True if more belongs to it, and one has to read on at `done`."""
        kind = line.lastgroup
        if kind == "title":
            hashes, title = line.group("hashes", "title")
            if "#" in title:
                title = _CLOSING_HASHES.sub("", title.strip())
            self._add_heading(line.start(), min(line.end(), len(self._text)), len(hashes), title)
            return False
        if kind == "fence":
            self.done = self._fence_end(line)
            self.solids += line.start(), self.done
            return True
        if kind == "html":
            ending = _COMMENT_END if line["html"] == "<!--" else _HTML_END
            found = ending.search(self._text, line.start())
            self.done = _next_line(self._text, found.end()) if found else len(self._text)
            return True
        end = _next_line(self._text, line.end() - 1)
        self._take_rule(line, end)
        return self.done > end

    def _fence_end(self, fence: re.Match[str]) -> int:
        indent, marks = fence["indent"], fence["fence"]
        in_list = len(indent) > 3 or "\t" in indent
        for line in _FENCE_END.finditer(self._text, fence.end() - 1):
            if (line["marks"] or "").startswith(marks):
                return _next_line(self._text, line.end())
            if in_list and line["hashes"]:
                return line.start() + 1  # this heading ends the list that the fence stood in
        return len(self._text)

    def _take_rule(self, line: re.Match[str], end: int) -> None:
        """The underline of a heading, or of the titles of a table, or nothing."""
        start, marks = line.start(), line["rule"].strip()
        done = max(self.done, self.solids[-1]) if self.solids else self.done
        self.done = end
        if "|" in marks:
            head = self._line_above(done, start)
            titles = self._text[head:start]
            if "-" in marks and "|" in titles and _columns(titles) == _columns(marks):
                rows = _TABLE_ROWS.match(self._text, end)
                self.done = rows.end() if rows else end
                self.solids += head, self.done
        elif not marks.strip("=") or not marks.strip("-"):
            first = self._paragraph_above(done, start)
            if first < start:
                self._add_heading(first, end, 1 if marks[0] == "=" else 2, self._text[first:start])

    def _add_heading(self, start: int, end: int, level: int, title: str) -> None:
        while self._open and self._open[-1].level >= level:
            self._open.pop()
        above = self._open[-1].path if self._open else ()
        name = " ".join(title.split())[:_LONGEST_TITLE]
        heading = Heading(start, end, level, (*above, name))
        self._open.append(heading)
        self.headings.append(heading)
        self.done = end

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


def _next_line(text: str, offset: int) -> int:
    return text.find("\n", offset) + 1 or len(text)


def _skip_space(text: str, start: int, end: int) -> int:
    space = _SPACE.match(text, start, end)
    return space.end() if space else start


def _columns(row: str) -> int:
    cells = row.replace("\\|", "").strip()
    return cells.removeprefix("|").removesuffix("|").count("|") + 1
