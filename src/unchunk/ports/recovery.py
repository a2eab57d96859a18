"""Files of which a store holds nothing but chunks."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from unchunk.domain import ChunkingStrategy
from unchunk.ports.sources import FieldValue

# Only of those that are ready there are chunks.
LostStatus = Literal["ready", "in progress", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class LostFile:
    """A file as its store tells of it; `id` is what its store calls it.

    `strategy` is how it was cut, where the store knows. `problem` says why it is not ready. `size`
    is how many bytes it had, in whatever format it was.
    `mark` is anything that changes with its content: what was fetched under another one is
    fetched again. Where nothing tells, it is empty, and nothing is used that was fetched before.
    """

    id: str
    name: str
    status: LostStatus = "ready"
    problem: str = ""
    strategy: ChunkingStrategy | None = None
    attributes: Mapping[str, FieldValue] = field(default_factory=dict, hash=False)
    mark: str = ""
    size: int | None = None


class LostChunks(NamedTuple):
    """The chunks of a file, in the order of its text as far as the store tells it.

    `from_start` tells whether the first of them begins the file, where that is known. `notes` says
    what is wrong with them, such as places that are missing. `starts` holds where each of them
    begins in the file, in characters, where that is known of all. `complete` is False where the
    store itself tells that some are missing.
    """

    texts: tuple[str, ...]
    from_start: bool | None = None
    notes: tuple[str, ...] = ()
    starts: tuple[int, ...] | None = None
    complete: bool | None = None


class LostFiles(Protocol):
    """One store: read, never written. None has to be well made, or well meant.

    What it sends is bounded by the adapter: in bytes for each reply, in pages for each list, in
    time for all attempts at one call. What goes beyond raises `IntegrityError`, and what is no
    reply at all, too. `ProviderUnavailableError` means that retries were in vain,
    `ProviderRefusedError` that there is no point in them, `NotFoundError` that there is no such
    store.
    """

    @property
    def name(self) -> str:
        """Which store it is, for people and for the report."""
        ...

    def files(self) -> AsyncIterator[LostFile]:
        """All of its files, each once."""
        ...

    async def chunks(self, file: LostFile) -> LostChunks: ...

    async def close(self) -> None: ...
