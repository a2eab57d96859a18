"""Files into the library, several at a time; each comes in whole or says why not."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Literal, NamedTuple, Protocol
from uuid import uuid4

from unchunk.domain import Document, DocumentId, NewFile, OwnerId, Version, Whole
from unchunk.errors import (
    ExtractionCode,
    ExtractionError,
    IndexUnavailableError,
    InvalidInputError,
    NotFoundError,
    ProviderRefusedError,
    ProviderUnavailableError,
    TransientError,
)
from unchunk.library.committing import Flow, each
from unchunk.library.intake import Source, Staged, check_name, stage
from unchunk.library.keys import blob_key
from unchunk.library.parts import Parts
from unchunk.library.purging import purge_document
from unchunk.library.writing import write
from unchunk.telemetry import log

Result = Literal["added", "replaced", "linked", "unchanged", "failed", "waiting"]
Stage = Literal["read", "extracted", "embedding", "done"]


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

# So long after a file was noted, whoever noted it may be busy with its bytes.
_ON_THEIR_WAY = timedelta(minutes=2)


class _GoOn(Protocol):
    """What becomes of a draft; `fresh` tells that nobody ever worked on it."""

    async def __call__(self, document: Document, staged: Staged, *, fresh: bool) -> Outcome: ...


class Ingest:
    """Takes files in, several at a time, and tells `report` about each."""

    def __init__(self, parts: Parts, flow: Flow, report: Report) -> None:
        self._parts = parts
        self._flow = flow
        self._report = report
        self._down = ""

    async def add(self, sources: Iterable[Source], owner: OwnerId, folder: str) -> list[Outcome]:
        """Add files. Results come in the order of the sources; one file's failure is its own.

        What concerns all of them, such as a full disk or a wrong key, is raised; what came in
        before stays, and the same call goes on from there. Once a provider is down, the rest
        is only kept, to wait for `resume`.
        """
        self._parts.spaces.check()
        return await each(sources, self._flow.width, partial(self._take, owner, folder))

    async def keep(
        self, source: Source, owner: OwnerId, folder: str, *, said: NewFile | None = None
    ) -> Outcome:
        """Only keep a file, to go on with by `resume`; nobody else's work is waited for.

        It is then "waiting", unless there is nothing to go on with. Needs neither embedder nor
        index. With `said` it is a new document in any case, under a name that is free, and that
        is noted of it.
        """
        return await self._staged(owner, folder, source, self._kept, said=said, taken=False)

    async def resume(self, documents: Iterable[Document]) -> list[Outcome]:
        """Go on with documents that are pending or failed, from the bytes that are kept."""
        self._parts.spaces.check()
        return await each(documents, self._flow.width, self._bring)

    async def _take(self, owner: OwnerId, folder: str, source: Source) -> Outcome:
        with self._parts.telemetry.span("ingest"):
            async with self._flow.room.hold(_size_of(source)):
                return await self._staged(owner, folder, source, self._alone)

    async def _staged(
        self,
        owner: OwnerId,
        folder: str,
        source: Source,
        go_on: _GoOn,
        *,
        said: NewFile | None = None,
        taken: bool = True,
    ) -> Outcome:
        """Copy a file aside, note it as a draft, and go on with it."""
        parts = self._parts
        begin = partial(parts.catalog.begin, distinct=said is not None, said=said, taken=taken)
        try:
            name = check_name(source.name)
        except InvalidInputError as error:
            return self._done(Outcome(source.name, "failed", error_code="name", error=str(error)))
        try:
            with parts.telemetry.stage("read"):
                staged = await stage(source, parts.incoming, parts.max_bytes)
        except ExtractionError as error:
            document = await begin(owner, folder, name, checksum="", size=0, blob="")
            async with parts.desk.hold(document.id):
                return await self._fail(document, error.code, str(error))
        try:
            # Noted first and kept second: a crash between the two leaves a draft to go on with,
            # the other way round it would leave bytes that nobody knows.
            blob = blob_key(owner, datetime.now(UTC).date(), uuid4())
            document = await begin(
                owner, folder, name, checksum=staged.checksum, size=staged.size, blob=blob
            )
            self._report(Event("read", name))
            if document.live is not None and document.live.checksum == staged.checksum:
                return await self._as_it_was(document, document.live)
            fresh = document.draft is not None and document.draft.blob == blob
            return await go_on(document, staged, fresh=fresh)
        finally:
            staged.path.unlink(missing_ok=True)

    async def _as_it_was(self, document: Document, live: Version) -> Outcome:
        """What was to replace it goes; whoever works on that just now takes it along."""
        parts = self._parts
        async with parts.desk.hold_if_free(document.id) as is_free:
            if is_free:
                # Where that cannot be now, it goes at the next start.
                with suppress(TransientError):
                    await purge_document(parts, document.id)
        return self._unchanged(document, live)

    async def _kept(self, document: Document, staged: Staged, *, fresh: bool) -> Outcome:  # noqa: ARG002 - as `_alone`
        parts, draft = self._parts, document.draft
        assert draft is not None, "only drafts are kept"
        async with parts.desk.hold_here(draft.blob):
            await parts.blobs.put(draft.blob, staged.path)
            if not await self._is_wanted(document, draft):
                await parts.blobs.delete(draft.blob)
                return self._overtaken(document)
        return Outcome(document.name, "waiting", document.id)

    async def _is_wanted(self, document: Document, draft: Version) -> bool:
        try:
            found = await self._parts.catalog.get(document.owner, document.id)
        except NotFoundError:
            return False
        return any(one and one.blob == draft.blob for one in (found.live, found.draft))

    async def _bring(self, document: Document) -> Outcome:
        draft = document.draft
        if draft is None or not draft.blob:
            # It could not be read at all, so there is nothing to go on with.
            error = f"{document.error or 'its bytes were not kept'}; add it again"
            code = document.error_code or "unreadable"
            return self._done(Outcome(document.name, "failed", document.id, 0, "", code, error))
        with self._parts.telemetry.span("ingest"):
            async with self._flow.room.hold(draft.size):
                self._report(Event("read", document.name))
                return await self._alone(document)

    async def _alone(
        self, document: Document, staged: Staged | None = None, *, fresh: bool = False
    ) -> Outcome:
        """Work on a draft while nobody else works on that document, or on the same bytes.

        `fresh` tells that it was made for this, and nobody ever worked on it.
        """
        parts, draft = self._parts, document.draft
        assert draft is not None, "only drafts are worked on"
        async with (
            parts.desk.hold(document.id),
            parts.desk.hold_here(f"{document.owner} {draft.checksum}"),
            # Its bytes may be on their way yet.
            parts.desk.hold_here(draft.blob),
        ):
            try:
                document = await parts.catalog.get(document.owner, document.id)
            except NotFoundError:
                return self._overtaken(document)
            now = document.draft
            if now is None or (now.checksum, now.blob) != (draft.checksum, draft.blob):
                live = document.live
                if live is not None and live.checksum == draft.checksum:
                    return self._unchanged(document, live)  # another brought the same in
                return self._overtaken(document)
            if staged is not None:
                await parts.blobs.put(draft.blob, staged.path)
            if self._down:
                return self._waits(document, self._down)
            if not fresh or now.generation != draft.generation:
                # Somebody may have worked on it, and may yet, however long ago that was.
                try:
                    document = await parts.catalog.renew(document.id, now.generation)
                except NotFoundError:
                    return self._overtaken(document)
            return await self._work(document)

    async def _work(self, document: Document) -> Outcome:
        """A draft whose bytes are kept becomes live, or fails and says why."""
        try:
            whole = await self._write(document)
        except ExtractionError as error:
            return await self._fail(document, error.code, str(error))
        except ProviderRefusedError as error:
            if not error.about_text:
                raise
            return await self._fail(document, "refused", str(error))
        except NotFoundError as error:
            if document.draft is not None and await self._is_wanted(document, document.draft):
                return await self._fail(document, "unreadable", f"{error}; add it again")
            whole = None  # deleted
        except TransientError as error:
            if isinstance(error, ProviderUnavailableError):
                self._down = str(error)
            return self._waits(document, str(error))
        if whole is None:
            return self._overtaken(document)
        same_as = await self._same_as(document)
        result: Result = "replaced" if document.live else "linked" if same_as else "added"
        self._parts.telemetry.count(f"files_{result}")
        log("%s %s: %d chunks", result, document.name, len(whole.chunks))
        return self._done(Outcome(document.name, result, document.id, len(whole.chunks), same_as))

    def _is_young(self, document: Document) -> bool:
        """Whether another process may yet be about to keep its bytes."""
        age = datetime.now(UTC) - document.updated_at
        return self._parts.desk.is_shared and age < _ON_THEIR_WAY

    async def _write(self, document: Document) -> Whole | None:
        """What is now live; None if it was overtaken on the last steps."""
        parts, draft = self._parts, document.draft
        assert draft is not None, "only drafts are worked on"
        try:
            with parts.telemetry.stage("extract"):
                async with parts.blobs.local(draft.blob) as path:
                    extracted = await parts.extractor.extract(path, document.name)
        except NotFoundError:
            if self._is_young(document):
                raise TransientError("its bytes are on their way") from None
            raise
        self._report(Event("extracted", document.name))
        step = partial(self._step, document.name)
        while True:
            async with parts.spaces.using() as space:
                try:
                    whole = await write(parts, document, draft, extracted, step)
                    if await self._flow.committer.commit(whole):
                        return whole
                except IndexUnavailableError:
                    if not await parts.spaces.is_gone(space):
                        raise
            # The library may have been migrated meanwhile, by another process; then once more.
            if not await parts.spaces.is_gone(space):
                return None

    def _waits(self, document: Document, why: str) -> Outcome:
        log("%s waits: %s", document.name, why)
        self._parts.telemetry.count("files_waiting")
        return self._done(Outcome(document.name, "waiting", document.id, error=why))

    def _unchanged(self, document: Document, live: Version) -> Outcome:
        self._parts.telemetry.count("files_unchanged")
        return self._done(Outcome(document.name, "unchanged", document.id, live.chunk_count))

    def _overtaken(self, document: Document) -> Outcome:
        error = "it was deleted or replaced while it came in"
        return self._done(
            Outcome(document.name, "failed", document.id, error_code="overtaken", error=error)
        )

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
        # What this draft took the place of goes; where that cannot be now, at the next start.
        with suppress(TransientError):
            await purge_document(self._parts, document.id)
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
