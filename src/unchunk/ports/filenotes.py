"""What is said of documents as files, and answers that are kept, for OpenAI's clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from unchunk.domain import Document, DocumentId, OwnerId
from unchunk.ports.stores import Page

ResponseId = str


@dataclass(frozen=True, slots=True)
class FileNote:
    """What OpenAI's clients say of a document beside its content.

    `filename` is what its sender called it: the library may know it by a name of its own, where
    that one was taken.
    """

    document: DocumentId
    filename: str
    purpose: str = "assistants"
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class KeptResponse:
    """An answer that can be asked for again; `body` is JSON."""

    id: ResponseId
    owner: OwnerId
    created_at: datetime
    body: Mapping[str, object] = field(repr=False, hash=False)


class FileNotes(Protocol):
    """What is said of documents beside their content, in the same manner as `Stores`.

    A document that nothing was said of is an "assistants" file under its own name. What is said as
    it comes in is kept by `Catalog.begin`.
    """

    async def note(self, owner: OwnerId, note: FileNote) -> None: ...

    async def page(
        self, owner: OwnerId, part: Page, now: datetime, *, purpose: str = ""
    ) -> tuple[list[tuple[Document, FileNote]], bool]:
        """All of an owner's documents, whoever brought them. Cursors are their ids."""
        ...

    async def get(
        self, owner: OwnerId, documents: Sequence[DocumentId], now: datetime
    ) -> dict[DocumentId, tuple[Document, FileNote]]:
        """Those that are there, in one query."""
        ...

    async def expired(self, now: datetime) -> list[Document]:
        """All owners' documents whose time is over."""
        ...


class KeptResponses(Protocol):
    """Answers that can be asked for again, in the same manner as `Stores`."""

    async def keep(self, response: KeptResponse) -> None:
        """Over the owner's one of the same id, if there is one."""
        ...

    async def get(self, owner: OwnerId, response: ResponseId) -> KeptResponse: ...

    async def delete(self, owner: OwnerId, response: ResponseId) -> None: ...

    async def forget(self, before: datetime) -> int:
        """Delete all owners' that are older. How many is returned."""
        ...
