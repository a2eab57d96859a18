"""Every statement of the requirement documents has a test, and every departure is explained."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from corpus import ROOT
from seed_documents import code_blocks, needs_documents

DOCUMENTS = ("000", "001", "002", "003", "004")
# The only matters in which unchunk may do something else than the documents say.
ALLOWED = frozenset(
    [
        "always-on",
        "blend",
        "chunk-size",
        "chunks-per-document",
        "context-placement",
        "default-index",
        "environment-names",
        "existing-output",
        "file-names",
        "follow-ups",
        "index-base",
        "keywords",
        "longest-match",
        "min-score",
        "near-identical",
        "no-overlap",
        "overlap-per-joint",
        "purge-by-checksum",
        "three-documents",
        "too-much-context",
        "whitespace",
    ]
)

_ROW = re.compile(r"^\| (\d{3})-(\d+) \| ([\d, -]+) \| (.+) \| ([^|]+) \|$", re.MULTILINE)
_STATE = re.compile(r"works|departs: ([a-z-]+)")
_DEPARTURE = re.compile(r"^\| `([a-z-]+)` \|(?: [^|]+ \|){3}$", re.MULTILINE)


class Statement(NamedTuple):
    id: str
    document: str
    lines: frozenset[int]
    departure: str


def statements() -> Iterator[Statement]:
    page = (ROOT / "docs" / "requirements.md").read_text("utf-8")
    for document, number, lines, text, state in _ROW.findall(page):
        match = _STATE.fullmatch(state)
        assert match, f"{document}-{number} ({text}) has the unknown state {state!r}"
        yield Statement(f"{document}-{number}", document, _numbers(lines), match[1] or "")


def _numbers(lines: str) -> frozenset[int]:
    spans = (part.split("-") for part in lines.replace(" ", "").split(","))
    return frozenset(n for span in spans for n in range(int(span[0]), int(span[-1]) + 1))


def marked() -> Iterator[str]:
    """The statements that the tests beside this one are marked with."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "statement"
            ):
                yield from (ast.literal_eval(one) for one in node.args)


def departures() -> list[str]:
    return _DEPARTURE.findall((ROOT / "docs" / "departures.md").read_text("utf-8"))


def test_each_statement_is_listed_once() -> None:
    counts = Counter(one.id for one in statements())
    assert [one for one, count in counts.items() if count > 1] == []
    page = (ROOT / "docs" / "requirements.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if re.match(r"\| \d", line)]
    assert len(rows) == counts.total(), "a row of requirements.md is not written as the others"


def test_each_statement_has_a_test_and_each_test_a_statement() -> None:
    assert {one.id for one in statements()} == set(marked())


def test_each_departure_is_explained_and_allowed() -> None:
    made = {one.departure for one in statements()} - {""}
    listed = departures()
    assert sorted(listed) == sorted(set(listed))
    assert made <= set(listed), "requirements.md names a departure that departures.md lacks"
    assert set(listed) <= ALLOWED


def test_each_departure_belongs_to_a_statement() -> None:
    assert set(departures()) <= {one.departure for one in statements()}


@needs_documents
@pytest.mark.parametrize("number", DOCUMENTS)
def test_each_code_block_of_a_document_is_among_the_statements(number: str) -> None:
    covered = {line for one in statements() if one.document == number for line in one.lines}
    missing = [one.line for one in code_blocks(number) if one.line not in covered]
    assert missing == [], f"no statement covers the code blocks on lines {missing}"
