"""What every keeper of leases must do."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from unchunk.ports import Leases

S = TypeVar("S", bound="LeasesContract")

LONG, SHORT = 60.0, 0.2


def on_leases(
    scene: Callable[[S, Leases, Leases], Coroutine[None, None, None]],
) -> Callable[[S], None]:
    """The scene as a test, with two processes whose leases last long."""

    async def play(suite: S) -> None:
        async with suite.opened(LONG) as (one, other):
            await scene(suite, one, other)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


class LeasesContract:
    """Subclass it as `Test...`, and say how they are opened."""

    def opened(self, seconds: float) -> AbstractAsyncContextManager[tuple[Leases, Leases]]:
        """As two processes see them, and nobody else; each lasts `seconds` without a beat."""
        raise NotImplementedError

    @on_leases
    async def test_one_at_a_time_holds_a_name(self, one: Leases, other: Leases) -> None:
        assert one.holder != other.holder
        assert await one.take(["a"])
        assert not await other.take(["a"])
        assert await one.held(["a", "b"]) == await other.held(["a", "b"]) == {"a"}
        await one.give_up(["a"])
        assert await one.held(["a"]) == set()
        assert await other.take(["a"])

    @on_leases
    async def test_all_of_several_are_taken_or_none(self, one: Leases, other: Leases) -> None:
        assert await one.take(["b"])
        assert not await other.take(["a", "b", "c"])
        assert await one.held(["a", "b", "c"]) == {"b"}
        assert await other.take(["a", "c", "a"])
        assert await one.held(["a", "b", "c"]) == {"a", "b", "c"}
        assert await one.take([])

    @on_leases
    async def test_who_holds_a_name_may_take_it_again(self, one: Leases, other: Leases) -> None:
        assert await one.take(["a"])
        assert await one.take(["a", "b"])
        await other.give_up(["a", "b"])
        assert await one.held(["a", "b"]) == {"a", "b"}, "nobody gives up what is another's"

    @on_leases
    async def test_a_beat_tells_what_one_holds(self, one: Leases, other: Leases) -> None:
        await one.take(["a", "b"])
        await other.take(["c"])
        assert await one.beat() == {"a": False, "b": False}
        await one.give_up(["b", "nothing"])
        assert await one.beat() == {"a": False}

    @on_leases
    async def test_a_holder_learns_that_it_is_to_stop(self, one: Leases, other: Leases) -> None:
        await one.take(["a", "b"])
        await other.dismiss(["a", "nothing"])
        assert await one.beat() == {"a": True, "b": False}
        await one.give_up(["a"])
        await other.take(["a"])
        assert await other.beat() == {"a": False}, "it was not meant for the next one"

    def test_who_does_not_beat_may_lose_what_it_holds(self) -> None:
        async def scene() -> None:
            async with self.opened(SHORT) as (one, other):
                await one.take(["a", "b"])
                while not await other.take(["a"]):  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(SHORT / 10)
                assert await one.beat() == {"b": False}, "what nobody took is still there"
                assert not await one.take(["a"])
                await one.give_up(["a"])
                assert "a" in await other.beat()

        asyncio.run(scene())

    def test_who_beats_keeps_what_it_holds(self) -> None:
        async def scene() -> None:
            async with self.opened(4 * SHORT) as (one, other):
                await one.take(["a"])
                for _ in range(8):
                    await asyncio.sleep(SHORT)
                    await one.beat()
                    assert not await other.take(["a"])

        asyncio.run(scene())

    @on_leases
    async def test_of_many_at_once_one_is_lucky(self, one: Leases, other: Leases) -> None:
        names = [f"{number}" for number in range(20)]
        for name in names:
            pairs = [one.take([name, "z" + name]), other.take(["z" + name, name])]
            assert sorted(await asyncio.gather(*pairs)) == [False, True]
        assert await one.held(names) == set(names)
