"""An open database: its connections, and the threads in which they are used."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine

from unchunk.adapters.catalog.connecting import (
    READERS,
    checkpoint,
    engine_of,
    for_reading,
    for_writing,
    place_of,
)
from unchunk.adapters.catalog.faults import in_our_words
from unchunk.adapters.catalog.patience import transact
from unchunk.adapters.catalog.revisions import bring_up_to_date
from unchunk.adapters.catalog.ringing import ringing

T = TypeVar("T")


class Database:
    """Runs work in transactions. Writers queue up for one thread with SQLite, which has one lock.

    `where` is how to show it to people, without its password.
    """

    def __init__(self, engine: Engine, where: str, patience: float = 10.0) -> None:
        self._engine = engine
        self._reading, self._writing = for_reading(engine), for_writing(engine)
        self.where = where
        self._patience = patience
        self._closed = False
        self._listeners: list[Callable[[str], None]] = []
        self._readers = ThreadPoolExecutor(READERS, "catalog-read")
        self._writers = ThreadPoolExecutor(READERS if self.is_shared else 1, "catalog-write")
        self._apart = ThreadPoolExecutor(1, "catalog-apart") if self.is_shared else self._writers

    @property
    def is_shared(self) -> bool:
        """Whether other processes, on other machines too, may work on it at the same time."""
        return self._engine.dialect.name == "postgresql"

    @property
    def engine(self) -> Engine:
        """For a connection of one's own."""
        return self._engine

    async def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` finds, all of one moment; asked again where a server goes away meanwhile."""
        return await self._run(self._readers, self._reading, work, repeatable=True)

    async def write(
        self,
        work: Callable[[Connection], T],
        *,
        repeatable: bool = False,
        rings: Sequence[str] = (),
        apart: bool = False,
    ) -> T:
        """All of `work` or nothing, on the disk when this returns.

        It has no effect but in the database, for it may be begun again: after a deadlock, or where
        the server went away before the end. Where nobody knows whether it was done, that is only
        for work that is `repeatable`: twice is as once. If the caller is cancelled meanwhile, the
        work is done nevertheless, or not, but whole. When it is done, those who wait for one of
        the topics that it `rings` are told, in other processes too. With PostgreSQL, what is done
        `apart` does not queue up behind writers that wait for another process.
        """
        told = ringing(work, rings) if rings and self.is_shared else work
        threads = self._apart if apart else self._writers
        found = await self._run(threads, self._writing, told, repeatable=repeatable)
        for topic in rings:
            for tell in self._listeners:
                tell(topic)
        return found

    def on_ring(self, tell: Callable[[str], None]) -> None:
        """Have somebody in this process told of topics, without the way round by a server."""
        self._listeners.append(tell)

    async def close(self) -> None:
        """Wait for what is running, and leave one tidy file behind. Closing twice is fine."""
        await asyncio.to_thread(self._close)

    async def _run(
        self,
        threads: ThreadPoolExecutor,
        engine: Engine,
        work: Callable[[Connection], T],
        *,
        repeatable: bool,
    ) -> T:
        def task() -> T:
            with in_our_words(self.where):
                return transact(engine, work, self._patience, repeatable=repeatable)

        return await asyncio.get_running_loop().run_in_executor(threads, task)

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._readers.shutdown()
        self._writers.shutdown()
        self._apart.shutdown()
        if not self.is_shared:
            checkpoint(self._engine)
        self._engine.dispose()


async def open_database(where: Path | str, *, patience: float = 10.0) -> Database:
    """The database in the file `where`, or at the URL `where`, made or brought up to date.

    `patience` is how many seconds to wait for another process that writes, or for a server that
    is away. Raises `MigrationNeededError` for a database that a newer version made.
    """
    return await asyncio.to_thread(_open, where, patience)


def _open(where: Path | str, patience: float) -> Database:
    url, shown = place_of(where)
    engine = engine_of(url, patience)
    try:
        with in_our_words(shown):
            bring_up_to_date(engine, shown, patience)
    except BaseException:
        engine.dispose()
        raise
    return Database(engine, shown, patience)
