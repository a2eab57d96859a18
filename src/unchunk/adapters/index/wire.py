"""What goes between this process and the child: plain values, points and hits as columns.

A list of objects would cost more to send than the engine takes to keep them. Numbers go as
their bytes. Neither numpy nor the rest of unchunk is needed here, so the child starts quickly.
"""

import sys
from collections.abc import Sequence
from pickle import PickleBuffer
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from uuid import UUID

Bytes: TypeAlias = bytes | bytearray | PickleBuffer
Version: TypeAlias = tuple[str, int]


class Batch(NamedTuple):
    """Points. `ends[i]` is where the terms of point i end; they begin where the last ones did."""

    ids: bytes
    owners: list[str]
    documents: list[str]
    generations: list[int]
    chunk_indices: list[int]
    folders: list[str]
    vectors: Bytes
    ends: list[int]
    term_ids: Bytes
    weights: Bytes


class Query(NamedTuple):
    """A search: by a vector, or where that is None by terms."""

    vector: list[float] | None
    term_ids: Sequence[int]
    weights: Sequence[float]
    owner: str
    documents: Sequence[str] | None
    folders: Sequence[str] | None
    limit: int


class Found(NamedTuple):
    """Hits, best first."""

    owners: list[str]
    documents: list[str]
    generations: list[int]
    chunk_indices: list[int]
    scores: list[float]


def unpack_ids(ids: bytes) -> "list[UUID]":
    from uuid import UUID  # noqa: PLC0415 -- no search needs it

    return [UUID(bytes=ids[at : at + 16]) for at in range(0, len(ids), 16)]


def floats(data: Bytes) -> "memoryview[float]":
    return _octets(data).cast("f")


def integers(data: Bytes) -> "memoryview[int]":
    return _octets(data).cast("I")


def _octets(data: Bytes) -> "memoryview[int]":
    view = memoryview(data)
    # An array without elements has a shape that cannot be cast.
    return view.cast("B") if view.nbytes else memoryview(b"")


def command(module: str, *arguments: str) -> list[str]:
    """How to run a module of ours in a process of its own, with its `main`.

    The front door of the package imports nearly all of it; a child needs one room, and goes
    in by the window. -P: the folder we happen to stand in is no place to import from.
    """
    package = sys.modules["unchunk"].__path__[0]
    start = (
        "import sys, types; room = types.ModuleType('unchunk'); room.__path__ = [sys.argv[1]]; "
        f"sys.modules['unchunk'] = room; from {module} import main; main(*sys.argv[2:])"
    )
    return [sys.executable, "-P", "-c", start, package, *arguments]
