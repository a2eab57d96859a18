"""What every keeper of keys must do."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

import pytest

from unchunk.domain import Key, KeyScope
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import Keys

S = TypeVar("S", bound="KeysContract")
NOON = datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=UTC)


def on_keys(scene: Callable[[S, Keys], Coroutine[None, None, None]]) -> Callable[[S], None]:
    """The scene as a test, with a fresh keeper."""

    async def play(suite: S) -> None:
        async with suite.opened() as kept:
            await scene(suite, kept)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


def key(name: str, owner: str = "me", label: str = "", scope: KeyScope = "all") -> Key:
    """A key made so many seconds after noon as its name says, or at noon."""
    seconds = int(name) if name.isdecimal() else 0
    return Key(name, owner, label, scope, name.encode() * 8, NOON + timedelta(seconds=seconds))


class KeysContract:
    """Subclass it as `Test...`, and say how it is opened."""

    def opened(self) -> AbstractAsyncContextManager[Keys]:
        """Empty at first, and the same one each time within one test."""
        raise NotImplementedError

    @on_keys
    async def test_a_key_is_there_as_it_was_added(self, kept: Keys) -> None:
        assert await kept.all() == []
        odd = key("a", "ß 日本", "a\0b\ud800 \U0001f600", "metrics")
        for one in (key("b"), odd):
            await kept.add(one)
            assert await kept.get(one.id) == one

    @on_keys
    async def test_all_of_them_come_with_the_oldest_first(self, kept: Keys) -> None:
        for name in ("3", "1", "2"):
            await kept.add(key(name, f"owner {name}"))
        assert [one.id for one in await kept.all()] == ["1", "2", "3"]

    @on_keys
    async def test_a_key_that_is_revoked_is_gone_and_the_others_stay(self, kept: Keys) -> None:
        for name in ("1", "2"):
            await kept.add(key(name))
        await kept.revoke("1")
        with pytest.raises(NotFoundError, match="no key '1'"):
            await kept.get("1")
        with pytest.raises(NotFoundError, match="no key '1'"):
            await kept.revoke("1")
        assert await kept.all() == [key("2")]

    @on_keys
    async def test_a_key_that_never_was_is_not_there(self, kept: Keys) -> None:
        await kept.add(key("a"))
        for name in ("", "A", "a ", "%", "a\0", "\ud800", "x" * 10_000):
            with pytest.raises(NotFoundError, match="there is no key"):
                await kept.get(name)
            with pytest.raises(NotFoundError, match="there is no key"):
                await kept.revoke(name)

    @on_keys
    async def test_the_last_day_of_use_counts(self, kept: Keys) -> None:
        await kept.add(key("a"))
        await kept.add(key("b"))
        for day, last in ((5, 5), (7, 7), (6, 7), (7, 7)):
            await kept.used("a", date(2026, 3, day))
            assert (await kept.get("a")).used_on == date(2026, 3, last)
        assert (await kept.get("b")).used_on is None
        await kept.used("gone", date(2026, 3, 8))
        assert len(await kept.all()) == 2

    @on_keys
    async def test_an_owner_that_cannot_be_kept_has_no_key(self, kept: Keys) -> None:
        for owner in ("a\0", "\ud800"):
            with pytest.raises(InvalidInputError, match="cannot be kept"):
                await kept.add(key("a", owner))
        assert await kept.all() == []

    @on_keys
    async def test_a_session_that_was_ended_is_known_by_its_key_and_mark(self, kept: Keys) -> None:
        until = datetime.now(UTC) + timedelta(hours=1)
        await kept.add(key("a"))
        for _ in range(2):
            await kept.end_session("a", b"one", until)
        await kept.end_session("b", b"two", until)
        asked = (("a", b"one"), ("b", b"two"), ("a", b"two"), ("b", b"one"), ("a\0", b"one"))
        assert [await kept.is_ended(*one) for one in asked] == [True, True, False, False, False]
        # Nothing of a key that is revoked is kept.
        await kept.revoke("a")
        assert [await kept.is_ended(*one) for one in asked[:2]] == [False, True]

    @on_keys
    async def test_sessions_that_are_over_are_forgotten(self, kept: Keys) -> None:
        now = datetime.now(UTC)
        await kept.end_session("a", b"over", now - timedelta(seconds=1))
        await kept.end_session("b", b"not over", now + timedelta(hours=1))
        assert not await kept.is_ended("a", b"over")
        assert await kept.is_ended("b", b"not over")

    @on_keys
    async def test_of_one_key_only_a_thousand_sessions_that_were_ended_are_remembered(
        self, kept: Keys
    ) -> None:
        until = datetime.now(UTC) + timedelta(hours=1)
        marks = [number.to_bytes(2, "big") for number in range(1003)]
        await kept.end_session("another", b"one", until)
        for number, mark in enumerate(marks):
            await kept.end_session("a", mark, until + timedelta(seconds=number))
        assert [await kept.is_ended("a", mark) for mark in marks[:4]] == [False] * 3 + [True]
        assert await kept.is_ended("a", marks[-1])
        assert await kept.is_ended("another", b"one")

    @on_keys
    async def test_the_secret_is_made_once_however_many_ask_for_it(self, kept: Keys) -> None:
        made = await asyncio.gather(*(kept.secret() for _ in range(12)))
        assert len(set(made)) == 1
        assert len(made[0]) == 32

    def test_what_one_does_the_other_sees_at_once(self) -> None:
        async def scene() -> None:
            async with self.opened() as one, self.opened() as other:
                await one.add(key("a"))
                assert await other.get("a") == key("a")
                assert await one.secret() == await other.secret()
                await other.revoke("a")
                with pytest.raises(NotFoundError):
                    await one.get("a")

        asyncio.run(scene())

    def test_everything_is_there_after_reopening(self) -> None:
        async def scene() -> None:
            async with self.opened() as kept:
                await kept.add(key("a"))
                await kept.end_session("a", b"one", datetime.now(UTC) + timedelta(hours=1))
                secret = await kept.secret()
            async with self.opened() as kept:
                assert await kept.is_ended("a", b"one")
                assert await kept.all() == [key("a")]
                assert await kept.secret() == secret

        asyncio.run(scene())
