"""How fast texts are chunked, beside the chunkers that people use."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.figures import OURS, Row, Table
from bench.peers.cutting import BETWEEN
from bench.running import Run
from bench.turns import Contestant, Field, Sheet, entered

TEXTS = Path(__file__).parents[3] / "shared" / "data" / "texts"
MEGABYTE, DOCUMENT = 1_000_000, 50_000
SLICES, WORDS, TOKENS = "slices", "split and slice", "encode and slice"
FLOOR = "floor"
COMMAND = "python -m bench --only chunking"
# A chunker is asked no longer than this for one text; a slower one leaves the field.
SECONDS = 120.0
# Who takes no longer than so many seconds has as many turns in a round: short times spread most.
_BRIEF, _TURNS = 0.02, 4


_COMPILED = (
    "text-splitter is compiled, and fast while a text is short; ours is Python. About as much of its"
    " time goes into where a chunk ends as into where the next one begins; an eighth is making the"
    " chunk itself. For more, ours would have to be compiled too."
)


class Job(NamedTuple):
    """`megabytes` is what one call gets: no more than there is, and less where peers are slow."""

    name: str
    floor: str
    megabytes: float = 1.1
    why: str = ""


JOBS = (
    Job("window of 1000/200 chars", SLICES),
    Job("window of 320/80 words", WORDS),
    Job("window of 800/400 tokens", TOKENS),
    Job("boundary at 1000/200 chars", SLICES, why=_COMPILED),
    Job("boundary at 1000/0 chars", SLICES),
    Job("boundary at 400/80 tokens", TOKENS, 0.5),
    Job(
        "Markdown at 1000/200 chars",
        SLICES,
        1.0,
        "LangChain's looks for patterns and does not read the Markdown, so that many more of its"
        " chunks begin or end inside a fenced block. Ours takes two fifths of its time to find the"
        " headings and blocks, most of that in one regular expression, as much to cut between them,"
        " and a twelfth to slice the texts; for more, it would have to be compiled.",
    ),
)
_WINDOWS, _CHARS, _TOKENS = JOBS[:3], JOBS[3:5], JOBS[5:6]


def _field(name: str, variant: str, jobs: Sequence[Job]) -> Contestant:
    environment = "" if name in (OURS, FLOOR) else "chunkers"
    return Contestant(name, "cutting", variant, environment, {job.name: name for job in jobs})


FIELD = (
    _field(OURS, "ours", JOBS),
    _field(FLOOR, "floor", JOBS),
    _field("chonkie token", "chonkie token", _WINDOWS),
    _field("chonkie sentence", "chonkie sentence", _CHARS + _TOKENS),
    _field("chonkie recursive", "chonkie recursive", JOBS[4:6]),
    _field("text-splitter", "text-splitter", JOBS[3:]),
    _field("LangChain", "langchain", JOBS[2:]),
    _field("LlamaIndex", "llamaindex", JOBS[2:6]),
)


def measure(run: Run) -> list[Table]:
    documents, long = Sheet(), Sheet()
    with entered(run) as field:
        field.enter(FIELD, lambda _one, _seat: None)
        for job in JOBS:
            some = text_of(run, job.name, 0.2 if run.is_quick else 0.5, DOCUMENT)
            _speeds(run, field, job, some, documents)
            one = text_of(run, job.name, job.megabytes * (0.4 if run.is_quick else 1))
            _speeds(run, field, job, one, long)
        growth = _growth(run, field)
        missing = dict(field.missing)
    return [
        Table(
            "Chunking documents",
            f"Documents of {DOCUMENT:,} characters, one at a time, their chunks as texts: Moby-Dick,"
            " and for Markdown CommonMark's specification. The floor does what any must: it slices,"
            " and finds the words or tokens first where these are counted. chonkie's recursive chunker"
            " knows no overlap.",
            [_row(job, documents) for job in JOBS],
            COMMAND,
            missing=missing,
        ),
        Table(
            "Chunking one long text",
            "The same with one text of about a megabyte: some chunkers slow down as texts grow.",
            [_row(job, long) for job in JOBS],
            COMMAND,
            missing=missing,
        ),
        growth,
    ]


def _speeds(run: Run, field: Field, job: Job, path: Path, sheet: Sheet) -> None:
    million = len(path.read_text("utf-8")) / MEGABYTE
    turns: dict[str, int] = {}
    # The first round loads what is loaded late, and is not counted.
    for number in range(run.repeats + 1):
        for contestant, seat in field.each(number):
            if job.name not in contestant.ways:
                continue
            if not number:
                run.say(f"{job.name}, {path.stem}: {contestant.name}")
            with field.leaving(contestant.name):
                for _ in range(turns.get(contestant.name, 1) if number else 2):
                    told = seat.do("build", seconds=SECONDS, folder=str(path), ways=[job.name])
                    if number:
                        speeds = million / told.cpu, million / told.wall
                        sheet.note(job.name, contestant.name, *speeds)
                    else:
                        turns[contestant.name] = _TURNS if told.wall <= _BRIEF else 1


def _row(job: Job, sheet: Sheet) -> Row:
    cells = sheet.cells(job.name)
    named = {job.floor if name == FLOOR else name: cell for name, cell in cells.items()}
    return Row(job.name, "MB/s", named, "more", job.floor, job.why)


def _growth(run: Run, field: Field) -> Table:
    """Ours from one megabyte to eight: a chunker that is not linear shows here."""
    sheet, sizes = Sheet(), (1, 2) if run.is_quick else (1, 2, 4, 8)
    for job in JOBS:
        run.say(f"{job.name}: from {sizes[0]} to {sizes[-1]} MB")
        for number in range(3):
            for size in sizes:
                path = text_of(run, job.name, size)
                for contestant, seat in field.each(number):
                    if contestant.name == OURS:
                        told = seat.do("build", folder=str(path), ways=[job.name])
                        name = f"{job.name}, {size} MB"
                        sheet.note(name, OURS, told.cpu * 1000, told.wall * 1000)
    names = [f"{job.name}, {size} MB" for job in JOBS for size in sizes]
    rows = [Row(name, "ms", sheet.cells(name)) for name in names]
    intro = (
        "CPU time of our chunkers for one text that grows: one that is linear takes twice the time"
    )
    intro += " for twice the text."
    return Table("Chunking longer texts", intro, rows, COMMAND)


def text_of(run: Run, job: str, megabytes: float, document: int = 0) -> Path:
    """A file of that many characters, the same text again and again; as documents if need be."""
    is_markdown, length = job.startswith("Markdown"), round(megabytes * MEGABYTE)
    kind = f"{'markdown' if is_markdown else 'prose'}{'-documents' if document else ''}"
    path = run.cache / "texts" / f"{kind}-{megabytes:g}.txt"
    if not path.exists():
        text = (_commonmark() if is_markdown else _moby_dick()).replace(BETWEEN, " ")
        whole = (text * (length // len(text) + 1))[:length]
        step = document or length
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = [whole[at : at + step] for at in range(0, length, step)]
        path.write_text(BETWEEN.join(parts), "utf-8")
    return path


def _moby_dick() -> str:
    chapters = sorted((TEXTS / "moby-dick").glob("chapter_*.json"))
    return "\n\n".join(json.loads(path.read_text("utf-8"))["text"] for path in chapters)


def _commonmark() -> str:
    return (TEXTS / "commonmark" / "spec.txt").read_text("utf-8")
