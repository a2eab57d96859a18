"""The port `Members`, in the database of the catalog."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, select

from unchunk.adapters.catalog.attaching import describe, in_store, not_in, put, remove
from unchunk.adapters.catalog.batches import batch_row
from unchunk.adapters.catalog.completed import (
    FILES_WITH_DOCUMENTS,
    completed,
    file_in,
    searchable,
)
from unchunk.adapters.catalog.counting import STATES, in_batch
from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.expiring import is_there
from unchunk.adapters.catalog.leaving import made_at
from unchunk.adapters.catalog.lookups import COLUMNS, with_versions
from unchunk.adapters.catalog.paging import part_of
from unchunk.adapters.catalog.rows import document_in, is_storable
from unchunk.adapters.catalog.schema import documents, store_files
from unchunk.adapters.catalog.stores import store_row
from unchunk.domain import DocumentId, OwnerId
from unchunk.ports import (
    Attribute,
    Batch,
    BatchId,
    Member,
    MemberStatus,
    Page,
    StoreFile,
    StoreId,
)

_MEMBERS = select(*COLUMNS, *store_files.c).select_from(with_versions(FILES_WITH_DOCUMENTS))


class SqlMembers:
    """Lives as long as the catalog on the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(
        self, owner: OwnerId, files: Sequence[StoreFile], batch: Batch | None = None
    ) -> None:
        await self._database.write(partial(put, owner=owner, files=files, batch=batch))

    async def describe(
        self,
        owner: OwnerId,
        store: StoreId,
        document: DocumentId,
        attributes: Mapping[str, Attribute],
        now: datetime,
    ) -> Member:
        def work(connection: Connection) -> Member:
            describe(connection, owner, store, document, attributes)
            return _get(connection, owner, store, document, now)

        return await self._database.write(work)

    async def get(
        self, owner: OwnerId, store: StoreId, document: DocumentId, now: datetime
    ) -> Member:
        work = partial(_get, owner=owner, store=store, document=document, now=now)
        return await self._database.read(work)

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
        work = partial(_page, place=(owner, store), part=part, now=now, status=status, batch=batch)
        return await self._database.read(work)

    async def searchable(
        self, owner: OwnerId, stores: Sequence[StoreId], now: datetime
    ) -> list[DocumentId]:
        return await self._database.read(partial(searchable, owner=owner, stores=stores, now=now))

    async def completed(
        self,
        owner: OwnerId,
        stores: Sequence[StoreId],
        now: datetime,
        documents: Sequence[DocumentId] | None = None,
    ) -> list[StoreFile]:
        work = partial(completed, owner=owner, stores=stores, now=now, wanted=documents)
        return await self._database.read(work)

    async def remove(self, owner: OwnerId, store: StoreId, document: DocumentId) -> None:
        await self._database.write(partial(remove, owner=owner, store=store, document=document))


def _get(
    connection: Connection, owner: OwnerId, store: StoreId, document: DocumentId, now: datetime
) -> Member:
    store_row(connection, owner, store)
    is_it = (in_store(owner, store), store_files.c.document == document)
    wanted = _MEMBERS.where(*is_it, is_there(documents.c.id, now))
    found = connection.execute(wanted).first() if is_storable(document) else None
    if found is None:
        raise not_in(store, document)
    return _member(found)


def _page(
    connection: Connection,
    place: tuple[OwnerId, StoreId],
    part: Page,
    now: datetime,
    *,
    status: MemberStatus | None,
    batch: BatchId,
) -> tuple[list[Member], bool]:
    owner, store = place
    store_row(connection, owner, store)
    known = select(store_files.c.created_at, store_files.c.document).where(in_store(owner, store))
    wanted = _MEMBERS.where(in_store(owner, store), is_there(documents.c.id, now))
    if status is not None:
        wanted = wanted.where(STATES[status])
    if batch:
        batch_row(connection, store, batch)
        wanted = wanted.where(in_batch(store, batch))

    def was_put(document: DocumentId) -> int | None:
        return made_at(connection, ("file", owner, store, document))

    rows, has_more = part_of(connection, wanted, known, part, was_put)
    return list(map(_member, rows)), has_more


def _member(row: Sequence[Any]) -> Member:
    return Member(file_in(row[len(COLUMNS) :]), document_in(row))
