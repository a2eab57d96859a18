"""The port `StreamLog`, in the database of the catalog."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, or_, select, update

from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import clock, hastily, insert, insert_new
from unchunk.adapters.catalog.rows import is_storable, storable
from unchunk.adapters.catalog.schema import stream_events, streams
from unchunk.domain import OwnerId
from unchunk.errors import NotFoundError
from unchunk.ports import Logged, News

# In microseconds. Whoever writes is heard of twice a second or so.
_SILENT: Final = 5_000_000
# Who reads is noted no more often, and counts for a while.
_NOTED_EVERY: Final = 2_000_000
_READ_LATELY: Final = 6_000_000
_AT_ONCE: Final = 500


class SqlStreamLog:
    """Lives as long as the catalog on the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, news: Sequence[News]) -> tuple[set[str], set[str]]:
        if not news:
            return set(), set()
        return await self._database.write(partial(_note, news=news), repeatable=True)

    async def read(self, owner: OwnerId, stream: str, after: int) -> Logged:
        found, is_news = await self._database.read(
            partial(_read, owner=owner, stream=stream, after=after)
        )
        if is_news and not found.is_over:
            await self._database.write(partial(_note_reader, stream=stream), repeatable=True)
        return found

    async def stop(self, owner: OwnerId, stream: str) -> None:
        await self._database.write(partial(_stop, owner=owner, stream=stream), repeatable=True)

    async def forget(self, older_than: float) -> None:
        await self._database.write(partial(_forget, older_than=older_than), repeatable=True)


def _note(connection: Connection, news: Sequence[News]) -> tuple[set[str], set[str]]:
    hastily(connection)
    dialect = connection.dialect.name
    statement = insert(dialect, streams).values(written_at=clock(dialect), read_at=0)
    noted = statement.on_conflict_do_update(
        index_elements=["id"],
        set_={
            "is_over": statement.excluded.is_over,
            "is_stopped": or_(streams.c.is_stopped, statement.excluded.is_stopped),
            "written_at": statement.excluded.written_at,
        },
    )
    forgotten = _forgotten(connection, [one for one in news if one.first > 1])
    news = [one for one in news if one.stream not in forgotten]
    if not news:
        return set(), set()
    told = connection.execute(noted.returning(streams), [_row(one) for one in news]).all()
    events = [
        {"stream": one.stream, "number": number, "content": content}
        for one in news
        for number, content in enumerate(one.events, one.first)
    ]
    if events:
        connection.execute(insert_new(dialect, stream_events), events)
    over = {one.stream for one in news if one.is_over}
    stopped = {row.id for row in told if row.is_stopped}
    read = {row.id for row in told if row.read_at > row.written_at - _READ_LATELY}
    return stopped - over, read - over


def _forgotten(connection: Connection, news: Sequence[News]) -> set[str]:
    """Those that went while their writer slept. They stay gone: their beginning is lost to others.

    The rest cannot go until this is committed.
    """
    names = {one.stream for one in news}
    there = select(streams.c.id).where(streams.c.id.in_(names)).order_by(streams.c.id)
    return names.difference(connection.scalars(there.with_for_update())) if names else names


def _row(news: News) -> dict[str, Any]:
    storable(id=news.stream, owner=news.owner)
    return {
        "id": news.stream,
        "owner": news.owner,
        "is_over": news.is_over,
        "is_stopped": news.is_over and not news.is_kept,
    }


def _read(connection: Connection, owner: OwnerId, stream: str, after: int) -> tuple[Logged, bool]:
    """What is logged, and whether nobody has noted lately that it is read."""
    row = _stream(connection, owner, stream)
    wanted = (
        select(stream_events.c.content)
        .where(stream_events.c.stream == stream, stream_events.c.number > after)
        .order_by(stream_events.c.number)
        .limit(_AT_ONCE)
    )
    events = tuple(bytes(one) for one in connection.scalars(wanted))
    is_over = row.is_over and len(events) < _AT_ONCE
    is_lost = not row.is_over and row.written_at < row.now - _SILENT
    is_news = row.read_at < row.now - _NOTED_EVERY
    return Logged(events, is_over, is_lost, row.is_stopped), is_news


def _stream(connection: Connection, owner: OwnerId, stream: str) -> Row[Any]:
    wanted = select(streams, clock(connection.dialect.name).label("now")).where(
        streams.c.id == stream, streams.c.owner == owner
    )
    can_be = is_storable(stream) and is_storable(owner)
    found = connection.execute(wanted).first() if can_be else None
    if found is None:
        raise _nothing_there(stream)
    return found


def _note_reader(connection: Connection, stream: str) -> None:
    hastily(connection)
    read = update(streams).where(streams.c.id == stream)
    connection.execute(read.values(read_at=clock(connection.dialect.name)))


def _stop(connection: Connection, owner: OwnerId, stream: str) -> None:
    is_it = (streams.c.id == stream, streams.c.owner == owner)
    stopped = update(streams).where(*is_it).values(is_stopped=True)
    can_be = is_storable(stream) and is_storable(owner)
    if not can_be or not connection.execute(stopped).rowcount:
        raise _nothing_there(stream)


def _forget(connection: Connection, older_than: float) -> None:
    latest = clock(connection.dialect.name) - int(older_than * 1_000_000)
    connection.execute(delete(streams).where(streams.c.written_at < latest))


def _nothing_there(stream: str) -> NotFoundError:
    return NotFoundError(f"there is no stream {stream[:40]!r}")
