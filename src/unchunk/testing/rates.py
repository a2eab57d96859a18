"""What everybody must do who counts how often somebody asks."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import pytest

from unchunk.errors import InvalidInputError
from unchunk.ports import Rates

S = TypeVar("S", bound="RatesContract")


def on_rates(scene: Callable[[S, Rates], Coroutine[None, None, None]]) -> Callable[[S], None]:
    """The scene as a test, with nothing taken yet."""

    async def play(suite: S) -> None:
        async with suite.opened() as rates:
            await scene(suite, rates)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


async def given(rates: Rates, name: str, per_minute: int, times: int) -> int:
    """How often of so many times something was to be had."""
    return [await rates.take(name, per_minute) for _ in range(times)].count(0)


class RatesContract:
    """Subclass it as `Test...`, and say how it is opened."""

    def opened(self) -> AbstractAsyncContextManager[Rates]:
        """Nothing is taken at first, and it is the same one each time within one test."""
        raise NotImplementedError

    async def age(self, seconds: float) -> None:
        """Have all that was taken seem so much longer ago."""
        raise NotImplementedError

    @on_rates
    async def test_all_of_a_minute_may_be_taken_at_once_and_then_one_by_one(
        self, rates: Rates
    ) -> None:
        assert await given(rates, "a", 6, 6) == 6
        assert 9 < await rates.take("a", 6) <= 10
        await self.age(4)
        assert 5 < await rates.take("a", 6) <= 6
        await self.age(6)
        assert await given(rates, "a", 6, 2) == 1
        await self.age(25)
        assert await given(rates, "a", 6, 4) == 2

    @on_rates
    async def test_names_do_not_take_from_each_other(self, rates: Rates) -> None:
        assert await given(rates, "a", 2, 3) == 2
        assert await given(rates, "b", 2, 3) == 2
        assert await given(rates, "ß 日本", 1, 1) == 1
        with pytest.raises(InvalidInputError, match="cannot be kept"):
            await rates.take("a\0", 2)

    @on_rates
    async def test_nobody_saves_up_more_than_a_minute(self, rates: Rates) -> None:
        assert await given(rates, "a", 5, 1) == 1
        await self.age(3_600)
        assert await given(rates, "a", 5, 6) == 5

    @on_rates
    async def test_who_is_forgotten_has_all_and_nobody_else_is_forgotten(
        self, rates: Rates
    ) -> None:
        assert await given(rates, "a", 2, 2) == 2
        await self.age(61)
        assert await given(rates, "b", 2, 2) == 2
        await rates.forget()
        assert await given(rates, "b", 2, 1) == 0
        assert await given(rates, "a", 2, 3) == 2

    def test_all_processes_together_give_no_more_than_one_would(self) -> None:
        async def scene() -> None:
            async with self.opened() as one, self.opened() as other:
                taken = await asyncio.gather(
                    *(rates.take("a", 10) for rates in (one, other) for _ in range(15))
                )
                assert taken.count(0) == 10
                assert all(seconds > 0 for seconds in taken if seconds)
                await asyncio.gather(one.forget(), other.forget())
                assert await one.take("a", 10) > 0

        asyncio.run(scene())
