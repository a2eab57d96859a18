"""Answers for people: words as they come, citations as numbers of the sources below.

On a screen `[id:3]` becomes `[1]`; in a pipe it stays as it was written, and the sources are
listed by their ids. Nothing that a model or a document says steers the terminal.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import click

from unchunk.chat.events import (
    Answer,
    Cited,
    Event,
    Failed,
    Planned,
    ReadingPart,
    SourcesFound,
    Token,
    Used,
    Warned,
    gather,
    source,
)
from unchunk.retrieval.display import harmless, one_line

# As JSON has them: citations and sources of an answer that comes, and of one that was kept.
Record = Mapping[str, Any]

_NO_SOURCE = "no-source"
_MOST_HEADINGS = 3


class Terminal:
    """Writes the events of one answer. What is no part of the answer goes to standard error.

    `conversation` is where the answer is kept, if it is, as soon as that is known.
    """

    def __init__(self, *, on_screen: bool, why: bool = False) -> None:
        self.conversation = ""
        self._on_screen, self._why = on_screen, why
        self._numbers: dict[str, int] = {}
        # Written later: what ends in a bracket may be a citation, as the next event tells; what
        # ends in half of a line's end would become two.
        self._held, self._cited = "", list[Record]()
        self._at = 0
        self._is_amid_line = False

    def show(self, events: Iterable[Event]) -> Answer:
        """All of a stream, and what it amounts to."""
        seen: list[Event] = []
        for event in events:
            seen.append(event)
            self._take(event)
        self._end_line()
        answer = gather(seen)
        if answer.finish != "refused":  # That answer says it itself.
            for one in answer.warnings:
                if one.code == _NO_SOURCE:
                    self.tell(f"({one.message})")
        sources = [source(one, with_text=False) for one in answer.sources.documents]
        if sources:
            click.echo()
            click.echo(click.style("Sources:", bold=True))
        cited = [one.as_dict() for one in answer.citations]
        for line in source_lines(sources, cited, on_screen=self._on_screen):
            click.echo(line)
        for related in answer.sources.also_see:
            reason = one_line(str(related["reason"]))
            click.echo(f"  see also {one_line(str(related['name']))}: {reason}")
        return answer

    def tell(self, remark: str) -> None:
        """Say something that is no part of the answer."""
        self._end_line()
        click.echo(click.style(one_line(remark), dim=True), err=True)

    def fail(self, message: str) -> None:
        self._end_line()
        click.echo(click.style(one_line(f"Error: {message}"), fg="red"), err=True)

    def _take(self, event: Event) -> None:
        match event:
            case Token():
                self._held += event.text
                if not self._held.endswith(("]", "\r")):
                    self._release()
            case Cited():
                self._cited.append(event.as_dict())
            case SourcesFound():
                ids = (one.document for one in event.documents)
                self._numbers = {document: number for number, document in enumerate(ids, 1)}
            case Failed():
                self.fail(event.message)
            case Warned() if event.code != _NO_SOURCE:
                self.tell(f"({event.message})")
            case ReadingPart():
                self.tell(f"(reading part {event.part} of {event.parts}: {event.name})")
            case Planned() | Used():
                self._explain(event)

    def _explain(self, event: Planned | Used) -> None:
        if isinstance(event, Planned):
            self.conversation = event.conversation
        for reason in reasons(event) if self._why else ():
            self.tell(f"({reason})")

    def _end_line(self) -> None:
        self._release()
        if self._is_amid_line:
            click.echo()
        self._is_amid_line = False

    def _release(self) -> None:
        if not self._held:
            return
        cited = self._cited if self._on_screen else ()
        click.echo(marked(self._held, cited, self._numbers, start=self._at), nl=False)
        self._is_amid_line = not self._held.endswith(("\n", "\r"))
        self._at += len(self._held)
        self._held, self._cited = "", []


def reasons(event: Planned | Used) -> Iterator[str]:
    """How a question was understood, and what that took."""
    match event:
        case Planned(plan=None):
            yield "the model alone is asked, not the documents"
        case Planned(plan=plan) if plan:
            yield from plan.reasons or ("nothing in the question asks for more than passages",)
            yield f"{plan.mode}; searched for: {plan.search_text}"
        case Used(prompt_tokens=int()):
            yield f"{event.prompt_tokens} tokens were read, {event.completion_tokens} written"
        case Used(context_budget=int()):
            yield f"context: {event.context_size} of {event.context_budget} {event.unit}"


def marked(
    text: str, cited: Iterable[Record], numbers: Mapping[str, int], *, start: int = 0
) -> str:
    """The text with numbers in place of its citations; it begins at `start` of its answer."""
    parts, told = [], 0
    for (at, end), group in groupby(cited, key=lambda one: (one["at"], one["end"])):
        parts.append(harmless(text[told : at - start]))
        parts.append(_mark(text[at - start : end - start], [*group], numbers))
        told = end - start
    return "".join([*parts, harmless(text[told:])])


def _mark(written: str, cited: Sequence[Record], numbers: Mapping[str, int]) -> str:
    """Of a range, all chunks stand at one place, and some of them may be unknown."""
    known = [one for one in cited if one["state"] != "unknown"]
    number = str(numbers.get(known[0]["document"], "?")) if known else ""
    mark = number if len(known) == len(cited) else f"{number}?"
    if written.startswith("["):
        mark = f"[{mark}]"
    if not known:
        return click.style(mark, fg="red")
    is_context = all(one["state"] == "context" for one in known)
    return click.style(mark, fg="cyan", dim=is_context or None)


def source_lines(
    sources: Sequence[Record], cited: Sequence[Record], *, on_screen: bool
) -> Iterator[str]:
    """A line for each, by its number or, where citations stand as they were written, its id."""
    used = {one["document"] for one in cited if one["state"] != "unknown"}
    for number, one in enumerate(sources, 1):
        label = str(number) if on_screen else one_line(one["document"])
        unused = "" if one["document"] in used else " (not cited)"
        yield f"  [{label}] {_source_line(one)}{unused}"


def _source_line(one: Record) -> str:
    path = f"{one['folder']}/{one['name']}" if one["folder"] else one["name"]
    facts = []
    if one["pages"]:
        first, last = one["pages"]
        facts.append(f"page {first}" if first == last else f"pages {first}-{last}")
    headings = [" > ".join(path) for path in one["heading_paths"] if path]
    if len(headings) > _MOST_HEADINGS:
        shown = _MOST_HEADINGS - 1
        headings[shown:] = [f"{len(headings) - shown} more headings"]
    facts += [*headings, one["coverage"]]
    if one["chunks"]:
        # An answer that was kept before this was known does not say it.
        by_words = one.get("found_by") == "words"
        facts.append("found by words" if by_words else f"score {one['max_score']:.2f}")
    return one_line(f"{path}: {', '.join(facts)}")
