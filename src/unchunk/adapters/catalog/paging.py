"""Lists that are read a part at a time, by when their things were made."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Row, Select, tuple_

from unchunk.adapters.catalog.rows import is_storable
from unchunk.errors import InvalidInputError
from unchunk.ports import Page


def part_of(
    connection: Connection,
    wanted: Select[Any],
    known: Select[int, str],
    part: Page,
    left: Callable[[str], int | None],
) -> tuple[list[Row[Any]], bool]:
    """The rows of `wanted` that are in the part, and whether there are more of them.

    `known` selects when and as what each thing was made that a cursor may name, also those that
    are not wanted; `left` tells when those were that are not there any more.
    """
    made_at, name = known.selected_columns
    place = tuple_(made_at, name)
    is_ascending = part.order == "asc"
    for cursor, is_above in ((part.after, is_ascending), (part.before, not is_ascending)):
        if cursor:
            there = connection.scalar(known.where(name == cursor)) if is_storable(cursor) else None
            when = left(cursor) if there is None else there
            if when is None:
                raise _nothing_there(cursor)
            seen = (when, cursor)
            wanted = wanted.where(place > seen if is_above else place < seen)
    # What lies just before something is found from there, and turned round.
    is_backward = bool(part.before and not part.after)
    if is_ascending != is_backward:
        ordered = wanted.order_by(made_at, name)
    else:
        ordered = wanted.order_by(made_at.desc(), name.desc())
    limit = max(part.limit, 0)
    # One more than wanted tells whether there are any.
    rows = list(connection.execute(ordered.limit(limit + 1)))
    found = rows[:limit]
    return found[::-1] if is_backward else found, len(rows) > limit


def _nothing_there(cursor: str) -> InvalidInputError:
    return InvalidInputError(
        f"the list cannot begin or end at {cursor!r}: it is not there; begin anew without it"
    )
