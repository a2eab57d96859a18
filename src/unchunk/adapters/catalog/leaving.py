"""Where things stood that were removed lately.

Lets whoever removes what they read go on behind it: many read a page, remove what is on it, and
ask for the page behind its last thing. Kept for about an hour, whichever process is asked.
"""

import json
from functools import lru_cache
from hashlib import sha256
from typing import Final

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.sql.dml import UpdateBase

from unchunk.adapters.catalog.dialects import clock, insert
from unchunk.adapters.catalog.prepared import rows_of, write
from unchunk.adapters.catalog.rows import microseconds_of
from unchunk.adapters.catalog.schema import left_places, store_files
from unchunk.domain import Document

_KEPT: Final = 3_600_000_000
# More than one for each that comes, so that they do not pile up.
_SWEPT: Final = 20


_IN_STORES = select(store_files.c.store, store_files.c.created_at).where(
    store_files.c.document == bindparam("document")
)


def note_left(connection: Connection, place: tuple[str, ...], made_at: int) -> None:
    """`place` is a list, whose it is, and the thing. Part of the transaction that removes it."""
    noting, sweeping = _noting(connection.dialect.name)
    write(connection, noting, {"place": _digest(place), "made_at": made_at})
    write(connection, sweeping, {})


@lru_cache
def _noting(dialect: str) -> tuple[UpdateBase, UpdateBase]:
    """The statements that note a place, and that sweep old ones."""
    moment = clock(dialect)
    statement = insert(dialect, left_places).values(
        place=bindparam("place"), made_at=bindparam("made_at"), left_at=moment
    )
    again = {"made_at": statement.excluded.made_at, "left_at": statement.excluded.left_at}
    # Past those that another one is just removing: nobody waits here.
    old = (
        select(left_places.c.place)
        .where(left_places.c.left_at < moment - _KEPT)
        .limit(_SWEPT)
        .with_for_update(skip_locked=True)
    )
    return (
        statement.on_conflict_do_update(index_elements=["place"], set_=again),
        delete(left_places).where(left_places.c.place.in_(old)),
    )


def made_at(connection: Connection, place: tuple[str, ...]) -> int | None:
    """When the thing was made that stood there."""
    wanted = select(left_places.c.made_at).where(left_places.c.place == _digest(place))
    return connection.scalar(wanted)


def leave(connection: Connection, document: Document) -> None:
    """Note where a document stood that is about to be deleted, and where in stores."""
    created = microseconds_of(document.created_at)
    note_left(connection, ("document", document.owner, document.id), created)
    for store, put_at in rows_of(connection, _IN_STORES, document=document.id):
        note_left(connection, ("file", document.owner, store, document.id), put_at)


def _digest(place: tuple[str, ...]) -> bytes:
    return sha256(json.dumps(place).encode()).digest()
