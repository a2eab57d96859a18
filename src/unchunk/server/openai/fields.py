"""Fields of more than one body, checked so that an error names the place in the request."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, TypeAdapter

from unchunk.errors import InvalidInputError
from unchunk.ports import Attribute
from unchunk.server.bodies import AS_WHOLE
from unchunk.stores import limits

S = TypeVar("S")
T = TypeVar("T")


def within(check: Callable[[S], T]) -> Callable[[S], T]:
    """A check of the room's as one of a field."""

    def checked(given: S) -> T:
        try:
            return check(given)
        except InvalidInputError as error:
            raise ValueError(str(error)) from error

    return checked


def text_or(listed: TypeAdapter[list[T]]) -> PlainValidator:
    """A text or a list, told apart before they are checked: of a union, both kinds would tell what
    is wrong with them, each under a name that is not in the request.
    """

    def checked(given: object) -> str | list[T]:
        if isinstance(given, list):
            return listed.validate_python(given)
        if isinstance(given, str):
            return _TEXT.validate_python(given)
        raise ValueError("Input should be a text or a list")

    return PlainValidator(checked)


# A single one as a list of it: of two types, an error would name neither's place.
AS_LIST = BeforeValidator(lambda it: [it] if isinstance(it, str) else it)
Name = Annotated[str, Field(max_length=1_000)]
Id = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=1_000_000)]
_TEXT = TypeAdapter[str](Text)
# What is larger overflows a time, and is out of all bounds here.
Whole = Annotated[int, Field(strict=True, ge=-100_000_000, le=100_000_000), AS_WHOLE]
Results = Annotated[Whole, AfterValidator(within(limits.results))]
Threshold = Annotated[float, Field(strict=True), AfterValidator(within(limits.threshold))]
Attributes = Annotated[Mapping[str, Attribute], PlainValidator(within(limits.attributes))]
Metadata = Annotated[Mapping[str, str], PlainValidator(within(limits.metadata))]
StoreName = Annotated[str, AfterValidator(within(partial(limits.label, field="name")))]
Description = Annotated[str, AfterValidator(within(partial(limits.label, field="description")))]
