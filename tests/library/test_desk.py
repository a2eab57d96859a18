"""Who works on what, within one process and among several; leases are in a real database."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from unchunk.adapters.catalog import SqlBell, SqlLeases, open_database
from unchunk.errors import NotFoundError, TransientError
from unchunk.library.desk import PROCESS, Desk


@asynccontextmanager
async def opened(postgres: str, seconds: float) -> AsyncIterator[tuple[Desk, SqlLeases]]:
    database = await open_database(postgres)
    leases, bell = SqlLeases(database, seconds), SqlBell(database)
    desk = Desk(leases, bell, seconds)
    await desk.open()
    try:
        yield desk, leases
    finally:
        await desk.close()
        await bell.close()
        await database.close()


def with_two(
    postgres: str, scene: Callable[[Desk, Desk, SqlLeases], Awaitable[None]], seconds: float = 30.0
) -> None:
    """Two processes, and the leases of the first."""

    async def play() -> None:
        async with (
            asyncio.timeout(60),
            opened(postgres, seconds) as (one, leases),
            opened(postgres, seconds) as (other, _),
        ):
            await scene(one, other, leases)

    asyncio.run(play())


async def work_on(desk: Desk) -> None:
    while True:
        desk.check("a")
        await asyncio.sleep(0.01)


def test_what_one_process_holds_another_waits_for(postgres: str) -> None:
    async def scene(one: Desk, other: Desk, _: SqlLeases) -> None:
        order = []

        async def work() -> None:
            async with other.hold("b", "a"):
                order.append("other")

        async with one.hold("a"):
            waiting = asyncio.create_task(work())
            await asyncio.sleep(0)
            assert await other.held(["a", "b", "c"]) == {"a", "b"}, "one there, one wanted here"
            async with other.hold_if_free("a") as is_free:
                assert not is_free
            await asyncio.sleep(0.1)
            order.append("one")
        await waiting
        assert order == ["one", "other"]
        assert not await one.is_held("a")
        async with other.hold_if_free("a", "b") as is_free:
            assert is_free
            assert await one.is_held("a")

    with_two(postgres, scene)


def test_what_is_held_here_alone_is_nobody_elses_concern(postgres: str) -> None:
    async def scene(one: Desk, other: Desk, _: SqlLeases) -> None:
        async with one.hold_here("a"), other.hold("a"):
            assert await one.is_held("a")

    with_two(postgres, scene)


def test_a_holder_elsewhere_is_asked_to_stop(postgres: str) -> None:
    async def scene(one: Desk, other: Desk, _: SqlLeases) -> None:
        async with one.hold("a"):
            one.check("a")
            await other.dismiss("a")
            with pytest.raises(NotFoundError, match="deleted meanwhile"):
                await work_on(one)
        async with one.hold("a"):
            one.check("a")

    with_two(postgres, scene)


def test_what_is_held_outlasts_its_lease_while_the_process_lives(postgres: str) -> None:
    async def scene(one: Desk, other: Desk, _: SqlLeases) -> None:
        async with one.hold("a"):
            for _beat in range(15):
                await asyncio.sleep(0.2)
                one.check("a")
                async with other.hold_if_free("a") as is_free:
                    assert not is_free

    with_two(postgres, scene, seconds=2.0)


def test_who_lost_a_lease_learns_it(postgres: str) -> None:
    async def scene(one: Desk, _: Desk, leases: SqlLeases) -> None:
        async with one.hold("a"):
            await leases.give_up(["a"])
            with pytest.raises(TransientError, match="another process may work on it"):
                await work_on(one)
        async with one.hold("a"):
            one.check("a")

    with_two(postgres, scene, seconds=2.0)


def test_who_cannot_reach_the_database_counts_its_leases_as_lost(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(one: Desk, _: Desk, leases: SqlLeases) -> None:
        async def away() -> dict[str, bool]:
            raise TransientError("the database is away")

        async with one.hold("a"):
            with monkeypatch.context() as patch:
                patch.setattr(leases, "beat", away)
                with pytest.raises(TransientError, match="did not answer for so long"):
                    await work_on(one)
            while True:
                await asyncio.sleep(0.01)
                try:
                    one.check("a")
                except TransientError:
                    continue
                break  # nobody took it: it goes on

    with_two(postgres, scene, seconds=2.0)


def test_a_process_shows_that_it_is_there_until_it_ends(postgres: str) -> None:
    async def scene() -> None:
        async with opened(postgres, 2.0) as (_, observer):
            async with opened(postgres, 2.0) as (_, leases):
                own = PROCESS + leases.holder
                assert await observer.held([own]) == {own}
                await leases.give_up([own])  # as a database does that lost its last moments
                while not await observer.held([own]):  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.05)
            assert await observer.held([own]) == set()

    asyncio.run(scene())


def test_what_was_taken_for_somebody_who_went_away_is_given_up(postgres: str) -> None:
    async def scene(one: Desk, other: Desk, leases: SqlLeases) -> None:
        async def take() -> None:
            async with one.hold("a"):
                pytest.fail("it was cancelled")

        for _ in range(5):
            task = asyncio.create_task(take())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        await leases.take(["leaked"])
        async with other.hold("a", "leaked"):
            pass

    with_two(postgres, scene, seconds=2.0)
