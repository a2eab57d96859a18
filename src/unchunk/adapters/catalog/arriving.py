"""A thing that comes from another library, in one transaction over what is here of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, delete, select

from unchunk.adapters.catalog.changes import count_change, locked, retire
from unchunk.adapters.catalog.dialects import in_batches, insert, insert_new
from unchunk.adapters.catalog.rows import version_of
from unchunk.adapters.catalog.schema import (
    documents,
    layouts,
    purged,
    remains,
    store_batch_files,
    store_files,
    texts,
    vectors,
    versions,
)
from unchunk.adapters.catalog.units import Part, Shape, fresh
from unchunk.ports.moving import LeftBehindError, Unit

# Rows of a text or a vector are some kilobytes each.
_AT_ONCE = 200


def put(connection: Connection, shape: Shape, unit: Unit, spaces: Mapping[str, str]) -> None:
    """What names a document that is not here stays out. Raises `LeftBehindError` for a document
    whose name another one has here.
    """
    rows = {name: list(found) for name, found in unit.rows.items()}
    if shape.kind == "document":
        _put_document(connection, shape, rows, spaces)
        return
    _over(connection, shape.root, rows[shape.root.name])
    (root,) = rows[shape.root.name]
    for part in reversed(shape.parts):
        _clear(connection, part, root[shape.keys[0]])
    if shape.kind == "store":
        rows |= _of_documents_here(connection, rows)
    for part in shape.parts:
        _insert(connection, part.table, rows[part.table.name])


def _put_document(
    connection: Connection,
    shape: Shape,
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    spaces: Mapping[str, str],
) -> None:
    (root,) = rows[documents.name]
    identity = root["id"]
    here = locked(connection, documents.c.id == identity)
    place = [documents.c[name] == root[name] for name in ("owner", "folder", "name")]
    if connection.scalar(select(documents.c.id).where(*place, documents.c.id != identity)):
        raise LeftBehindError("another document has its name over there: delete that one first")
    coming = [row | {"space": spaces.get(row["space"], "")} for row in map(dict, rows["versions"])]
    generations = {row["generation"] for row in coming}
    if here is not None:
        seen = {here.live, here.draft} - generations - {None}
        old = select(versions).where(
            versions.c.document == identity, versions.c.generation.in_(seen)
        )
        gone = [version_of(row) for row in connection.execute(old)]
        retire(connection, root["owner"], gone, kept={row["blob"] for row in coming})
        # No number is given out twice.
        root = {**root, "last": max(root["last"], here.last)}
    _over(connection, documents, [root])
    # It may be that one of them was to go, or is to go again.
    for table in (remains, purged, layouts, texts):
        of_these = table.c.document == identity, table.c.generation.in_(generations)
        connection.execute(delete(table).where(*of_these))
    _over(connection, versions, coming)
    for part in shape.parts:
        if part.table in (versions, vectors):
            continue
        if part.table not in (layouts, texts):
            _clear(connection, part, identity)
        _insert(connection, part.table, rows[part.table.name])
    cached = [fresh(vectors, row) for row in rows["vectors"]]
    for batch in in_batches(cached, _AT_ONCE):
        connection.execute(insert_new(connection.dialect.name, vectors), batch)
    count_change(connection)


def _of_documents_here(
    connection: Connection, rows: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, list[Mapping[str, Any]]]:
    """The files of a store, but for those whose documents did not come."""
    wanted = [row["document"] for row in rows[store_files.name]]
    known: set[str] = set()
    for batch in in_batches(wanted):
        known |= set(connection.scalars(select(documents.c.id).where(documents.c.id.in_(batch))))
    return {
        table.name: [row for row in rows[table.name] if row["document"] in known]
        for table in (store_files, store_batch_files)
    }


def _clear(connection: Connection, part: Part, identity: object) -> None:
    connection.execute(delete(part.table).where(part.table.c[part.column] == identity))


def _over(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    statement = insert(connection.dialect.name, table)
    keys = [column.name for column in table.primary_key]
    change = {column.name: column for column in statement.excluded if column.name not in keys}
    for row in rows:
        connection.execute(
            statement.on_conflict_do_update(index_elements=keys, set_=change), fresh(table, row)
        )


def _insert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    for batch in in_batches(rows, _AT_ONCE):
        connection.execute(table.insert(), [fresh(table, row) for row in batch])
