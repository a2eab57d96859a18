"""The port `Records`: what is in the tables, thing by thing, into any other database of ours."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, select, update
from sqlalchemy import Row as RowOf

from unchunk.adapters.catalog.arriving import put
from unchunk.adapters.catalog.changes import bury
from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import in_batches, insert_new
from unchunk.adapters.catalog.purged import unlist
from unchunk.adapters.catalog.schema import documents, moved, remains, versions
from unchunk.adapters.catalog.units import Shape, shape_of
from unchunk.adapters.catalog.whole import all_marks, is_it, read_unit
from unchunk.domain import DocumentId, Remains
from unchunk.ports.moving import Brought, Kind, LeftBehindError, Unit


class SqlRecords:
    """Lives as long as the catalog on the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def marks(self, kind: Kind) -> dict[str, bytes]:
        return await self._database.read(partial(all_marks, shape=shape_of(kind)))

    async def read(self, kind: Kind, key: str) -> Unit | None:
        return await self._database.read(partial(read_unit, shape=shape_of(kind), key=key))

    async def announce(self, document: Unit, before: bytes | None) -> None:
        await self._database.write(
            partial(_announce, unit=document, before=before), repeatable=True
        )

    async def write(self, unit: Unit, spaces: Mapping[str, str], before: bytes | None) -> None:
        await self._database.write(partial(_write, unit=unit, spaces=spaces, before=before))

    async def vouch(self, kind: Kind, key: str) -> None:
        await self._database.write(partial(_vouch, kind=kind, key=key), repeatable=True)

    async def remove(self, kind: Kind, key: str, before: bytes | None) -> None:
        await self._database.write(
            partial(_remove, shape=shape_of(kind), key=key, before=before), repeatable=True
        )

    async def forget(self, kind: Kind, key: str) -> None:
        await self._database.write(partial(_forget, kind=kind, key=key), repeatable=True)

    async def remains(self, documents: Collection[DocumentId]) -> list[Remains]:
        return await self._database.read(partial(_remains, of=sorted(documents)))

    async def brought(self, kind: Kind) -> dict[str, Brought]:
        return await self._database.read(partial(_brought, kind=kind))


def _announce(connection: Connection, unit: Unit, before: bytes | None) -> None:
    noted = _noted(connection, unit.kind, unit.key)
    here = _as_it_was(connection, shape_of(unit.kind), unit.key, {before, unit.mark})
    coming: set[Any] = {row["generation"] for row in unit.rows[versions.name]}
    (identity,) = json.loads(unit.key)
    unlist(connection, identity, coming)
    own = set(json.loads(noted.generations))
    if here is not None:
        _reserve(connection, here, coming, own)
    # What it was when it was last brought stays.
    change = {
        "blobs": _blobs(unit),
        "generations": json.dumps(sorted(own | coming)),
        "is_verified": False,
    }
    connection.execute(update(moved).where(*_note_of(unit.kind, unit.key)).values(change))


def _reserve(connection: Connection, here: Unit, coming: set[Any], own: set[int]) -> None:
    """Whoever writes a document anew here is given no number that a version has over there."""
    (row,) = here.rows[documents.name]
    last: Any = row["last"]
    new = coming - own - {row["live"], row["draft"]}
    if any(generation <= last for generation in new):
        raise LeftBehindError("it is written anew over there: run the same command later")
    change = update(documents).where(documents.c.id == row["id"])
    connection.execute(change.values(last=max({last, *coming})))


def _write(
    connection: Connection, unit: Unit, spaces: Mapping[str, str], before: bytes | None
) -> None:
    shape = shape_of(unit.kind)
    _noted(connection, unit.kind, unit.key)
    _as_it_was(connection, shape, unit.key, {before, unit.mark})
    put(connection, shape, unit, spaces)
    # As it is here: a store may have come without a file, and is not to look changed by somebody.
    here = read_unit(connection, shape, unit.key, with_derived=False)
    change = {
        "mark": here.mark if here else b"",
        "blobs": _blobs(unit),
        "generations": json.dumps([row["generation"] for row in unit.rows.get("versions", ())]),
        "is_verified": False,
    }
    connection.execute(update(moved).where(*_note_of(unit.kind, unit.key)).values(change))


def _noted(connection: Connection, kind: Kind, key: str) -> RowOf[Any]:
    """What is noted of it, kept from other moves until the end."""
    nothing = {"mark": b"", "blobs": "[]", "generations": "[]", "is_verified": False}
    row = {"kind": kind, "key": key, **nothing}
    connection.execute(insert_new(connection.dialect.name, moved), row)
    return connection.execute(select(moved).where(*_note_of(kind, key)).with_for_update()).one()


def _as_it_was(
    connection: Connection, shape: Shape, key: str, marks: Collection[bytes | None]
) -> Unit | None:
    """What is here, without what is derived, if it has one of these marks; kept from others."""
    root = select(shape.root).where(*is_it(shape, json.loads(key)))
    connection.execute(root.with_for_update())
    here = read_unit(connection, shape, key, with_derived=False)
    if (here.mark if here else None) not in marks:
        raise LeftBehindError(
            "it was changed over there while it was moved: what is over there was left as it is"
        )
    return here


def _blobs(unit: Unit) -> str:
    return json.dumps([row["blob"] for row in unit.rows.get(versions.name, ()) if row["blob"]])


def _vouch(connection: Connection, kind: Kind, key: str) -> None:
    connection.execute(update(moved).where(*_note_of(kind, key)).values(is_verified=True))


def _remove(connection: Connection, shape: Shape, key: str, before: bytes | None) -> None:
    here = _as_it_was(connection, shape, key, {before, None})
    identity = json.loads(key)
    if here is None:
        return
    if shape.kind == "document":
        (row,) = here.rows[documents.name]
        bury(connection, str(row["owner"]), identity[0])
        return
    for part in reversed(shape.parts):
        its = part.table.c[part.column] == identity[0]
        connection.execute(delete(part.table).where(its))
    connection.execute(delete(shape.root).where(*is_it(shape, identity)))


def _forget(connection: Connection, kind: Kind, key: str) -> None:
    connection.execute(delete(moved).where(*_note_of(kind, key)))


def _remains(connection: Connection, of: Sequence[DocumentId]) -> list[Remains]:
    wanted = select(*(remains.c[name] for name in Remains._fields))
    return [
        Remains(*row)
        for batch in in_batches(of)
        for row in connection.execute(wanted.where(remains.c.document.in_(batch)))
    ]


def _brought(connection: Connection, kind: Kind) -> dict[str, Brought]:
    rows = connection.execute(select(moved).where(moved.c.kind == kind))
    return {
        row.key: Brought(bytes(row.mark), tuple(json.loads(row.blobs)), row.is_verified)
        for row in rows
    }


def _note_of(kind: Kind, key: str) -> tuple[ColumnElement[bool], ...]:
    return moved.c.kind == kind, moved.c.key == key
