"""The contract of the queue, on each database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, event

from unchunk.adapters.catalog.catalog import SqlCatalog
from unchunk.adapters.catalog.database import open_database
from unchunk.adapters.catalog.leases import SqlLeases
from unchunk.adapters.catalog.queue import SqlQueue
from unchunk.testing.queues import ATTEMPTS, LONG, Place, QueueContract, document


class _Opened(QueueContract):
    where: Path | str

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Place]:
        database = await open_database(self.where)
        try:
            queue, hasty = (SqlQueue(database, seconds, ATTEMPTS) for seconds in (LONG, 0.0))
            yield Place(SqlCatalog(database), queue, hasty)
        finally:
            await database.close()

    def test_a_draft_that_somebody_works_on_without_a_job_is_left_to_them(self) -> None:
        async def scene() -> None:
            async with self.opened() as place:
                coming, lost = [await document(place, name) for name in ("a", "b")]
                other = await open_database(self.where)
                leases, over = SqlLeases(other, LONG), SqlLeases(other, 0.0)
                await leases.take([coming.id])
                await over.take([lost.id])
                assert await place.queue.adopt() == 1
                assert [one.document for one in await place.queue.of("me", 9)] == [lost.id]
                await leases.give_up([coming.id])
                assert await place.queue.adopt() == 1
                await other.close()

        asyncio.run(scene())

    def test_what_is_coming_is_found_without_a_look_at_every_document(self) -> None:
        async def scene() -> str:
            database = await open_database(self.where)
            asked: list[tuple[str, object]] = []

            def note(*given: object) -> None:
                asked.append((str(given[2]), given[3]))

            try:
                event.listen(database.engine, "before_cursor_execute", note)
                await SqlQueue(database, LONG, ATTEMPTS).adopt(60.0)
                event.remove(database.engine, "before_cursor_execute", note)
                [(statement, values)] = [it for it in asked if "FROM documents" in it[0]]

                def plan(connection: Connection) -> str:
                    if database.is_shared:
                        # A table this small is read whole otherwise.
                        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
                    how = "EXPLAIN" if database.is_shared else "EXPLAIN QUERY PLAN"
                    rows = connection.exec_driver_sql(f"{how} {statement}", values)  # type: ignore[arg-type] # as it was asked
                    return " ".join(str(row) for row in rows)

                return await database.write(plan)
            finally:
                await database.close()

        assert "ix_documents_coming" in asyncio.run(scene())


class TestQueueInSqlite(_Opened):
    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.where = tmp_path / "catalog.sqlite"


class TestQueueInPostgres(_Opened):
    @pytest.fixture(autouse=True)
    def _choose(self, postgres: str) -> None:
        self.where = postgres
