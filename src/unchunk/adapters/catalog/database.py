"""An open database: its connections, and the threads in which they are used."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, TypeVar

from unchunk.adapters.catalog.file import READERS, Ask, File, in_our_words, make_private
from unchunk.adapters.catalog.finding import newest_step
from unchunk.adapters.catalog.later import room
from unchunk.adapters.catalog.terms import HEAD

# What a file is asked plainly needs none of these.
if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

    from unchunk.adapters.catalog import connecting, dialects, faults, patience, revisions, ringing
else:
    connecting, dialects, faults = room("connecting"), room("dialects"), room("faults")
    patience, revisions, ringing = room("patience"), room("revisions"), room("ringing")

T = TypeVar("T")


class Database:
    """Runs work in transactions. Writers queue up for one thread with SQLite, which has one lock.

    `where` is how to show it to people, without its password.
    """

    def __init__(self, place: "URL | File", where: str, seconds: float = 10.0) -> None:
        self._place = place
        self._file = place if isinstance(place, File) else None
        self._at_once = None if self._file is None else File(self._file.where, 0.0)
        self._engines: connecting.Engines | None = None
        self._connecting = Lock()
        self.where = where
        self._patience = seconds
        self._closed = False
        self._listeners: list[Callable[[str], None]] = []
        self._readers = ThreadPoolExecutor(READERS, "catalog-read")
        self._writers = ThreadPoolExecutor(READERS if self.is_shared else 1, "catalog-write")
        self._apart = ThreadPoolExecutor(1, "catalog-apart") if self.is_shared else self._writers

    @property
    def is_shared(self) -> bool:
        """Whether other processes, on other machines too, may work on it at the same time."""
        return self._file is None

    @property
    def engine(self) -> "Engine":
        """For a connection of one's own."""
        return self._by_sqlalchemy().any

    def _by_sqlalchemy(self) -> "connecting.Engines":
        """Made when it is first wanted."""
        with self._connecting:
            if self._engines is None:
                self._engines = connecting.engines_of(self._place, self._patience)
            return self._engines

    async def ask(self, work: Callable[[Ask], T]) -> T:
        """As `read`, for work that asks in plain SQL: of a file, that takes a fraction."""
        file = self._file
        if file is None:
            return await self.read(lambda connection: work(dialects.asking(connection)))

        def task() -> T:
            with in_our_words(self.where):
                return file.ask(work)

        return await asyncio.get_running_loop().run_in_executor(self._readers, task)

    async def glance(self, work: Callable[[Ask], T]) -> T:
        """As `ask`, for a row that lies in memory, since every question asks for it: to change
        threads takes longer than to look, so a file is looked into in the event loop. Where
        somebody is in the way, it is asked as usual.
        """
        if self._at_once is not None and not self._closed:
            with suppress(sqlite3.Error):
                return self._at_once.ask(work)
        return await self.ask(work)

    async def read(self, work: "Callable[[Connection], T]") -> T:
        """What `work` finds, all of one moment; asked again where a server goes away meanwhile."""

        def task() -> T:
            with faults.in_our_words(self.where):
                engine = self._by_sqlalchemy().reading
                return patience.transact(engine, work, self._patience, repeatable=True)

        return await asyncio.get_running_loop().run_in_executor(self._readers, task)

    async def write(
        self,
        work: "Callable[[Connection], T]",
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

        def task() -> T:
            told = ringing.ringing(work, rings) if rings and self.is_shared else work
            with faults.in_our_words(self.where):
                engine = self._by_sqlalchemy().writing
                return patience.transact(engine, told, self._patience, repeatable=repeatable)

        threads = self._apart if apart else self._writers
        found = await asyncio.get_running_loop().run_in_executor(threads, task)
        for topic in rings:
            for tell in self._listeners:
                tell(topic)
        return found

    def on_ring(self, tell: Callable[[str], None]) -> None:
        """Have somebody in this process told of topics, without the way round by a server."""
        self._listeners.append(tell)

    async def close(self) -> None:
        """Wait for what is running, and leave one tidy file behind. Closing twice is fine."""
        if not self._closed:
            # In the event loop: from here on nobody glances.
            self._closed = True
            await asyncio.to_thread(self.close_blocking)

    def bring_up_to_date(self) -> None:
        """Make its tables what this version wants; where that cannot be, it is closed."""
        try:
            if self._file is not None:
                with in_our_words(self.where):
                    if self._file.ask(newest_step) == HEAD:
                        return
            with faults.in_our_words(self.where):
                revisions.bring_up_to_date(self.engine, self.where, self._patience)
        except BaseException:
            self._disconnect()
            raise

    def close_blocking(self) -> None:
        """As `close`, but not for the event loop: it waits."""
        self._closed = True
        self._readers.shutdown()
        self._writers.shutdown()
        self._apart.shutdown()
        self._disconnect(tidily=True)

    def _disconnect(self, *, tidily: bool = False) -> None:
        if self._engines is not None:
            self._engines.any.dispose()
        if self._at_once is not None:
            self._at_once.close()
        if self._file is not None:
            self._file.close(tidily=tidily)


async def open_database(where: Path | str, *, patience: float = 10.0) -> Database:
    """The database in the file `where`, or at the URL `where`, made or brought up to date.

    `patience` is how many seconds to wait for another process that writes, or for a server that
    is away. Raises `MigrationNeededError` for a database that a newer version made.
    """
    opening = _Opening(where, patience)
    try:
        return await asyncio.to_thread(opening.run)
    except asyncio.CancelledError:
        # To close it may take a moment, which the event loop has not.
        Thread(target=opening.give_up, name="catalog-unwanted").start()
        raise


class _Opening:
    """A thread cannot be cancelled: what it opens for nobody, it closes."""

    def __init__(self, where: Path | str, patience: float) -> None:
        self._where, self._patience = where, patience
        self._lock = Lock()
        self._is_wanted = True
        self._opened: Database | None = None

    def run(self) -> Database:
        opened = _open(self._where, self._patience)
        with self._lock:
            self._opened = opened
            if not self._is_wanted:
                opened.close_blocking()
        return opened

    def give_up(self) -> None:
        with self._lock:
            self._is_wanted = False
            if self._opened is not None:
                self._opened.close_blocking()


def _open(where: Path | str, seconds: float) -> Database:
    if isinstance(where, Path):
        make_private(where)
        database = Database(File(where, seconds), str(where), seconds)
    else:
        url, shown = connecting.place_of(where)
        in_file = url.get_backend_name() == "sqlite"
        place = File(Path(url.database or ""), seconds) if in_file else url
        database = Database(place, shown, seconds)
    database.bring_up_to_date()
    return database
