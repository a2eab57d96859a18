"""The five requirement documents, read from beside the checkout, and their code blocks."""

import re
from functools import cache
from typing import NamedTuple

import pytest

from corpus import ROOT

SEEDS = ROOT.parent / "shared" / "seeds"
MISSING = f"the requirement documents are not at {SEEDS.relative_to(ROOT.parent)}"
needs_documents = pytest.mark.skipif(not SEEDS.is_dir(), reason=MISSING)

_FENCE = re.compile(r"^[ \t]*```(\w*)[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)


class CodeBlock(NamedTuple):
    """A fenced block: `line` is that of its opening fence, counted from 1."""

    line: int
    language: str
    code: str


@cache
def document(number: str) -> str:
    """The text of a document, such as `document("001")`."""
    [path] = SEEDS.glob(f"{number}_*.txt")
    return path.read_text("utf-8")


@cache
def code_blocks(number: str) -> tuple[CodeBlock, ...]:
    text = document(number)
    return tuple(
        CodeBlock(text.count("\n", 0, it.start()) + 1, it[1], it[2]) for it in _FENCE.finditer(text)
    )


def code_block(number: str, line: int) -> str:
    """The code of the block whose opening fence is on `line`."""
    [code] = [one.code for one in code_blocks(number) if one.line == line]
    return code
