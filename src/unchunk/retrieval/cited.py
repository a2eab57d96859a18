"""The citations in the text of an answer, as far as they can be told without what it was sent.

Check each id before using it: it may be unknown, belong to another owner, or not be an id at all.
"""

import re
from collections.abc import Container, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from unchunk.domain import DocumentId

# How much of an answer is read, and how many citations of it; a range is cut after the first.
_READ, _MOST, _WIDEST = 100_000, 200, 32
# Maximum number of listed sources that are looked up.
_MOST_SOURCES = 20
_BRACKET = re.compile(r"\[([^\[\]\n]{1,1000})\]")
_PART = re.compile(
    r"\s*(?:(?P<document>\S(?:.*\S)?)\s*:\s*)?(?P<first>[0-9]{1,9})"
    r"(?:\s*[-\u2010-\u2015]\s*(?P<last>[0-9]{1,9}))?\s*"
)
_NUMBER = re.compile(r"\s*(?P<number>[0-9]{1,3})\s*")
# A line of a list of sources: "[1] rules.md, page 3", "1. rules.md: chunks 0-2".
_SOURCE = re.compile(r"[ \t>*-]*(?:\[([0-9]{1,3})\]:?|([0-9]{1,3})[.)])[ \t]+(\S[^\n]{0,1000})")
# A name does not end where a word or a path goes on.
_GOES_ON = re.compile(r"[\w/]|\.\w")


class Citations(NamedTuple):
    """`chunks` as they are cited, and lines of a list of `sources` that numbers refer to."""

    chunks: tuple[tuple[DocumentId, int], ...] = ()
    sources: tuple[str, ...] = ()


def citations_in(answer: str) -> Citations:
    """In the order in which the answer cites them, each once."""
    answer = answer[:_READ]
    listed: dict[int, str] = {}
    lines: list[str] = []
    for line in answer.splitlines():
        if found := _SOURCE.fullmatch(line):
            listed.setdefault(int(found[1] or found[2]), found[3])
        else:
            lines.append(line)
    chunks: dict[tuple[DocumentId, int], None] = {}
    sources: dict[str, None] = {}
    for bracket in _BRACKET.finditer(answer):
        for one in _parts(bracket[1]):
            if len(chunks) < _MOST:
                chunks[one] = None
    # A number in the list itself cites nothing.
    for bracket in _BRACKET.finditer("\n".join(lines)):
        for number in re.split(r"[,;&]", bracket[1]):
            if (found := _NUMBER.fullmatch(number)) and int(found["number"]) in listed:
                sources[listed[int(found["number"])]] = None
    return Citations(tuple(chunks), tuple(sources)[:_MOST_SOURCES])


def named_in_line(line: str, names: Container[str]) -> str:
    """The longest of the names that a line of a list of sources begins with; empty if it has none."""
    ends = (end for end in range(len(line), 0, -1) if not _GOES_ON.match(line, end))
    return next((line[:end] for end in ends if line[:end] in names), "")


def _parts(bracket: str) -> Iterator[tuple[DocumentId, int]]:
    """What stands in one bracket: parts such as `id:3`, `id:3-5` or, behind one of them, `4`."""
    document = ""
    for part in re.split(r"[,;&]", bracket):
        found = _PART.fullmatch(part)
        if found is None or not (document := found["document"] or document):
            return
        first = int(found["first"])
        last = int(found["last"] or first)
        for index in range(min(first, last), min(max(first, last), min(first, last) + _WIDEST) + 1):
            for one in dict.fromkeys((document, unquote(document), document.lower())):
                yield one, index
