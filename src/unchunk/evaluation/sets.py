"""A folder as a set of questions, by what lies in it."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from unchunk.errors import InvalidInputError
from unchunk.evaluation import layouts
from unchunk.evaluation.questions import QuestionSet


class Layout(NamedTuple):
    """A set is laid out so if all the `files` are there, which are patterns."""

    name: str
    files: tuple[str, ...]
    read: Callable[[Path], QuestionSet]


LAYOUTS = (
    Layout("BEIR", ("corpus.jsonl", "queries.jsonl", "qrels/*.tsv"), layouts.beir),
    Layout(
        "chunking_evaluation", ("questions_df.csv", "corpora/*.md"), layouts.chunking_evaluation
    ),
    Layout(
        "anthropic_docs",
        ("anthropic_docs.json", "docs_evaluation_dataset.json"),
        layouts.anthropic_docs,
    ),
    Layout("INSCIT", ("dev.json",), layouts.inscit),
    Layout(
        "FinanceBench",
        ("data/financebench_open_source.jsonl", "pdfs/*.pdf"),
        layouts.financebench,
    ),
)


def read_set(folder: Path) -> QuestionSet:
    """Raises `InvalidInputError`, which names what was expected, for any other folder."""
    if not folder.is_dir():
        raise InvalidInputError(f"{folder} is not a folder: give the folder of an evaluation set")
    begun: list[str] = []
    for layout in LAYOUTS:
        missing = [pattern for pattern in layout.files if not any(folder.glob(pattern))]
        if not missing:
            return layout.read(folder)
        if len(missing) < len(layout.files):
            begun.append(f"{layout.name}, but there is no {' and no '.join(missing)}")
    if begun:
        raise InvalidInputError(f"{folder} looks like {'; or like '.join(begun)}")
    known = "; ".join(f"{layout.name} ({', '.join(layout.files)})" for layout in LAYOUTS)
    raise InvalidInputError(f"{folder} is not an evaluation set; expected one of {known}")
