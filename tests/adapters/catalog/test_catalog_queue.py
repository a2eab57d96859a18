"""The contract of the queue, on each database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, event

from unchunk.adapters.catalog.catalog import SqlCatalog
from unchunk.adapters.catalog.database import open_database
from unchunk.adapters.catalog.queue import SqlQueue
from unchunk.testing.queues import ATTEMPTS, LONG, Place, QueueContract


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
