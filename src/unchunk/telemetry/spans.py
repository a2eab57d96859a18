"""What a trace is made of. Where nobody traces there is no span, and nothing costs anything.

Spans do not hang on what a tracing library takes for the current one: an answer that is streamed
may be closed by another task than the one that began it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

Fact = str | int | float | bool


class Span(Protocol):
    """A piece of work in a trace. Ending it twice is ending it once."""

    @property
    def trace(self) -> str:
        """The id of the whole trace."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """What tells whoever is called that their work is part of this."""
        ...

    def note(self, facts: Mapping[str, Fact], name: str = "") -> None:
        """Say more of it; `name` replaces the name."""
        ...

    def end(self, error: str = "") -> None: ...


class Tracer(Protocol):
    """Where spans go."""

    def start(
        self,
        name: str,
        facts: Mapping[str, Fact],
        parent: Span | None,
        asked: Mapping[str, str] | None = None,
    ) -> Span:
        """A span under `parent`. `asked` are the headers of a request that it answers."""
        ...

    def close(self) -> None:
        """Send what is left. Blocks, but not for long."""
        ...


_current: ContextVar[Span | None] = ContextVar("span", default=None)


def current_span() -> Span | None:
    return _current.get()


@contextmanager
def within(span: Span | None) -> Iterator[None]:
    """All that is begun inside is part of the span; it stays open."""
    if span is None:
        yield
        return
    token = _current.set(span)
    try:
        yield
    finally:
        _current.reset(token)
