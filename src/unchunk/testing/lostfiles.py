"""What every store of lost files must do."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, TypeVar

import pytest

from unchunk.errors import NotFoundError, ProviderUnavailableError
from unchunk.ports import LostFile, LostFiles

S = TypeVar("S", bound="LostFilesContract")


class Kept(NamedTuple):
    """A file as somebody put it into a store: what it was called, and its chunks in order."""

    name: str
    texts: tuple[str, ...]


ODD = (
    Kept("日本.md", ("  two\r\nlines\t", "e\u0301 👩‍👩‍👧 \u202eback")),
    Kept("a'b\"c & <d>.txt", ("\n", "{}", '{"text": "no"}', "\\u0041 %2e%2e")),
    Kept("../../up.txt", ("up",)),
    Kept("x" * 200 + ".md", ("long name", "of a file")),
)
LIBRARY = (
    Kept("whales.md", tuple(f"Chunk {at} of the whales, {at * 7919}." for at in range(40))),
    Kept("ships.md", ("A ship.",)),
    Kept("Chunk.txt", ("Chunk 0 of the whales, 0.", "A ship.")),
)


def on(
    *kept: Kept,
) -> Callable[[Callable[[S, LostFiles], Coroutine[None, None, None]]], Callable[[S], None]]:
    """The scene as a test, over a store that holds `kept`."""

    def made(
        scene: Callable[[S, LostFiles], Coroutine[None, None, None]],
    ) -> Callable[[S], None]:
        async def play(suite: S) -> None:
            async with suite.opened(kept) as store:
                await scene(suite, store)

        def test(self: S) -> None:
            asyncio.run(play(self))

        test.__name__ = scene.__name__
        return test

    return made


async def listed(store: LostFiles) -> list[LostFile]:
    return [file async for file in store.files()]


class LostFilesContract:
    """Subclass it as `Test...`, and say how a store is filled and opened."""

    many = 120
    """How many files are more than one page of a list."""

    def opened(self, kept: Sequence[Kept]) -> AbstractAsyncContextManager[LostFiles]:
        """A store of its own that holds these and nothing else, as shuffled as it may be."""
        raise NotImplementedError

    def nowhere(self) -> LostFiles:
        """A store that is not there, on a server that is."""
        raise NotImplementedError

    def gone(self) -> LostFiles | None:
        """A store on a server that is not there, and seconds of patience; None without servers."""
        raise NotImplementedError

    # Listing.

    def test_every_file_is_listed_once_also_beyond_one_page(self) -> None:
        kept = [Kept(f"file {at}.md", (f"text {at}",)) for at in range(self.many)]

        async def play() -> None:
            async with self.opened(kept) as store:
                files = await listed(store)
                assert sorted(file.name for file in files) == sorted(one.name for one in kept)
                assert len({file.id for file in files}) == self.many
                assert {file.status for file in files} == {"ready"}

        asyncio.run(play())

    @on()
    async def test_an_empty_store_has_no_files(self, store: LostFiles) -> None:
        assert await listed(store) == []

    @on(*LIBRARY)
    async def test_what_did_not_change_is_listed_the_same_again(self, store: LostFiles) -> None:
        assert await listed(store) == await listed(store)

    @pytest.mark.parametrize(
        "changed", [("one", "two", "three"), ("one", "other")], ids=["a chunk more", "a text"]
    )
    def test_what_changed_has_another_mark_or_none(self, changed: tuple[str, ...]) -> None:
        async def mark(texts: tuple[str, ...]) -> str:
            async with self.opened([Kept("a.md", texts)]) as store:
                (file,) = await listed(store)
                return file.mark

        async def play() -> None:
            now = await mark(changed)
            assert not now or now != await mark(("one", "two"))

        asyncio.run(play())

    @on(*ODD)
    async def test_odd_names_come_through_unchanged(self, store: LostFiles) -> None:
        assert sorted(file.name for file in await listed(store)) == sorted(it.name for it in ODD)

    # Chunks.

    @on(*LIBRARY)
    async def test_chunks_come_in_the_order_of_the_text(self, store: LostFiles) -> None:
        wanted = {one.name: one.texts for one in LIBRARY}
        for file in await listed(store):
            chunks = await store.chunks(file)
            assert chunks.texts == wanted[file.name]
            assert chunks.from_start is not False
            assert chunks.complete is not False

    @on(*ODD)
    async def test_odd_texts_come_through_unchanged(self, store: LostFiles) -> None:
        wanted = {one.name: one.texts for one in ODD}
        for file in await listed(store):
            assert (await store.chunks(file)).texts == wanted[file.name]

    @on(*LIBRARY)
    async def test_files_may_be_fetched_at_once(self, store: LostFiles) -> None:
        files = await listed(store)
        found = await asyncio.gather(*(store.chunks(file) for file in files * 3))
        wanted = {one.name: one.texts for one in LIBRARY}
        assert [one.texts for one in found] == [wanted[file.name] for file in files * 3]

    @on(*LIBRARY)
    async def test_a_file_that_is_not_there_is_not_found(self, store: LostFiles) -> None:
        with pytest.raises(NotFoundError):
            await store.chunks(LostFile("absent", "absent.md"))

    # Stores.

    def test_a_store_that_is_not_there_is_not_found(self) -> None:
        async def play() -> None:
            store = self.nowhere()
            with pytest.raises(NotFoundError):
                await listed(store)
            await store.close()

        asyncio.run(play())

    def test_a_server_that_is_not_there_is_unavailable(self) -> None:
        async def play() -> None:
            store = self.gone()
            if store is None:
                pytest.skip("there is no server")
            with pytest.raises(ProviderUnavailableError):
                await listed(store)
            await store.close()

        asyncio.run(play())

    @on(*LIBRARY[1:2])
    async def test_a_store_has_a_name_and_may_be_closed_twice(self, store: LostFiles) -> None:
        assert store.name.strip()
        await listed(store)
        await store.close()
        await store.close()
