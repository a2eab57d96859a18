"""The contracts of what servers share while they answer, on each database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import update

from unchunk.adapters.catalog import SqlRates, SqlStreamLog, open_database
from unchunk.adapters.catalog.schema import rates, streams
from unchunk.ports import Rates, StreamLog
from unchunk.testing.rates import RatesContract
from unchunk.testing.streamlogs import StreamLogContract


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    if request.param == "sqlite":
        return tmp_path / "c.db"
    url: str = request.getfixturevalue("postgres")
    return url


class TestStreamLogs(StreamLogContract):
    @pytest.fixture(autouse=True)
    def place(self, where: Path | str) -> None:
        self.where = where

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[StreamLog]:
        database = await open_database(self.where)
        try:
            yield SqlStreamLog(database)
        finally:
            await database.close()

    async def age(self, seconds: float) -> None:
        less = int(seconds * 1_000_000)
        database = await open_database(self.where)
        older = {"written_at": streams.c.written_at - less, "read_at": streams.c.read_at - less}
        await database.write(lambda connection: connection.execute(update(streams).values(older)))
        await database.close()


class TestRates(RatesContract):
    @pytest.fixture(autouse=True)
    def place(self, where: Path | str) -> None:
        self.where = where

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Rates]:
        database = await open_database(self.where)
        try:
            yield SqlRates(database)
        finally:
            await database.close()

    async def age(self, seconds: float) -> None:
        earlier = rates.c.taken_at - int(seconds * 1_000_000)
        database = await open_database(self.where)
        await database.write(
            lambda connection: connection.execute(update(rates).values(taken_at=earlier))
        )
        await database.close()
