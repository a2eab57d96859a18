"""Asking questions on the command line: the options of all such commands, and how one is asked."""

import sys
from collections.abc import Callable
from contextlib import closing
from typing import TypedDict

import click

from unchunk.chat.events import Answer, gather
from unchunk.chat.request import ChatRequest, Mode, question
from unchunk.cli.answers import Terminal
from unchunk.cli.session import INTERRUPTED, Session
from unchunk.errors import UnchunkError
from unchunk.ports import Sampling
from unchunk.retrieval.amount import MOST
from unchunk.retrieval.shelf import Where


class Options(TypedDict):
    folders: tuple[str, ...]
    names: tuple[str, ...]
    full: bool
    passages: bool
    chunks: int | None
    full_documents: int | None
    full_chars: int | None
    no_rag: bool
    strict: bool
    model: str
    temperature: float | None
    max_tokens: int | None
    stop: tuple[str, ...]
    template: str
    max_parts: int | None
    why: bool


def asking(command: Callable[..., object]) -> Callable[..., object]:
    """The options of all commands that answer."""
    for option in reversed(
        (
            click.option("--folder", "folders", multiple=True, help="Only from this folder."),
            click.option(
                "--name", "names", multiple=True, help="Only from documents of this name."
            ),
            click.option(
                "--full", is_flag=True, help="Always use whole documents, whatever the question is."
            ),
            click.option(
                "--passages", is_flag=True, help="Always use passages, whatever the question is."
            ),
            click.option(
                "--chunks", type=click.IntRange(1, MOST), help="Retrieve at most this many chunks."
            ),
            click.option(
                "--full-documents",
                type=click.IntRange(0, MOST),
                help="Maximum number of whole documents when the question names none.",
            ),
            click.option(
                "--full-chars",
                type=click.IntRange(0),
                help="Maximum characters per whole document; 0: whatever the budget allows.",
            ),
            click.option("--no-rag", is_flag=True, help="Ask the model alone, not the documents."),
            click.option("--strict", is_flag=True, help="No answer where the documents have none."),
            click.option("--model", default="", help="Another model of the same provider."),
            click.option(
                "--temperature",
                type=click.FloatRange(0, 1e3),
                help="How freely the model chooses its words.",
            ),
            click.option("--max-tokens", type=click.IntRange(1), help="The longest answer."),
            click.option("--stop", multiple=True, help="Where the model is to end; repeatable."),
            click.option("--template", default="", help="context-first or question-first."),
            click.option(
                "--max-parts",
                type=click.IntRange(0),
                help="How many parts of long documents the model may read; 0 disables reading in"
                " parts.",
            ),
            click.option("--why", is_flag=True, help="Tell how the question was understood."),
        )
    ):
        command = option(command)
    return command


class Asking:
    """Questions of one conversation, which is known as soon as it has begun, or of none."""

    def __init__(self, session: Session, conversation: str, options: Options) -> None:
        self._session, self._options = session, options
        self.conversation = conversation

    def answer(self, text: str) -> int:
        """Print an answer; the exit status tells how it went. An interrupt ends it alone."""
        library = self._session.library
        terminal = Terminal(on_screen=sys.stdout.isatty(), why=self._options["why"])
        answer, status = None, 1
        try:
            with closing(library.chat(self._request(text))) as events:
                answer = terminal.show(events)
        except KeyboardInterrupt:
            terminal.tell("(stopped)")
            status = INTERRUPTED
        except UnchunkError as error:
            terminal.fail(str(error))
        self.conversation = terminal.conversation or self.conversation
        if answer is None:
            return status
        if self._is_without_documents(answer):
            terminal.tell("(there are no documents; `unchunk add PATH` adds some)")
        return 1 if answer.error else 0

    def record(self, text: str) -> int:
        """Print an answer as one line of JSON."""
        try:
            with closing(self._session.library.chat(self._request(text))) as events:
                answer = gather(events)
        except KeyboardInterrupt:
            click.echo("(stopped)", err=True)
            return INTERRUPTED
        self._session.result(answer.as_dict())
        return 1 if answer.error else 0

    def _is_without_documents(self, answer: Answer) -> bool:
        asked = answer.plan is not None and answer.plan.rag and not answer.sources.documents
        elsewhere = self._session.settings.answer_source
        return asked and not elsewhere and not self._session.library.documents()

    def _request(self, text: str) -> ChatRequest:
        options = self._options
        mode: Mode = "full documents" if options["full"] else "auto"
        if options["passages"]:
            mode = "passages"
        return ChatRequest(
            question(text),
            self.conversation,
            rag_enabled=False if options["no_rag"] else None,
            mode=mode,
            where=Where(folders=options["folders"] or None, names=options["names"] or None),
            template=options["template"],
            strict=True if options["strict"] else None,
            sampling=Sampling(
                options["model"], options["temperature"], options["max_tokens"], options["stop"]
            ),
            limit=options["chunks"],
            full_documents=options["full_documents"],
            full_document_chars=options["full_chars"],
            max_parts=options["max_parts"],
        )


def check(options: Options) -> None:
    """Refuse options that exclude each other."""
    if options["full"] and options["passages"]:
        raise click.UsageError("--full and --passages exclude each other")
    where = options["folders"] or options["names"]
    how = options["full"] or options["passages"] or options["strict"] or options["template"]
    much = (options["chunks"], options["full_documents"], options["full_chars"])
    if options["no_rag"] and (where or how or any(one is not None for one in much)):
        raise click.UsageError(
            "--no-rag cannot be combined with options about documents (--folder, --name, --full,"
            " --chunks, --strict, --template, ...)"
        )
