"""What owners say of their documents, and how it is found again."""

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection, delete, update

from unchunk.adapters.catalog.changes import count_change, locked
from unchunk.adapters.catalog.lookups import get
from unchunk.adapters.catalog.marks import mark_of
from unchunk.adapters.catalog.rows import kept_json
from unchunk.adapters.catalog.schema import attributes, documents
from unchunk.domain import Document, DocumentId, OwnerId, json_object


def describe(
    connection: Connection, owner: OwnerId, document: DocumentId, given: Mapping[str, object]
) -> Document:
    said = json_object(given, "attributes")
    row = locked(connection, documents.c.id == document)
    found = get(connection, owner, document)
    packed = kept_json(said, "attributes") if said else None
    if row is not None and row.attributes == packed:
        return found
    connection.execute(
        update(documents).where(documents.c.id == document).values(attributes=packed)
    )
    connection.execute(delete(attributes).where(attributes.c.document == document))
    marks = {mark_of(name, it) for name, it in said.items() if isinstance(it, (str, int, float))}
    if marks:
        connection.execute(
            attributes.insert(),
            [{"owner": owner, "mark": mark, "document": document} for mark in sorted(marks)],
        )
    count_change(connection)
    return replace(found, attributes=said)
