"""What the room of vector stores works with."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from unchunk.domain import DocumentId, NewFile, OwnerId
from unchunk.library.desk import Desk
from unchunk.library.ingest import Outcome
from unchunk.library.purging import Receipt
from unchunk.ports import Batches, FileNotes, KeptResponses, Members, Stores
from unchunk.retrieval.shelf import Where
from unchunk.retrieval.snippets import Found

# What is entered while a document is deleted.
Forgetting = Callable[[DocumentId], AbstractContextManager[None]]


def utc_now() -> datetime:
    return datetime.now(UTC)


def plainly(_: DocumentId) -> AbstractContextManager[None]:
    """Forget nothing but the document."""
    return nullcontext()


class Library(Protocol):
    """What is needed of an engine."""

    async def keep_file(
        self,
        path: Path,
        name: str,
        *,
        folder: str = "",
        owner: OwnerId | None = None,
        attributes: Mapping[str, object] | None = None,
        said: NewFile | None = None,
    ) -> Outcome: ...

    async def delete(self, reference: DocumentId, *, owner: OwnerId | None = None) -> Receipt: ...

    async def search_library(
        self, question: str, *, limit: int, where: Where, owner: OwnerId | None = None
    ) -> Found: ...


@dataclass(frozen=True, slots=True)
class StoreParts:
    """Where stores, what is in them, and what is said of files is kept.

    Who reads a store to keep it changed holds it at the `desk`.
    """

    stores: Stores
    members: Members
    batches: Batches
    notes: FileNotes
    responses: KeptResponses
    clock: Callable[[], datetime] = utc_now
    desk: Desk = field(default_factory=Desk)
