"""What every list of what was purged must do."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from unchunk.ports import Catalog, Purged

S = TypeVar("S", bound="PurgedContract")

MINUTE, HOUR = 60.0, 3600.0


def on_purged(
    scene: Callable[[S, Catalog, Purged], Coroutine[None, None, None]],
) -> Callable[[S], None]:
    """The scene as a test, with an empty catalog and its list."""

    async def play(suite: S) -> None:
        async with suite.opened() as (catalog, purged):
            await scene(suite, catalog, purged)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


async def deleted(catalog: Catalog, name: str = "a.md") -> str:
    """The id of a document that came, was replaced on its way, and is gone: two versions."""
    for checksum in ("a", "b"):
        document = await catalog.begin("me", "", name, checksum=checksum, size=1, blob="")
    await catalog.forget(await catalog.bury("me", document.id))
    return document.id


async def given(purged: Purged, most: int = 99) -> dict[str, list[int]]:
    taken = await purged.take(most)
    return {document: sorted(its) for document, its in taken.versions.items()}


class PurgedContract:
    """Subclass it as `Test...`, and say how they are opened, and how time passes."""

    def opened(self) -> AbstractAsyncContextManager[tuple[Catalog, Purged]]:
        """A catalog that lists what it forgets, and the list."""
        raise NotImplementedError

    async def wait(self, seconds: float) -> None:
        """As if so many had passed, for all that is listed."""
        raise NotImplementedError

    @on_purged
    async def test_what_is_forgotten_is_due_after_a_minute_and_again_after_an_hour(
        self, catalog: Catalog, purged: Purged
    ) -> None:
        gone = await deleted(catalog)
        assert await given(purged) == {}
        await self.wait(MINUTE)
        taken = await purged.take(99)
        assert {it: sorted(its) for it, its in taken.versions.items()} == {gone: [1, 2]}
        await purged.done(taken)
        await self.wait(2 * MINUTE)
        assert await given(purged) == {}
        await self.wait(HOUR)
        taken = await purged.take(99)
        assert taken.versions.keys() == {gone}
        await purged.done(taken)
        await self.wait(100 * HOUR)
        assert await given(purged) == {}

    @on_purged
    async def test_nobody_else_is_given_what_one_has_unless_that_one_is_gone(
        self, catalog: Catalog, purged: Purged
    ) -> None:
        gone = await deleted(catalog)
        await self.wait(MINUTE)
        assert await given(purged) == {gone: [1, 2]}
        assert await given(purged) == {}
        await self.wait(2 * MINUTE)
        assert await given(purged) == {gone: [1, 2]}

    @on_purged
    async def test_done_twice_is_done_once(self, catalog: Catalog, purged: Purged) -> None:
        gone = await deleted(catalog)
        await self.wait(MINUTE)
        taken = await purged.take(99)
        for _ in range(2):
            await purged.done(taken)
        await self.wait(HOUR)
        assert await given(purged) == {gone: [1, 2]}

    @on_purged
    async def test_who_is_late_does_not_speak_for_who_has_it_now(
        self, catalog: Catalog, purged: Purged
    ) -> None:
        gone = await deleted(catalog)
        await self.wait(MINUTE)
        late = await purged.take(99)
        await self.wait(2 * MINUTE)
        now = await purged.take(99)
        await purged.done(late)
        await self.wait(2 * MINUTE)
        again = await purged.take(99)
        assert again.versions.keys() == {gone}, "it was not done"
        await purged.done(now)
        await purged.done(again)
        await self.wait(HOUR)
        assert await given(purged) == {gone: [1, 2]}

    @on_purged
    async def test_no_more_are_taken_than_wanted(self, catalog: Catalog, purged: Purged) -> None:
        gone = {await deleted(catalog, f"{number}.md") for number in range(3)}
        await self.wait(MINUTE)
        seen = [await given(purged, most=2) for _ in range(4)]
        assert [sum(map(len, one.values())) for one in seen] == [2, 2, 2, 0]
        assert {document for one in seen for document in one} == gone

    @on_purged
    async def test_what_is_forgotten_twice_is_listed_once(
        self, catalog: Catalog, purged: Purged
    ) -> None:
        document = await catalog.begin("me", "", "a", checksum="a", size=1, blob="")
        left = await catalog.bury("me", document.id)
        for _ in range(2):
            await catalog.forget(left)
        await self.wait(MINUTE)
        assert await given(purged) == {document.id: [1]}
