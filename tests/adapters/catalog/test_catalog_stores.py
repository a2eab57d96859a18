"""The contracts of vector stores, their files, notes and responses, on each database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from unchunk.adapters.catalog import (
    SqlBatches,
    SqlCatalog,
    SqlFileNotes,
    SqlKeptResponses,
    SqlMembers,
    SqlStores,
    open_database,
)
from unchunk.testing.filenotes import FileNotesContract, KeptResponsesContract
from unchunk.testing.shelves import OnShelves, Shelves
from unchunk.testing.storebatches import BatchesContract
from unchunk.testing.storefiles import MembersContract
from unchunk.testing.stores import StoresContract


class InDatabase(OnShelves):
    where: Path | str

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Shelves]:
        database = await open_database(self.where)
        try:
            yield Shelves(
                SqlCatalog(database),
                SqlStores(database),
                SqlMembers(database),
                SqlBatches(database),
                SqlFileNotes(database),
                SqlKeptResponses(database),
            )
        finally:
            await database.close()


class InSqlite(InDatabase):
    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.where = tmp_path / "c.db"


class InPostgres(InDatabase):
    @pytest.fixture(autouse=True)
    def _choose(self, postgres: str) -> None:
        self.where = postgres


class TestStoresInSqlite(InSqlite, StoresContract):
    pass


class TestStoresInPostgres(InPostgres, StoresContract):
    pass


class TestMembersInSqlite(InSqlite, MembersContract):
    pass


class TestMembersInPostgres(InPostgres, MembersContract):
    pass


class TestBatchesInSqlite(InSqlite, BatchesContract):
    pass


class TestBatchesInPostgres(InPostgres, BatchesContract):
    pass


class TestNotesInSqlite(InSqlite, FileNotesContract):
    pass


class TestNotesInPostgres(InPostgres, FileNotesContract):
    pass


class TestResponsesInSqlite(InSqlite, KeptResponsesContract):
    pass


class TestResponsesInPostgres(InPostgres, KeptResponsesContract):
    pass
