"""Counters, durations, logs and traces. Whoever does work is handed one `Telemetry`."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from unchunk.telemetry.logs import LogFormat, current_job, job, log, questions, show_logs
from unchunk.telemetry.spans import Fact, Span, Tracer, current_span, within

__all__ = [
    "Condition",
    "Fact",
    "LogFormat",
    "Span",
    "Telemetry",
    "Tracer",
    "current_job",
    "job",
    "log",
    "questions",
    "show_logs",
    "span_headers",
    "trace_headers",
    "within",
]


class Condition(NamedTuple):
    """Whether a part does what it is for; `reason` says why not, or what else is to be known."""

    ok: bool
    reason: str = ""


@dataclass(slots=True)
class Telemetry:
    """What happened so far: `counters` by name, `seconds` by stage, and how the last call of each
    part that may fail ended.
    """

    counters: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, Condition] = field(default_factory=dict)
    tracer: Tracer | None = None

    def count(self, name: str, number: int = 1) -> None:
        self.counters[name] += number

    @contextmanager
    def stage(self, name: str, facts: Mapping[str, Fact] | None = None) -> Iterator[Span | None]:
        """Add the time inside to a stage; stages of several documents may overlap in time."""
        began = time.perf_counter()
        try:
            if self.tracer is None:
                yield None
            else:
                with self.span(name, facts) as span:
                    yield span
        finally:
            self.took(name, time.perf_counter() - began)

    @contextmanager
    def stages(self, *names: str) -> Iterator[None]:
        """One piece of work that is several stages; in a trace they stand side by side."""
        began, spans, error = time.perf_counter(), [self.start(name) for name in names], ""
        try:
            yield
        except Exception as fault:
            error = type(fault).__name__
            raise
        finally:
            for name, span in zip(names, spans, strict=True):
                self.took(name, time.perf_counter() - began)
                if span is not None:
                    span.end(error)

    def took(self, stage: str, seconds: float) -> None:
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def start(
        self,
        name: str,
        facts: Mapping[str, Fact] | None = None,
        asked: Mapping[str, str] | None = None,
    ) -> Span | None:
        """A span that whoever starts it must end; None where nobody traces."""
        if self.tracer is None:
            return None
        return self.tracer.start(name, facts or {}, current_span(), asked)

    @contextmanager
    def span(
        self,
        name: str,
        facts: Mapping[str, Fact] | None = None,
        asked: Mapping[str, str] | None = None,
    ) -> Iterator[Span | None]:
        """A span around what is done inside; an exception that passes is its error."""
        span, error = self.start(name, facts, asked), ""
        try:
            with within(span):
                yield span
        except Exception as fault:
            # Its words may hold what somebody asked.
            error = type(fault).__name__
            raise
        finally:
            if span is not None:
                span.end(error)

    def worked(self, part: str) -> None:
        self.calls[part] = Condition(ok=True)
        self.count(f"{part}_calls")

    def failed(self, part: str, reason: str) -> None:
        self.calls[part] = Condition(ok=False, reason=reason)
        self.count(f"{part}_calls")
        self.count(f"{part}_failures")

    def close(self) -> None:
        if self.tracer is not None:
            self.tracer.close()


def span_headers() -> dict[str, str]:
    """What tells a provider which trace its call is part of."""
    span = current_span()
    return dict(span.headers) if span else {}


def trace_headers() -> dict[str, str]:
    """What tells a provider which job or request, and which trace, its call is part of."""
    name = current_job()
    return ({"X-Request-ID": name} if name else {}) | span_headers()
