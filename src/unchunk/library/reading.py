"""The documents of a library as they are kept: which there are, and what each of them says."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from unchunk.domain import (
    Chunk,
    Document,
    DocumentId,
    FolderCount,
    Heading,
    Mark,
    Opened,
    OwnerId,
    Status,
    Version,
)
from unchunk.errors import ExtractionError, InvalidInputError, NotFoundError
from unchunk.library.parts import Parts

# A shorter beginning of an id is taken for a name that was mistyped.
_SHORTEST_PREFIX = 6
_PIECE = 1 << 20
_TRIES = 8

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outline:
    """How a document is laid out: where its pages and its headings begin in its text."""

    document: Document
    version: Version
    pages: tuple[int, ...]
    headings: tuple[Heading, ...]


class Reading:
    """The part of an engine that shows documents. Those of other owners are not there."""

    def __init__(self, parts: Parts, owner: OwnerId) -> None:
        self._parts = parts
        self._owner = owner

    async def documents(
        self, folder: str | None = None, *, owner: OwnerId | None = None
    ) -> list[Document]:
        return await self._parts.catalog.find(self._whose(owner), folder)

    async def browse(
        self,
        *,
        folder: str | None = None,
        status: Status | None = None,
        part: str = "",
        limit: int | None = None,
        offset: int = 0,
        owner: OwnerId | None = None,
    ) -> tuple[list[Document], int]:
        """Some documents, the newest first, and how many there are of that kind.

        `part` stands somewhere in the name, in any case.
        """
        return await self._parts.catalog.browse(
            self._whose(owner),
            folder=folder,
            status=status,
            part=part,
            limit=limit,
            offset=offset,
        )

    async def folders(self, *, owner: OwnerId | None = None) -> list[FolderCount]:
        return await self._parts.catalog.folders(self._whose(owner))

    async def document(self, reference: str, *, owner: OwnerId | None = None) -> Document:
        """A document by its id, its name, or the beginning of its id, if that is one only."""
        owner, catalog = self._whose(owner), self._parts.catalog
        try:
            return await catalog.get(owner, reference)
        except NotFoundError:
            named = await catalog.find(owner, name=reference)
        if not named:
            folder, _, name = reference.rpartition("/")
            named = await catalog.find(owner, folder, name) if folder else []
        if not named:
            every = await catalog.find(owner)
            named = [one for one in every if f"{one.folder}/{one.name}" == reference]
            if len(reference) >= _SHORTEST_PREFIX:
                named = named or [one for one in every if one.id.startswith(reference)]
        if len(named) > 1:
            ids = ", ".join(f"{one.id} ({one.folder or 'no folder'})" for one in named[:5])
            raise InvalidInputError(f"{reference!r} may be one of {ids}: give the id")
        if not named:
            raise NotFoundError(f"there is no document {reference!r}: `unchunk ls` lists them")
        return named[0]

    async def exactly(self, document: DocumentId, *, owner: OwnerId | None = None) -> Document:
        """A document by its id alone: for programs, which should not depend on what else is there."""
        return await self._parts.catalog.get(self._whose(owner), document)

    async def twin(self, document: Document) -> str:
        """What else its owner calls the same bytes; empty if nothing."""
        version = document.live or document.draft
        checksum = version.checksum if version else ""
        found = await self._parts.catalog.find(document.owner, checksum=checksum)
        return next((one.name for one in found if one.id != document.id), "")

    async def text(
        self,
        reference: str,
        start: int = 0,
        end: int | None = None,
        *,
        owner: OwnerId | None = None,
    ) -> str:
        """The canonical text, or a part of it."""
        _, _, text = await self.cut(reference, lambda _: (start, end), owner=owner)
        return text

    async def cut(
        self,
        reference: str,
        bounds: Callable[[int], tuple[int, int | None]],
        *,
        owner: OwnerId | None = None,
    ) -> tuple[Document, int, str]:
        """A document, where the part of its text begins, and the part, all of one version.

        `bounds` says which part is wanted of a text of that length.
        """

        async def read(document: Document, version: Version) -> tuple[Document, int, str]:
            start, end = bounds(version.text_length)
            return document, start, await self._parts.catalog.text(version, start, end)

        return await self._of_live(reference, owner, read)

    async def pieces(
        self, reference: str, *, owner: OwnerId | None = None
    ) -> AsyncGenerator[str, None]:
        """The canonical text, piece by piece. Raises where it is replaced or deleted meanwhile."""
        version = live_of(await self.document(reference, owner=owner))
        for start in range(0, version.text_length, _PIECE):
            yield await self._parts.catalog.text(version, start, start + _PIECE)

    async def outline(self, reference: str, *, owner: OwnerId | None = None) -> Outline:

        async def read(document: Document, version: Version) -> Outline:
            return Outline(document, version, *await self._parts.catalog.outline(version))

        return await self._of_live(reference, owner, read)

    async def chunks(
        self,
        reference: str,
        first: int = 0,
        last: int | None = None,
        *,
        owner: OwnerId | None = None,
    ) -> list[tuple[Chunk, str]]:
        """Chunks with what each says, `last` included. Costs what is asked for."""
        opened = await self.opened(reference, first, last, owner=owner)
        return [opened.chunks[at] for at in sorted(opened.chunks)]

    async def opened(
        self,
        reference: str,
        first: int = 0,
        last: int | None = None,
        *,
        owner: OwnerId | None = None,
    ) -> Opened:
        """The same with the version that they are of."""

        async def read(document: Document, version: Version) -> Opened:
            count = version.chunk_count
            wanted = range(max(0, first), count if last is None else min(last + 1, count))
            found = await self._parts.catalog.open(document.owner, {document.id: wanted})
            opened = found.get(document.id)
            if opened is None or opened.version.generation != version.generation:
                raise NotFoundError(f"there is no document {document.id!r}")
            return opened

        return await self._of_live(reference, owner, read)

    async def _of_live(
        self,
        reference: str,
        owner: OwnerId | None,
        read: Callable[[Document, Version], Awaitable[T]],
    ) -> T:
        """What `read` gives of the live version; of the next one, if that took its place meanwhile."""
        seen = None
        for _ in range(_TRIES):
            document = await self.document(reference, owner=owner)
            version = live_of(document)
            if seen is not None and seen[1] == version.generation:
                break
            try:
                return await read(document, version)
            except NotFoundError as error:
                seen = error, version.generation
        assert seen is not None
        raise seen[0]

    @asynccontextmanager
    async def original(
        self, reference: str, *, owner: OwnerId | None = None
    ) -> AsyncIterator[Path]:
        """The file as it came in, to be read while the context lasts."""
        document = await self.document(reference, owner=owner)
        version = document.live or document.draft
        if version is None or not version.blob:
            raise NotFoundError(f"the original of {document.name} was not kept")
        async with self._parts.blobs.local(version.blob) as path:
            yield path

    def can_draw(self, document: Document) -> bool:
        """Whether there are pages to see of it."""
        live = document.live
        return live is not None and bool(live.blob) and self._parts.pages.can_draw(live)

    async def draw_page(
        self, reference: str, page: int, width: int, *, owner: OwnerId | None = None
    ) -> bytes:
        """A PNG of a page, counted from 1, as its file has it."""
        document, version, _ = await self._page(reference, page, owner)
        try:
            async with self._parts.blobs.local(version.blob) as path:
                return await self._parts.pages.draw(path, page, width)
        except ExtractionError as error:
            raise ExtractionError(error.code, f"{document.name}: {error}") from error

    async def page_marks(
        self, reference: str, page: int, start: int, end: int, *, owner: OwnerId | None = None
    ) -> list[Mark]:
        """Where `text[start:end]` stands on a page, as far as it does."""
        document, version, (first, last) = await self._page(reference, page, owner)
        begin, stop = max(start, first), min(end, last)
        if begin >= stop:
            return []
        text = await self._parts.catalog.text(version, first, last)
        try:
            async with self._parts.blobs.local(version.blob) as path:
                return await self._parts.pages.marks(path, page, text, begin - first, stop - first)
        except ExtractionError as error:
            raise ExtractionError(error.code, f"{document.name}: {error}") from error

    async def _page(
        self, reference: str, page: int, owner: OwnerId | None
    ) -> tuple[Document, Version, tuple[int, int]]:
        """Where a page that can be drawn begins and ends in the text."""
        document = await self.document(reference, owner=owner)
        version = live_of(document)
        if not self.can_draw(document):
            raise NotFoundError(f"{document.name} has no pages to see")
        pages, _ = await self._parts.catalog.outline(version)
        if not 0 < page <= len(pages):
            raise NotFoundError(f"{document.name} has no page {page}: its last one is {len(pages)}")
        ends = (*pages[1:], version.text_length)
        return document, version, (pages[page - 1], ends[page - 1])

    async def note(self, key: str, value: str) -> None:
        """Keep a fact about the whole library, over the one of the same key."""
        await self._parts.catalog.note(key, value)

    async def noted(self, key: str) -> str:
        """Empty if there is none."""
        return (await self._parts.catalog.notes()).get(key, "")

    async def count_tokens(self, limit: int = 100) -> int:
        """Count the tokens of documents that were written before that was kept, some of them.

        How many were counted is returned: none, once all are.
        """
        from unchunk.library.writing import count_tokens  # noqa: PLC0415 -- loads what adds, too

        counted = 0
        for version in await self._parts.catalog.uncounted(limit):
            try:
                text = await self._parts.catalog.text(version)
            except NotFoundError:
                continue  # deleted or replaced meanwhile
            tokens = await asyncio.to_thread(count_tokens, text)
            await self._parts.catalog.count_tokens(version, tokens)
            counted += 1
        return counted

    def _whose(self, owner: OwnerId | None) -> OwnerId:
        return self._owner if owner is None else owner


def live_of(document: Document) -> Version:
    """What is live of a document; raises why, if nothing is."""
    if document.live is None:
        reason = document.error or "it is still on its way in"
        raise NotFoundError(f"{document.name} has no text: {reason}")
    return document.live
