"""Commands on kept conversations, and on what a model is told about folders."""

import sys
from collections.abc import Iterator
from textwrap import indent

import click

from unchunk.cli.answers import Record, marked, source_lines
from unchunk.cli.session import Session, with_session
from unchunk.cli.tables import table
from unchunk.domain import Answered
from unchunk.retrieval.display import harmless, one_line


@click.group()
def conversations() -> None:
    """What was asked and answered: list, show, rename and delete."""


@conversations.command("ls")
@click.option(
    "--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="So many."
)
@with_session
def ls(session: Session, limit: int) -> None:
    """List conversations, the latest first."""
    found = session.library.conversations(limit=limit)
    session.result({"conversations": found})
    if not found:
        session.say("there are no conversations; `unchunk chat` begins one")
        return
    rows = [
        (
            one.id,
            f"{one.updated_at.astimezone():%Y-%m-%d %H:%M}",
            str(one.turn_count),
            one_line(one.folder),
            one_line(one.title),
        )
        for one in found
    ]
    for line in table(("conversation", "last", "turns", "folder", "title"), rows):
        session.say(line)


@conversations.command()
@click.argument("conversation")
@with_session
def show(session: Session, conversation: str) -> None:
    """Print a conversation, with the sources of each answer."""
    about, turns = session.library.conversation(conversation)
    session.result({"conversation": about, "turns": turns})
    session.say(click.style(one_line(about.title), bold=True))
    for one in turns:
        session.say()
        session.say(click.style(f"> {harmless(one.question)}", bold=True))
        for line in _answered(one.answered, on_screen=sys.stdout.isatty()):
            session.say(line)


def _answered(given: Answered, *, on_screen: bool) -> Iterator[str]:
    record: Record = given.record
    sources, cited = record.get("sources") or [], record.get("citations") or []
    numbers = {one["document"]: number for number, one in enumerate(sources, 1)}
    if given.answer:
        yield marked(given.answer, cited if on_screen else (), numbers).rstrip("\n")
    if given.status != "complete":
        yield click.style(f"({given.status})", dim=True)
    if error := record.get("error"):
        yield click.style(one_line(f"Error: {error['message']}"), fg="red")
    yield from source_lines(sources, cited, on_screen=on_screen)


@conversations.command()
@click.argument("conversation")
@click.argument("title")
@with_session
def rename(session: Session, conversation: str, title: str) -> None:
    """Give a conversation another TITLE; an empty one makes it its first question again."""
    renamed = session.library.rename_conversation(conversation, title)
    session.result({"conversation": renamed})
    session.say(f"{renamed.id} is now called {one_line(renamed.title)}")


@conversations.command()
@click.argument("conversation")
@with_session
def rm(session: Session, conversation: str) -> None:
    """Delete a conversation with all that was said in it."""
    session.library.delete_conversation(conversation)
    session.result({"deleted": conversation})
    session.say(f"{one_line(conversation)} is deleted")


@click.command()
@click.argument("folder", required=False)
@click.argument("text", required=False)
@with_session
def prompt(session: Session, folder: str | None, text: str | None) -> None:
    """What the model is told of questions about FOLDER; an empty TEXT takes it away.

    Without TEXT it is shown, without FOLDER all are. `system_prompt` in the settings is for all.
    """
    if folder is not None and not folder.strip():
        raise click.UsageError("name a folder; `system_prompt` in the settings is for all of them")
    if folder is not None and text is not None:
        session.library.set_prompt(folder, text)
    kept = session.library.prompts()
    shown = kept if folder is None else {folder: kept.get(folder, "")}
    session.result({"prompts": shown})
    for name, one in shown.items():
        session.say(click.style(f"{one_line(name)}:", bold=True))
        session.say(indent(harmless(one) or "(none)", "  "))
    if not shown:
        session.say("no folder has a prompt of its own; `unchunk prompt FOLDER TEXT` gives it one")
