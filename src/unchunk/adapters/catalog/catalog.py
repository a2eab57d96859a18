"""The port `Catalog`, over a database."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from unchunk.adapters.catalog import finding, reading
from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.later import room
from unchunk.adapters.catalog.rows import time_of
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

# A search asks plainly, and needs none of these.
if TYPE_CHECKING:
    from unchunk.adapters.catalog import (
        browsing,
        changes,
        describing,
        fencing,
        going_live,
        jobs,
        lookups,
        tallying,
    )
else:
    browsing, changes, describing = room("browsing"), room("changes"), room("describing")
    fencing, going_live, jobs = room("fencing"), room("going_live"), room("jobs")
    lookups, tallying = room("lookups"), room("tallying")


class SqlCatalog:
    """Closing it closes the database, for a vector cache on the same one too.

    With `lists_purged` what is forgotten is due in the port `Purged` afterwards.
    """

    def __init__(self, database: Database, *, lists_purged: bool = False) -> None:
        self._database = database
        self._lists_purged = lists_purged

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
        return await self._database.write(
            partial(
                changes.begin,
                place=(owner, folder, name),
                checksum=checksum,
                size=size,
                blob=blob,
                distinct=distinct,
                said=said,
                taken=taken,
            )
        )

    async def go_live(self, wholes: Sequence[Whole]) -> list[DocumentId]:
        # Twice is as once.
        return await self._database.write(
            partial(going_live.go_live, wholes=wholes), repeatable=True
        )

    async def fail(self, document: DocumentId, generation: int, code: str, message: str) -> None:
        await self._database.write(
            partial(
                changes.fail, document=document, generation=generation, code=code, message=message
            ),
            repeatable=True,
        )

    async def renew(self, document: DocumentId, generation: int) -> Document:
        return await self._database.write(
            partial(fencing.renew, document=document, generation=generation)
        )

    async def next_generation(self, document: DocumentId) -> int:
        # A second number costs nothing, and only the last one counts.
        return await self._database.write(
            partial(fencing.next_generation, document=document), repeatable=True
        )

    async def bury(self, owner: OwnerId, document: DocumentId) -> list[Remains]:
        return await self._database.write(partial(changes.bury, owner=owner, document=document))

    async def remains(self) -> list[Remains]:
        return await self._database.ask(finding.all_remains)

    async def revoke(self, remains: Sequence[Remains]) -> list[Remains]:
        return await self._database.write(partial(fencing.revoke, left=remains), repeatable=True)

    async def forget(self, remains: Sequence[Remains]) -> None:
        await self._database.write(
            partial(changes.forget, done=remains, lists_purged=self._lists_purged), repeatable=True
        )

    async def describe(
        self, owner: OwnerId, document: DocumentId, attributes: Mapping[str, object]
    ) -> Document:
        return await self._database.write(
            partial(describing.describe, owner=owner, document=document, given=attributes),
            repeatable=True,
        )

    async def get(self, owner: OwnerId, document: DocumentId) -> Document:
        return await self._database.read(partial(lookups.get, owner=owner, document=document))

    async def find(
        self,
        owner: OwnerId | None = None,
        folder: str | None = None,
        name: str | None = None,
        checksum: str | None = None,
    ) -> list[Document]:
        return await self._database.read(
            partial(lookups.find, owner=owner, folder=folder, name=name, checksum=checksum)
        )

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
        return await self._database.read(
            partial(
                browsing.browse,
                owner=owner,
                folder=folder,
                status=status,
                part=part,
                limit=limit,
                offset=offset,
            )
        )

    async def folders(self, owner: OwnerId) -> list[FolderCount]:
        return await self._database.read(partial(browsing.folders, owner=owner))

    async def now(self) -> datetime:
        return time_of(await self._database.read(jobs.now))

    async def uncounted(self, limit: int) -> list[Version]:
        return await self._database.read(partial(browsing.uncounted, limit=limit))

    async def count_tokens(self, version: Version, tokens: int) -> None:
        await self._database.write(
            partial(browsing.count_tokens, version=version, tokens=tokens), repeatable=True
        )

    async def text(self, version: Version, start: int = 0, end: int | None = None) -> str:
        return await self._database.read(
            partial(lookups.text, version=version, start=start, end=end)
        )

    async def chunks(self, version: Version) -> list[Chunk]:
        return await self._database.read(partial(lookups.chunks, version=version))

    async def outline(self, version: Version) -> tuple[tuple[int, ...], tuple[Heading, ...]]:
        return await self._database.read(partial(lookups.outline, version=version))

    async def live(self, documents: Sequence[DocumentId]) -> dict[DocumentId, Version]:
        return await self._database.ask(partial(finding.live, wanted=documents))

    async def open(
        self, owner: OwnerId, wanted: Mapping[DocumentId, Sequence[int]]
    ) -> dict[DocumentId, Opened]:
        return await self._database.ask(partial(reading.open_documents, owner=owner, wanted=wanted))

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
        return await self._database.ask(
            partial(
                finding.matching,
                owner=owner,
                folders=folders,
                names=names,
                media_types=media_types,
                between=(since, until),
                described=attributes or (),
            )
        )

    async def tally(self, owner: OwnerId | None = None) -> Tally:
        return await self._database.read(partial(tallying.tally, owner=owner))

    async def revision(self) -> int:
        return await self._database.glance(finding.revision)

    async def note(self, key: str, value: str) -> None:
        await self._database.write(partial(changes.note, key=key, value=value), repeatable=True)

    async def note_once(self, key: str, value: str) -> str:
        work = partial(changes.note_once, key=key, value=value)
        return await self._database.write(work, repeatable=True)

    async def adopt_space(
        self, name: str, recipe: str, said: Mapping[str, str] | None = None
    ) -> bool:
        work = partial(fencing.adopt_space, name=name, recipe=recipe, said=said or {})
        return await self._database.write(work, repeatable=True)

    async def retire_space(self, name: str) -> bool:
        work = partial(fencing.retire_space, name=name)
        return await self._database.write(work, repeatable=True)

    async def notes(self) -> dict[str, str]:
        return await self._database.ask(finding.all_notes)

    async def close(self) -> None:
        await self._database.close()
