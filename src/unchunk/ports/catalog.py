"""What a library keeps for good: documents, their bytes, and vectors that were paid for."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from unchunk.domain import (
    Chunk,
    Document,
    DocumentId,
    FolderCount,
    Heading,
    NewFile,
    Opened,
    OwnerId,
    Remains,
    Status,
    Tally,
    Version,
    Whole,
)
from unchunk.ports.reading import Vectors

SPACE: Final = "space "
"""Before the name of a space, the key of the note that has its recipe; empty if it was retired."""

ACTIVE: Final = "active space"
"""The key of the note that has the name of the space in use."""


class Catalog(Protocol):
    """The truth: which documents there are, their texts and how they are cut.

    Every method is one transaction, durable when it returns. A name is unique in its owner's
    folder. Another owner's document is not there: `NotFoundError`.
    """

    async def begin(
        self,
        owner: OwnerId,
        folder: str,
        name: str,
        *,
        checksum: str,
        size: int,
        blob: str,
        distinct: bool = False,
        said: NewFile | None = None,
        taken: bool = False,
    ) -> Document:
        """Note bytes that came in, as the draft of a new document or of the one of that name.

        If the live version has the same checksum, a draft is no longer wanted and becomes
        remains; if a draft that did not fail has it, nothing changes. The document is returned
        as it then is, and the caller drops its blob. Any other draft is replaced and becomes
        remains; a failure is forgotten.

        With `distinct` it is always a new document, whatever else has the same bytes, under a
        name that none has in the folder: where `name.txt` is taken, `name (2).txt` and so on,
        cut where it would get longer than `LONGEST_NAME`. Otherwise, other bytes than it has are
        a document's to stay: it does not expire any more.

        `said` is noted with it, as `FileNotes` tells it. With `taken` a draft that is made by this
        call is the caller's to work on, without `renew`.
        """
        ...

    async def go_live(self, wholes: Sequence[Whole]) -> list[DocumentId]:
        """Make each version its document's live one, all or none, with text and chunks.

        The ones that were live become remains. A draft of another generation stays. Left out are
        those whose document was deleted meanwhile, those whose generation is no more, because
        another was given out for the same or because it was forgotten, and those in a space that
        was retired. Only the ids of the others are returned.
        """
        ...

    async def renew(self, document: DocumentId, generation: int) -> Document:
        """Take up a draft. If somebody did so before, it gets a new generation, and what they
        wrote of the old one is remains: it cannot go live any more, however late they are.

        `NotFoundError` if it is no draft any more.
        """
        ...

    async def fail(self, document: DocumentId, generation: int, code: str, message: str) -> None:
        """Note why a draft cannot become live; nothing happens if it is no draft any more."""
        ...

    async def next_generation(self, document: DocumentId) -> int:
        """A number that no version of this document has had, for writing it anew.

        It is listed as remains until it goes live, so that nothing is left behind by who does
        not come that far. Of several that were given out, only the last can go live.
        """
        ...

    async def bury(self, owner: OwnerId, document: DocumentId) -> list[Remains]:
        """Delete: from now on the document is not there. Its parts are returned, and listed by
        `remains` until `forget`.
        """
        ...

    async def remains(self) -> list[Remains]:
        """All versions that have yet to go, those from before a crash too."""
        ...

    async def revoke(self, remains: Sequence[Remains]) -> list[Remains]:
        """From now on none of them can go live; those that did not before are returned.

        For who is about to take out what was written of them.
        """
        ...

    async def forget(self, remains: Sequence[Remains]) -> None:
        """Drop text, chunks and the note of versions whose other parts are gone."""
        ...

    async def describe(
        self, owner: OwnerId, document: DocumentId, attributes: Mapping[str, object]
    ) -> Document:
        """Replace what the owner says of a document: an object of JSON, empty for nothing.

        It stays when the content is replaced, and goes when the document is deleted. When the
        document was last changed stays, too: its content did not.
        """
        ...

    async def get(self, owner: OwnerId, document: DocumentId) -> Document: ...

    async def find(
        self,
        owner: OwnerId | None = None,
        folder: str | None = None,
        name: str | None = None,
        checksum: str | None = None,
    ) -> list[Document]:
        """Documents by folder, name and the checksum of the live version; `None` means any.

        All owners' for `None`, too. Ordered by folder, name, owner.
        """
        ...

    async def browse(
        self,
        owner: OwnerId,
        *,
        folder: str | None = None,
        status: Status | None = None,
        part: str = "",
        limit: int | None = None,
        offset: int = 0,
    ) -> tuple[list[Document], int]:
        """Some of an owner's documents, the newest first, and how many there are of that kind.

        `part` stands somewhere in the name, in any case.
        """
        ...

    async def folders(self, owner: OwnerId) -> list[FolderCount]:
        """The folders that hold something, by name; what stands in none has an empty one."""
        ...

    async def now(self) -> datetime:
        """By the clock that dates drafts, the same for all who share the catalog."""
        ...

    async def uncounted(self, limit: int) -> list[Version]:
        """Live versions whose tokens nobody counted, some of them."""
        ...

    async def count_tokens(self, version: Version, tokens: int) -> None:
        """Note how long the text of a version is; nothing else of it changes."""
        ...

    async def text(self, version: Version, start: int = 0, end: int | None = None) -> str:
        """Some of a version's text. Costs what is asked for, not what there is."""
        ...

    async def chunks(self, version: Version) -> list[Chunk]: ...

    async def outline(self, version: Version) -> tuple[tuple[int, ...], tuple[Heading, ...]]:
        """Where its pages and its headings begin."""
        ...

    async def live(self, documents: Sequence[DocumentId]) -> dict[DocumentId, Version]:
        """The live versions of those that have one, in one query; what a search asks of its hits."""
        ...

    async def open(
        self, owner: OwnerId, wanted: Mapping[DocumentId, Sequence[int]]
    ) -> dict[DocumentId, Opened]:
        """Live documents with the chunks that are wanted of each, all in one go.

        Documents and chunks that are not there are left out. Costs what is asked for, too.
        """
        ...

    async def matching(
        self,
        owner: OwnerId,
        *,
        folders: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        media_types: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        attributes: Sequence[tuple[str, str | int | float | bool]] | None = None,
    ) -> list[DocumentId]:
        """Live documents that have one of each, `None` meaning any; `text/` is any kind of text.

        `since` and `until` say when they were last changed, both included. Of `attributes` they
        have all, each under its name and not inside something: 1 is 1.0 there, and not true.
        """
        ...

    async def tally(self, owner: OwnerId | None = None) -> Tally:
        """How much an owner has, or all together. Costs far less than to list it."""
        ...

    async def revision(self) -> int:
        """A number that grows with every change of what is live or said of it, whoever made it."""
        ...

    async def adopt_space(
        self, name: str, recipe: str, said: Mapping[str, str] | None = None
    ) -> bool:
        """Note a space, with what it takes to open it: what is written there can go live. The other
        notes that are `said` become true at the same moment.

        False, and nothing is noted, for a name that was retired: it never comes back, so that
        whoever is late can neither write into another space of that name, nor drop it.
        """
        ...

    async def retire_space(self, name: str) -> bool:
        """Unless a space is in use, or something is live there, nothing goes live there any more.

        A name that nobody noted is retired, too: nobody will adopt it.
        """
        ...

    async def note(self, key: str, value: str) -> None:
        """Keep a fact about the whole library, over the one of the same key."""
        ...

    async def note_once(self, key: str, value: str) -> str:
        """Keep a fact unless there is one of that key; the one that is there then."""
        ...

    async def notes(self) -> dict[str, str]: ...

    async def close(self) -> None: ...


class VectorCache(Protocol):
    """Vectors that were paid for, by owner, embedder and the digest of the embedded text.

    Each belongs to the document that first brought it, and goes when that goes.
    """

    async def recall(
        self, owner: OwnerId, embedder: str, digests: Sequence[bytes]
    ) -> dict[bytes, Vectors]: ...

    async def keep(
        self, owner: OwnerId, embedder: str, document: DocumentId, found: Mapping[bytes, Vectors]
    ) -> None: ...

    async def drop(self, document: DocumentId) -> None: ...

    async def count(self, document: DocumentId | None = None) -> int: ...


class Blobs(Protocol):
    """The original files, byte for byte."""

    async def claim(self, library: str) -> None:
        """Note at the place itself that it is this library's, for good.

        Raises `InvalidSettingError` where it is another's: each would take the other's originals
        for its own leftovers. Of libraries that come at the same time at most one gets it.
        """
        ...

    async def put(self, key: str, source: Path) -> None:
        """Keep a copy of `source`; when this returns, it survives a power cut."""
        ...

    def local(self, key: str) -> AbstractAsyncContextManager[Path]:
        """A path to read it from while the context lasts."""
        ...

    async def delete(self, key: str) -> None: ...

    async def keys(self) -> Mapping[str, int]:
        """Every key, with its size."""
        ...

    async def sweep(self, older_than: float = 3600.0) -> int:
        """Remove what a crash left half-written, and tell how much that was.

        What is younger than `older_than` seconds may belong to a `put` that is under way, in any
        process.
        """
        ...

    async def close(self) -> None:
        """End what it runs in; nobody waits long for a server that hangs."""
        ...
