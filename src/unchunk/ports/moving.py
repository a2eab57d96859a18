"""Whole records of a library, read in one place and written in another."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from unchunk.domain import DocumentId, Remains

Kind = Literal["note", "document", "conversation", "prompt", "key", "store", "response"]
Row = Mapping[str, object]


class LeftBehindError(Exception):
    """A thing cannot be moved now; the message says why."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing with all that is kept of it, at one moment: the rows of each table.

    `mark` is a digest of what it says: two that are alike have the same one, wherever they are.
    Of a document, what is derived from a version is not in it, nor where its points are.
    """

    kind: Kind
    key: str
    mark: bytes
    rows: Mapping[str, Sequence[Row]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Brought:
    """What a move noted of a thing that it brought: its mark then, and the keys of its originals.

    An empty mark: it was about to be brought.
    """

    mark: bytes
    blobs: tuple[str, ...]
    is_verified: bool


class Records(Protocol):
    """All that a catalog holds, thing by thing. Every method is one transaction.

    `before` is the mark of what the caller saw here, None for nothing. Whoever changed it since
    is right: then `LeftBehindError` is raised, and all stays as it is.
    """

    async def marks(self, kind: Kind) -> dict[str, bytes]:
        """Every one there is, by its key, with its mark."""
        ...

    async def read(self, kind: Kind, key: str) -> Unit | None: ...

    async def announce(self, document: Unit, before: bytes | None) -> None:
        """Note that one is about to be brought, before any part of it is here.

        From then on nobody here is given the numbers of its versions. `LeftBehindError` where
        somebody writes it anew who has one of them.
        """
        ...

    async def write(self, unit: Unit, spaces: Mapping[str, str], before: bytes | None) -> None:
        """Put it in the place of what is here under its key; noted as brought, not as verified.

        `spaces` says what the spaces of its versions are called here. Versions of a document that
        are here and not in it become remains. `LeftBehindError` where another one has its name.
        """
        ...

    async def vouch(self, kind: Kind, key: str) -> None:
        """Note that what was brought is as it was over there."""
        ...

    async def remove(self, kind: Kind, key: str, before: bytes | None) -> None:
        """Take one out; what is left of a document is listed as remains."""
        ...

    async def forget(self, kind: Kind, key: str) -> None:
        """Drop the note that it was brought."""
        ...

    async def remains(self, documents: Collection[DocumentId]) -> list[Remains]:
        """Versions of these documents that have yet to go."""
        ...

    async def brought(self, kind: Kind) -> dict[str, Brought]:
        """What moves have brought here, by its key."""
        ...
