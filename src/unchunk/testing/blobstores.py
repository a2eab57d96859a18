"""What every store of originals must do."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeVar

import pytest

from unchunk.errors import InvalidInputError, InvalidSettingError, NotFoundError
from unchunk.ports import Blobs

S = TypeVar("S", bound="BlobsContract")


def on_a_store(
    scene: Callable[[S, Blobs, Path], Coroutine[None, None, None]],
) -> Callable[[S], None]:
    """The scene as a test: with a fresh store, and a folder for files to put into it."""

    async def play(suite: S) -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with suite.opened() as blobs:
                await scene(suite, blobs, Path(folder))

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


class BlobsContract:
    """Subclass it as `Test...`, and say how a store is opened."""

    def opened(self) -> AbstractAsyncContextManager[Blobs]:
        """An empty store."""
        raise NotImplementedError

    @on_a_store
    async def test_what_was_put_in_comes_out_byte_for_byte(
        self, blobs: Blobs, folder: Path
    ) -> None:
        for number, data in enumerate((b"", b"\0\xff\r\n", bytes(range(256)) * 9000)):
            await blobs.put(f"uploads/me/{number}", _file(folder, data))
            async with blobs.local(f"uploads/me/{number}") as path:
                assert await asyncio.to_thread(path.read_bytes) == data

    @on_a_store
    async def test_the_source_stays_and_may_change_afterwards(
        self, blobs: Blobs, folder: Path
    ) -> None:
        source = _file(folder, b"before")
        await blobs.put("a/b", source)
        await asyncio.to_thread(source.write_bytes, b"after")
        async with blobs.local("a/b") as path:
            assert await asyncio.to_thread(path.read_bytes) == b"before"

    @on_a_store
    async def test_the_last_one_under_a_key_counts(self, blobs: Blobs, folder: Path) -> None:
        await blobs.put("a/b", _file(folder, b"first and longer"))
        await blobs.put("a/b", _file(folder, b"second"))
        async with blobs.local("a/b") as path:
            assert await asyncio.to_thread(path.read_bytes) == b"second"
        assert await blobs.keys() == {"a/b": 6}

    @on_a_store
    async def test_every_key_is_listed_with_its_size(self, blobs: Blobs, folder: Path) -> None:
        assert await blobs.keys() == {}
        sizes = {"one": 1, "uploads/me/2026-01-31/b": 0, "uploads/you%2F/é 日本/c": 70_000}
        for key, size in sizes.items():
            await blobs.put(key, _file(folder, b"x" * size))
        assert await blobs.keys() == sizes

    @on_a_store
    async def test_a_deleted_one_is_not_there(self, blobs: Blobs, folder: Path) -> None:
        for key in ("a/b/one", "a/b/two"):
            await blobs.put(key, _file(folder, b"x"))
        await blobs.delete("a/b/one")
        assert await blobs.keys() == {"a/b/two": 1}
        with pytest.raises(NotFoundError, match="a/b/one"):
            async with blobs.local("a/b/one"):
                pass

    @on_a_store
    async def test_deleting_what_is_not_there_does_nothing(
        self, blobs: Blobs, folder: Path
    ) -> None:
        await blobs.delete("a/b")
        await blobs.put("a/b", _file(folder, b"x"))
        await blobs.delete("a/c")
        await blobs.delete("a/b/c")
        assert await blobs.keys() == {"a/b": 1}

    @on_a_store
    async def test_a_key_cannot_lead_anywhere_else(self, blobs: Blobs, folder: Path) -> None:
        source = _file(folder, b"x")
        for key in HOSTILE:
            with pytest.raises(InvalidInputError, match="is not a blob key"):
                await blobs.put(key, source)
            with pytest.raises(InvalidInputError):
                await blobs.delete(key)
            with pytest.raises(InvalidInputError):
                async with blobs.local(key):
                    pass
        assert await blobs.keys() == {}

    @on_a_store
    async def test_a_source_that_cannot_be_read_is_refused(
        self, blobs: Blobs, folder: Path
    ) -> None:
        for source in (folder / "absent", folder):
            with pytest.raises(InvalidInputError, match="cannot read"):
                await blobs.put("a", source)
        assert await blobs.keys() == {}

    @on_a_store
    async def test_a_place_is_one_librarys_for_good(self, blobs: Blobs, folder: Path) -> None:
        await blobs.claim("mine")
        await blobs.claim("mine")
        assert await blobs.keys() == {}
        await blobs.put("a/b", _file(folder, b"x"))
        with pytest.raises(InvalidSettingError, match=r"another library, mine: .*remove the"):
            await blobs.claim("another")
        await blobs.delete("a/b")
        with pytest.raises(InvalidSettingError):
            await blobs.claim("another")
        await blobs.claim("mine")

    @on_a_store
    async def test_of_libraries_that_come_at_the_same_time_one_at_most_gets_a_place(
        self, blobs: Blobs, folder: Path
    ) -> None:
        del folder
        ids = [f"library{number}" for number in range(8)]
        said = await asyncio.gather(*map(blobs.claim, ids), return_exceptions=True)
        assert all(it is None or isinstance(it, InvalidSettingError) for it in said), said
        assert said.count(None) <= 1

    @on_a_store
    async def test_many_may_put_and_delete_at_once(self, blobs: Blobs, folder: Path) -> None:
        source = _file(folder, b"x" * 1000)

        async def one(number: int) -> None:
            for _ in range(10):
                await blobs.put(f"uploads/me/today/{number}", source)
                await blobs.delete(f"uploads/me/today/{number}")

        await asyncio.gather(*map(one, range(8)))
        assert await blobs.keys() == {}


HOSTILE = (
    "",
    "/",
    "/etc/passwd",
    "..",
    "../x",
    "a/../../x",
    "a/..",
    "a/./b",
    "a//b",
    "a/",
    "a/.hidden",
    "a\\..\\b",
    "C:x",
    "a\0b",
    "a\nb",
    "\udc80",
)


def _file(folder: Path, data: bytes) -> Path:
    path = folder / "source"
    path.write_bytes(data)
    return path
