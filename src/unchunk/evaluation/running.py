"""A set into a library, and its questions to the engine itself, as a user asks them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from unchunk.engine import Engine, silent
from unchunk.errors import InvalidInputError, ProviderUnavailableError
from unchunk.evaluation.measures import cover, ndcg, recall, reciprocal_rank
from unchunk.evaluation.questions import Question, QuestionSet, Range
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.text.tokens import get_encoding

TOKENS = (500, 1000, 1500, 2000)
_LIMIT = 10
_CHUNKS_PER_DOCUMENT = 3
_READABLE = " ,;()&'+=@!"
_LONGEST_NAME = 180


@dataclass(frozen=True, slots=True)
class Figures:
    """What one question gave: each measure by its name, and how many characters were shown twice.

    `tokens` is how much was shown for each of `TOKENS`, where it was asked with these.
    """

    values: Mapping[str, float]
    found: bool
    duplicated: int
    tokens: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """The figures of all questions in their order; `notes` says where a search was less."""

    figures: tuple[Figures, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Filled:
    """`ids` has the set's id for each name in the library; `failed` are documents with no text."""

    ids: Mapping[str, str]
    failed: tuple[str, ...]
    counters: Mapping[str, int]


async def fill(
    engine: Engine,
    asked: QuestionSet,
    report: Callable[..., None] = silent,
    found: Callable[[int], None] = silent,
) -> Filled:
    """Add the set's documents as files; what is there already is left as it is.

    Raises `InvalidInputError` if the library holds anything else, or if a text of which ranges
    are known changes as it comes in.
    """
    ids = names(asked.documents)
    others = [one.name for one in await engine.documents() if one.name not in ids]
    if others:
        raise InvalidInputError(
            f"this home holds {len(others)} documents that are not of the set, such as"
            f" {others[0]!r}: choose a home of its own for each set"
        )
    with TemporaryDirectory(prefix="unchunk-set-") as folder:
        paths = await asyncio.to_thread(_write, Path(folder), ids, asked.documents)
        outcomes = await engine.add(*paths, report=report, found=found)
    waiting = [one for one in outcomes if one.result == "waiting"]
    if waiting:
        raise ProviderUnavailableError(
            f"{len(waiting)} documents of the set could not be embedded: {waiting[0].error}"
        )
    if asked.kind == "characters":
        await _check_texts(engine, ids, asked.documents)
    failed = [f"{ids[one.name]}: {one.error}" for one in outcomes if one.result == "failed"]
    return Filled(ids, tuple(failed), (await engine.counts()).counters)


async def ask(
    engine: Engine,
    asked: QuestionSet,
    ids: Mapping[str, str],
    watch: Callable[[int, int], None] = silent,
) -> Asked:
    """Each question by itself, with the history it has; `watch` is told how many are done."""
    figures: list[Figures] = []
    notes: list[str] = []
    for number, question in enumerate(asked.questions, 1):
        if asked.kind == "documents":
            figures.append(await _of_documents(engine, question, ids, notes))
        else:
            by_page = asked.kind == "pages"
            figures.append(await _of_ranges(engine, question, ids, notes, by_page=by_page))
        watch(number, len(asked.questions))
    if asked.questions:
        # A ranking does not tell that its embedder was down; this does.
        notes += (await engine.search(asked.questions[-1].text, limit=1)).notes
    return Asked(tuple(figures), tuple(dict.fromkeys(notes)))


def alone(asked: QuestionSet) -> QuestionSet:
    """The same questions as if nothing had been said before them."""
    return replace(
        asked, questions=tuple(replace(question, history=()) for question in asked.questions)
    )


def names(documents: Mapping[str, str | Path]) -> dict[str, str]:
    """The id of each document by the name of its file, which no other one has."""
    made: dict[str, str] = {}
    taken: set[str] = set()
    for one, content in documents.items():
        if isinstance(content, Path):
            made[content.name] = one
            continue
        name = quote(one, _READABLE)
        if len(name) > _LONGEST_NAME or name.startswith((".", " ")) or name.casefold() in taken:
            name = f"{name[:_LONGEST_NAME].strip('. ')}~{sha256(one.encode()).hexdigest()[:16]}"
        taken.add(name.casefold())
        made[f"{name}.md"] = one
    return made


def _write(folder: Path, ids: Mapping[str, str], documents: Mapping[str, str | Path]) -> list[Path]:
    """The documents as files, those that are none yet in the folder."""
    files = []
    for name, one in ids.items():
        content = documents[one]
        if isinstance(content, Path):
            files.append(content)
        else:
            (folder / name).write_text(content, "utf-8", newline="\n")
    return [folder, *files]


async def _check_texts(
    engine: Engine, ids: Mapping[str, str], documents: Mapping[str, str | Path]
) -> None:
    for name, one in ids.items():
        if await engine.text(name) != documents[one]:
            raise InvalidInputError(
                f"the text of {one} is not the same in the library as in the set, so that its"
                " ranges cannot be compared: save it as UTF-8 without marks of its own"
            )


async def _of_documents(
    engine: Engine, question: Question, ids: Mapping[str, str], notes: list[str]
) -> Figures:
    if question.history:
        amount = Amount(_LIMIT, _CHUNKS_PER_DOCUMENT, also_see=False)
        evidence = await engine.retrieve(question.text, history=question.history, amount=amount)
        notes += evidence.notes
        documents: Sequence[ReconstructedDocument] = evidence.documents
    else:
        documents = await engine.search_with_context(
            question.text, limit=_LIMIT, chunks_per_doc=_CHUNKS_PER_DOCUMENT
        )
    order = [ids[one.name] for one in documents]
    values = {
        "nDCG@10": ndcg(order, question.grades, 10),
        "MRR@10": reciprocal_rank(order, question.grades, 10),
        "recall@3": recall(order, question.grades, 3),
        "recall@10": recall(order, question.grades, 10),
    }
    return Figures(values, bool(documents), cover(_characters(documents, ids), ()).duplicated)


async def _of_ranges(
    engine: Engine,
    question: Question,
    ids: Mapping[str, str],
    notes: list[str],
    *,
    by_page: bool,
) -> Figures:
    """At each budget anew: what is chosen for much room is more than what is chosen for little."""
    values: dict[str, float] = {}
    tokens: list[int] = []
    count = get_encoding().count
    duplicated = 0
    for budget in TOKENS:
        amount = Amount(_LIMIT, None, budget=budget, measure=count, also_see=False)
        evidence = await engine.retrieve(question.text, history=question.history, amount=amount)
        notes += evidence.notes
        tokens.append(sum(count(one.full_content) for one in evidence.documents))
        shown = _characters(evidence.documents, ids)
        covered = cover(shown, question.ranges)
        duplicated += covered.duplicated
        if by_page:
            pages = cover(_pages(evidence.documents, ids), question.ranges)
            values[f"page recall at {budget} tokens"] = pages.recall
        else:
            values[f"recall at {budget} tokens"] = covered.recall
            values[f"precision at {budget} tokens"] = covered.precision
            values[f"IoU at {budget} tokens"] = covered.iou
    return Figures(values, any(tokens), duplicated, tuple(tokens))


def _characters(documents: Sequence[ReconstructedDocument], ids: Mapping[str, str]) -> list[Range]:
    """Of the passages' own texts, so that what they say twice is seen."""
    return [
        Range(ids[one.name], it.start, it.start + len(it.text))
        for one in documents
        for it in one.passages
    ]


def _pages(documents: Sequence[ReconstructedDocument], ids: Mapping[str, str]) -> list[Range]:
    return [
        Range(ids[one.name], it.first_page, it.last_page + 1)
        for one in documents
        for it in one.passages
        if it.first_page is not None and it.last_page is not None
    ]
