"""Where removed things stood: known to every process, for a while, on each database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from unchunk.adapters.catalog import (
    Database,
    SqlCatalog,
    SqlFileNotes,
    SqlMembers,
    SqlStores,
    open_database,
)
from unchunk.adapters.catalog.schema import left_places
from unchunk.errors import InvalidInputError
from unchunk.ports import Page, StoreFile, VectorStore
from unchunk.testing.catalogs import added
from unchunk.testing.shelves import NOON

HOUR = 3_600_000_000


def store(name: str, second: int) -> VectorStore:
    made_at = NOON + timedelta(seconds=second)
    return VectorStore(name, "me", name, made_at, made_at)


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    if request.param == "sqlite":
        return tmp_path / "c.db"
    url: str = request.getfixturevalue("postgres")
    return url


@asynccontextmanager
async def two(where: Path | str) -> AsyncIterator[tuple[Database, Database]]:
    one, other = await open_database(where), await open_database(where)
    try:
        yield one, other
    finally:
        await one.close()
        await other.close()


def test_whoever_removes_what_they_read_goes_on_behind_it_in_any_process(
    where: Path | str,
) -> None:
    async def scene() -> None:
        async with two(where) as (one, other):
            catalog, members, stores = SqlCatalog(one), SqlMembers(one), SqlStores(one)
            texts = [await added(catalog, f"{name}.txt", name) for name in "abcd"]
            names = [document.id for document in texts]
            for number in range(3):
                await stores.add(store(f"vs_{number}", number))
            await members.put("me", [StoreFile("vs_0", name, NOON) for name in names])
            await members.remove("me", "vs_0", names[0])
            await catalog.bury("me", names[1])
            await stores.delete("me", "vs_1")
            part = Page(after=names[0], order="asc")
            found, _ = await SqlMembers(other).page("me", "vs_0", part, NOON)
            assert [one.document.id for one in found] == names[2:]
            part = Page(after=names[1], order="asc")
            found, _ = await SqlMembers(other).page("me", "vs_0", part, NOON)
            assert [one.document.id for one in found] == names[2:]
            files, _ = await SqlFileNotes(other).page("me", part, NOON)
            assert [document.id for document, _ in files] == names[2:]
            later, _ = await SqlStores(other).page("me", Page(after="vs_1", order="asc"))
            assert [one.id for one in later] == ["vs_2"]
            with pytest.raises(InvalidInputError, match="is not there"):
                await SqlStores(other).page("you", Page(after="vs_1"))

    asyncio.run(scene())


def test_places_go_after_an_hour_with_the_next_ones(where: Path | str) -> None:
    async def count(database: Database, older: int) -> int:
        earlier = update(left_places).values(left_at=left_places.c.left_at - older)
        await database.write(lambda connection: connection.execute(earlier))
        wanted = select(func.count()).select_from(left_places)
        return await database.read(lambda connection: connection.scalar(wanted) or 0)

    async def scene() -> None:
        async with two(where) as (one, other):
            for number in range(30):
                await SqlStores(one).add(store(f"vs_{number}", number))
            for number in range(25):
                await SqlStores(one).delete("me", f"vs_{number}")
            assert await count(one, HOUR // 2) == 25
            await SqlStores(other).delete("me", "vs_25")
            assert await count(one, HOUR // 2 + 1) == 26
            for number in (26, 27):
                await SqlStores(other).delete("me", f"vs_{number}")
            # The three that left last.
            assert await count(one, 0) == 3

    asyncio.run(scene())
