"""The port `Members`, in the database of the catalog."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

from sqlalchemy import Connection, bindparam, select

from unchunk.adapters.catalog.attaching import in_store, not_in, put, remove
from unchunk.adapters.catalog.batches import batch_row, find_batch, save_batch
from unchunk.adapters.catalog.counting import STATES
from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import in_batches
from unchunk.adapters.catalog.leaving import Left
from unchunk.adapters.catalog.lookups import COLUMNS, document_in, rows_with, with_versions
from unchunk.adapters.catalog.paging import part_of
from unchunk.adapters.catalog.rows import damaged, is_storable, json_of, strategy_of, time_of
from unchunk.adapters.catalog.schema import documents, store_files, vector_stores
from unchunk.adapters.catalog.stores import store_row
from unchunk.domain import DocumentId, OwnerId
from unchunk.ports import (
    Batch,
    BatchId,
    Member,
    MemberCounts,
    MemberStatus,
    Page,
    StoreFile,
    StoreId,
)

_FILES_WITH_DOCUMENTS = store_files.join(documents, store_files.c.document == documents.c.id)
_MEMBERS = select(*COLUMNS, *store_files.c).select_from(with_versions(_FILES_WITH_DOCUMENTS))
_LIVE = (
    select(*store_files.c)
    .select_from(_FILES_WITH_DOCUMENTS)
    .join(vector_stores, vector_stores.c.id == store_files.c.store)
    .where(
        vector_stores.c.owner == bindparam("owner"),
        documents.c.live.is_not(None),
        store_files.c.store.in_(bindparam("wanted", expanding=True)),
    )
)


class SqlMembers:
    """Lives as long as the catalog on the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, owner: OwnerId, files: Sequence[StoreFile]) -> None:
        await self._database.write(partial(put, owner=owner, files=files))

    async def get(self, owner: OwnerId, store: StoreId, document: DocumentId) -> Member:
        return await self._database.read(partial(_get, owner=owner, store=store, document=document))

    async def page(
        self,
        owner: OwnerId,
        store: StoreId,
        part: Page,
        *,
        status: MemberStatus | None = None,
        batch: BatchId = "",
    ) -> tuple[list[Member], bool]:
        work = partial(_page, place=(owner, store), part=part, status=status, batch=batch)
        return await self._database.read(partial(work, left=self._database.left))

    async def live(
        self,
        owner: OwnerId,
        stores: Sequence[StoreId],
        documents: Sequence[DocumentId] | None = None,
    ) -> list[StoreFile]:
        return await self._database.read(
            partial(_live, owner=owner, stores=stores, wanted=documents)
        )

    async def remove(self, owner: OwnerId, store: StoreId, document: DocumentId) -> None:
        left = self._database.left
        await self._database.write(
            partial(remove, owner=owner, store=store, document=document, left=left)
        )

    async def save_batch(self, owner: OwnerId, batch: Batch) -> None:
        await self._database.write(partial(save_batch, owner=owner, batch=batch))

    async def batch(
        self, owner: OwnerId, store: StoreId, batch: BatchId
    ) -> tuple[Batch, MemberCounts]:
        return await self._database.read(partial(find_batch, owner=owner, store=store, batch=batch))


def _get(connection: Connection, owner: OwnerId, store: StoreId, document: DocumentId) -> Member:
    store_row(connection, owner, store)
    is_it = (in_store(owner, store), store_files.c.document == document)
    found = connection.execute(_MEMBERS.where(*is_it)).first() if is_storable(document) else None
    if found is None:
        raise not_in(store, document)
    return _member(found)


def _page(
    connection: Connection,
    place: tuple[OwnerId, StoreId],
    part: Page,
    *,
    status: MemberStatus | None,
    batch: BatchId,
    left: Left,
) -> tuple[list[Member], bool]:
    owner, store = place
    store_row(connection, owner, store)
    known = select(store_files.c.created_at, store_files.c.document).where(in_store(owner, store))
    wanted = _MEMBERS.where(in_store(owner, store))
    if status is not None:
        wanted = wanted.where(STATES[status])
    if batch:
        batch_row(connection, store, batch)
        wanted = wanted.where(store_files.c.batch == batch)

    def was_put(document: DocumentId) -> int | None:
        return left.made_at(("file", owner, store, document))

    rows, has_more = part_of(connection, wanted, known, part, was_put)
    return list(map(_member, rows)), has_more


def _live(
    connection: Connection,
    owner: OwnerId,
    stores: Sequence[StoreId],
    wanted: Sequence[DocumentId] | None,
) -> list[StoreFile]:
    if not is_storable(owner):
        return []
    there = [one for one in dict.fromkeys(stores) if is_storable(one)]
    if wanted is None:
        batches = in_batches(there)
        rows = chain.from_iterable(rows_with(connection, _LIVE, it, owner=owner) for it in batches)
    else:
        named = [one for one in dict.fromkeys(wanted) if is_storable(one)]
        rows = chain.from_iterable(
            connection.execute(
                _LIVE.where(store_files.c.document.in_(some)), {"owner": owner, "wanted": it}
            )
            for it in in_batches(there)
            for some in in_batches(named)
        )
    return list(map(_file, rows))


def _member(row: Sequence[Any]) -> Member:
    return Member(_file(row[len(COLUMNS) :]), document_in(row))


def _file(row: Sequence[Any]) -> StoreFile:
    store, document, created, strategy, attributes, batch, is_cancelled = row
    try:
        return StoreFile(
            store,
            document,
            time_of(created),
            strategy_of(strategy),
            {} if attributes is None else dict(json_of(attributes)),
            batch or "",
            bool(is_cancelled),
        )
    except (TypeError, ValueError) as error:
        raise damaged(f"document {document!r} in vector store {store!r}") from error
