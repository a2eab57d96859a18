"""Leases and the bell, on each database."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine

from unchunk.adapters.catalog import Database, SqlBell, SqlLeases, listening, open_database
from unchunk.adapters.catalog.ringing import CHANNEL
from unchunk.ports import DISMISSED, Leases
from unchunk.testing.leases import LeasesContract

SOON, LATE = 20.0, 0.3


class OnADatabase(LeasesContract):
    where: Path | str

    @asynccontextmanager
    async def opened(self, seconds: float) -> AsyncIterator[tuple[Leases, Leases]]:
        one, other = await open_database(self.where), await open_database(self.where)
        try:
            yield SqlLeases(one, seconds), SqlLeases(other, seconds)
        finally:
            await one.close()
            await other.close()


class TestLeasesInSqlite(OnADatabase):
    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.where = tmp_path / "c.db"


class TestLeasesInPostgres(OnADatabase):
    @pytest.fixture(autouse=True)
    def _choose(self, postgres: str) -> None:
        self.where = postgres


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    if request.param == "sqlite":
        return tmp_path / "c.db"
    url: str = request.getfixturevalue("postgres")
    return url


@asynccontextmanager
async def bells(
    where: Path | str,
) -> AsyncIterator[tuple[Database, SqlBell, Callable[[], SqlBell]]]:
    """A database with its bell, and more bells where several processes share it."""
    databases = [await open_database(where), await open_database(where)]
    made = [SqlBell(databases[0])]

    def other() -> SqlBell:
        made.append(SqlBell(databases[1] if databases[0].is_shared else databases[0]))
        return made[-1]

    try:
        yield databases[0], made[0], other
    finally:
        for bell in made:
            await bell.close()
        for database in databases:
            await database.close()


async def silence(bell: SqlBell, *topics: str) -> None:
    """A bell that has just found its connection rings for all: they may have missed something."""
    for topic in topics:
        while await bell.wait(topic, LATE):
            pass


def test_whoever_waits_for_a_topic_is_told(where: Path | str) -> None:
    async def scene() -> None:
        async with bells(where) as (_, bell, other):
            far = other()
            await silence(bell, "a", "b")
            await silence(far, "a")
            waiting = [asyncio.create_task(one.wait("a", SOON)) for one in (bell, far, bell)]
            deaf = asyncio.create_task(bell.wait("b", 1.0))
            while not all(one.done() for one in waiting):
                await bell.ring("a")
                await asyncio.sleep(0.05)
            assert [one.result() for one in waiting] == [True] * 3
            assert not await deaf

    asyncio.run(scene())


def test_a_ring_between_two_waits_is_not_missed(where: Path | str) -> None:
    async def scene() -> None:
        async with bells(where) as (_, bell, _other):
            await silence(bell, "a")
            await bell.ring("a")
            assert await bell.wait("a", SOON)
            await silence(bell, "a")
            assert not await bell.wait("a", LATE)

    asyncio.run(scene())


def test_only_what_was_committed_rings(where: Path | str) -> None:
    class StopError(Exception):
        pass

    def fails(_: object) -> None:
        raise StopError

    async def scene() -> None:
        async with bells(where) as (database, bell, _):
            await silence(bell, "a", "b")
            with pytest.raises(StopError):
                await database.write(fails, rings=("a",))
            assert not await bell.wait("a", LATE)
            await database.write(lambda _: None, rings=("a", "b"))
            assert await bell.wait("a", SOON)
            assert await bell.wait("b", SOON)

    asyncio.run(scene())


def test_who_is_asked_to_stop_is_rung_for(where: Path | str) -> None:
    async def scene() -> None:
        async with bells(where) as (database, bell, _):
            await silence(bell, DISMISSED)
            await SqlLeases(database, 10).dismiss(["a"])
            assert await bell.wait(DISMISSED, SOON)

    asyncio.run(scene())


def test_a_bell_that_lost_its_connection_finds_another(postgres: str) -> None:
    async def scene() -> None:
        async with bells(postgres) as (_, bell, other):
            far = other()
            waiting = asyncio.create_task(far.wait("a", SOON))
            while not waiting.done():
                await bell.ring("a")
                await asyncio.sleep(0.05)
            ended = asyncio.to_thread(_end_listeners, postgres)
            assert await ended == 1
            waiting = asyncio.create_task(far.wait("b", SOON))
            while not waiting.done():
                await bell.ring("b")
                await asyncio.sleep(0.1)
            assert await waiting

    asyncio.run(scene())


def _end_listeners(postgres: str) -> int:
    """Of this schema alone: others may listen in the same database."""
    with psycopg.connect(postgres) as connection:
        [channel] = connection.execute(f"SELECT {CHANNEL}".encode()).fetchone() or [""]
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = %s",
            [f'LISTEN "{channel}"'],
        )
        return len(ended.fetchall())


def test_a_schema_may_have_a_long_name(postgres_server: str) -> None:
    name = "a" * 63
    url = f"{postgres_server}{'&' if '?' in postgres_server else '?'}options=-csearch_path%3D{name}"

    async def scene() -> None:
        async with bells(url) as (_, bell, other):
            listening = other()
            await silence(listening, "news")
            await bell.ring("news")
            assert await listening.wait("news", SOON)

    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
        try:
            asyncio.run(scene())
        finally:
            connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


def test_a_bell_that_is_closed_listens_no_more(postgres: str) -> None:
    async def scene() -> None:
        async with bells(postgres) as (_, bell, _):
            await silence(bell, "a")
            await bell.close()
            assert not await bell.wait("a", LATE)
            assert bell._listening is not None
            assert bell._listening.done()

    asyncio.run(scene())


def test_a_bell_that_broke_is_closed_all_the_same(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(engine: Engine) -> dict[str, Any]:
        raise RuntimeError(engine)

    async def scene() -> None:
        async with bells(postgres) as (_, bell, _):
            monkeypatch.setattr(listening, "arguments_of", broken)
            assert not await bell.wait("news", LATE)

    asyncio.run(scene())


def test_a_bell_notices_that_its_server_is_gone_without_a_word(postgres: str) -> None:
    async def scene() -> None:
        async with bells(postgres) as (database, _, _):
            assert listening.arguments_of(database.engine).items() >= {
                ("keepalives_idle", 10),
                ("tcp_user_timeout", 30_000),
            }

    asyncio.run(scene())
