"""The library as every edge uses it: one object, all of it async."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from unchunk.chat.talking import Talk, Talking
from unchunk.chat.watching import CHAT
from unchunk.domain import Chunking, Document, EmbedderIdentity, NewFile, OwnerId, json_object
from unchunk.errors import (
    IndexUnavailableError,
    InvalidInputError,
    NotFoundError,
    OutputError,
    ProviderUnavailableError,
    TransientError,
    UnchunkError,
)
from unchunk.keyring import Keyring
from unchunk.library.conditions import NOBODY, conditions
from unchunk.library.intake import Source, check_name, sources
from unchunk.library.parts import Parts
from unchunk.library.purging import delete, purge_again, purge_remains
from unchunk.library.reading import Reading
from unchunk.library.sharing import Sharing
from unchunk.retrieval.asking import CACHE_SECONDS, Asking, Manner
from unchunk.retrieval.search import LibraryShelf
from unchunk.searching import Searching
from unchunk.telemetry import Condition, Telemetry, job, log

# Most processes search, and many do that once. What else there is to do is loaded when it is done.
if TYPE_CHECKING:
    from unchunk.chat.parts import ChatParts
    from unchunk.library.archive import Moved
    from unchunk.library.committing import Flow
    from unchunk.library.doctor import Examination
    from unchunk.library.ingest import Event, Ingest, Outcome
    from unchunk.library.purging import Receipt
    from unchunk.library.reindexing import Reindexed
    from unchunk.stores import StoreParts, VectorStores
    from unchunk.stores.parts import Library as StoreLibrary

# Documents that are deleted together: a flush costs the same for one as for many.
_AT_ONCE = 100
_NO_MODEL = Condition(ok=True, reason="no model is set up: answers are quotes")
_NOT_ASKED = Condition(ok=True, reason="not asked yet")


def silent(*_: object) -> None:
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


@dataclass(frozen=True, slots=True)
class Makeup:
    """Without `embedder`, none has answered yet; without `chat`, answers are quotes."""

    embedder: EmbedderIdentity | None
    index: str
    chunking: Chunking
    chat: str
    window: int | None


class Engine(Talking, Reading, Searching):
    """An open library. `owner` is whose documents a call is about; others' are not there."""

    def __init__(
        self,
        parts: Parts,
        owner: OwnerId,
        own: Sequence[Path],
        closed: Callable[[], None],
        *,
        manner: Manner,
        talk: Talk,
        keyring: Keyring,
        stores: "Callable[[], StoreParts]",
        has_company: Callable[[], bool] = lambda: False,
        cache_seconds: float = CACHE_SECONDS,
    ) -> None:
        """`own` is where the library's own files are; `closed` is called when all is closed, and
        `stores` when vector stores are first asked for.

        `has_company` tells whether other processes have its home open. What a search gave is
        remembered for `cache_seconds`.
        """
        self._has_company = has_company
        self._closed, self._is_closed = closed, False
        self.is_alone = False
        Reading.__init__(self, parts, owner)
        self._own = own
        shelf = LibraryShelf(
            parts.catalog,
            parts.lexicon,
            parts.telemetry,
            lambda: parts.spaces.all,
            manner.fusion,
            refresh=parts.spaces.refresh if parts.desk.is_shared else None,
        )
        asking = Asking(
            shelf,
            parts.telemetry,
            owner,
            manner,
            revision=parts.catalog.revision,
            cache_seconds=cache_seconds,
            remarks=parts.spaces.remarks,
        )
        elsewhere = talk.elsewhere.asking if talk.elsewhere else None
        Searching.__init__(self, parts, owner, asking, self._usual_amount, elsewhere)
        Talking.__init__(self, talk, self._make_answering, owner)
        self._words = manner.words
        self.keyring = keyring
        self._make_stores = stores

    def _make_answering(self) -> "ChatParts":
        from unchunk.chat.parts import ChatParts  # noqa: PLC0415
        from unchunk.retrieval.query import QueryAnalyzer  # noqa: PLC0415

        parts, talk = self._parts, self._talk
        return ChatParts(
            self.retrieve,
            QueryAnalyzer(self._words),
            parts.lexicon,
            talk.conversations,
            talk.prompts,
            parts.telemetry,
            talk.manner,
            talk.model,
            self._similarity,
            self._open_document,
            talk.elsewhere.name if talk.elsewhere else "Search",
        )

    @cached_property
    def stores(self) -> "VectorStores":
        return self.stores_over(self)

    def stores_over(self, library: "StoreLibrary") -> "VectorStores":
        """Vector stores whose documents are added, deleted and searched by way of `library`."""
        from unchunk.stores import VectorStores  # noqa: PLC0415

        return VectorStores(library, self._parts.catalog, self._make_stores())

    @cached_property
    def _flow(self) -> "Flow":
        from unchunk.library.committing import Flow  # noqa: PLC0415

        return Flow(self._parts)

    async def start(self, *, is_alone: bool) -> None:
        """Finish what a crash interrupted; what cannot be done now is left for the next time."""
        self.is_alone = is_alone
        await self.purge_remains()
        if not is_alone:
            return
        try:
            if abandoned := await self._talk.conversations.abandon():
                log("%d answers were interrupted", abandoned)
        except (TransientError, OutputError) as error:
            log("what was interrupted cannot be finished yet: %s", error)

    async def purge_remains(self) -> int:
        """Remove what is left of versions that nobody sees or works on any more, and tell how many
        those were. What cannot go now goes another time.
        """
        try:
            # Before it is asked who is there: what they begin later is not among these.
            left = await self._parts.catalog.remains()
            if not self.sees_all_work:
                return 0
            if purged := await purge_remains(self._parts, left):
                log("%d versions were left and are purged", purged)
        except UnchunkError as error:
            # Whatever the index has: who opens the library may want to read, or to mend it.
            log("what was left cannot be purged yet: %s", error)
            return 0
        return purged

    async def purge_again(self, seconds: float = 20.0) -> None:
        """Take out of the index what came after it was purged, for up to so many seconds."""
        try:
            await purge_again(self._parts, seconds)
        except UnchunkError as error:
            log("what was purged cannot be looked after yet: %s", error)

    def files(self, *paths: str | Path) -> list[Source]:
        """The files that paths, folders and patterns stand for, without the library's own."""
        return sources(paths, self._own)

    async def add(
        self,
        *paths: str | Path,
        folder: str = "",
        owner: OwnerId | None = None,
        report: "Callable[[Event], None]" = silent,
        found: Callable[[int], None] = silent,
    ) -> "list[Outcome]":
        """Add files, folders and patterns; `found` is told how many files that is.

        The same bytes under the same name are left as they are; others replace them once they
        are whole. A file that fails says why, keeps its place in the list, and can be retried.
        """
        files = self.files(*paths)
        found(len(files))
        with job():
            ingest = await self._ingest(report)
            return await ingest.add(files, self._whose(owner), _folder(folder))

    async def add_file(
        self,
        path: Path,
        name: str,
        *,
        folder: str = "",
        owner: OwnerId | None = None,
        attributes: Mapping[str, object] | None = None,
    ) -> "Outcome":
        """Add one file under a name of its own, such as an upload.

        `attributes` are JSON that goes with it, and by which it can be filtered; None leaves those
        that the document of that name has.
        """
        source = Source(path, check_name(name), attributes=attributes)
        _check_attributes(attributes)
        with job():
            ingest = await self._ingest(silent)
            return await self._take(ingest, source, self._whose(owner), _folder(folder))

    async def add_files(
        self,
        files: Iterable[Source],
        *,
        folder: str = "",
        owner: OwnerId | None = None,
        report: "Callable[[Event], None]" = silent,
    ) -> "list[Outcome]":
        """As `add`, but each file has a name and attributes of its own, as in `add_file`."""
        from unchunk.library.committing import each  # noqa: PLC0415
        from unchunk.library.ingest import Event, Outcome  # noqa: PLC0415

        whose, where = self._whose(owner), _folder(folder)
        with job():
            ingest = await self._ingest(report)

            async def taken(one: Source) -> Outcome:
                try:
                    _check_attributes(one.attributes)
                except InvalidInputError as error:
                    report(Event("done", one.name))
                    return Outcome(one.name, "failed", error_code=error.code, error=str(error))
                try:
                    return await self._take(ingest, one, whose, where)
                except (InvalidInputError, NotFoundError) as error:  # or it is deleted already
                    return Outcome(one.name, "failed", error_code=error.code, error=str(error))

            return await each(files, self._flow.width, taken)

    async def keep_file(
        self,
        path: Path,
        name: str,
        *,
        folder: str = "",
        owner: OwnerId | None = None,
        attributes: Mapping[str, object] | None = None,
        said: NewFile | None = None,
    ) -> "Outcome":
        """As `add_file`, but the file is only kept, and `retry` goes on with it: it is "waiting".

        Nothing of it is lost from here on. What the same bytes are already is told at once.
        With `said` it is a new document in any case, under a name that is free, and that is
        noted of it as a file.
        """
        from unchunk.library.ingest import Ingest  # noqa: PLC0415

        whose = self._whose(owner)
        _check_attributes(attributes)
        with suppress(TransientError):
            self._parts.spaces.check()
        with job():
            ingest = Ingest(self._parts, self._flow, silent)
            source = Source(path, check_name(name))
            outcome = await ingest.keep(source, whose, _folder(folder), said=said)
            if attributes is not None and outcome.document:
                await self._parts.catalog.describe(whose, outcome.document, attributes)
        return outcome

    async def retry(
        self,
        *documents: str,
        owner: OwnerId | None = None,
        report: "Callable[[Event], None]" = silent,
        found: Callable[[int], None] = silent,
    ) -> "list[Outcome]":
        """Go on with what is pending or failed: all of it, or the documents that are named."""
        drafts = await self._drafts(documents, self._whose(owner))
        found(len(drafts))
        with job():
            outcomes = await (await self._ingest(report)).resume(drafts)
            failed_before = {one.id for one in drafts if one.error_code}
            came_in = {one.document for one in outcomes if one.result not in ("failed", "waiting")}
            if settled := failed_before & came_in:
                await self.sharing.queue.settle(settled)
        return outcomes

    async def enqueue(self, *documents: str, owner: OwnerId | None = None) -> list[Document]:
        """As `retry`, but workers do it: what is pending or failed, and queued for them now."""
        drafts = await self._drafts(documents, self._whose(owner))
        for one in drafts:
            await self.sharing.queue.begin("retry", one)
        return drafts

    async def delete(self, reference: str, *, owner: OwnerId | None = None) -> "Receipt":
        """Remove a document from everywhere; it is invisible before anything else happens."""
        document = await self.document(reference, owner=owner)
        with job():
            for receipt in await delete(self._parts, [document]):
                return receipt
        raise NotFoundError(f"there is no document {reference!r}")

    async def delete_folder(self, folder: str, *, owner: OwnerId | None = None) -> "list[Receipt]":
        """Remove all documents that stand in a folder."""
        found = await self.documents(folder, owner=owner)
        receipts = []
        with job():
            for at in range(0, len(found), _AT_ONCE):
                receipts += await delete(self._parts, found[at : at + _AT_ONCE])
        return receipts

    async def reindex(
        self,
        *references: str,
        owner: OwnerId | None = None,
        report: Callable[[str, int, int], None] = silent,
    ) -> "Reindexed":
        """Write some documents anew from their texts."""
        from unchunk.library.reindexing import reindex  # noqa: PLC0415

        self._parts.spaces.check()
        chosen = [await self.document(one, owner=owner) for one in references]
        for document in chosen:
            if document.live is None:
                raise NotFoundError(f"{document.name} has no text to write: {document.error}")
        with job():
            return await reindex(self._parts, chosen, self._flow, report)

    async def migrate(self, *, report: Callable[[str, int, int], None] = silent) -> "Reindexed":
        """Bring the whole library, all owners', to what the settings want."""
        from unchunk.library.reindexing import migrate  # noqa: PLC0415

        with job():
            return await migrate(self._parts, self._flow, report)

    async def doctor(
        self, *, fix: bool = False, watch: Callable[[int, int], None] = silent
    ) -> "Examination":
        """Prove that texts, originals and index agree; mend what can be with `fix`."""
        from unchunk.library.doctor import examine  # noqa: PLC0415

        with job():
            return await examine(self._parts, self._flow, fix=fix, watch=watch)

    async def export(
        self,
        target: str | Path,
        *,
        owner: OwnerId | None = None,
        watch: Callable[[str, int, int], None] = silent,
    ) -> "Moved":
        """Write all owners' documents, or one's, to an archive."""
        from unchunk.library.archive import export  # noqa: PLC0415

        with job():
            return await export(self._parts, owner, Path(target), watch)

    async def restore(
        self,
        source: str | Path,
        *,
        owner: OwnerId | None = None,
        watch: Callable[[str, int, int], None] = silent,
    ) -> "Moved":
        """Bring an archive in, after all of it was verified."""
        from unchunk.library.archive import restore  # noqa: PLC0415

        with job():
            await self._settle()
            return await restore(self._parts, self._flow, Path(source), owner, watch)

    async def counts(self, *, owner: OwnerId | None = None) -> Counts:
        tally = await self._parts.catalog.tally(owner)
        telemetry = self._parts.telemetry
        return Counts(
            *tally,
            dict(telemetry.counters),
            {name: round(seconds, 6) for name, seconds in telemetry.seconds.items()},
        )

    async def claim(self) -> None:
        """Take the index at once, for a process that means to stay; `LibraryInUseError` if another
        has it. One that cannot be reached now may be later.
        """
        with suppress(IndexUnavailableError, ProviderUnavailableError):
            await self._settle()
            for space in self._parts.spaces.all:
                await space.index.census(NOBODY)

    async def health(self) -> dict[str, Condition]:
        """How `catalog`, `index`, `embedder` and `chat` are. Takes seconds at most, and no money.

        What belongs to somebody else is judged by its last call, except for an index.
        """
        asked = self._parts.telemetry.calls.get(CHAT, _NOT_ASKED)
        found = await conditions(self._parts)
        return found | {"chat": asked if self._talk.model else _NO_MODEL}

    async def makeup(self) -> Makeup:
        """What the library is made of now, which may be otherwise than the settings want."""
        spaces, model = self._parts.spaces, self._talk.model
        window = await model.window() if model else None
        return Makeup(self.embedder, spaces.kind, spaces.chunking, self.chat_model, window)

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """The one that the library is built with; None where none has answered yet.

        A `min_score` of 0 says that it is not calibrated yet.
        """
        return next(
            (replace(one.identity, min_score=one.threshold) for one in self._parts.spaces.all),
            None,
        )

    @property
    def sees_all_work(self) -> bool:
        """Whether it can be told here what anybody works on: by leases, or as nobody else is there.

        Without that, what looks left may be another's in the making.
        """
        return self.sharing.leases is not None or not self._has_company()

    @property
    def sharing(self) -> Sharing:
        """What this process shares with others that have the library open."""
        return self._parts.sharing

    @property
    def telemetry(self) -> Telemetry:
        return self._parts.telemetry

    async def close(self) -> None:
        """Closing twice is closing once."""
        if self._is_closed:
            return
        self._is_closed = True
        async with AsyncExitStack() as stack:
            # The other way round: the last one first.
            stack.callback(self._closed)
            if self._parts.telemetry.tracer is not None:
                stack.push_async_callback(asyncio.to_thread, self._parts.telemetry.close)
            parts = self._parts
            for part in (parts.catalog, parts.blobs, parts.extractor, parts.pages, parts.spaces):
                stack.push_async_callback(part.close)
            stack.push_async_callback(parts.sharing.bell.close)
            stack.push_async_callback(parts.desk.close)
            stack.push_async_callback(self._asking.close)
            stack.push_async_callback(self._talk.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _drafts(self, documents: Sequence[str], owner: OwnerId) -> list[Document]:
        """Of those that are named, or of all, what is pending or failed."""
        chosen = (
            [await self.document(one, owner=owner) for one in documents]
            if documents
            else await self._parts.catalog.find(owner)
        )
        return [one for one in chosen if one.draft is not None]

    async def _take(
        self, ingest: "Ingest", source: Source, owner: OwnerId, folder: str
    ) -> "Outcome":
        [outcome] = await ingest.add([source], owner, folder)
        if source.attributes is not None and outcome.document:
            await self._parts.catalog.describe(owner, outcome.document, source.attributes)
        return outcome

    async def _ingest(self, report: "Callable[[Event], None]") -> "Ingest":
        from unchunk.library.ingest import Ingest  # noqa: PLC0415

        await self._settle()
        return Ingest(self._parts, self._flow, report)


def _check_attributes(attributes: Mapping[str, object] | None) -> None:
    """Before anything is taken in."""
    if attributes is not None:
        json_object(attributes, "attributes")


def _folder(name: str) -> str:
    return check_name(name) if name else ""
