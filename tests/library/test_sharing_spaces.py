"""A library that one process migrates while another uses it."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from gates import hold, part
from sharers import Town, assert_agreed
from unchunk.engine import Engine
from unchunk.errors import MigrationNeededError

TEXTS = {f"{number}.md": f"# Part {number}\n\nA word of {number}." for number in range(12)}


def test_what_one_migrates_the_other_finds_all_the_time(town: Town) -> None:
    for name, text in TEXTS.items():
        town.file(name, text)

    async def scene() -> None:
        async with asyncio.timeout(200), town.opened(1) as one:
            await one.add(town.files)
            async with town.opened(2, embedder="hashing:128") as other:
                searched, searching = 0, True

                async def search(engine: Engine) -> None:
                    nonlocal searched
                    while searching:
                        found = await engine.search("word", limit=100)
                        assert {hit.name for hit in found.hits} == set(TEXTS)
                        searched += 1

                readers = [asyncio.create_task(search(engine)) for engine in (one, other)]
                assert (await other.migrate()).documents == len(TEXTS)
                seen = searched
                while searched < seen + 4:  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.01)
                searching = False
                await asyncio.gather(*readers)
                assert [space.spec for space in one._parts.spaces.all] == ["hashing:128"]
                await assert_agreed([one, other], TEXTS)
                with pytest.raises(MigrationNeededError, match="reindex --all"):
                    await one.add(town.files)

    asyncio.run(scene())


@pytest.mark.parametrize("step", ["upsert", "go_live"])
def test_a_file_that_comes_in_while_another_migrates_comes_in_once_more(
    town: Town, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path, later = town.file("a.md", "A word of one."), town.file("b.md", "A word of two.")

    async def scene() -> None:
        async with asyncio.timeout(200), town.opened(1) as one:
            await one.add(path)
            async with town.opened(2, embedder="hashing:128") as other:
                where = part(one, "index" if step == "upsert" else "catalog")
                coming = hold(monkeypatch, where, step)
                adding = asyncio.create_task(one.add(later))
                await coming.reached.wait()
                # It does not wait for who writes elsewhere, and drops what they write into.
                assert len((await other.migrate()).dropped) == 1
                coming.opened.set()
                assert [outcome.result for outcome in await adding] == ["added"]
                await assert_agreed(
                    [one, other], {"a.md": "A word of one.", "b.md": "A word of two."}
                )

    asyncio.run(scene())


def test_of_two_who_begin_a_library_one_makes_its_index(town: Town) -> None:
    paths = [town.file(f"{at}.md", f"A word of {at}.") for at in (1, 2)]

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            opening = (stack.enter_async_context(town.opened(at)) for at in (1, 2))
            engines = await asyncio.gather(*opening)
            await asyncio.gather(
                *(engine.add(path) for engine, path in zip(engines, paths, strict=True))
            )
            await assert_agreed(engines, {f"{at}.md": f"A word of {at}." for at in (1, 2)})

    asyncio.run(scene())
