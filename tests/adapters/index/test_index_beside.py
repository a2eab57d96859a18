"""Two indexes as one, when one of them fails."""

import asyncio
from pathlib import Path

import pytest

from unchunk.adapters.index.beside import Beside, BesideIndexes
from unchunk.adapters.index.edge import EdgeIndexes
from unchunk.domain import Space
from unchunk.errors import MigrationNeededError
from unchunk.ports import Index
from unchunk.testing.indexes import ME, SEVEN, SPACE, point, vector


async def both(folder: Path) -> tuple[Index, Index, Beside]:
    dense = await EdgeIndexes(folder / "dense").open(SPACE)
    lexical = await EdgeIndexes(folder / "lexical").open(Space("words", 0))
    return dense, lexical, Beside(dense, lexical)


def test_a_generation_that_only_one_side_has_whole_is_counted_as_the_smaller(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        dense, lexical, index = await both(tmp_path)
        await index.upsert([point("whole", at) for at in range(3)])
        await index.upsert([point("part", at) for at in range(2)])
        await dense.upsert([point("part", at) for at in range(5)])
        await dense.upsert([point("dense")])
        await lexical.upsert([point("words")])
        expected = {("whole", 1): 3, ("part", 1): 2, ("dense", 1): 0, ("words", 1): 0}
        assert await index.census() == expected
        assert await index.census("dense") == {("dense", 1): 0}
        for name in ("dense", "words", "part"):
            await index.delete(name)
        assert await index.census() == {("whole", 1): 3}
        await index.close()

    asyncio.run(scene())


def test_words_never_find_what_vectors_do_not_have(tmp_path: Path) -> None:
    async def scene() -> None:
        dense, lexical, index = await both(tmp_path)
        await dense.close()
        with pytest.raises(Exception, match="closed"):
            await index.upsert([point("d")])
        assert await lexical.search(SEVEN, ME, 9) == []
        await index.close()

    asyncio.run(scene())


def test_what_is_deleted_is_not_found_by_words_though_the_vectors_are_away(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        dense, lexical, index = await both(tmp_path)
        await index.upsert([point("d")])
        assert len(await index.search(vector(1), ME, 9)) == 1
        await dense.close()
        with pytest.raises(Exception, match="closed"):
            await index.delete("d")
        assert await lexical.search(SEVEN, ME, 9) == []
        await index.close()

    asyncio.run(scene())


def test_if_one_side_cannot_be_opened_the_other_is_closed(tmp_path: Path) -> None:
    async def scene() -> None:
        dense, lexical = EdgeIndexes(tmp_path / "dense"), EdgeIndexes(tmp_path / "lexical")
        index = await lexical.open(SPACE)
        await index.census()
        await index.close()
        for _ in range(2):
            with pytest.raises(MigrationNeededError):
                await BesideIndexes(dense, lexical).open(SPACE)
        other = await EdgeIndexes(tmp_path / "dense").open(SPACE)
        await other.close()

    asyncio.run(scene())
