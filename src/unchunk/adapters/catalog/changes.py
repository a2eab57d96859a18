"""How documents come, change and go. Each function is the work of one transaction."""

import secrets
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Text,
    bindparam,
    cast,
    delete,
    exists,
    select,
    update,
)

from unchunk.adapters.catalog.dialects import clock, insert, insert_new
from unchunk.adapters.catalog.filenotes import let_stay, note_coming
from unchunk.adapters.catalog.jobs import drop
from unchunk.adapters.catalog.jobs import now as shared_now
from unchunk.adapters.catalog.leaving import leave
from unchunk.adapters.catalog.lookups import get, remains_of
from unchunk.adapters.catalog.naming import free_name
from unchunk.adapters.catalog.prepared import rows_of, write
from unchunk.adapters.catalog.purged import listing
from unchunk.adapters.catalog.rows import is_storable, quoted, storable, time_of, version_row
from unchunk.adapters.catalog.schema import documents, notes, remains, versions
from unchunk.adapters.catalog.terms import REVISION
from unchunk.domain import Document, DocumentId, NewFile, OwnerId, Remains, Version

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

_ALPHABET = "0123456789abcdefghijklmnopqrstuv"
_FOUND = (
    select(documents.c.id, documents.c.last)
    .where(
        documents.c.owner == bindparam("owner"),
        documents.c.folder == bindparam("folder"),
        documents.c.name == bindparam("name"),
    )
    .with_for_update()
)
_BEGUN = (
    update(documents)
    .where(documents.c.id == bindparam("its_id"))
    .values(
        draft=bindparam("draft"),
        taken=bindparam("taken"),
        last=bindparam("last"),
        error_code="",
        error=quoted(""),
        updated_at=bindparam("updated_at"),
    )
)
_NEW_VERSION, _NEW_REMAINS = versions.insert(), remains.insert()
_LOCKED = select(documents.c.id).where(documents.c.id == bindparam("document")).with_for_update()
_ALL_GONE = update(remains).where(remains.c.document == bindparam("its_document")).values(gone=True)
_BURIED = delete(documents).where(documents.c.id == bindparam("its_id"))
# Only what is listed as remains: a version that is live cannot be dropped by mistake. What hangs on
# the version, the note of its remains too, goes with it.
_FORGOTTEN = delete(versions).where(
    versions.c.document == bindparam("its_document"),
    versions.c.generation == bindparam("its_generation"),
    exists().where(
        remains.c.document == versions.c.document, remains.c.generation == versions.c.generation
    ),
)


def begin(
    connection: Connection,
    place: tuple[OwnerId, str, str],
    checksum: str,
    size: int,
    blob: str,
    *,
    distinct: bool = False,
    said: NewFile | None = None,
    taken: bool = False,
) -> Document:
    owner, folder, name = place
    storable(owner=owner, folder=folder, name=name, checksum=checksum, blob=blob)
    # Whoever finds it asks how old it is, by the same clock.
    moment = shared_now(connection)
    identity, last = (_made_apart if distinct else _found_or_made)(connection, place, moment)
    document = get(connection, owner, identity)
    if said is not None:
        note_coming(connection, document, said)
    live, draft = document.live, document.draft
    if live is not None and live.checksum == checksum:
        return _without_draft(connection, document, moment)
    if draft is not None:
        if draft.checksum == checksum and not document.error_code:
            return document
        retire(connection, owner, [draft], kept={blob, live.blob if live is not None else blob})
    had = {one.checksum for one in (live, draft) if one is not None}
    if said is None and had and checksum not in had:
        let_stay(connection, identity)
    coming = Version(identity, last + 1, checksum, size, blob)
    write(connection, _NEW_VERSION, version_row(coming))
    begun = {
        "its_id": identity,
        "draft": coming.generation,
        "taken": coming.generation if taken else None,
        "last": coming.generation,
        "updated_at": moment,
    }
    write(connection, _BEGUN, begun)
    return replace(document, draft=coming, error_code="", error="", updated_at=time_of(moment))


def _without_draft(connection: Connection, document: Document, moment: int) -> Document:
    """What is live is what is wanted: another version that was on its way is not, any more."""
    if document.draft is None or document.live is None:
        return document
    retire(connection, document.owner, [document.draft], kept={document.live.blob})
    connection.execute(
        update(documents)
        .where(documents.c.id == document.id)
        .values(draft=None, error_code="", error=quoted(""), updated_at=moment)
    )
    return replace(document, draft=None, error_code="", error="", updated_at=time_of(moment))


def _found_or_made(
    connection: Connection, place: tuple[OwnerId, str, str], moment: int
) -> tuple[DocumentId, int]:
    """A document's id, and the last generation that was given out; it is kept from other writers."""
    # Twice at most with SQLite; elsewhere another may bring or take the document in between.
    while (found := _at(connection, place)) is None:
        _make(connection, place, moment)
    return found


def _made_apart(
    connection: Connection, place: tuple[OwnerId, str, str], moment: int
) -> tuple[DocumentId, int]:
    owner, folder, _ = place
    row = None
    # Once with SQLite; elsewhere another may take the name in between.
    while row is None:
        name = free_name(connection, place)
        made = _make(connection, (owner, folder, name), moment)
        row = locked(connection, documents.c.id == made, documents.c.name == name)
    return row.id, row.last


def _at(connection: Connection, place: tuple[OwnerId, str, str]) -> tuple[DocumentId, int] | None:
    owner, folder, name = place
    for identity, last in rows_of(connection, _FOUND, owner=owner, folder=folder, name=name):
        return identity, last
    return None


def _make(connection: Connection, place: tuple[OwnerId, str, str], moment: int) -> DocumentId:
    """The id of a new document; nothing is made of it where there is one of its name."""
    owner, folder, name = place
    identity = new_id(moment)
    made = {
        "id": identity,
        "owner": owner,
        "folder": folder,
        "name": name,
        "last": 0,
        "error_code": "",
        "error": quoted(""),
        "created_at": moment,
        "updated_at": moment,
    }
    write(connection, insert_new(connection.dialect.name, documents), made)
    return identity


def fail(
    connection: Connection, document: DocumentId, generation: int, code: str, message: str
) -> None:
    connection.execute(
        update(documents)
        .where(documents.c.id == document, documents.c.draft == generation)
        .values(error_code=code, error=quoted(message), updated_at=clock(connection.dialect.name))
    )


def bury(connection: Connection, owner: OwnerId, document: DocumentId) -> list[Remains]:
    if is_storable(document):
        rows_of(connection, _LOCKED, document=document)
    found = get(connection, owner, document)
    leave(connection, found)
    drop(connection, document)
    seen = [version for version in (found.live, found.draft) if version is not None]
    retire(connection, owner, seen, kept=())
    write(connection, _ALL_GONE, {"its_document": document})
    write(connection, _BURIED, {"its_id": document})
    count_change(connection)
    return remains_of(connection, document)


def retire(
    connection: Connection, owner: OwnerId, old: Iterable[Version], kept: Collection[str]
) -> None:
    """Note versions as remains; a blob that is still `kept` for another one is not named."""
    rows = [
        {
            "owner": owner,
            "document": version.document,
            "generation": version.generation,
            "blob": "" if version.blob in kept else version.blob,
            "space": version.space,
            "gone": False,
        }
        for version in old
    ]
    write(connection, _NEW_REMAINS, *rows)


def forget(connection: Connection, done: Sequence[Remains], *, lists_purged: bool) -> None:
    gone = [{"its_document": one.document, "its_generation": one.generation} for one in done]
    if lists_purged:
        write(connection, listing(connection.dialect.name), *gone)
    write(connection, _FORGOTTEN, *gone)


def count_change(connection: Connection) -> None:
    """Note that what is live has changed; the last thing in a transaction, for it is a queue."""
    write(connection, _counted(connection.dialect.name), {"key": REVISION, "value": "1"})


@lru_cache
def _counted(dialect: str) -> "sqlite.Insert | postgresql.Insert":
    higher = cast(cast(notes.c.value, BigInteger) + 1, Text)
    statement = insert(dialect, notes)
    return statement.on_conflict_do_update(index_elements=["key"], set_={"value": higher})


def note(connection: Connection, key: str, value: str) -> None:
    storable(key=key, value=value)
    statement = insert(connection.dialect.name, notes).values(key=key, value=value)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["key"], set_={"value": value})
    )


def note_once(connection: Connection, key: str, value: str) -> str:
    storable(key=key, value=value)
    statement = insert(connection.dialect.name, notes).values(key=key, value=value)
    connection.execute(statement.on_conflict_do_nothing(index_elements=["key"]))
    kept: str = connection.execute(select(notes.c.value).where(notes.c.key == key)).scalar_one()
    return kept


def locked(connection: Connection, *conditions: ColumnElement[bool]) -> Row[Any] | None:
    """The document's row, kept from other writers until the end; SQLite keeps them off anyway."""
    return connection.execute(select(documents).where(*conditions).with_for_update()).first()


def now() -> int:
    return time.time_ns() // 1000


def new_id(microseconds: int) -> str:
    """Sixteen letters and digits that sort by time, so that neighbours lie together on the disk.

    Short, because a model has to copy it into its citations.
    """
    number = (microseconds // 1000) << 35 | secrets.randbits(35)
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(75, -1, -5))
