"""What is forgotten is due again, on each database, where the index is reached over a network."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import insert, update

from unchunk.adapters.catalog import SqlCatalog, SqlPurged, open_database
from unchunk.adapters.catalog.schema import purged
from unchunk.ports import Catalog, Purged
from unchunk.testing.purgelogs import HOUR, MINUTE, PurgedContract, deleted, given


class OnADatabase(PurgedContract):
    where: Path | str

    @asynccontextmanager
    async def opened(self, *, far: bool = True) -> AsyncIterator[tuple[Catalog, Purged]]:
        self.database = await open_database(self.where)
        try:
            yield SqlCatalog(self.database, lists_purged=far), SqlPurged(self.database)
        finally:
            await self.database.close()

    async def wait(self, seconds: float) -> None:
        earlier = {"due_at": purged.c.due_at - int(seconds * 1_000_000)}
        await self.database.write(
            lambda connection: connection.execute(update(purged).values(earlier))
        )

    def test_nothing_is_listed_where_the_index_is_near(self) -> None:
        async def scene() -> None:
            async with self.opened(far=False) as (catalog, near):
                await deleted(catalog)
                await self.wait(HOUR)
                assert await given(near) == {}

        asyncio.run(scene())

    def test_what_has_come_back_by_a_move_is_taken_off_the_list(self) -> None:
        async def scene() -> None:
            async with self.opened() as (catalog, log):
                back = await catalog.begin("me", "", "a.md", checksum="a", size=1, blob="")
                row = {"document": back.id, "generation": 1, "turn": 0, "due_at": 0}
                await self.database.write(
                    lambda connection: connection.execute(insert(purged).values(row))
                )
                gone = await deleted(catalog, "b.md")
                await self.wait(MINUTE)
                assert await given(log) == {gone: [1, 2]}
                await catalog.forget(await catalog.bury("me", back.id))
                await self.wait(HOUR)
                assert (await given(log))[back.id] == [1], "it was listed anew"

        asyncio.run(scene())


class TestPurgedInSqlite(OnADatabase):
    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.where = tmp_path / "c.db"


class TestPurgedInPostgres(OnADatabase):
    @pytest.fixture(autouse=True)
    def _choose(self, postgres: str) -> None:
        self.where = postgres
