"""Files into the library, several at a time; each comes in whole or says why not."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Literal, NamedTuple
from uuid import uuid4

from unchunk.domain import Document, DocumentId, OwnerId
from unchunk.errors import (
    ExtractionCode,
    ExtractionError,
    InvalidInputError,
    NotFoundError,
    TransientError,
)
from unchunk.library.committing import Committer, Room, each
from unchunk.library.intake import Source, Staged, check_name, stage
from unchunk.library.keys import blob_key
from unchunk.library.parts import Parts
from unchunk.library.writing import write
from unchunk.telemetry import log

Result = Literal["added", "replaced", "linked", "unchanged", "failed", "waiting"]
Stage = Literal["read", "extracted", "embedding", "done"]

# Bytes of files that are worked on at a time, so that memory stays bounded.
_ROOM = 64_000_000


class Event(NamedTuple):
    """How far one file has come; `done` of `total` chunks while it is embedded."""

    stage: Stage
    name: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file.

    "linked" is content that its owner has under another name, `same_as`: nothing of it was
    embedded again. "waiting" is one whose provider or index is down: its bytes are kept, and
    `retry` goes on with it.
    """

    name: str
    result: Result
    document: DocumentId = ""
    chunks: int = 0
    same_as: str = ""
    error_code: str = ""
    error: str = ""


Report = Callable[[Event], None]


class Ingest:
    """Takes files in, `width` at a time, and tells `report` about each."""

    def __init__(self, parts: Parts, width: int, report: Report) -> None:
        self._parts = parts
        self._width = width
        self._report = report
        self._committer = Committer(parts)
        self._room = Room(_ROOM)

    async def add(self, sources: Iterable[Source], owner: OwnerId, folder: str) -> list[Outcome]:
        """Add files. Results come in the order of the sources; one file's failure is its own.

        What concerns all of them, such as a full disk or a wrong key, is raised; what came in
        before stays, and the same call goes on from there.
        """
        self._parts.spaces.check()
        return await each(sources, self._width, partial(self._take, owner, folder))

    async def resume(self, documents: Iterable[Document]) -> list[Outcome]:
        """Go on with documents that are pending or failed, from the bytes that are kept."""
        self._parts.spaces.check()
        return await each(documents, self._width, self._bring)

    async def _take(self, owner: OwnerId, folder: str, source: Source) -> Outcome:
        parts = self._parts
        try:
            name = check_name(source.name)
        except InvalidInputError as error:
            return self._done(
                Outcome(source.name, "failed", "", error_code="name", error=str(error))
            )
        async with self._room.hold(_size_of(source)):
            try:
                with parts.telemetry.stage("read"):
                    staged = await stage(source, parts.incoming, parts.max_bytes)
            except ExtractionError as error:
                document = await parts.catalog.begin(
                    owner, folder, name, checksum="", size=0, blob=""
                )
                return await self._fail(document, error.code, str(error))
            try:
                document = await self._begin(owner, folder, name, staged)
            finally:
                staged.path.unlink(missing_ok=True)
            self._report(Event("read", name))
            if document.live is not None and document.live.checksum == staged.checksum:
                parts.telemetry.count("files_unchanged")
                return self._done(
                    Outcome(name, "unchanged", document.id, document.live.chunk_count)
                )
            return await self._work(document)

    async def _begin(self, owner: OwnerId, folder: str, name: str, staged: Staged) -> Document:
        """Note the file as a draft and keep its bytes."""
        parts = self._parts
        # Noted first and kept second: a crash between the two leaves a draft to go on with,
        # the other way round it would leave bytes that nobody knows.
        document = await parts.catalog.begin(
            owner,
            folder,
            name,
            checksum=staged.checksum,
            size=staged.size,
            blob=blob_key(owner, datetime.now(UTC).date(), uuid4()),
        )
        draft = document.draft
        if draft is not None and draft.checksum == staged.checksum:
            await parts.blobs.put(draft.blob, staged.path)
        return document

    async def _bring(self, document: Document) -> Outcome:
        draft = document.draft
        assert draft is not None, "only drafts are resumed"
        if not draft.blob:
            # It could not be read at all, so there is nothing to go on with.
            error = f"{document.error}; add it again"
            return self._done(
                Outcome(document.name, "failed", document.id, 0, "", document.error_code, error)
            )
        async with self._room.hold(draft.size):
            self._report(Event("read", document.name))
            return await self._work(document)

    async def _work(self, document: Document) -> Outcome:
        """A draft whose bytes are kept becomes live, or fails and says why."""
        parts, draft = self._parts, document.draft
        assert draft is not None, "only drafts are worked on"
        try:
            with parts.telemetry.stage("extract"):
                async with parts.blobs.local(draft.blob) as path:
                    extracted = await parts.extractor.extract(path, document.name)
            self._report(Event("extracted", document.name))
            # An earlier attempt may have left points, and more of them than there are now.
            await parts.spaces.active.index.delete(document.id, [draft.generation])
            step = partial(self._step, document.name)
            whole = await write(parts, document, draft, extracted, step)
            live = await self._committer.commit(whole)
        except ExtractionError as error:
            return await self._fail(document, error.code, str(error))
        except NotFoundError:
            return await self._fail(document, "unreadable", "its bytes are gone: add it again")
        except TransientError as error:
            log("%s waits: %s", document.name, error)
            parts.telemetry.count("files_waiting")
            return self._done(Outcome(document.name, "waiting", document.id, error=str(error)))
        if not live:
            return self._done(
                Outcome(document.name, "failed", document.id, error="it was deleted meanwhile")
            )
        same_as = await self._same_as(document)
        result: Result = "replaced" if document.live else "linked" if same_as else "added"
        parts.telemetry.count(f"files_{result}")
        log("%s %s: %d chunks", result, document.name, len(whole.chunks))
        return self._done(Outcome(document.name, result, document.id, len(whole.chunks), same_as))

    async def _same_as(self, document: Document) -> str:
        """What else the owner calls the same bytes."""
        assert document.draft is not None
        for other in await self._parts.catalog.find(
            document.owner, checksum=document.draft.checksum
        ):
            if other.id != document.id:
                return other.name
        return ""

    async def _fail(self, document: Document, code: ExtractionCode, message: str) -> Outcome:
        if document.draft is not None:
            with suppress(NotFoundError):
                await self._parts.catalog.fail(
                    document.id, document.draft.generation, code, message
                )
        self._parts.telemetry.count("files_failed")
        log("%s failed: %s", document.name, message)
        return self._done(
            Outcome(document.name, "failed", document.id, error_code=code, error=message)
        )

    def _step(self, name: str, done: int, total: int) -> None:
        self._report(Event("embedding", name, done, total))

    def _done(self, outcome: Outcome) -> Outcome:
        self._report(Event("done", outcome.name))
        return outcome


def _size_of(source: Source) -> int:
    try:
        return source.path.stat().st_size
    except OSError:
        return 0
