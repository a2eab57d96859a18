"""Servers that share one database, each with an engine that answers as a test wants it to."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from server.scripted import NOBODY_ELSE, Scripted, Served, serving
from unchunk.adapters.catalog import Database, SqlKeys, SqlRates, SqlStreamLog, open_database
from unchunk.keyring import Keyring
from unchunk.server.options import Options


@dataclass
class Tower:
    """One of the servers; `log` is what all of them share."""

    served: Served
    engine: Scripted
    log: SqlStreamLog

    @property
    def url(self) -> str:
        return self.served.url


def sharing(engine: Scripted, database: Database) -> None:
    """Have an engine share what is in a database."""
    engine.keyring = Keyring(SqlKeys(database), database.close)
    engine.sharing = replace(NOBODY_ELSE, streams=SqlStreamLog(database), rates=SqlRates(database))


@contextmanager
def tower(url: str, engine: Scripted, options: Options | None = None) -> Iterator[Tower]:
    database = asyncio.run(open_database(url))
    try:
        sharing(engine, database)
        with serving(engine.engine, options) as served:
            yield Tower(served, engine, SqlStreamLog(database))
    finally:
        asyncio.run(database.close())


@contextmanager
def two(
    url: str, first: Scripted | None = None, options: Options | None = None
) -> Iterator[tuple[Tower, Tower]]:
    """What `first` says is said by the one; the other is asked nothing."""
    with ExitStack() as stack:
        one = stack.enter_context(tower(url, first or Scripted(), options))
        other = stack.enter_context(tower(url, Scripted([]), options))
        yield one, other
        assert other.engine.opened == 0
