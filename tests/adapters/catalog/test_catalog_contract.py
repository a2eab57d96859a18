"""The contracts of the catalog and of what is kept beside it, on each database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from unchunk.adapters.catalog.catalog import SqlCatalog
from unchunk.adapters.catalog.conversations import SqlConversations
from unchunk.adapters.catalog.database import open_database
from unchunk.adapters.catalog.keys import SqlKeys
from unchunk.adapters.catalog.prompts import SqlPrompts
from unchunk.adapters.catalog.vectors import SqlVectorCache
from unchunk.ports import Catalog, Conversations, Keys, Prompts, VectorCache
from unchunk.testing.catalogs import CatalogContract
from unchunk.testing.conversations import ConversationsContract
from unchunk.testing.keys import KeysContract
from unchunk.testing.prompts import PromptsContract
from unchunk.testing.vectorcaches import VectorCacheContract


@asynccontextmanager
async def both(where: Path | str) -> AsyncIterator[tuple[Catalog, VectorCache]]:
    database = await open_database(where)
    catalog = SqlCatalog(database)
    try:
        yield catalog, SqlVectorCache(database)
    finally:
        await catalog.close()


class InSqlite:
    where: Path | str

    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.where = tmp_path / "new folder" / "catalog ü.db"


class InPostgres:
    where: Path | str

    @pytest.fixture(autouse=True)
    def _choose(self, postgres: str) -> None:
        self.where = postgres


class Catalogs(CatalogContract):
    where: Path | str

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Catalog]:
        async with both(self.where) as (catalog, _):
            yield catalog


class Caches(VectorCacheContract):
    where: Path | str

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[tuple[Catalog, VectorCache]]:
        async with both(self.where) as pair:
            yield pair


class Talks(ConversationsContract):
    where: Path | str

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Conversations]:
        database = await open_database(self.where)
        try:
            yield SqlConversations(database)
        finally:
            await database.close()


class Told(PromptsContract):
    where: Path | str

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Prompts]:
        database = await open_database(self.where)
        try:
            yield SqlPrompts(database)
        finally:
            await database.close()


class Doors(KeysContract):
    where: Path | str

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Keys]:
        database = await open_database(self.where)
        try:
            yield SqlKeys(database)
        finally:
            await database.close()


class TestCatalogInSqlite(InSqlite, Catalogs):
    pass


class TestCatalogInPostgres(InPostgres, Catalogs):
    pass


class TestCacheInSqlite(InSqlite, Caches):
    pass


class TestCacheInPostgres(InPostgres, Caches):
    pass


class TestConversationsInSqlite(InSqlite, Talks):
    pass


class TestConversationsInPostgres(InPostgres, Talks):
    pass


class TestPromptsInSqlite(InSqlite, Told):
    pass


class TestPromptsInPostgres(InPostgres, Told):
    pass


class TestKeysInSqlite(InSqlite, Doors):
    pass


class TestKeysInPostgres(InPostgres, Doors):
    pass
