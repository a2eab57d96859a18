"""The edge index when things go wrong, and behind its back."""

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gates import until
from servers import ends, holding
from unchunk.adapters.index.edge import EdgeIndex, EdgeIndexes
from unchunk.domain import Space, Terms
from unchunk.errors import (
    IndexUnavailableError,
    IntegrityError,
    InvalidInputError,
    LibraryInUseError,
    MigrationNeededError,
    OutputError,
)
from unchunk.testing.indexes import ME, SEVEN, SPACE, point, vector


def pid_of(index: EdgeIndex) -> int:
    assert index.pid is not None
    return index.pid


async def restarted(index: EdgeIndex) -> dict[tuple[str, int], int]:
    """The census after its process was killed.

    A call that was sent before the death was noticed reports it; a later one starts it again.
    """
    before = pid_of(index)
    os.kill(before, signal.SIGKILL)
    try:
        await index.census()
    except IndexUnavailableError as error:
        assert "killed by signal 9; the next call starts" in str(error)  # noqa: PT017
    found = await index.census()
    assert pid_of(index) != before
    return found


def test_nothing_is_started_before_the_first_call(tmp_path: Path) -> None:
    async def scene() -> None:
        index = await EdgeIndexes(tmp_path).open(SPACE)
        assert not index.pid
        await index.census()
        assert pid_of(index)
        await index.close()
        assert not index.pid

    asyncio.run(scene())


def test_it_can_be_started_beforehand_once(tmp_path: Path) -> None:
    async def scene() -> None:
        index = await EdgeIndexes(tmp_path).open(SPACE)
        await index.start()
        await until(lambda: index.pid is not None)
        begun = pid_of(index)
        await index.start()
        assert await index.census() == {}
        assert pid_of(index) == begun
        await index.close()
        await index.start()
        assert not index.pid

    asyncio.run(scene())


def test_a_killed_engine_is_reported_and_starts_again_with_all_it_had(tmp_path: Path) -> None:
    async def scene() -> None:
        index = await EdgeIndexes(tmp_path).open(SPACE)
        await index.upsert([point("flushed", at) for at in range(20)])
        await index.flush()
        assert await restarted(index) == {("flushed", 1): 20}
        await index.upsert([point("written", at) for at in range(20)])
        await index.delete("flushed")
        assert await restarted(index) == {("written", 1): 20}
        assert len(await index.search(SEVEN, ME, 99)) == 20
        await index.close()

    asyncio.run(scene())


def test_whoever_waits_for_a_killed_engine_is_told(tmp_path: Path) -> None:
    async def scene() -> None:
        index = await EdgeIndexes(tmp_path).open(SPACE)
        await index.census()
        pid = pid_of(index)
        os.kill(pid, signal.SIGSTOP)
        calls = [asyncio.create_task(index.census()) for _ in range(5)]
        running = index._child._running
        assert running is not None
        await until(lambda: len(running._waiting) == 5)
        calls[0].cancel()
        os.kill(pid, signal.SIGKILL)
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(outcomes[0], asyncio.CancelledError)
        assert all(isinstance(each, IndexUnavailableError) for each in outcomes[1:])
        await index.close()

    asyncio.run(scene())


@pytest.mark.parametrize("flush", ["flush", "no-flush"])
def test_the_engine_dies_with_whoever_started_it_and_keeps_what_was_written(
    tmp_path: Path, flush: str
) -> None:
    with holding("edge", tmp_path, flush) as holder:
        holder.kill()
        assert ends(holder.child)

    async def scene() -> None:
        index = await EdgeIndexes(tmp_path).open(SPACE)
        assert await index.census() == {("kept", 1): 20}
        assert len(await index.search(vector(1), ME, 99)) == 20
        await index.close()

    asyncio.run(scene())


def test_a_second_process_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    async def scene(pid: int) -> None:
        with pytest.raises(LibraryInUseError, match=f"contract-1.x_y is open in process {pid}:"):
            await EdgeIndexes(tmp_path).open(SPACE)
        with pytest.raises(LibraryInUseError):
            await EdgeIndexes(tmp_path).drop(SPACE.name)

    with holding("edge", tmp_path) as holder:
        asyncio.run(scene(holder.pid))


def test_an_index_can_be_opened_twice_and_by_several_at_once(tmp_path: Path) -> None:
    async def scene() -> None:
        indexes = EdgeIndexes(tmp_path)
        one, two = await asyncio.gather(indexes.open(SPACE), indexes.open(SPACE))
        assert one is two
        with pytest.raises(MigrationNeededError):
            await indexes.open(Space(SPACE.name, 9))
        await one.close()
        three = await indexes.open(SPACE)
        assert three is not one
        await asyncio.gather(one.close(), two.close())
        assert await indexes.open(SPACE) is three
        await asyncio.gather(three.close(), three.close())
        await (await EdgeIndexes(tmp_path).open(SPACE)).close()

    asyncio.run(scene())


@pytest.mark.parametrize("beforehand", [False, True])
def test_an_engine_that_cannot_be_started_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, beforehand: bool
) -> None:
    async def scene() -> None:
        index = await EdgeIndexes(tmp_path).open(SPACE)
        with monkeypatch.context() as broken:
            broken.setattr(sys, "executable", str(tmp_path / "no such program"))
            if beforehand:
                await index.start()  # it is told by the call that needs it
            with pytest.raises(IndexUnavailableError, match="cannot be started"):
                await index.census()
        assert await index.census() == {}
        assert await restarted(index) == {}
        await index.close()

    asyncio.run(scene())


def test_a_closed_index_says_so(tmp_path: Path) -> None:
    async def scene() -> None:
        index = await EdgeIndexes(tmp_path).open(SPACE)
        await index.close()
        with pytest.raises(IndexUnavailableError, match="was closed"):
            await index.census()

    asyncio.run(scene())


def test_an_open_index_is_closed_before_it_is_dropped(tmp_path: Path) -> None:
    async def scene() -> None:
        indexes = EdgeIndexes(tmp_path)
        index = await indexes.open(SPACE)
        await index.upsert([point("d")])
        await indexes.drop(SPACE.name)
        assert await indexes.names() == []
        with pytest.raises(IndexUnavailableError):
            await index.census()

    asyncio.run(scene())
    assert list(tmp_path.iterdir()) == []


def test_signals_for_the_whole_group_do_not_end_the_engine(tmp_path: Path) -> None:
    async def scene() -> None:
        index = await EdgeIndexes(tmp_path).open(SPACE)
        await index.upsert([point("d")])
        pid = pid_of(index)
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGTERM)
        assert await index.census() == {("d", 1): 1}
        assert index.pid == pid
        await index.close()

    asyncio.run(scene())


def test_a_damaged_index_is_reported_with_what_to_do(tmp_path: Path) -> None:
    def damage(file: str, text: str) -> None:
        (tmp_path / SPACE.name / file).write_text(text)

    async def scene() -> None:
        indexes = EdgeIndexes(tmp_path)
        index = await indexes.open(SPACE)
        await index.upsert([point("d")])
        await index.close()
        damage("1/edge_config.json", "{")
        index = await indexes.open(SPACE)
        for _ in range(2):
            with pytest.raises(IntegrityError, match=r"cannot be opened: .*index anew"):
                await index.census()
        await index.close()
        for note in ("{", "[]", "{}"):
            damage("current.json", note)
            with pytest.raises(IntegrityError, match="is damaged"):
                await indexes.open(SPACE)

    asyncio.run(scene())


def test_a_place_that_is_no_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot use"):
        asyncio.run(EdgeIndexes(tmp_path / "file").open(SPACE))


def test_an_index_of_terms_alone_takes_no_vectors(tmp_path: Path) -> None:
    async def scene() -> None:
        index = await EdgeIndexes(tmp_path).open(Space("words", 0))
        points = [point("d", at, at=np.empty(0, np.float32)) for at in range(3)]
        await index.upsert([*points, point("e", terms=Terms((), ()))])
        assert len(await index.search(SEVEN, ME, 9)) == 3
        assert await index.census() == {("d", 1): 3, ("e", 1): 1}
        assert {key: row.size for key, row in (await index.fetch([points[0].key])).items()} == {
            points[0].key: 0
        }
        with pytest.raises(InvalidInputError, match="terms only"):
            await index.search(vector(1), ME, 9)
        await index.close()

    asyncio.run(scene())


def test_an_index_is_optimized_while_it_is_used(tmp_path: Path) -> None:
    def shard() -> str:
        return (tmp_path / SPACE.name / "current.json").read_text()

    async def scene() -> None:
        index = await EdgeIndexes(tmp_path, enough=100).open(SPACE)
        await index.upsert([point("first", at) for at in range(300)])
        before = shard()
        deadline = time.monotonic() + 240
        rounds = 0
        while shard() == before:
            assert time.monotonic() < deadline
            rounds += 1
            await index.upsert([point(f"d{rounds % 7}", rounds)])
            await index.delete(f"d{rounds % 5}")
            assert len(await index.search(vector(1), ME, 300)) == 300
            await asyncio.sleep(0.02)
        counts = await index.census()
        found = {hit.key for hit in await index.search(SEVEN, ME, 999)}
        assert counts["first", 1] == 300
        assert len(found) == sum(counts.values())
        assert await restarted(index) == counts
        await index.close()

    asyncio.run(scene())


def test_kills_at_any_moment_lose_nothing_that_was_written(tmp_path: Path) -> None:
    rng = random.Random(4)
    expected: dict[tuple[str, int], int] = {}

    async def scene() -> None:
        index = await EdgeIndexes(tmp_path, enough=40).open(SPACE)
        for _ in range(5):
            end = time.monotonic() + 0.3 + rng.random()
            while time.monotonic() < end:
                name, count = f"d{rng.randrange(30)}", rng.randrange(1, 30)
                if rng.random() < 0.2:
                    await index.delete(name)
                    expected.pop((name, 1), None)
                else:
                    await index.upsert([point(name, at) for at in range(count)])
                    expected[name, 1] = max(count, expected.get((name, 1), 0))
            assert await restarted(index) == expected
            found = await index.search(SEVEN, ME, 10_000)
            assert len({hit.key for hit in found}) == len(found) == sum(expected.values())
        await index.close()

    asyncio.run(scene())
