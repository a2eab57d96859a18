"""What is loaded when it is first used.

SQLAlchemy and the rooms that need it take longer to load than a search of a small library takes
in all, and to search a file needs none of them.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TypeVar, cast

T = TypeVar("T")


class _Later:
    def __init__(self, make: Callable[[], object]) -> None:
        self._made = cache(make)

    def __getattr__(self, name: str) -> object:
        return getattr(self._made(), name)


class _Room:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, function: str) -> Callable[..., object]:
        def call(*given: object, **named: object) -> object:
            found: Callable[..., object] = getattr(import_module(self._name), function)
            return found(*given, **named)

        return call


def later(make: Callable[[], T]) -> T:
    """Has all that `make` gives, which is called when something of it is first asked for."""
    return cast("T", _Later(make))


def room(name: str) -> ModuleType:
    """The functions of a module of this folder, which is loaded by whoever first calls one: most
    are called in a thread, and the event loop goes on. Type checkers have to be told by an import
    of their own.
    """
    return cast("ModuleType", _Room(f"{__package__}.{name}"))
