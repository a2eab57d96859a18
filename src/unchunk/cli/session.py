"""What the commands on a library share: opening it, telling errors, and output for programs."""

import dataclasses
import json
import logging
import re
import sys
from collections.abc import Callable
from datetime import datetime
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import click

from unchunk.errors import UnchunkError
from unchunk.retrieval.display import one_line
from unchunk.settings import Settings, load
from unchunk.synchronous import SynchronousEngine
from unchunk.telemetry import LogFormat, show_logs
from unchunk.wiring import open_beside

P = ParamSpec("P")

INTERRUPTED = 130
_HALF = re.compile("[\ud800-\udfff]")


class Session:
    """One command's library, opened when it is first used, and where its result goes."""

    def __init__(self, home: Path | None, *, as_json: bool) -> None:
        self._home = home
        self._library: SynchronousEngine | None = None
        self.as_json = as_json
        self.is_verbose = bool(click.get_current_context().find_root().params.get("verbose"))

    @property
    def settings(self) -> Settings:
        return load(self._home)

    @property
    def library(self) -> SynchronousEngine:
        if self._library is None:
            self._library = SynchronousEngine(partial(open_beside, self.settings))
        return self._library

    def result(self, value: object) -> None:
        """Print a result for programs, on one line; nothing if a person is reading."""
        if self.as_json:
            text = json.dumps(plain(value), ensure_ascii=False)
            # Escaped where a terminal could be steered by it, or no encoding has it.
            is_safe = not sys.stdout.isatty() and not _HALF.search(text)
            click.echo(text if is_safe else json.dumps(plain(value)))

    def say(self, line: str = "") -> None:
        """Print a line for people."""
        if not self.as_json:
            click.echo(line)

    def show_logs(self, level: int = logging.INFO, *, each_question: bool = False) -> None:
        """Print the log from `level` on, in the form that the settings say."""
        form: LogFormat = "json" if self.settings.logs_are_json else "text"
        show_logs(form, level, each_question=each_question)

    def close(self) -> None:
        if self._library is not None:
            self._library.close()


def with_session(
    work: Callable[Concatenate[Session, P], int | None],
) -> Callable[P, None]:
    """A command that gets a session and may return its exit status; takes `--json`."""

    @click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
    @click.pass_obj
    @wraps(work)
    def run(home: Path | None, /, *arguments: P.args, **options: P.kwargs) -> None:
        session = Session(home, as_json=bool(options.pop("as_json")))
        try:
            if session.is_verbose:
                session.show_logs()
            status = work(session, *arguments, **options)
        except UnchunkError as error:
            if session.as_json:
                kind = type(error).__name__
                click.echo(json.dumps({"error": {"type": kind, "message": str(error)}}))
            click.echo(f"Error: {one_line(str(error))}", err=True)
            status = 1
        except (OSError, UnicodeError) as error:
            # Whoever reads the pipe may have gone, which is theirs to decide.
            if isinstance(error, BrokenPipeError):
                raise
            reason = getattr(error, "strerror", "") or str(error)
            click.echo(f"Error: the result cannot be written: {reason}", err=True)
            status = 1
        except KeyboardInterrupt:
            click.echo("Stopped. What came in is kept; the same command goes on.", err=True)
            status = INTERRUPTED
        finally:
            session.close()
        sys.exit(status or 0)

    return run


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever JSON is made of
    """A result as JSON has it: values as objects, times in ISO, paths as text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else value
