"""The log of a process. Each record carries `job`, the id of the job or request that it belongs to,
through all stages and threads.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Literal
from uuid import uuid4

from unchunk.telemetry.spans import current_span

LogFormat = Literal["text", "json"]

logger = logging.getLogger("unchunk")
# Without a handler, Python would print warnings to people who did not ask for a log.
logger.addHandler(logging.NullHandler())
# What happened to each question. A server shows it also where it shows nothing else that is usual.
questions = logger.getChild("questions")
_NONE = "-"
_job: ContextVar[str] = ContextVar("job", default=_NONE)
# What could steer a terminal.
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


@contextmanager
def job(name: str | None = None) -> Iterator[str]:
    """Give all log records inside one id: the given one, that of the job around it, or a new one."""
    name = name or _job.get()
    name = uuid4().hex[:12] if name == _NONE else name
    token = _job.set(name)
    try:
        yield name
    finally:
        _job.reset(token)


def current_job() -> str:
    """Empty outside of any."""
    name = _job.get()
    return "" if name == _NONE else name


def log(
    message: str,
    *arguments: object,
    level: int = logging.INFO,
    facts: Mapping[str, object] | None = None,
    to: logging.Logger = logger,
) -> None:
    """`facts` stand beside the message where records are read by programs."""
    # Tests and most commands show no log.
    if to.isEnabledFor(level):
        span = current_span()
        extra = {"job": _job.get(), "facts": facts or {}, "trace": span.trace if span else ""}
        to.log(level, message, *arguments, extra=extra)


def show_logs(
    form: LogFormat = "text", level: int = logging.INFO, *, each_question: bool = False
) -> None:
    """Print the log of this process to standard error; the last call holds.

    With `each_question`, the line of each question is there whatever the level. Warnings of
    libraries are there too, in the same form: whoever reads the log takes no other lines.
    """
    root = logging.getLogger()
    for before in [one for one in root.handlers if isinstance(one, _Shown)]:
        root.removeHandler(before)
    handler = _Shown()
    handler.setFormatter(_Lines() if form == "json" else _Text())
    root.addHandler(handler)
    logger.setLevel(level)
    questions.setLevel(logging.INFO if each_question else logging.NOTSET)


class _Shown(logging.StreamHandler):  # type: ignore[type-arg]  # no parameter at run time
    """Tells ours from those that a program around us has set up."""


class _Text(logging.Formatter):
    """A line for each record; what a record has more begins with blanks, so that none is forged."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s [%(job)s] %(message)s", defaults={"job": _NONE})

    def format(self, record: logging.LogRecord) -> str:
        lines = super().format(record).replace("\r\n", "\n").split("\n")
        return "\n    ".join(_STEERING.sub(lambda it: ascii(it[0])[1:-1], line) for line in lines)


class _Lines(logging.Formatter):
    """A line of JSON for each record."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.exc_info:
            message = f"{message}\n{self.formatException(record.exc_info)}"
        told: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "job": getattr(record, "job", _NONE),
            "message": message,
        }
        if trace := getattr(record, "trace", ""):
            told["trace_id"] = trace
        return json.dumps(told | dict(getattr(record, "facts", {})), default=str)
