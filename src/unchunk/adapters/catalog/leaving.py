"""Where things stood that were removed lately."""

from threading import Lock
from typing import Final

from sqlalchemy import Connection, select

from unchunk.adapters.catalog.rows import microseconds_of
from unchunk.adapters.catalog.schema import store_files
from unchunk.domain import Document

_MOST: Final = 10_000


class Left:
    """Lets whoever removes what they read go on behind it: many read a page, remove what is on it,
    and ask for the page behind its last thing. Only this process knows, and not for ever.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[str, ...], int] = {}
        self._lock = Lock()

    def note(self, place: tuple[str, ...], made_at: int) -> None:
        """`place` is a list, whose it is, and the thing."""
        with self._lock:
            self._places[place] = made_at
            if len(self._places) > _MOST:
                del self._places[next(iter(self._places))]

    def made_at(self, place: tuple[str, ...]) -> int | None:
        return self._places.get(place)


def leave(connection: Connection, document: Document, left: Left) -> None:
    """Note where a document stood that is about to be deleted, and where in stores."""
    left.note(("document", document.owner, document.id), microseconds_of(document.created_at))
    places = select(store_files.c.store, store_files.c.created_at)
    for store, put_at in connection.execute(places.where(store_files.c.document == document.id)):
        left.note(("file", document.owner, store, document.id), put_at)
