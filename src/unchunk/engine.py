"""The library as every edge uses it: one object, all of it async."""

import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from unchunk.domain import Document, DocumentId, OwnerId, Within
from unchunk.errors import InvalidInputError, NotFoundError, OutputError, TransientError
from unchunk.library.archive import Moved, export, restore
from unchunk.library.committing import Flow
from unchunk.library.doctor import Examination, examine
from unchunk.library.ingest import Event, Ingest, Outcome
from unchunk.library.intake import Source, check_name, sources
from unchunk.library.parts import Parts
from unchunk.library.purging import Receipt, delete, purge, sweep
from unchunk.library.reindexing import UNFINISHED, Reindexed, migrate, reindex
from unchunk.retrieval.search import Found, Searcher
from unchunk.telemetry import job, log

# A shorter beginning of an id is taken for a name that was mistyped.
_SHORTEST_PREFIX = 6


def _silent(*_: object) -> None:
    """Report to nobody."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What the library has done since it was opened, and what it holds."""

    documents: int
    chunks: int
    pending: int
    failed: int
    counters: dict[str, int]
    seconds: dict[str, float]


class Engine:
    """An open library. `owner` is whose documents a call is about; others' are not there."""

    def __init__(
        self, parts: Parts, owner: OwnerId, closed: Callable[[], None] = lambda: None
    ) -> None:
        """`closed` is called when all is closed."""
        self._closed, self._is_closed = closed, False
        self._parts = parts
        self._owner = owner
        self._flow = Flow(parts)
        self._searcher = Searcher(
            parts.catalog, parts.lexicon, parts.telemetry, lambda: parts.spaces.all
        )

    async def start(self) -> None:
        """Finish what a crash interrupted; what cannot be done now is left for the next time."""
        parts = self._parts
        try:
            remains = await parts.catalog.remains()
            if remains:
                log("%d versions were left to purge", len(remains))
                await purge(parts, remains)
            if (await parts.catalog.notes()).get(UNFINISHED):
                log("%d chunks of unfinished versions were removed", await sweep(parts))
                await parts.catalog.note(UNFINISHED, "")
        except (TransientError, OutputError) as error:
            log("what was interrupted cannot be finished yet: %s", error)

    async def add(
        self,
        *paths: str | Path,
        folder: str = "",
        owner: OwnerId | None = None,
        report: Callable[[Event], None] = _silent,
        found: Callable[[int], None] = _silent,
    ) -> list[Outcome]:
        """Add files, folders and patterns; `found` is told how many files that is.

        The same bytes under the same name are left as they are; others replace them once they
        are whole. A file that fails says why, keeps its place in the list, and can be retried.
        """
        files = sources(paths, self._parts.incoming.parent.parent)
        found(len(files))
        with job():
            return await self._ingest(report).add(files, self._whose(owner), _folder(folder))

    async def add_file(
        self, path: Path, name: str, *, folder: str = "", owner: OwnerId | None = None
    ) -> Outcome:
        """Add one file under a name of its own, such as an upload."""
        with job():
            [outcome] = await self._ingest(_silent).add(
                [Source(path, check_name(name))], self._whose(owner), _folder(folder)
            )
        return outcome

    async def retry(
        self,
        *documents: str,
        owner: OwnerId | None = None,
        report: Callable[[Event], None] = _silent,
        found: Callable[[int], None] = _silent,
    ) -> list[Outcome]:
        """Go on with what is pending or failed: all of it, or the documents that are named."""
        owner = self._whose(owner)
        chosen = (
            [await self.document(one, owner=owner) for one in documents]
            if documents
            else await self._parts.catalog.find(owner)
        )
        drafts = [one for one in chosen if one.draft is not None]
        found(len(drafts))
        with job():
            return await self._ingest(report).resume(drafts)

    async def documents(
        self, folder: str | None = None, *, owner: OwnerId | None = None
    ) -> list[Document]:
        return await self._parts.catalog.find(self._whose(owner), folder)

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

    async def text(
        self,
        reference: str,
        start: int = 0,
        end: int | None = None,
        *,
        owner: OwnerId | None = None,
    ) -> str:
        """The canonical text, or a part of it."""
        document = await self.document(reference, owner=owner)
        if document.live is None:
            reason = document.error or "it is still on its way in"
            raise NotFoundError(f"{document.name} has no text: {reason}")
        return await self._parts.catalog.text(document.live, start, end)

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

    async def delete(self, reference: str, *, owner: OwnerId | None = None) -> Receipt:
        """Remove a document from everywhere; it is invisible before anything else happens."""
        document = await self.document(reference, owner=owner)
        with job():
            return await delete(self._parts, document.owner, document.id)

    async def reindex(
        self,
        *references: str,
        owner: OwnerId | None = None,
        report: Callable[[str, int, int], None] = _silent,
    ) -> Reindexed:
        """Write some documents anew from their texts."""
        self._parts.spaces.check()
        chosen = [await self.document(one, owner=owner) for one in references]
        for document in chosen:
            if document.live is None:
                raise NotFoundError(f"{document.name} has no text to write: {document.error}")
        with job():
            return await reindex(self._parts, chosen, self._flow, report)

    async def migrate(self, *, report: Callable[[str, int, int], None] = _silent) -> Reindexed:
        """Bring the whole library, all owners', to what the settings want."""
        with job():
            return await migrate(self._parts, self._flow, report)

    async def doctor(
        self, *, fix: bool = False, watch: Callable[[int, int], None] = _silent
    ) -> Examination:
        """Prove that texts, originals and index agree; mend what can be with `fix`."""
        with job():
            return await examine(self._parts, self._flow, fix=fix, watch=watch)

    async def export(
        self,
        target: str | Path,
        *,
        owner: OwnerId | None = None,
        watch: Callable[[str, int, int], None] = _silent,
    ) -> Moved:
        """Write all owners' documents, or one's, to an archive."""
        with job():
            return await export(self._parts, owner, Path(target), watch)

    async def restore(
        self,
        source: str | Path,
        *,
        owner: OwnerId | None = None,
        watch: Callable[[str, int, int], None] = _silent,
    ) -> Moved:
        """Bring an archive in, after all of it was verified."""
        with job():
            return await restore(self._parts, self._flow, Path(source), owner, watch)

    async def search(
        self,
        question: str,
        *,
        limit: int = 10,
        folders: Sequence[str] | None = None,
        documents: Iterable[DocumentId] | None = None,
        owner: OwnerId | None = None,
    ) -> Found:
        """The chunks that answer best, by meaning and by words."""
        if not question.strip():
            raise InvalidInputError("there is nothing to search for: the question is empty")
        within = Within(
            self._whose(owner),
            None if documents is None else tuple(documents),
            None if folders is None else tuple(folders),
        )
        with job():
            found = await self._searcher.search(question, within, limit)
        changes = self._parts.spaces.changes()
        if any(word in change for change in changes for word in ("index", "language")):
            note = f"this library has {' and '.join(changes)}: `unchunk reindex --all` migrates it"
            found = replace(found, notes=(*found.notes, note))
        return found

    async def counts(self, *, owner: OwnerId | None = None) -> Counts:
        documents = await self._parts.catalog.find(owner)
        telemetry = self._parts.telemetry
        return Counts(
            sum(one.status == "live" for one in documents),
            sum(one.live.chunk_count for one in documents if one.live),
            sum(one.status == "pending" for one in documents),
            sum(one.status == "failed" for one in documents),
            dict(telemetry.counters),
            {name: round(seconds, 6) for name, seconds in telemetry.seconds.items()},
        )

    async def close(self) -> None:
        """Closing twice is closing once."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            await self._parts.spaces.close()
        finally:
            try:
                await self._parts.extractor.close()
            finally:
                await self._parts.catalog.close()
                shutil.rmtree(self._parts.incoming, ignore_errors=True)
                self._closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _ingest(self, report: Callable[[Event], None]) -> Ingest:
        return Ingest(self._parts, self._flow, report)

    def _whose(self, owner: OwnerId | None) -> OwnerId:
        return self._owner if owner is None else owner


def _folder(name: str) -> str:
    return check_name(name) if name else ""
