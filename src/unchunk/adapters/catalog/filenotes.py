"""The port `FileNotes`, in the database of the catalog."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, or_, select, update

from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import in_batches, insert
from unchunk.adapters.catalog.expiring import is_there
from unchunk.adapters.catalog.leaving import made_at
from unchunk.adapters.catalog.lookups import COLUMNS, nothing_there, with_versions
from unchunk.adapters.catalog.paging import part_of
from unchunk.adapters.catalog.prepared import rows_with
from unchunk.adapters.catalog.rows import (
    damaged,
    document_in,
    is_storable,
    kept_text,
    microseconds_of,
    text_of,
    time_of,
)
from unchunk.adapters.catalog.schema import documents, file_notes
from unchunk.domain import Document, DocumentId, NewFile, OwnerId
from unchunk.ports import FileNote, Page

_PURPOSE = "assistants"
_is_document = file_notes.c.document == documents.c.id
_FILES = select(
    *COLUMNS, file_notes.c.filename, file_notes.c.purpose, file_notes.c.expires_at
).select_from(with_versions(documents.outerjoin(file_notes, _is_document)))
_OWNED = _FILES.where(
    documents.c.owner == bindparam("owner"),
    is_there(documents.c.id),
    documents.c.id.in_(bindparam("wanted", expanding=True)),
)


class SqlFileNotes:
    """Lives as long as the catalog on the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, owner: OwnerId, note: FileNote) -> None:
        await self._database.write(partial(_note, owner=owner, note=note))

    async def page(
        self, owner: OwnerId, part: Page, now: datetime, *, purpose: str = ""
    ) -> tuple[list[tuple[Document, FileNote]], bool]:
        work = partial(_page, owner=owner, part=part, now=now, purpose=purpose)
        return await self._database.read(work)

    async def get(
        self, owner: OwnerId, documents: Sequence[DocumentId], now: datetime
    ) -> dict[DocumentId, tuple[Document, FileNote]]:
        return await self._database.read(partial(_get, owner=owner, wanted=documents, now=now))

    async def expired(self, now: datetime) -> list[Document]:
        return await self._database.read(partial(_expired, now=now))


def _note(connection: Connection, owner: OwnerId, note: FileNote) -> None:
    is_it = (documents.c.id == note.document, documents.c.owner == owner)
    # It is not deleted until the end; SQLite keeps other writers off anyway.
    found = select(documents.c.id).where(*is_it).with_for_update(read=True, key_share=True)
    can_be = is_storable(note.document) and is_storable(owner)
    if not can_be or connection.scalar(found) is None:
        raise nothing_there(note.document)
    _keep(connection, note)


def note_coming(connection: Connection, document: Document, said: NewFile) -> None:
    """What is said of a document that is just made, or found; it is kept from other writers."""
    after = said.expires_after
    until = None if after is None else document.created_at + after
    name = said.filename or document.name
    _keep(connection, FileNote(document.id, name, said.purpose, until))


def let_stay(connection: Connection, document: DocumentId) -> None:
    is_it = (file_notes.c.document == document, file_notes.c.expires_at.is_not(None))
    connection.execute(update(file_notes).where(*is_it).values(expires_at=None))


def _keep(connection: Connection, note: FileNote) -> None:
    said = {
        "filename": kept_text(note.filename, "a filename"),
        "purpose": kept_text(note.purpose, "a purpose"),
        "expires_at": None if note.expires_at is None else microseconds_of(note.expires_at),
    }
    connection.execute(
        insert(connection.dialect.name, file_notes).on_conflict_do_update(
            index_elements=["document"], set_=said
        ),
        {"document": note.document, **said},
    )


def _page(
    connection: Connection, owner: OwnerId, part: Page, now: datetime, *, purpose: str
) -> tuple[list[tuple[Document, FileNote]], bool]:
    if not is_storable(owner):
        return [], False
    is_mine = documents.c.owner == owner
    known = select(documents.c.created_at, documents.c.id).where(is_mine)
    wanted = _FILES.where(is_mine, is_there(documents.c.id, now))
    if purpose:
        is_for_it = file_notes.c.purpose == kept_text(purpose, "a purpose")
        has_none = file_notes.c.document.is_(None)
        wanted = wanted.where(or_(is_for_it, has_none) if purpose == _PURPOSE else is_for_it)

    def was_made(document: DocumentId) -> int | None:
        return made_at(connection, ("document", owner, document))

    rows, has_more = part_of(connection, wanted, known, part, was_made)
    return list(map(_noted, rows)), has_more


def _get(
    connection: Connection, owner: OwnerId, wanted: Sequence[DocumentId], now: datetime
) -> dict[DocumentId, tuple[Document, FileNote]]:
    there = [one for one in dict.fromkeys(wanted) if is_storable(one)]
    if not is_storable(owner):
        return {}
    moment = microseconds_of(now)
    found = (
        _noted(row)
        for batch in in_batches(there)
        for row in rows_with(connection, _OWNED, batch, owner=owner, now=moment)
    )
    return {document.id: (document, note) for document, note in found}


def _expired(connection: Connection, now: datetime) -> list[Document]:
    wanted = (
        select(*COLUMNS)
        .select_from(with_versions(file_notes.join(documents, _is_document)))
        .where(file_notes.c.expires_at <= microseconds_of(now))
        .order_by(file_notes.c.expires_at)
    )
    return list(map(document_in, connection.execute(wanted)))


def _noted(row: Sequence[Any]) -> tuple[Document, FileNote]:
    document = document_in(row)
    filename, purpose, expires_at = row[len(COLUMNS) :]
    if filename is None:
        return document, FileNote(document.id, document.name, _PURPOSE)
    until = None if expires_at is None else time_of(expires_at)
    try:
        return document, FileNote(document.id, text_of(filename), text_of(purpose), until)
    except ValueError as error:
        raise damaged(f"document {document.id!r}") from error
