"""A library that is open only while it is used."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from agents.clients import run
from unchunk.engine import Engine
from unchunk.errors import TransientError
from unchunk.mcp.lending import Lending


class Counted:
    """Libraries that count how many of them are open."""

    def __init__(self) -> None:
        self.open, self.opened = 0, 0

    async def opening(self) -> Engine:
        await asyncio.sleep(0)
        self.open += 1
        self.opened += 1
        return self  # type: ignore[return-value]  # as far as this needs one

    async def close(self) -> None:
        self.open -= 1


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - a timer of the loop itself is waited for
        await asyncio.sleep(0)


def lent(work: Callable[[Counted, Lending], Awaitable[None]], idle: float = 0.0) -> None:
    async def done() -> None:
        counted = Counted()
        await work(counted, Lending(counted.opening, idle))

    run(done)


def test_it_is_opened_for_the_first_and_closed_behind_the_last() -> None:
    async def work(counted: Counted, library: Lending) -> None:
        assert not library.is_open
        async with library.borrowed() as one:
            async with library.borrowed() as other:
                assert one is other
            await asyncio.sleep(0.01)
            assert (counted.open, counted.opened) == (1, 1)
        await until(lambda: counted.open == 0)
        async with library.borrowed():
            assert (counted.open, counted.opened) == (1, 2)
        await library.close()
        assert counted.open == 0

    lent(work)


def test_it_stays_open_for_whoever_comes_soon() -> None:
    async def work(counted: Counted, library: Lending) -> None:
        for _ in range(3):
            async with library.borrowed():
                pass
        assert (counted.open, counted.opened) == (1, 1)
        await library.close()
        await library.close()
        assert counted.open == 0

    lent(work, 3600.0)


def test_many_at_once_open_it_once() -> None:
    async def work(counted: Counted, library: Lending) -> None:
        async def one() -> None:
            async with library.borrowed():
                await asyncio.sleep(0)

        await asyncio.gather(*(one() for _ in range(20)))
        assert counted.opened == 1
        await until(lambda: counted.open == 0)

    lent(work)


def test_what_cannot_be_opened_is_tried_again_by_the_next() -> None:
    async def done() -> None:
        counted, refusals = Counted(), [TransientError("not now")]

        async def opening() -> Engine:
            if refusals:
                raise refusals.pop()
            return await counted.opening()

        library = Lending(opening, 0.0)
        with pytest.raises(TransientError, match="not now"):
            async with library.borrowed():
                pass
        async with library.borrowed():
            assert counted.open == 1
        await until(lambda: counted.open == 0)

    run(done)


def test_whoever_has_it_is_waited_for_when_it_is_closed() -> None:
    async def work(counted: Counted, library: Lending) -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def borrow() -> None:
            async with library.borrowed():
                begun.set()
                await go_on.wait()
                assert counted.open == 1

        borrowing = asyncio.create_task(borrow())
        await begun.wait()
        closing = asyncio.create_task(library.close())
        await asyncio.sleep(0)
        assert counted.open == 1
        go_on.set()
        await closing
        await borrowing
        assert counted.open == 0

    lent(work, 3600.0)
