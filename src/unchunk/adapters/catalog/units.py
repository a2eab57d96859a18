"""What a library is made of when it moves: which tables are one thing, and which stay behind."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Column, Table

from unchunk.adapters.catalog.schema import (
    attributes,
    conversations,
    documents,
    ended_sessions,
    file_notes,
    keys,
    layouts,
    notes,
    prompts,
    responses,
    store_batch_files,
    store_batches,
    store_files,
    texts,
    turns,
    vector_stores,
    vectors,
    versions,
)
from unchunk.adapters.catalog.terms import SIGNING
from unchunk.ports.moving import Kind

Rows = Mapping[str, Iterable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that belong to a thing: `column` names it. What is `derived` is not in its mark."""

    table: Table
    column: str
    derived: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A row of `root` and what hangs on it, in an order in which it can be written."""

    kind: Kind
    root: Table
    parts: tuple[Part, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.root.primary_key)


# In an order in which they can be written: a store names documents.
SHAPES: Final = (
    Shape("note", notes),
    Shape(
        "document",
        documents,
        (
            Part(versions, "document"),
            Part(attributes, "document"),
            Part(file_notes, "document"),
            Part(layouts, "document", derived=True),
            Part(texts, "document", derived=True),
            Part(vectors, "document", derived=True),
        ),
    ),
    Shape("conversation", conversations, (Part(turns, "conversation"),)),
    Shape("prompt", prompts),
    Shape("key", keys, (Part(ended_sessions, "key"),)),
    Shape(
        "store",
        vector_stores,
        (
            Part(store_files, "store"),
            Part(store_batches, "store"),
            Part(store_batch_files, "store"),
        ),
    ),
    Shape("response", responses),
)

LEFT_BEHIND: Final = {
    "remains": "they have yet to go where they are",
    "purged": "nothing of them was written over here",
    "leases": "they are of processes that work there",
    "jobs": "a draft that comes along gets a new one",
    "streams": "answers on their way are of processes that work there",
    "stream_events": "as streams",
    "rates": "they fill up again within a minute",
    "left_places": "nobody reads on in the middle of a list over here",
    "moved": "what was brought here is no news elsewhere",
}

MOVED_NOTES: Final = (SIGNING,)
"""Sessions stay valid. Every other note is of the place, or is made when a library moves in."""

# Who works on it, or asks right now: nobody, in another place.
_RESET: Final = {("documents", "taken"), ("documents", "rewriting"), ("turns", "holder")}
# What changes without anybody changing the thing, or is another one in another place.
_UNMARKED: Final = _RESET | {
    ("documents", "last"),
    ("versions", "space"),
    ("versions", "tokens"),
    ("keys", "used_on"),
    ("vector_stores", "last_active_at"),
}


def shape_of(kind: Kind) -> Shape:
    return next(shape for shape in SHAPES if shape.kind == kind)


def fresh(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as it is to be in another place."""
    return {
        column.name: _nobody(column) if (table.name, column.name) in _RESET else row[column.name]
        for column in table.columns
    }


def _nobody(column: Column[Any]) -> object:
    return None if column.nullable else False


def is_marked(table: Table) -> list[str]:
    return [it.name for it in table.columns if (table.name, it.name) not in _UNMARKED]


def mark_of_row(table: Table, row: Mapping[str, Any]) -> bytes:
    """The same for the same row, whatever database gave it."""
    said = [table.name, *((name, _plain(row[name])) for name in is_marked(table))]
    return sha256(repr(said).encode("utf-8", "surrogatepass")).digest()


def mark_of(rows: Iterable[bytes]) -> bytes:
    """Of the marks of rows, in any order: databases sort texts each in their own way."""
    return sha256(b"".join(sorted(rows))).digest()


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview | bytearray) else value
