"""The commands that answer: one question, or a conversation."""

import re
import sys
from collections.abc import Callable
from typing import Unpack

import click

from unchunk.chat.request import NEW
from unchunk.cli.asking import Asking, Options, asking, check
from unchunk.cli.session import INTERRUPTED, Session, with_session
from unchunk.retrieval.display import one_line

_COMMANDS = {
    "/new": "begin a new conversation",
    "/rag on|off": "ask the documents, or the model alone",
    "/help": "this",
    "/quit": "leave; so does Ctrl-D. Ctrl-C stops an answer",
}
_COMMAND = re.compile(r"/\w*")

Reader = Callable[[], str | None]


@click.command()
@click.argument("question", metavar="QUESTION")
@click.option("--conversation", default="", help="Go on with this one; 'new' begins one.")
@asking
@with_session
def ask(session: Session, question: str, conversation: str, **options: Unpack[Options]) -> int:
    """Answer QUESTION from the documents, with citations, and the sources below.

    Without a language model (setting `chat`), the answer is made of sentences of the documents,
    word for word.
    """
    check(options)
    talk = Asking(session, conversation, options)
    # An argument may hold bytes that are no text.
    text = question.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if session.as_json:
        return talk.record(text)
    status = talk.answer(text)
    if conversation == NEW != talk.conversation:
        remark = f"(`--conversation {talk.conversation}` goes on with this conversation)"
        click.echo(click.style(remark, dim=True), err=True)
    return status


@click.command()
@click.option("--conversation", default=NEW, help="Go on with this one; default: a new one.")
@asking
@with_session
def chat(session: Session, conversation: str, **options: Unpack[Options]) -> int:
    """Ask question after question; what was said before is understood.

    "source:" completes the names of documents. The conversation is kept: `unchunk conversations`
    lists them. Lines that are piped in are asked one after the other.
    """
    if session.as_json:
        raise click.UsageError("a conversation is for people: use `unchunk ask --json`")
    check(options)
    talk = Asking(session, conversation, options)
    is_typed = sys.stdin.isatty() and sys.stdout.isatty()
    read = _typed(session, conversation) if is_typed else _piped(session, conversation)
    try:
        status = _converse(read, talk, options, goes_on=is_typed)
    except KeyboardInterrupt:
        status = INTERRUPTED
    if is_typed and talk.conversation != NEW:
        click.echo(f"`unchunk chat --conversation {talk.conversation}` goes on with this.")
    return status


def _converse(read: Reader, talk: Asking, options: Options, *, goes_on: bool) -> int:
    """How the last question went. One that is stopped is the last, unless it `goes_on`."""
    status = 0
    while (line := read()) is not None:
        match line.split():
            case []:
                continue
            case ["/quit" | "/exit"]:
                break
            case ["/new"]:
                talk.conversation = NEW
            case ["/rag", "on" | "off" as switch]:
                options["no_rag"] = switch == "off"
            case [word, *_] if _COMMAND.fullmatch(word):
                _help(line)
            case _:
                try:
                    status = talk.answer(line)
                except KeyboardInterrupt:  # once more, while it was being stopped
                    status = INTERRUPTED
                click.echo()
                if status == INTERRUPTED and not goes_on:
                    break
    return status


def _help(line: str) -> None:
    if line.strip() != "/help":
        click.echo(f"there is no {one_line(line)}", err=True)
    for name, about in _COMMANDS.items():
        click.echo(f"{name:12} {about}")


def _piped(session: Session, conversation: str) -> Reader:
    """Lines as they come; None at the end."""
    library = session.library  # whatever is wrong with it is told before anything is read
    if conversation != NEW:
        library.conversation(conversation)

    def read() -> str | None:
        line = sys.stdin.buffer.readline()
        return line.decode(sys.stdin.encoding, "replace").strip() if line else None

    return read


def _typed(session: Session, conversation: str) -> Reader:
    """Lines that are edited and completed."""
    from unchunk.cli.prompting import prompting  # noqa: PLC0415 - takes long, and is for this alone

    library = session.library
    if conversation != NEW:
        about, _ = library.conversation(conversation)
        click.echo(click.style(f"Going on with: {one_line(about.title)}", bold=True))
    click.echo("Ask your documents. /help tells more, Ctrl-D leaves.")
    return prompting(lambda: [one.name for one in library.documents()], session.settings.home)
