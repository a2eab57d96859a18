"""Which documents are there: not those whose time is over, though nobody has deleted them yet."""

from datetime import datetime
from typing import Final

from sqlalchemy import BigInteger, BindParameter, Column, ColumnElement, bindparam, select

from unchunk.adapters.catalog.rows import microseconds_of
from unchunk.adapters.catalog.schema import file_notes

NOW: Final = bindparam("now", type_=BigInteger)
"""For statements that are made once: in microseconds, as everywhere."""


def is_there(
    document: Column[str], now: datetime | BindParameter[int] = NOW
) -> ColumnElement[bool]:
    """A database asks once which ones are over, and not for every document: they are few."""
    moment = microseconds_of(now) if isinstance(now, datetime) else now
    over = select(file_notes.c.document).where(file_notes.c.expires_at <= moment)
    return document.not_in(over)
