"""What the pure core takes, memory and instructions, does not grow."""

import shutil
import sys

import pytest

from servers import missing
from work.budgets import INSTRUCTIONS, PEAK_BYTES
from work.callgrind import ratios
from work.holding import misfits
from work.memory import peaks

SPLIT = "chunking at boundaries"
DONE_TWICE = """
from unchunk.text import chunking
split = chunking.split
chunking.split = lambda *given: list(split(*given)) and split(*given)
"""
COPIED = """
from unchunk.text import chunking
split = chunking.split
chunking.split = lambda text, *rest: split("".join(list(text)), *rest)
"""

needs_its_python = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="instructions were counted with Python 3.11"
)


@pytest.fixture(scope="module")
def instructions(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, float], float]:
    if not shutil.which("valgrind"):
        missing("valgrind is not installed: apt-get install valgrind, or run make system")
    return ratios(tmp_path_factory.mktemp("callgrind"), DONE_TWICE, SPLIT)


@needs_its_python
def test_no_work_takes_more_instructions_than_its_budget(
    instructions: tuple[dict[str, float], float],
) -> None:
    """Builds of the same Python differ by up to a quarter, those of distributions downwards."""
    assert not misfits(instructions[0], INSTRUCTIONS, above=0.12, below=0.4)


@needs_its_python
def test_work_that_is_done_twice_is_seen(instructions: tuple[dict[str, float], float]) -> None:
    _, twice = instructions
    [said] = misfits({SPLIT: twice}, {SPLIT: INSTRUCTIONS[SPLIT]}, above=0.12)
    assert said.startswith(f"{SPLIT}: grew from {INSTRUCTIONS[SPLIT]:.4g} to ")


def test_no_work_needs_more_memory_than_its_budget() -> None:
    assert not misfits(peaks(), PEAK_BYTES, above=0.12, below=0.4)


def test_a_copy_of_the_text_is_seen() -> None:
    said = misfits(peaks(COPIED), PEAK_BYTES, above=0.12, below=0.4)
    assert [it for it in said if it.startswith(f"{SPLIT}: grew from ")]
