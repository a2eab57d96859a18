"""What goes between a command and the server beside it: lines of JSON, one for each value.

Both ends are of one version, so the values are those of the engine, as they are. A line holds what
is `told` on the way, the `result`, or the `error` that there is instead of it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from unchunk import errors
from unchunk.chat.events import (
    Cited,
    Done,
    Event,
    Failed,
    Planned,
    ReadingPart,
    SourcesFound,
    Token,
    Used,
    Warned,
)
from unchunk.chat.request import ChatRequest
from unchunk.domain import DocumentId, EmbedderIdentity
from unchunk.errors import (
    ExtractionError,
    InvalidInputError,
    PermanentError,
    TransientError,
    UnchunkError,
)
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.query import Mode, Turn
from unchunk.retrieval.shelf import Where

T = TypeVar("T")
PATH = "/api/beside"
ADD = f"{PATH}/add"

# Those with nested values; a model may give half a character, which only the others let pass.
_NESTED: dict[str, TypeAdapter[Any]] = {
    one.kind: TypeAdapter(one) for one in (Planned, SourcesFound, Cited)
}
_FLAT = {one.kind: one for one in (ReadingPart, Token, Warned, Used, Done, Failed)}
_ERRORS: dict[str, type[UnchunkError]] = {
    name: one
    for name, one in vars(errors).items()
    if isinstance(one, type) and issubclass(one, UnchunkError) and one is not ExtractionError
}


@dataclass(frozen=True, slots=True)
class Documents:
    """Which documents a call is about; for some calls, none means all."""

    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Looking:
    """A question, what was said before it, and how much is wanted of what is found."""

    question: str
    where: Where = field(default_factory=Where)
    limit: int = 10
    content_type: str | None = None
    amount: Mapping[str, int | float | bool | None] | None = None
    history: tuple[Turn, ...] = ()
    rewritten: str = ""
    mode: Mode | None = None
    include: tuple[tuple[DocumentId, int], ...] = ()

    @property
    def wanted(self) -> Amount | None:
        """None is as much as is usual."""
        if self.amount is None:
            return None
        try:
            return Amount(**cast("dict[str, Any]", self.amount))
        except TypeError:
            raise InvalidInputError("the amount has unknown fields") from None


@dataclass(frozen=True, slots=True)
class RagSearch:
    """The arguments of `Engine.rag_search`."""

    query: str
    use_chunk_aware: bool = True
    limit: int = 10
    show_content: bool = True


@dataclass(frozen=True, slots=True)
class Explaining:
    """The arguments of `Engine.explain`."""

    request: ChatRequest
    before_turn: int | None = None


@dataclass(frozen=True, slots=True)
class FileName:
    """The arguments of `Engine.find_file_by_name`."""

    file_name: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What an engine tells of itself without being called."""

    embedder: EmbedderIdentity | None
    searches_elsewhere: bool


def said_of(amount: Amount) -> dict[str, int | float | bool | None]:
    """An amount without how it is counted, which is code and stays where it is."""
    if amount.measure is not len:
        raise InvalidInputError(
            "a server has this library and counts a budget in characters: leave `measure` out"
        )
    counting = ("measure", "written")
    names = (one.name for one in fields(amount) if one.name not in counting)
    return {name: getattr(amount, name) for name in names}


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def written(kind: Any, value: object) -> Any:  # noqa: ANN401 - a type as it is annotated, and JSON
    return _adapter(kind).dump_python(value, mode="json")


def read(kind: type[T], value: object) -> T:
    """Raises `InvalidInputError` if the value is not of that kind."""
    try:
        return cast("T", _adapter(kind).validate_python(value))
    except ValidationError as error:
        count = error.error_count()
        errors = "1 validation error" if count == 1 else f"{count} validation errors"
        raise InvalidInputError(f"expected {kind.__name__}: {errors}") from None


def read_body(kind: type[T], body: bytes) -> T:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidInputError("the request is not valid JSON") from None
    return read(kind, given)


def written_event(event: Event) -> dict[str, object]:
    nested = _NESTED.get(event.kind)
    value = nested.dump_python(event, mode="json") if nested else event.as_dict()
    return {"kind": event.kind, "value": value}


def read_event(given: dict[str, Any]) -> Event:
    kind, value = given["kind"], given["value"]
    if kind in _FLAT:
        return cast("Event", _FLAT[kind](**value))
    return cast("Event", _NESTED[kind].validate_python(value))


def written_error(error: UnchunkError) -> dict[str, object]:
    return {
        "type": type(error).__name__,
        "message": str(error),
        "transient": isinstance(error, TransientError),
    }


def read_error(given: dict[str, Any]) -> UnchunkError:
    """Rebuild the server's error if its type takes only a message; else one of a general type."""
    kind, message = _ERRORS.get(given["type"]), given["message"]
    if kind is not None:
        return kind(message)
    return TransientError(message) if given["transient"] else PermanentError(message)
