"""Names for documents that are to stand beside those of the same name."""

import posixpath

from sqlalchemy import Connection, select

from unchunk.adapters.catalog.schema import documents
from unchunk.domain import LONGEST_NAME, OwnerId

_LONGEST_ENDING = 20


def free_name(connection: Connection, place: tuple[OwnerId, str, str]) -> str:
    """The name if no document has it, or with a number that none has.

    Not always the lowest such number: a few steps find one, however many are taken.
    """
    owner, folder, name = place

    def is_taken(it: str) -> bool:
        is_it = (documents.c.owner == owner, documents.c.folder == folder, documents.c.name == it)
        return connection.scalar(select(documents.c.id).where(*is_it)) is not None

    if not is_taken(name):
        return name
    taken, free = 1, 2
    while is_taken(numbered(name, free)):
        taken, free = free, free * 2
    while free - taken > 1:
        between = (taken + free) // 2
        if is_taken(numbered(name, between)):
            taken = between
        else:
            free = between
    return numbered(name, free)


def numbered(name: str, number: int) -> str:
    """The number stands before the ending; a name that gets too long is cut before both."""
    stem, ending = posixpath.splitext(name)
    if len(ending) > _LONGEST_ENDING:
        stem, ending = name, ""
    tail = f" ({number}){ending}"
    return stem[: LONGEST_NAME - len(tail)] + tail
