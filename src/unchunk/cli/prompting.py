"""A line to type questions in: with a history, and names of documents behind `source:`."""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from unicodedata import normalize

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from unchunk.retrieval.display import harmless
from unchunk.retrieval.tags import take_tags

HISTORY = "questions.txt"
# A tag that is being typed: open quotes may hold blanks, without them it ends with the word.
_TAG = re.compile(
    r"""(?<![^\s(\[,;])source[:：]"""
    r"""(?:(?P<quote>["'])(?P<inside>(?:(?!(?P=quote)).)*)|(?P<bare>[^\s"']\S*|))\Z""",
    re.IGNORECASE,
)
_QUOTES = ("", '"', "'")


class SourceCompleter(Completer):
    """Names that contain what was typed behind `source:`; in quotes where they need them."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        del complete_event
        tag = _TAG.search(document.text_before_cursor)
        if tag is None:
            return
        quote, typed = tag["quote"] or "", tag["inside"] or tag["bare"] or ""
        begun = typed.casefold()
        found = [one for one in dict.fromkeys(self._names()) if begun in one.casefold()]
        for name in sorted(found, key=lambda one: (not one.casefold().startswith(begun), one)):
            if (written := _written(name, quote)) is not None:
                yield Completion(written, -len(quote + typed), display=name)


def _written(name: str, quote: str) -> str | None:
    """As a question is to name it; None for what nobody can type, or what reads as another name."""
    if harmless(name) != name or "\n" in name:
        return None
    for sign in (quote, *_QUOTES):
        written = f"{sign}{name}{sign}"
        if take_tags(f"source:{written}") == ("", (normalize("NFC", name),)):
            return written
    return None


class _OwnHistory(FileHistory):
    def store_string(self, string: str) -> None:
        # A question is worth more than the memory of it.
        with suppress(OSError):
            super().store_string(string)


def _history(path: Path) -> History:
    """What was asked before; nobody else may read it."""
    try:
        path.touch(mode=0o600)
        path.chmod(0o600)
        with path.open("rb"):
            pass
    except OSError as error:
        click.echo(f"(questions will not be remembered: {path}: {error.strerror})", err=True)
        return InMemoryHistory()
    return _OwnHistory(path)


def prompting(names: Callable[[], Iterable[str]], home: Path) -> Callable[[], str | None]:
    """Reads a line each time; None at the end. An interrupt empties the line.

    `names` is asked at the first completion of each line, in a thread.
    """
    known: list[str] = []

    def once() -> list[str]:
        if not known:
            known.extend(names())
        return known

    prompt: PromptSession[str] = PromptSession(
        "> ",
        completer=SourceCompleter(once),
        complete_while_typing=True,
        complete_in_thread=True,
        history=_history(home / HISTORY),
    )

    def read() -> str | None:
        known.clear()
        try:
            return prompt.prompt()
        except KeyboardInterrupt:
            return ""
        except EOFError:
            return None

    return read
