"""Vector stores as OpenAI's clients know them: lists of documents, each with a way to cut it.

A store holds no text of its own. Its files are the library's documents, and go with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol

from unchunk.domain import ChunkingStrategy, Document, DocumentId, OwnerId

StoreId = str
BatchId = str
Attribute = str | float | bool
# What became of a file in a store; one that is `cancelled` is not in it until it is put again.
MemberStatus = Literal["in_progress", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class VectorStore:
    """`expires_after` counts from when it was last used; None is never."""

    id: StoreId
    owner: OwnerId
    name: str
    created_at: datetime
    last_active_at: datetime
    description: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    expires_after: timedelta | None = None

    @property
    def expires_at(self) -> datetime | None:
        return None if self.expires_after is None else self.last_active_at + self.expires_after

    def is_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True, slots=True)
class StoreFile:
    """That a document is in a store; `strategy` is how its text is cut there."""

    store: StoreId
    document: DocumentId
    created_at: datetime
    strategy: ChunkingStrategy = field(default_factory=ChunkingStrategy)
    attributes: Mapping[str, Attribute] = field(default_factory=dict, hash=False)
    is_cancelled: bool = False


class Member(NamedTuple):
    """A file of a store, and the document that it is."""

    file: StoreFile
    document: Document

    @property
    def status(self) -> MemberStatus:
        if self.file.is_cancelled:
            return "cancelled"
        if self.document.live is not None:
            return "completed"
        return "failed" if self.document.error_code else "in_progress"


class MemberCounts(NamedTuple):
    """How many files of a store are in which state; `size` is the bytes of the completed ones."""

    in_progress: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    size: int = 0

    @property
    def total(self) -> int:
        return self.in_progress + self.completed + self.failed + self.cancelled


@dataclass(frozen=True, slots=True)
class Batch:
    """Files that were put into a store together."""

    id: BatchId
    store: StoreId
    created_at: datetime
    is_cancelled: bool = False


class Page(NamedTuple):
    """Which part of a list: those behind `after` and before `before`, by when they were made."""

    limit: int = 20
    after: str = ""
    before: str = ""
    order: Literal["asc", "desc"] = "desc"


class Stores(Protocol):
    """Which stores there are. Another owner's is not there: `NotFoundError`.

    Every method is one transaction, durable when it returns. A list is ordered by when its things
    were made, then by id, and comes with whether there is more of it in the direction of reading.
    A cursor that names nothing is an `InvalidInputError`, but for what was just removed: whoever
    removes what they read can go on behind it. With `before` and no `after`, it is the part that
    ends just before it.

    Where a method takes `now`, a document whose time is over by then is not there.
    """

    async def add(self, store: VectorStore) -> None:
        """Keep a new store; its id is one that no store ever had."""
        ...

    async def save(self, store: VectorStore) -> None:
        """Keep what is new of a store that is there; when it was made stays, and when it was last
        used never goes back.
        """
        ...

    async def touch(self, owner: OwnerId, stores: Sequence[StoreId], at: datetime) -> None:
        """Note that stores were used; nothing happens to what is not there, or was used later."""
        ...

    async def get(self, owner: OwnerId, store: StoreId) -> VectorStore: ...

    async def page(self, owner: OwnerId, part: Page) -> tuple[list[VectorStore], bool]: ...

    async def counts(
        self, owner: OwnerId, stores: Sequence[StoreId], now: datetime
    ) -> dict[StoreId, MemberCounts]:
        """For each store that is there, in one query."""
        ...

    async def delete(self, owner: OwnerId, store: StoreId) -> None:
        """Its documents stay."""
        ...


class Members(Protocol):
    """Which documents are in which stores, in the same manner as `Stores`.

    What is deleted takes its places in stores along.
    """

    async def put(
        self, owner: OwnerId, files: Sequence[StoreFile], batch: Batch | None = None
    ) -> None:
        """Add files, or replace what is said of them, all or none; a file keeps its `created_at`.

        With `batch`, which is new, they are its files from now on, as long as they are in the
        store. Those of other batches stay theirs, too.
        """
        ...

    async def describe(
        self,
        owner: OwnerId,
        store: StoreId,
        document: DocumentId,
        attributes: Mapping[str, Attribute],
        now: datetime,
    ) -> Member:
        """Replace the attributes of a file that is there, and nothing else of it."""
        ...

    async def get(
        self, owner: OwnerId, store: StoreId, document: DocumentId, now: datetime
    ) -> Member: ...

    async def page(
        self,
        owner: OwnerId,
        store: StoreId,
        part: Page,
        now: datetime,
        *,
        status: MemberStatus | None = None,
        batch: BatchId = "",
    ) -> tuple[list[Member], bool]:
        """Cursors are ids of documents, in any state and of any batch."""
        ...

    async def searchable(
        self, owner: OwnerId, stores: Sequence[StoreId], now: datetime
    ) -> list[DocumentId]:
        """The completed files of some stores, each once, by id. What is not there is left out."""
        ...

    async def completed(
        self,
        owner: OwnerId,
        stores: Sequence[StoreId],
        now: datetime,
        documents: Sequence[DocumentId] | None = None,
    ) -> list[StoreFile]:
        """The same with all that is said of them in each store, in no order; of some documents,
        if named.
        """
        ...

    async def remove(self, owner: OwnerId, store: StoreId, document: DocumentId) -> None: ...


class Batches(Protocol):
    """What became of files that were put into a store together, in the same manner as `Stores`."""

    async def get(
        self, owner: OwnerId, store: StoreId, batch: BatchId, now: datetime
    ) -> tuple[Batch, MemberCounts]: ...

    async def cancel(
        self, owner: OwnerId, store: StoreId, batch: BatchId, now: datetime
    ) -> tuple[Batch, MemberCounts]:
        """Cancel those of its files that are on their way, but for such as were put again since.

        A batch of which none is on its way stays as it is.
        """
        ...
