"""What every log of answers on their way must do."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import pytest

from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import Logged, News, StreamLog

S = TypeVar("S", bound="StreamLogContract")


def on_log(scene: Callable[[S, StreamLog], Coroutine[None, None, None]]) -> Callable[[S], None]:
    """The scene as a test, with a fresh log."""

    async def play(suite: S) -> None:
        async with suite.opened() as log:
            await scene(suite, log)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


def news(stream: str, first: int, *events: bytes, over: bool = False, kept: bool = True) -> News:
    return News("me", stream, first, events, over, kept)


class StreamLogContract:
    """Subclass it as `Test...`, and say how it is opened."""

    def opened(self) -> AbstractAsyncContextManager[StreamLog]:
        """Empty at first, and the same one each time within one test."""
        raise NotImplementedError

    async def age(self, seconds: float) -> None:
        """Have all that was written or read seem so much older."""
        raise NotImplementedError

    @on_log
    async def test_what_was_noted_is_read_from_any_place_in_order(self, log: StreamLog) -> None:
        assert await log.note([news("a", 1, b"one\0\xff", b"two")]) == (set(), set())
        assert await log.read("me", "a", 0) == Logged((b"one\0\xff", b"two"))
        await log.note([news("b", 1), news("a", 3, b"three", over=True)])
        assert await log.read("me", "a", 1) == Logged((b"two", b"three"), is_over=True)
        assert await log.read("me", "a", 3) == Logged((), is_over=True)
        assert await log.read("me", "a", 99) == Logged((), is_over=True)
        assert await log.read("me", "b", 0) == Logged(())

    @on_log
    async def test_the_same_news_twice_are_once(self, log: StreamLog) -> None:
        for _ in range(2):
            await log.note([news("a", 1, b"one", b"two")])
        await log.note([news("a", 2, b"two", b"three")])
        assert (await log.read("me", "a", 0)).events == (b"one", b"two", b"three")
        assert await log.note([]) == (set(), set())

    @on_log
    async def test_one_that_was_forgotten_while_its_writer_slept_stays_gone(
        self, log: StreamLog
    ) -> None:
        await log.note([news("a", 1, b"one", b"two"), news("b", 1, b"first")])
        await self.age(100)
        await log.note([news("b", 2, b"second")])
        await log.forget(60)
        # Without its beginning, whoever reads it elsewhere would miss that and not know.
        told = await log.note([news("a", 3, b"three"), news("b", 3, b"third")])
        assert told == (set(), set())
        assert await log.note([news("a", 4, b"four", over=True)]) == (set(), set())
        with pytest.raises(NotFoundError):
            await log.read("me", "a", 0)
        assert (await log.read("me", "b", 0)).events == (b"first", b"second", b"third")

    @on_log
    async def test_a_long_one_is_read_a_part_at_a_time_and_over_only_at_its_end(
        self, log: StreamLog
    ) -> None:
        events = [b"%d" % number for number in range(1, 1301)]
        await log.note([news("a", 1, *events, over=True)])
        found: list[bytes] = []
        parts = 0
        while not (part := await log.read("me", "a", len(found))).is_over:
            assert part.events
            found += part.events
            parts += 1
        assert [*found, *part.events] == events
        assert parts > 0

    @on_log
    async def test_others_streams_are_not_there_and_neither_is_one_that_never_was(
        self, log: StreamLog
    ) -> None:
        await log.note([news("a", 1, b"one")])
        strangers = (("you", "a"), ("me", "b"), ("me", "a "), ("me", "a\0"), ("\ud800", "a"))
        for owner, stream in strangers:
            with pytest.raises(NotFoundError, match="there is no stream"):
                await log.read(owner, stream, 0)
            with pytest.raises(NotFoundError, match="there is no stream"):
                await log.stop(owner, stream)
        assert await log.note([news("a", 2)]) == (set(), set())
        with pytest.raises(InvalidInputError, match="cannot be kept"):
            await log.note([News("a\0", "c", 1)])

    @on_log
    async def test_whoever_writes_is_told_of_a_stop_until_it_is_over(self, log: StreamLog) -> None:
        await log.note([news("a", 1), news("b", 1)])
        await log.stop("me", "a")
        for _ in range(2):
            assert await log.note([news("a", 1), news("b", 1)]) == ({"a"}, set())
        assert (await log.read("me", "a", 0)).is_stopped
        last = news("a", 1, b"stopped", over=True)
        assert await log.note([last]) == (set(), set())
        found = await log.read("me", "a", 0)
        assert found == Logged((b"stopped",), is_over=True, is_stopped=True)
        assert not (await log.read("me", "b", 0)).is_stopped

    @on_log
    async def test_what_is_over_and_not_kept_counts_as_stopped(self, log: StreamLog) -> None:
        await log.note([news("a", 1, b"one", over=True, kept=False)])
        assert await log.read("me", "a", 0) == Logged((b"one",), is_over=True, is_stopped=True)
        await log.note([news("b", 1, b"one", over=True)])
        await log.stop("me", "b")
        assert (await log.read("me", "b", 0)).is_stopped

    @on_log
    async def test_whoever_writes_is_told_of_readers_elsewhere(self, log: StreamLog) -> None:
        await log.note([news("a", 1), news("b", 1)])
        await log.read("me", "a", 0)
        assert await log.note([news("a", 1), news("b", 1)]) == (set(), {"a"})
        await self.age(7)
        assert await log.note([news("a", 1), news("b", 1)]) == (set(), set())
        await log.read("me", "a", 0)
        assert await log.note([news("a", 1)]) == (set(), {"a"})

    @on_log
    async def test_what_nobody_writes_at_for_long_is_lost_unless_it_is_over(
        self, log: StreamLog
    ) -> None:
        await log.note([news("a", 1, b"one"), news("b", 1, over=True)])
        await self.age(4)
        assert not (await log.read("me", "a", 0)).is_lost
        await self.age(2)
        assert await log.read("me", "a", 0) == Logged((b"one",), is_lost=True)
        assert not (await log.read("me", "b", 0)).is_lost
        # Whoever was only slow is back.
        await log.note([news("a", 2, b"two")])
        assert await log.read("me", "a", 0) == Logged((b"one", b"two"))

    @on_log
    async def test_what_is_old_is_forgotten_and_no_other(self, log: StreamLog) -> None:
        await log.note([news("a", 1, b"one"), news("b", 1, b"one")])
        await self.age(100)
        await log.note([news("b", 2)])
        await log.forget(60)
        with pytest.raises(NotFoundError):
            await log.read("me", "a", 0)
        assert (await log.read("me", "b", 0)).events == (b"one",)

    def test_what_one_process_notes_another_reads_and_stops(self) -> None:
        async def scene() -> None:
            async with self.opened() as one, self.opened() as other:
                await one.note([news("a", 1, b"one")])
                assert (await other.read("me", "a", 0)).events == (b"one",)
                await other.stop("me", "a")
                assert await one.note([news("a", 2, b"two")]) == ({"a"}, {"a"})
                assert (await other.read("me", "a", 1)).events == (b"two",)
                await asyncio.gather(one.forget(60), other.forget(60))

        asyncio.run(scene())
