"""Numbers that keep late writers out: whoever has an older one than was given out is refused.

A process may stop at any moment and go on much later, when another has long taken over. It cannot
know; so what it wrote does not count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, and_, exists, select, update

from unchunk.adapters.catalog.changes import locked, note, retire
from unchunk.adapters.catalog.dialects import in_batches
from unchunk.adapters.catalog.lookups import documents_of, nothing_there, remains_of
from unchunk.adapters.catalog.rows import version_of, version_row
from unchunk.adapters.catalog.schema import documents, notes, versions
from unchunk.domain import Document, DocumentId, Remains, Version
from unchunk.ports import ACTIVE, SPACE


def renew(connection: Connection, document: DocumentId, generation: int) -> Document:
    row = locked(connection, documents.c.id == document)
    if row is None or row.draft != generation:
        raise nothing_there(document)
    if row.taken == generation:
        _renew(connection, row)
    else:
        _take_up(connection, row, generation)
    return documents_of(connection, documents.c.id == document)[0]


def _renew(connection: Connection, row: Row[Any]) -> None:
    old = _version(connection, row.id, row.draft)
    coming = replace(old, generation=row.last + 1)
    connection.execute(versions.insert(), version_row(coming))
    retire(connection, row.owner, [old], kept={old.blob})
    _take_up(connection, row, coming.generation)


def _take_up(connection: Connection, row: Row[Any], generation: int) -> None:
    last = max(generation, row.last)
    connection.execute(
        update(documents)
        .where(documents.c.id == row.id)
        .values(draft=generation, taken=generation, last=last)
    )


def next_generation(connection: Connection, document: DocumentId) -> int:
    row = locked(connection, documents.c.id == document)
    if row is None:
        raise nothing_there(document)
    base = _version(connection, document, row.draft if row.live is None else row.live)
    # What it is to be written from stays: only what is written of it may be left behind.
    coming = replace(base, generation=row.last + 1, space="")
    connection.execute(versions.insert(), version_row(coming))
    retire(connection, row.owner, [coming], kept={base.blob})
    connection.execute(
        update(documents)
        .where(documents.c.id == document)
        .values(last=coming.generation, rewriting=coming.generation)
    )
    return coming.generation


def revoke(connection: Connection, left: Sequence[Remains]) -> list[Remains]:
    wanted = sorted({one.document for one in left})
    numbers = {(one.document, one.generation) for one in left}
    # Locked in the order of ids, as by whoever makes them live.
    for batch in in_batches(wanted):
        rows = select(documents).where(documents.c.id.in_(batch)).order_by(documents.c.id)
        for row in connection.execute(rows.with_for_update()).all():
            if (row.id, row.rewriting) in numbers:
                is_it = documents.c.id == row.id
                connection.execute(update(documents).where(is_it).values(rewriting=None))
    return [
        one
        for document in wanted
        for one in remains_of(connection, document)
        if (one.document, one.generation) in numbers
    ]


def retire_space(connection: Connection, name: str) -> bool:
    """Locked first: whoever makes something live in it has done so, or will be refused."""
    if _locked_note(connection, ACTIVE) == name:
        return False
    _locked_note(connection, SPACE + name)
    is_live = and_(versions.c.document == documents.c.id, versions.c.generation == documents.c.live)
    in_use = exists().where(is_live, versions.c.space == name)
    if connection.scalar(select(in_use)):
        return False
    note(connection, SPACE + name, "")
    return True


def adopt_space(connection: Connection, name: str, recipe: str, said: Mapping[str, str]) -> bool:
    # In the same order as above, so that two never wait for each other.
    _locked_note(connection, ACTIVE)
    if _locked_note(connection, SPACE + name) == "":
        return False
    note(connection, SPACE + name, recipe)
    for key, value in sorted(said.items()):
        note(connection, key, value)
    return True


def _locked_note(connection: Connection, key: str) -> str | None:
    """What is noted, and stays so until the end."""
    found = select(notes.c.value).where(notes.c.key == key).with_for_update()
    return connection.scalar(found)


def _version(connection: Connection, document: DocumentId, generation: int) -> Version:
    is_it = (versions.c.document == document, versions.c.generation == generation)
    return version_of(connection.execute(select(versions).where(*is_it)).one())
