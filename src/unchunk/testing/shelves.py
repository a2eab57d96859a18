"""What the suites of vector stores, their files, notes and responses share."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple, TypeVar

import pytest

from unchunk.errors import InvalidInputError
from unchunk.ports import (
    Batch,
    Batches,
    Catalog,
    FileNotes,
    KeptResponses,
    Members,
    Page,
    StoreFile,
    Stores,
    VectorStore,
)
from unchunk.testing.catalogs import added, drafted

NOON = datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=UTC)
ODD = "a\0b\ud800 \U0001f600 ß"
# What no store, document, batch or response is called.
NOBODY = ("nobody", "", "%", "a\0", "\ud800", "x" * 10_000)


class Shelves(NamedTuple):
    """All that is kept of stores, in one place."""

    catalog: Catalog
    stores: Stores
    members: Members
    batches: Batches
    notes: FileNotes
    responses: KeptResponses


class OnShelves:
    """Subclass the suites as `Test...`, and say how the shelves are opened."""

    def opened(self) -> AbstractAsyncContextManager[Shelves]:
        """Empty at first, and the same ones each time within one test."""
        raise NotImplementedError


S = TypeVar("S", bound=OnShelves)
Read = Callable[[Page], Awaitable[tuple[list[str], bool]]]


def on_shelves(scene: Callable[[S, Shelves], Coroutine[None, None, None]]) -> Callable[[S], None]:
    """The scene as a test, with fresh shelves."""

    async def play(suite: S) -> None:
        async with suite.opened() as kept:
            await scene(suite, kept)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


async def a_store(kept: Shelves, name: str = "vs_a", owner: str = "me", second: int = 0) -> str:
    """A store that was made so many seconds after noon; its id is returned."""
    made_at = NOON + timedelta(seconds=second)
    await kept.stores.add(VectorStore(name, owner, name, made_at, made_at))
    return name


async def live(kept: Shelves, count: int, owner: str = "me", first: str = "") -> list[str]:
    """So many documents that are live, in the order of their ids."""
    made = [await added(kept.catalog, f"{first}{one}.txt", "text", owner) for one in range(count)]
    return sorted(one.id for one in made)


async def in_each_state(kept: Shelves, store: str, batch: str = "") -> dict[str, str]:
    """A document of the store in each state, and one that is live though its draft failed; all of
    a new batch, if named.
    """
    catalog = kept.catalog
    found = {"completed": (await added(catalog, f"{store} live", "four")).id}
    found["replaced"] = (await added(catalog, f"{store} again", "seven..")).id
    again = await drafted(catalog, f"{store} again", "new")
    failed = await drafted(catalog, f"{store} failed", "text")
    for one in (again, failed):
        await catalog.fail(one.document, one.generation, "damaged", "it is")
    found["failed"] = failed.document
    found["in_progress"] = (await drafted(catalog, f"{store} coming", "text")).document
    cancelled = (await drafted(catalog, f"{store} cancelled", "text")).document
    found["cancelled"] = cancelled
    await kept.members.put(
        "me",
        [StoreFile(store, one, NOON, is_cancelled=one == cancelled) for one in found.values()],
        Batch(batch, store, NOON) if batch else None,
    )
    return found


async def check_pages(read: Read, expected: Sequence[str]) -> None:
    """Every part of a list of at least six, which is `expected` in ascending order."""
    orders: tuple[Literal["asc", "desc"], ...] = ("asc", "desc")
    for order in orders:
        whole = list(expected) if order == "asc" else list(reversed(expected))
        assert await read(Page(len(whole), order=order)) == (whole, False)
        assert await read(Page(0, order=order)) == ([], True)
        for limit in (1, 3, len(whole) - 1, len(whole) + 1):
            assert await _forwards(read, limit, order, len(whole)) == whole
            assert await _backwards(read, limit, order, whole[-1], len(whole)) == whole
        second, last_but_one = whole[1], whole[-2]
        assert await read(Page(99, second, last_but_one, order)) == (whole[2:-2], False)
        assert await read(Page(1, second, last_but_one, order)) == (whole[2:3], True)
        assert await read(Page(9, last_but_one, second, order)) == ([], False)
        assert await read(Page(9, after=whole[-1], order=order)) == ([], False)
        assert await read(Page(9, before=whole[0], order=order)) == ([], False)
    for cursor in filter(None, NOBODY):
        for part in (Page(after=cursor), Page(before=cursor), Page(9, expected[0], cursor)):
            with pytest.raises(InvalidInputError, match="is not there"):
                await read(part)


async def check_removing(read: Read, remove: Callable[[str], Awaitable[object]]) -> None:
    """The last of each three that are read is removed, and yet all are read, each once."""
    orders: tuple[Literal["asc", "desc"], ...] = ("desc", "asc")
    for order in orders:
        whole, _ = await read(Page(99, order=order))
        found: list[str] = []
        has_more = True
        while has_more:
            part, has_more = await read(Page(3, after=found[-1] if found else "", order=order))
            found += part
            await remove(found[-1])
        assert found == whole
    assert len((await read(Page(99)))[0]) < len(found)


async def _forwards(read: Read, limit: int, order: Literal["asc", "desc"], count: int) -> list[str]:
    found: list[str] = []
    has_more = True
    while has_more:
        part, has_more = await read(Page(limit, after=found[-1] if found else "", order=order))
        found += part
        assert has_more == (len(found) < count)
    return found


async def _backwards(
    read: Read, limit: int, order: Literal["asc", "desc"], last: str, count: int
) -> list[str]:
    found = [last]
    has_more = True
    while has_more:
        part, has_more = await read(Page(limit, before=found[0], order=order))
        found = part + found
        assert has_more == (len(found) < count)
    return found
