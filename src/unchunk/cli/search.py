"""The command that asks: whole passages, and why these."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import TypedDict, Unpack, cast

import click
from rich.console import Console
from rich.text import Text

from unchunk.cli.session import Session, plain, with_session
from unchunk.cli.tables import hit_lines, table
from unchunk.domain import ChunkingStrategy, Unit
from unchunk.errors import InvalidStrategyError
from unchunk.retrieval.amount import MOST, Amount
from unchunk.retrieval.display import (
    card,
    content,
    content_label,
    harmless,
    heading,
    one_line,
    spans,
)
from unchunk.retrieval.evidence import ReconstructedDocument, runs
from unchunk.retrieval.followup import is_empty
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.shelf import Candidate, Place, Where
from unchunk.retrieval.words import words_of
from unchunk.settings import Settings
from unchunk.synchronous import SynchronousEngine
from unchunk.wiring.collections import open_collection

_INDENT = "    "
_FIELDS = "pages"
_DAY = click.DateTime(["%Y-%m-%d"])
_CUT = re.compile(r"(\d+)/(\d+) (words|chars|tokens)")
_PAGES = re.compile(r"(\d+)(?:-(\d+))?")


class Options(TypedDict):
    limit: int
    chunks_per_doc: int
    no_adjacent: bool
    min_score: float | None
    budget: int | None
    chunks: int | None
    full_documents: int | None
    full_chars: int | None
    folders: tuple[str, ...]
    names: tuple[str, ...]
    types: tuple[str, ...]
    pages: tuple[int, int] | None
    since: datetime | None
    until: datetime | None
    collection: str | None
    fields: str
    named: tuple[str, ...]
    owner_field: str
    cut: ChunkingStrategy | None
    vector: str
    sparse_vector: str
    snippets: bool
    no_content: bool
    why: bool


def _pages(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    if value is None:
        return None
    match = _PAGES.fullmatch(value)
    if match is None:
        raise click.BadParameter("write 7 or 3-9")
    first, last = int(match[1]), int(match[2] or match[1])
    if not 1 <= first <= last:
        raise click.BadParameter("pages count from 1, the lower one first")
    return first, last


def _cut(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> ChunkingStrategy | None:
    if value is None:
        return None
    match = _CUT.fullmatch(value.strip())
    if match is None:
        raise click.BadParameter("write it as '320/80 words', 'chars' or 'tokens'")
    try:
        return ChunkingStrategy(cast("Unit", match[3]), int(match[1]), int(match[2]))
    except InvalidStrategyError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.argument("question")
@click.option(
    "--limit",
    default=5,
    show_default=True,
    type=click.IntRange(1, 100),
    help="Return at most this many documents.",
)
@click.option(
    "--chunks-per-doc",
    default=3,
    show_default=True,
    type=click.IntRange(1, 100),
    help="Select at most this many matching chunks of each document.",
)
@click.option("--no-adjacent", is_flag=True, help="Leave out the chunks beside the matches.")
@click.option(
    "--min-score",
    type=float,
    help="Leave out chunks whose similarity to the question is below this (-1 to 1).",
)
@click.option(
    "--budget", type=click.IntRange(1), help="Return at most this many characters in total."
)
@click.option(
    "--chunks",
    type=click.IntRange(1, MOST),
    help="Return at most this many matching chunks in total.",
)
@click.option(
    "--full-documents",
    type=click.IntRange(0, MOST),
    help="Maximum number of whole documents when the question names none.",
)
@click.option(
    "--full-chars",
    type=click.IntRange(0),
    help="Maximum characters per whole document; 0: whatever the budget allows.",
)
@click.option("--folder", "folders", multiple=True, help="Only in this folder; repeatable.")
@click.option("--name", "names", multiple=True, help="Only in documents of this name; repeatable.")
@click.option(
    "--type", "types", multiple=True, help="Only this media type: application/pdf, text/."
)
@click.option("--pages", callback=_pages, help="Only on these pages: 7 or 3-9.")
@click.option("--since", type=_DAY, help="Only what was changed on this day or later.")
@click.option("--until", type=_DAY, help="Only what was changed on this day or earlier.")
@click.option(
    "--collection",
    help="Search a collection: qdrant:URL#NAME, qdrant:FOLDER#NAME, chroma:FOLDER#NAME,"
    " chroma:URL#NAME, chunkenizer:URL.",
)
@click.option(
    "--fields", default=_FIELDS, help="How they are stored: pages, langchain, llama-index."
)
@click.option(
    "--field", "named", multiple=True, help="Which field holds what: text=body; repeatable."
)
@click.option("--owner-field", default="", help="Which field tells whose a chunk is.")
@click.option("--cut", callback=_cut, help="How they were cut, if known: '320/80 words'.")
@click.option(
    "--vector", default="", help="Name of the Qdrant vector to search, if there are several."
)
@click.option(
    "--sparse-vector", default="", help="Name of the sparse vector to search, if several hold BM25."
)
@click.option("--snippets", is_flag=True, help="Show plain chunks, each by itself.")
@click.option("--no-content", is_flag=True, help="List the documents without their text.")
@click.option("--why", is_flag=True, help="Tell the plan, every score, and what was left out.")
@with_session
def search(session: Session, question: str, **options: Unpack[Options]) -> None:
    """Find the passages that answer QUESTION, by meaning and by words.

    A question that asks for detail or scope ("explain", "all", "throughout") brings whole
    documents; "source:NAME" in it names one. --why tells.
    """
    _check(options)
    where = _where(options)
    if options["snippets"]:
        with _searched(session, options) as searched:
            found = searched.search(question, limit=options["limit"], where=where)
        session.result(found)
        for line in (*_notes(found.notes), *hit_lines(found.hits)):
            session.say(harmless(line).replace("\n", " "))
        _say_if_nothing(session, found.hits)
        return
    amount = Amount(
        options["limit"],
        options["chunks_per_doc"],
        not options["no_adjacent"],
        options["min_score"],
        options["budget"],
        **_full(session.settings, options),
    )
    with _searched(session, options) as searched:
        evidence = searched.retrieve(question, where=where, amount=amount)
    if session.as_json:
        session.result(_record(evidence, why=options["why"]))
        return
    words = [it.text for it in words_of(evidence.plan.search_text) if not is_empty(it.text)]
    for line in _lines(evidence, words, with_content=not options["no_content"]):
        session.say(line)
    if options["why"]:
        for line in _reasons(evidence):
            session.say(line)
    _say_if_nothing(session, evidence.documents)


class _Full(TypedDict):
    hits: int | None
    full_documents: int
    full_length: int | None


def _full(settings: Settings, options: Options) -> _Full:
    """How many chunks and whole documents are wanted, and how long these may be."""
    number, length = options["full_documents"], options["full_chars"]
    if length is None:
        length = settings.full_document_chars
    if not length and options["budget"] is None:
        # Without a limit, use the length that a model would get.
        length = settings.max_context_chars
    return {
        "hits": options["chunks"],
        "full_documents": settings.full_documents if number is None else number,
        "full_length": length or None,
    }


def _check(options: Options) -> None:
    """Refuse options that would do nothing."""
    if options["snippets"]:
        clashes = {
            "--why": options["why"],
            "--no-content": options["no_content"],
            "--no-adjacent": options["no_adjacent"],
            "--min-score": options["min_score"] is not None,
            "--budget": options["budget"] is not None,
            "--chunks": options["chunks"] is not None,
            "--full-documents": options["full_documents"] is not None,
            "--full-chars": options["full_chars"] is not None,
        }
        if given := [name for name, is_given in clashes.items() if is_given]:
            raise click.UsageError(f"--snippets cannot be combined with {', '.join(given)}")
    told = ("named", "owner_field", "cut", "vector", "sparse_vector")
    is_told = any(map(options.get, told)) or options["fields"] != _FIELDS
    if options["collection"] is None and is_told:
        raise click.UsageError(
            "--fields, --field, --owner-field, --cut, --vector and --sparse-vector are for a"
            " --collection"
        )


def _searched(session: Session, options: Options) -> AbstractContextManager[SynchronousEngine]:
    """The library, which the session closes, or a collection."""
    place = options["collection"]
    return nullcontext(session.library) if place is None else _collection(session, place, options)


def _collection(session: Session, place: str, options: Options) -> SynchronousEngine:
    fields: str | dict[str, str] = options["fields"]
    if options["named"]:
        fields = {}
        for one in options["named"]:
            part, equals, name = one.partition("=")
            if not (part and equals and name):
                raise click.UsageError(f"--field {one}: write it as text=body")
            fields[part] = name
    settings = session.settings
    return SynchronousEngine(
        lambda: open_collection(
            settings,
            place,
            fields=fields,
            owner_field=options["owner_field"],
            cut=options["cut"],
            vector=options["vector"],
            sparse_vector=options["sparse_vector"],
        )
    )


def _where(options: Options) -> Where:
    until = options["until"]
    return Where(
        folders=options["folders"] or None,
        names=options["names"] or None,
        media_types=options["types"] or None,
        pages=options["pages"],
        since=_local(options["since"]),
        # Up to the end of that day.
        until=None if until is None else _local(until + timedelta(days=1, microseconds=-1)),
    )


def _local(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    try:
        return moment.astimezone().astimezone(UTC)
    except (OverflowError, ValueError):
        # The first or the last day that there is: so far off, hours do not matter.
        return moment.replace(tzinfo=UTC)


def _say_if_nothing(session: Session, found: Sequence[object]) -> None:
    if not found:
        session.say("nothing was found; --why tells more, and `unchunk ls` what there is to find")


def _record(evidence: Evidence, *, why: bool) -> dict[str, object]:
    record = {
        "plan": plain(evidence.plan),
        "documents": [plain(one.as_dict()) for one in evidence.documents],
        "also_see": plain(evidence.also_see),
        "omitted": plain(evidence.omitted),
        "notes": list(evidence.notes),
    }
    if why:
        record |= {"found": plain(evidence.found), "dropped": plain(evidence.dropped)}
    return record


def _notes(notes: Sequence[str]) -> Iterator[str]:
    return (f"({one_line(note)})" for note in notes)


def _lines(evidence: Evidence, words: Sequence[str], *, with_content: bool) -> Iterator[str]:
    yield from _notes(evidence.notes)
    if evidence.documents:
        yield heading(len(evidence.documents))
    for number, document in enumerate(evidence.documents, 1):
        first, *facts = card(number, document)
        yield ""
        yield click.style(first, bold=True)
        yield from facts
        if with_content:
            yield ""
            yield f"{_INDENT}{content_label(document)}"
            yield from _highlighted(document, words)
    for omission in evidence.omitted:
        yield f"\nleft out of {one_line(omission.name)}: {runs(omission.chunks)}: {omission.reason}"
    if evidence.also_see:
        yield "\nAlso see:"
        for related in evidence.also_see:
            score = "found by words" if related.found_by == "words" else f"{related.score:.2f}"
            yield f"{_INDENT}{one_line(related.name)} ({score}): {one_line(related.reason)}"


def _highlighted(document: ReconstructedDocument, words: Sequence[str]) -> Iterator[str]:
    """Its text, indented; on a screen no line is so long that it would begin anew at the edge."""
    console = Console()
    width = max(console.width - len(_INDENT), 20)
    for line in content(document).split("\n"):
        rows = Text(line).wrap(console, width) if console.is_terminal else [Text(line)]
        for row in rows or [Text()]:
            yield f"{_INDENT}{_styled(row.plain, words)}".rstrip()


def _styled(line: str, words: Sequence[str]) -> str:
    end, parts = 0, []
    for start, after in spans(line, words):
        parts += [line[end:start], click.style(line[start:after], fg="yellow", bold=True)]
        end = after
    return "".join([*parts, line[end:]])


def _reasons(evidence: Evidence) -> Iterator[str]:
    plan = evidence.plan
    yield f"\nWhy: {plan.mode}"
    for reason in plan.reasons or ("nothing in the question asks for more than passages",):
        yield f"{_INDENT}{one_line(reason)}"
    yield f"{_INDENT}searched for: {one_line(plan.search_text)}"
    if evidence.found:
        yield "\nFound, best first:"
        rows = [
            (
                str(number),
                _name(evidence, one.place),
                "words" if one.found_by == "words" else f"{one.score:.3f}",
                f"{one.rank_score:.4f}",
                *(_way(one, name) for name in ("dense", "lexical")),
                " ".join(
                    f"{it.name} {it.rank}. {it.score:.3f}"
                    for it in one.ways
                    if it.name not in ("dense", "lexical")
                ),
            )
            for number, one in enumerate(evidence.found, 1)
        ]
        titles = ("", "chunk", "score", "ranked by", "by meaning", "by words", "and")
        yield from (f"{_INDENT}{line}" for line in table(titles, rows))
    if evidence.dropped:
        yield "\nFound and left out:"
        for dropped in evidence.dropped:
            yield f"{_INDENT}{_name(evidence, dropped.place)} ({dropped.score:.3f}): {one_line(dropped.reason)}"


def _way(candidate: Candidate, name: str) -> str:
    return "".join(f"{it.rank}. {it.score:.3f}" for it in candidate.ways if it.name == name)


def _name(evidence: Evidence, place: Place) -> str:
    return f"{one_line(evidence.names.get(place.document, place.document))}:{place.chunk_index}"
