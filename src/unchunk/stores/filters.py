"""Filters on the attributes of a store's files, in the language of OpenAI's clients."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any, Literal, cast, get_args

from unchunk.errors import InvalidInputError
from unchunk.ports import Attribute
from unchunk.stores.limits import attribute, told

Operator = Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
Connective = Literal["and", "or"]

# A filter is held against every file of a store.
_DEEPEST, _MOST_PARTS, _MOST_VALUES = 10, 200, 200
_ORDERS: dict[Operator, Callable[[Any, Any], bool]] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`value` is a tuple for `in` and `nin`, and one attribute for all others."""

    key: str
    op: Operator
    value: Attribute | tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Combination:
    op: Connective
    parts: "tuple[Filter, ...]"


Filter = Comparison | Combination


def parse(given: object, place: str = "filters") -> Filter:
    """A filter out of JSON; what is wrong with it is told with its place."""
    return _Parsing().parse(given, place, 1)


def matches(wanted: Filter, attributes: Mapping[str, Attribute]) -> bool:
    """Whether a file is wanted.

    Texts compare with texts and numbers with numbers; true is not 1. What a file has not is
    neither less nor more than anything, and not equal to it.
    """
    if isinstance(wanted, Combination):
        every = all if wanted.op == "and" else any
        return every(matches(part, attributes) for part in wanted.parts)
    own, value = attributes.get(wanted.key), wanted.value
    if isinstance(value, tuple):
        return any(_is_same(own, one) for one in value) == (wanted.op == "in")
    if wanted.op in _ORDERS:
        return own is not None and _kind(own) is _kind(value) and _ORDERS[wanted.op](own, value)
    return _is_same(own, value) == (wanted.op == "eq")


class _Parsing:
    """Counts what it has read, so that no filter is too large to be held against many files."""

    def __init__(self) -> None:
        self._parts = self._values = 0

    def parse(self, given: object, place: str, depth: int) -> Filter:
        self._parts += 1
        if depth > _DEEPEST or self._parts > _MOST_PARTS:
            raise InvalidInputError(
                f"{place}: a filter may have {_MOST_PARTS} parts, nested {_DEEPEST} times: shorten it"
            )
        if not isinstance(given, Mapping):
            raise InvalidInputError(f"{place} must be an object, not {told(given)}")
        op = given.get("type")
        if op in get_args(Connective):
            _check_keys(given, {"type", "filters"}, place)
            parts = given["filters"]
            if not isinstance(parts, (list, tuple)) or not parts:
                raise InvalidInputError(f"{place}.filters must be a list of at least one filter")
            return Combination(
                cast("Connective", op),
                tuple(
                    self.parse(part, f"{place}.filters[{at}]", depth + 1)
                    for at, part in enumerate(parts)
                ),
            )
        if op not in get_args(Operator):
            known = ", ".join((*get_args(Connective), *get_args(Operator)))
            raise InvalidInputError(f"{place}.type must be one of {known}, not {told(op)}")
        return self._comparison(given, cast("Operator", op), place)

    def _comparison(self, given: Mapping[str, object], op: Operator, place: str) -> Comparison:
        _check_keys(given, {"type", "key", "value"}, place)
        key, value = given["key"], given["value"]
        if not isinstance(key, str) or not key:
            raise InvalidInputError(f"{place}.key must be the name of an attribute")
        if op in ("in", "nin"):
            if not isinstance(value, (list, tuple)):
                raise InvalidInputError(f"{place}.value must be a list, since the type is {op}")
            self._values += len(value)
            if self._values > _MOST_VALUES:
                raise InvalidInputError(
                    f"{place}.value: a filter may list {_MOST_VALUES} values: shorten it"
                )
            return Comparison(
                key,
                op,
                tuple(attribute(it, f"{place}.value[{at}]") for at, it in enumerate(value)),
            )
        if op in _ORDERS and isinstance(value, bool):
            raise InvalidInputError(f"{place}.value must be a number or a string, not {value}")
        return Comparison(key, op, attribute(value, f"{place}.value"))


def _check_keys(given: Mapping[str, object], known: set[str], place: str) -> None:
    """What is not understood may not be left out: the reply would mean something else."""
    for name in sorted(known - given.keys()):
        raise InvalidInputError(f"{place}.{name} is missing")
    for name in given:
        if name not in known:
            raise InvalidInputError(f"{place}.{str(name)[:100]} is unknown here")


def _is_same(own: Attribute | None, value: Attribute) -> bool:
    return own is not None and _kind(own) is _kind(value) and own == value


def _kind(value: Attribute) -> type:
    """To Python, true is 1, and a whole number is another kind than one with a point."""
    return type(value) if isinstance(value, (str, bool)) else float
