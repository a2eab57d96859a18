"""A text as the units that can be quoted: sentences, list items, rows of tables, lines of code.

Reads Markdown line by line, as much of it as tells these apart; plain text is paragraphs. Pure.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from unchunk.text.graphemes import border_before
from unchunk.text.sentences import sentence_starts

Kind = Literal["sentence", "item", "row", "code"]

# What is longer is no sentence to a reader, and is quoted in parts.
LONGEST = 400
_LONGEST_ITEM = 300
_LINE = re.compile(r"[^\n]*+\n?")
_FENCE = re.compile(r"[ \t]*+(?:>[ \t]?)?+(`{3,}+(?![^\n`]*+`)|~{3,}+)")
_HEADING = re.compile(r" {0,3}#{1,6}+[ \t]++(?P<title>[^\n]*\S)|\s*<h[1-6]\b", re.IGNORECASE)
_UNDERLINE = re.compile(r" {0,3}(?:={2,}+|-{2,}+)\s*\Z")
_TABLE_RULE = re.compile(r"(?=[^\n]*-)(?=[^\n]*\|)[ \t]*+[-|: \t]++\s*\Z")
_ITEM = re.compile(r"[ \t]*+(?:[-+*•‣◦▪–·]|[0-9]{1,3}[.)]|\(?[a-z0-9]{1,3}\))[ \t]++(?=\S)")
_QUOTED = re.compile(r"[ \t]*+>[ \t]?")
_ROW_ENDS = "| \t\r\n"
_SAYS = re.compile(r"\w\W*?\w", re.DOTALL)
_SPACE = re.compile(r"\s")


class Unit(NamedTuple):
    """The characters `text[start:end]`, without white space at either end.

    `under` is what else tells what it is about: the heading above it in the text, and the titles
    of a table's columns. `follows` tells that it goes on where the unit before it ends, in the same
    paragraph. `cut_before` and `cut_after` tell that it is a part of something longer. `titles` is
    where the titles of a row's columns stand.
    """

    start: int
    end: int
    kind: Kind
    under: str = ""
    follows: bool = False
    cut_before: bool = False
    cut_after: bool = False
    titles: tuple[int, int] | None = None


def units(text: str) -> list[Unit]:
    """In the order of the text, apart. Headings and what has no words are none."""
    return [one for one in _Reader(text).read() if _SAYS.search(text, one.start, one.end)]


class _Reader:
    """Takes line by line; a paragraph or an item is open from `_start` to `_end`, if any is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = self._end = 0
        self._kind: Kind = "sentence"
        self._lines = 0
        self._fence = ""
        self._heading = ""
        self._titles: tuple[int, int] | None = None

    def read(self) -> Iterator[Unit]:
        lines = [line.span() for line in _LINE.finditer(self._text) if line[0]]
        for number, (start, end) in enumerate(lines):
            following = lines[number + 1] if number + 1 < len(lines) else (end, end)
            yield from self._take(start, end, self._text[slice(*following)])
        yield from self._close()

    def _take(self, start: int, end: int, following: str) -> Iterator[Unit]:
        line = self._text[start:end]
        fence = _FENCE.match(line)
        if self._fence:
            if fence and fence[1].startswith(self._fence):
                self._fence = ""
            else:
                yield from self._unit(start, end, "code")
        elif not line.strip():
            yield from self._close()
            self._titles = None
        elif fence:
            yield from self._close()
            self._fence = fence[1]
        elif heading := _HEADING.match(line):
            yield from self._close()
            self._heading = heading["title"] or ""
        elif self._lines == 1 and self._kind == "sentence" and _UNDERLINE.match(line):
            self._heading = self._text[self._start : self._end].strip()
            self._lines = 0
        elif _TABLE_RULE.match(line):
            yield from self._close()
        elif "|" in line and _TABLE_RULE.match(following):
            yield from self._close()
            self._titles = _stripped(self._text, start, end, _ROW_ENDS)
        elif line.lstrip().startswith("|") or (self._titles and "|" in line):
            yield from self._close()
            yield from self._unit(start, end, "row")
        else:
            yield from self._text_line(line, start, end)

    def _text_line(self, line: str, start: int, end: int) -> Iterator[Unit]:
        quoted = _QUOTED.match(line)
        inner = quoted.end() if quoted else 0
        if item := _ITEM.match(line, inner):
            yield from self._close()
            self._kind, self._start, self._end, self._lines = "item", start + item.end(), end, 1
        elif self._lines:
            self._end, self._lines = end, self._lines + 1
        else:
            self._kind, self._start, self._end, self._lines = "sentence", start + inner, end, 1

    def _close(self) -> Iterator[Unit]:
        if not self._lines:
            return
        self._lines = 0
        start, end = self._start, self._end
        if self._kind == "item" and end - start <= _LONGEST_ITEM:
            yield from self._unit(start, end, "item")
            return
        follows = False
        for stop in (*sentence_starts(self._text, start, end), end):
            for one in self._unit(start, stop, "sentence"):
                yield one._replace(follows=follows)
                follows = True
            start = stop

    def _unit(self, start: int, end: int, kind: Kind) -> Iterator[Unit]:
        start, end = _stripped(self._text, start, end, _ROW_ENDS if kind == "row" else None)
        under, titles = self._heading, self._titles if kind == "row" else None
        if titles:
            under = f"{under} {self._text[slice(*titles)]}"
        at = start
        while end - at > LONGEST:
            cut = _place_to_cut(self._text, at)
            yield Unit(at, cut, kind, under, cut_before=at > start, cut_after=True, titles=titles)
            at = cut
            while at < end and self._text[at].isspace():
                at += 1
        if at < end:
            yield Unit(at, end, kind, under, cut_before=at > start, titles=titles)


def _stripped(text: str, start: int, end: int, ends: str | None = None) -> tuple[int, int]:
    """Without white space at either end, or whatever else stands there and says nothing."""
    said = text[start:end]
    return start + len(said) - len(said.lstrip(ends)), start + len(said.rstrip(ends))


def _place_to_cut(text: str, start: int) -> int:
    """Behind the last line, else the last word, of the later half of what is not too long."""
    end = start + LONGEST
    window = text[start + LONGEST // 2 : end + 1]
    at = window.rfind("\n")
    if at < 0:
        at = max((space.start() for space in _SPACE.finditer(window)), default=-1)
    if at < 0:
        return border_before(text, end, start) or end
    at += start + LONGEST // 2
    return start + len(text[start:at].rstrip())
