"""Documents with questions whose answers are known. Knows nothing of how they are asked."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

from unchunk.errors import InvalidInputError
from unchunk.retrieval.query import Turn

# What is to be found: documents, or in them the characters or the pages that answer.
Kind = Literal["documents", "characters", "pages"]


class Range(NamedTuple):
    """The characters `[start:end]` of a document, or its pages; pages count from 1."""

    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """`grades` are the documents that answer, with how well they do; `history` comes before it."""

    text: str
    grades: Mapping[str, int]
    ranges: tuple[Range, ...] = ()
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """`documents` by their ids: Markdown, or a file. `notes` says what of the set is left out."""

    name: str
    layout: str
    kind: Kind
    documents: Mapping[str, str | Path] = field(repr=False)
    questions: tuple[Question, ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    def sample(self, number: int | None) -> "QuestionSet":
        """At most so many questions, from all over the set; the documents stay."""
        every = self.questions
        if number is None or number >= len(every):
            return self
        chosen = tuple(every[at * len(every) // number] for at in range(number))
        note = f"{number} of {len(every)} questions are asked"
        return replace(self, questions=chosen, notes=(*self.notes, note))


def question_set(
    folder: Path,
    layout: str,
    kind: Kind,
    documents: Mapping[str, str | Path],
    asked: Iterable[Question],
    *,
    notes: Iterable[str] = (),
) -> QuestionSet:
    """A set without the answers that none of its documents gives, which is noted."""
    every = list(asked)
    questions = tuple(_answerable(every, documents))
    notes = list(notes)
    if absent := len({one for it in every for one in it.grades} - documents.keys()):
        notes.append(f"{absent} documents that answer are not there")
    if left := len(every) - len(questions):
        notes.append(f"{left} of {len(every)} questions are left out: nothing here answers them")
    if not questions:
        raise InvalidInputError(
            f"{folder} has no question that a document of it answers: is a part of it missing?"
        )
    return QuestionSet(folder.resolve().name, layout, kind, documents, questions, tuple(notes))


def markdown(titles: Iterable[str], text: str) -> str:
    """A text under its titles, each a heading below the one before."""
    said = [" ".join(title.split()) for title in titles if title.strip()]
    # Some texts repeat their own title.
    body = text.removeprefix(said[-1]).lstrip() if said else text
    headings = [f"{'#' * level} {title}" for level, title in enumerate(said, 1)]
    return "\n\n".join([*headings, body]) + "\n"


def _answerable(
    asked: Iterable[Question], documents: Mapping[str, str | Path]
) -> Iterator[Question]:
    for one in asked:
        grades = {it: grade for it, grade in one.grades.items() if it in documents and grade > 0}
        if grades and one.text.strip():
            ranges = tuple(it for it in one.ranges if it.document in documents)
            yield replace(one, grades=grades, ranges=ranges)
