"""Counters, durations and logs. Whoever does work is handed one `Telemetry`; nothing is global.

Log records carry `job`, the id of the job or request that they belong to, through all stages
and threads.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from uuid import uuid4

logger = logging.getLogger("unchunk")
# Without a handler, Python would print warnings to people who did not ask for a log.
logger.addHandler(logging.NullHandler())
_NONE = "-"
_job: ContextVar[str] = ContextVar("job", default=_NONE)


@dataclass(slots=True)
class Telemetry:
    """What happened so far: `counters` by name, `seconds` by stage."""

    counters: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def count(self, name: str, number: int = 1) -> None:
        self.counters[name] += number

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time inside to a stage; stages of several documents may overlap in time."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began


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


def trace_headers() -> dict[str, str]:
    """What tells a provider which job or request its call is part of."""
    name = _job.get()
    return {} if name == _NONE else {"X-Request-ID": name}


def show_logs() -> None:
    """Print the log of this process to standard error, for people who start it by hand."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s [%(job)s] %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def log(message: str, *arguments: object, level: int = logging.INFO) -> None:
    logger.log(level, message, *arguments, extra={"job": _job.get()})
