"""Chroma when things go wrong."""

import asyncio
from pathlib import Path

import pytest

import servers
from servers import holding
from unchunk.adapters.index.chroma import ChromaIndexes
from unchunk.domain import Space
from unchunk.errors import IndexUnavailableError, InvalidInputError, LibraryInUseError
from unchunk.testing.indexes import ME, SEVEN, SPACE, point, vector


def test_what_was_written_outlives_a_kill(tmp_path: Path) -> None:
    with holding("chroma", tmp_path / "chroma") as holder:
        holder.kill()

    async def scene() -> None:
        index = await ChromaIndexes(tmp_path / "chroma").open(SPACE)
        assert await index.census() == {("kept", 1): 20}
        assert len(await index.search(vector(1), ME, 99)) == 20
        await index.close()

    asyncio.run(scene())


def test_a_second_process_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    async def scene(pid: int) -> None:
        indexes = ChromaIndexes(tmp_path / "chroma")
        for call in (indexes.open(SPACE), indexes.names(), indexes.drop("x")):
            with pytest.raises(LibraryInUseError, match=f"chroma is open in process {pid}:"):
                await call

    with holding("chroma", tmp_path / "chroma") as holder:
        asyncio.run(scene(holder.pid))


def test_the_folder_is_free_when_the_last_index_is_closed(tmp_path: Path) -> None:
    async def scene() -> None:
        indexes, others = ChromaIndexes(tmp_path / "chroma"), ChromaIndexes(tmp_path / "chroma")
        one, two = await indexes.open(SPACE), await indexes.open(SPACE)
        await one.close()
        await one.close()
        with pytest.raises(LibraryInUseError):
            await others.open(SPACE)
        await two.close()
        await (await others.open(SPACE)).close()

    asyncio.run(scene())


def test_words_and_spaces_without_vectors_are_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        indexes = ChromaIndexes(tmp_path / "chroma")
        with pytest.raises(InvalidInputError, match="keeps vectors"):
            await indexes.open(Space("words", 0))
        index = await indexes.open(SPACE)
        with pytest.raises(InvalidInputError, match="the index beside it"):
            await index.search(SEVEN, ME, 9)
        await index.close()

    asyncio.run(scene())


def test_a_server_that_is_not_there_is_unavailable() -> None:
    (port,) = servers.free_ports(1)

    async def scene() -> None:
        indexes = ChromaIndexes(f"http://127.0.0.1:{port}")
        with pytest.raises(IndexUnavailableError, match="no Chroma server answers"):
            await indexes.open(SPACE)
        with pytest.raises(IndexUnavailableError):
            await indexes.names()

    asyncio.run(scene())


def test_a_server_that_goes_away_is_unavailable(tmp_path: Path) -> None:
    async def scene() -> None:
        with servers.chroma(tmp_path) as url:
            index = await ChromaIndexes(url).open(SPACE)
            await index.upsert([point("d")])
        for call in (index.census(), index.search(vector(1), ME, 9), index.upsert([point("e")])):
            with pytest.raises(IndexUnavailableError):
                await call
        await index.close()

    asyncio.run(scene())


def test_a_collection_that_is_dropped_meanwhile_is_unavailable(tmp_path: Path) -> None:
    async def scene() -> None:
        indexes = ChromaIndexes(tmp_path / "chroma")
        index = await indexes.open(SPACE)
        await indexes.drop(SPACE.name)
        with pytest.raises(IndexUnavailableError):
            await index.upsert([point("d")])
        await index.close()

    asyncio.run(scene())
