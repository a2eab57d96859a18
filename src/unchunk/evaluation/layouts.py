"""The sets that others publish, each in the layout of its own files."""

import csv
import json
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import TypeVar

from unchunk.errors import InvalidInputError
from unchunk.evaluation.questions import Question, QuestionSet, Range, markdown, question_set
from unchunk.retrieval.query import Turn

T = TypeVar("T")


def beir(folder: Path) -> QuestionSet:
    """Judgements of the test split, where there is one."""
    documents = {}
    for where, record in _lines(folder / "corpus.jsonl"):
        title = record.get("title")
        text = _taken(record, "text", str, where)
        documents[_taken(record, "_id", str, where)] = markdown([str(title or "")], text)
    asked = {
        _taken(record, "_id", str, where): _taken(record, "text", str, where)
        for where, record in _lines(folder / "queries.jsonl")
    }
    splits = sorted((folder / "qrels").glob("*.tsv"))
    used = [one for one in splits if one.stem == "test"] or splits
    grades: dict[str, dict[str, int]] = {}
    for split in used:
        for where, row in _rows(split, ("query-id", "corpus-id", "score"), "\t"):
            if row["query-id"] not in asked:
                raise InvalidInputError(f"{where}: queries.jsonl has no query {row['query-id']!r}")
            graded = grades.setdefault(row["query-id"], {})
            graded[row["corpus-id"]] = _whole(row["score"], where)
    notes = [f"of the judgements, those of {used[0].name}"] if len(splits) > len(used) == 1 else []
    questions = (Question(asked[query], graded) for query, graded in grades.items())
    return question_set(folder, "BEIR", "documents", documents, questions, notes=notes)


def chunking_evaluation(folder: Path) -> QuestionSet:
    texts = {path.stem: _text(path) for path in sorted((folder / "corpora").glob("*.md"))}
    questions = []
    columns = ("question", "references", "corpus_id")
    for where, row in _rows(folder / "questions_df.csv", columns, ","):
        corpus = row["corpus_id"]
        ranges = []
        for one in _parsed(row["references"], list, where):
            start, end = (_taken(one, key, int, where) for key in ("start_index", "end_index"))
            said = _taken(one, "content", str, where)
            if corpus in texts and texts[corpus][start:end] != said:
                raise InvalidInputError(
                    f"{where}: characters {start} to {end} of {corpus}.md are not what is quoted"
                )
            ranges.append(Range(corpus, start, end))
        questions.append(Question(row["question"], {corpus: 1}, tuple(ranges)))
    return question_set(folder, "chunking_evaluation", "characters", texts, questions)


def anthropic_docs(folder: Path) -> QuestionSet:
    sections = folder / "anthropic_docs.json"
    documents = {}
    for number, record in enumerate(_parsed(_text(sections), list, str(sections)), 1):
        where = f"{sections}, section {number}"
        title = _taken(record, "chunk_heading", str, where)
        link = _taken(record, "chunk_link", str, where)
        documents[link] = markdown([title], _taken(record, "text", str, where))
    asked = folder / "docs_evaluation_dataset.json"
    questions = []
    for number, record in enumerate(_parsed(_text(asked), list, str(asked)), 1):
        where = f"{asked}, question {number}"
        right = _taken(record, "correct_chunks", list, where)
        questions.append(Question(_taken(record, "question", str, where), dict.fromkeys(right, 1)))
    return question_set(folder, "anthropic_docs", "documents", documents, questions)


def inscit(folder: Path) -> QuestionSet:
    """Every turn is a question, with the conversation before it. What answered any turn is there."""
    path = folder / "dev.json"
    documents: dict[str, str] = {}
    questions = []
    for name, talk in _parsed(_text(path), dict, str(path)).items():
        for number, turn in enumerate(_taken(talk, "turns", list, f"{path}, {name}"), 1):
            where = f"{path}, {name}, turn {number}"
            right = {}
            for label in _taken(turn, "labels", list, where):
                for one in _taken(label, "evidence", list, where):
                    passage = _taken(one, "passage_id", str, where)
                    titles = _taken(one, "passage_titles", list, where)
                    text = _taken(one, "passage_text", str, where)
                    documents[passage] = markdown(map(str, titles), text)
                    right[passage] = 1
            said = _taken(turn, "context", list, where)
            if right and said:
                questions.append(Question(str(said[-1]), right, history=_history(said[:-1])))
    return question_set(folder, "INSCIT", "documents", documents, questions)


def financebench(folder: Path) -> QuestionSet:
    files: dict[str, str | Path] = {
        path.stem: path for path in sorted((folder / "pdfs").glob("*.pdf"))
    }
    questions = []
    for where, record in _lines(folder / "data" / "financebench_open_source.jsonl"):
        ranges = []
        for one in _taken(record, "evidence", list, where):
            # Its pages count from 0.
            page = _taken(one, "evidence_page_num", int, where) + 1
            ranges.append(Range(_taken(one, "doc_name", str, where), page, page + 1))
        grades = dict.fromkeys((one.document for one in ranges), 1)
        text = _taken(record, "question", str, where)
        questions.append(Question(text, grades, tuple(dict.fromkeys(ranges))))
    return question_set(folder, "FinanceBench", "pages", files, questions)


def _history(said: Sequence[object]) -> tuple[Turn, ...]:
    return tuple(
        Turn("assistant" if at % 2 else "user", str(content)) for at, content in enumerate(said)
    )


def _text(path: Path) -> str:
    """With line ends as they count in ranges of characters."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise InvalidInputError(f"{path} is damaged: it is not UTF-8") from None


def _lines(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """Each line's object, with where it stands."""
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            yield where, _parsed(line, dict, where)


def _rows(
    path: Path, columns: Sequence[str], separator: str
) -> Iterator[tuple[str, dict[str, str]]]:
    reader = csv.DictReader(StringIO(_text(path), newline=""), delimiter=separator)
    try:
        if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
            raise InvalidInputError(f"{path}: there is no column {missing[0]!r}")
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if any(row[name] is None for name in columns):
                raise InvalidInputError(f"{where} is cut short")
            yield where, row
    except csv.Error as error:
        raise InvalidInputError(f"{path}, line {reader.line_num}: {error}") from None


def _parsed(text: str, kind: type[T], where: str) -> T:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"{where} is damaged: {error}") from None
    if not isinstance(value, kind):
        raise InvalidInputError(f"{where} is not what is expected: no {kind.__name__} of JSON")
    return value


def _taken(record: object, key: str, kind: type[T], where: str) -> T:
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, kind):
        raise InvalidInputError(f"{where}: {key!r} is missing, or no {kind.__name__}")
    return value


def _whole(number: str, where: str) -> int:
    try:
        return int(number)
    except ValueError:
        raise InvalidInputError(f"{where}: {number!r} is not a grade: use whole numbers") from None
