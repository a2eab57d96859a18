"""The command that tells how well questions with known answers are answered."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from unchunk.cli.progress import Bars, bars
from unchunk.cli.session import INTERRUPTED, Session, with_session
from unchunk.cli.tables import counted, table
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError, MigrationNeededError, OutputError
from unchunk.evaluation.comparing import Row, compare
from unchunk.evaluation.measures import mean
from unchunk.evaluation.questions import QuestionSet
from unchunk.evaluation.running import TOKENS, Asked, Filled, alone, ask, fill
from unchunk.evaluation.sets import read_set
from unchunk.retrieval.display import harmless
from unchunk.settings import OWN_LIBRARY, Settings
from unchunk.wiring import models_folder, open_engine

# Each as its setting has it, and as people read it.
_FUSIONS = {
    "meaning": ("blend:1", "ranked by meaning"),
    "words": ("blend:0", "ranked by words"),
    "rrf": ("rrf", "RRF"),
}
_ALONE = "without the conversation"
_NOTES = 3


@dataclass(frozen=True, slots=True)
class Part:
    """Questions of one kind, and what each way of searching made of them; the first is as set."""

    title: str
    ways: Mapping[str, Asked]


@click.command("eval")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--home-of-set",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the set's library here, so that the next time nothing is embedded.",
)
@click.option("--questions", type=click.IntRange(1), help="Ask so many, from all over the set.")
@click.option(
    "--compare",
    "compared",
    multiple=True,
    type=click.Choice(tuple(_FUSIONS)),
    help="Compare with this way of searching; repeatable. Default: all.",
)
@with_session
def evaluate(
    session: Session,
    folder: Path,
    home_of_set: Path | None,
    questions: int | None,
    compared: tuple[str, ...],
) -> int:
    """Measure how well the questions of an evaluation set in FOLDER are answered.

    Its documents go into a library of their own, with the settings of yours, and its questions
    are asked as you would ask them.
    """
    asked = read_set(folder).sample(questions)
    settings = session.settings
    try:
        with _home(settings, home_of_set) as home, bars(hidden=session.as_json) as progress:
            here = replace(settings, home=home)
            filled, parts = asyncio.run(_measure(here, asked, _ways(settings, compared), progress))
    except KeyboardInterrupt:
        if home_of_set is not None:
            raise
        click.echo("Stopped. Nothing is kept: --home-of-set FOLDER would keep it.", err=True)
        return INTERRUPTED
    _tell(session, asked, filled, parts)
    return 1 if filled.failed else 0


def _ways(settings: Settings, compared: Sequence[str]) -> dict[str, str]:
    """The setting `fusion` for each way of searching, the one that is set first."""
    chosen = [_FUSIONS[name] for name in compared or _FUSIONS]
    others = {title: fusion for fusion, title in chosen if fusion != settings.fusion}
    reranked = f", {settings.reranker} reranker" if settings.reranker else ""
    return {f"as set ({settings.fusion}{reranked})": settings.fusion, **others}


@contextmanager
def _home(settings: Settings, kept: Path | None) -> Iterator[Path]:
    """Where the set's library is: the folder to be kept, or one that goes again."""
    if kept is None and ":" in settings.index:
        raise InvalidInputError(
            "the index of your settings is on a server, where a library that goes again would"
            " leave its vectors: name a --home-of-set FOLDER to keep it"
        )
    with TemporaryDirectory(prefix="unchunk-eval-") as passing:
        home = Path(passing) if kept is None else kept.absolute()
        models = models_folder(settings)
        here = models_folder(replace(settings, home=home))
        try:
            home.mkdir(parents=True, exist_ok=True)
            # Models that were fetched are in the home of the settings.
            if models.is_dir() and not here.exists():
                here.symlink_to(models, target_is_directory=True)
        except OSError as error:
            raise OutputError(f"{home} cannot be used: {error.strerror}") from None
        yield home


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Engine]:
    # The set's own documents are searched, wherever answers come from otherwise.
    engine = await open_engine(replace(settings, chat_source=OWN_LIBRARY))
    try:
        yield engine
    finally:
        await engine.close()


async def _measure(
    settings: Settings, asked: QuestionSet, ways: Mapping[str, str], progress: Bars
) -> tuple[Filled, list[Part]]:
    async with _opened(settings) as engine:
        try:
            filled = await fill(engine, asked, progress.event, progress.found)
        except MigrationNeededError:
            raise InvalidInputError(
                f"{settings.home} holds this set with another embedder or chunking:"
                f" choose another --home-of-set, or `unchunk --home {settings.home} reindex --all`"
            ) from None
    parts = {title: (some, dict[str, Asked]()) for title, some in _parts(asked).items()}
    for way, fusion in ways.items():
        async with _opened(replace(settings, fusion=fusion)) as engine:
            for title, (some, answers) in parts.items():
                step = partial(progress.step, f"{title}, {way}", "")
                answers[way] = await ask(engine, some, filled.ids, step)
                if fusion == settings.fusion and some.questions[0].history:
                    step = partial(progress.step, f"{title}, {_ALONE}", "")
                    answers[_ALONE] = await ask(engine, alone(some), filled.ids, step)
    return filled, [Part(title, answers) for title, (_, answers) in parts.items()]


def _parts(asked: QuestionSet) -> dict[str, QuestionSet]:
    """Questions that follow others are told apart from those that stand alone."""
    first = tuple(one for one in asked.questions if not one.history)
    later = tuple(one for one in asked.questions if one.history)
    parts = {"First questions" if later else "Questions": first, "Follow-ups": later}
    return {title: replace(asked, questions=some) for title, some in parts.items() if some}


def _tell(session: Session, asked: QuestionSet, filled: Filled, parts: Sequence[Part]) -> None:
    if session.as_json:
        session.result(_record(asked, filled, parts))
        return
    session.say(
        f"{asked.name}: {asked.layout}, {counted(len(asked.documents), 'document')},"
        f" {counted(len(asked.questions), 'question')}"
    )
    for note in asked.notes:
        session.say(f"({harmless(note)})")
    for problem in filled.failed:
        session.say(f"failed: {harmless(problem)}")
    for part in parts:
        for line in _lines(part):
            session.say(line)
    session.say(
        "\n95%: where the mean is (bootstrap). p: how often chance alone gives such a difference"
        " from the first row (paired randomisation)."
    )


def _lines(part: Part) -> Iterator[str]:
    usual, *_ = part.ways.values()
    yield f"\n{part.title}: {len(usual.figures)}"
    titles = ("measure", "way", "mean", "95%", "p")
    rows = compare({way: one.figures for way, one in part.ways.items()})
    first = next(iter(part.ways))
    yield from table(titles, [_cells(row, named=row.way == first) for row in rows])
    yield ""
    facts = ("way", "found nothing", "characters twice", "tokens shown, of so many")
    yield from table(facts, [(way, *_facts(one)) for way, one in part.ways.items()])
    for way, one in part.ways.items():
        yield from (f"({way}: {harmless(note)})" for note in one.notes[:_NOTES])
        if len(one.notes) > _NOTES:
            yield f"({way}: and {len(one.notes) - _NOTES} more such remarks)"


def _cells(row: Row, *, named: bool) -> tuple[str, ...]:
    p = "" if row.p is None else "<0.001" if row.p < 0.001 else f"{row.p:.3f}"
    name = row.measure if named else ""
    return name, row.way, f"{row.mean:.3f}", f"{row.low:.3f}-{row.high:.3f}", p


def _facts(asked: Asked) -> tuple[str, str, str]:
    nothing = sum(not one.found for one in asked.figures)
    twice = sum(one.duplicated for one in asked.figures)
    used = map(mean, zip(*(one.tokens for one in asked.figures), strict=True))
    tokens = " ".join(f"{one:.0f}/{budget}" for one, budget in zip(used, TOKENS, strict=False))
    return str(nothing), str(twice), tokens


def _record(asked: QuestionSet, filled: Filled, parts: Sequence[Part]) -> dict[str, object]:
    return {
        "set": asked.name,
        "layout": asked.layout,
        "kind": asked.kind,
        "documents": len(asked.documents),
        "failed": filled.failed,
        "counters": filled.counters,
        "notes": asked.notes,
        "parts": [
            {
                "title": part.title,
                "questions": len(next(iter(part.ways.values())).figures),
                "rows": compare({way: one.figures for way, one in part.ways.items()}),
                "ways": part.ways,
            }
            for part in parts
        ],
    }
