"""An index that is closed while it is used."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import servers
from unchunk.adapters.index.qdrant import QdrantIndexes
from unchunk.domain import Space, Within
from unchunk.errors import IndexUnavailableError
from unchunk.library import lazy
from unchunk.library.lazy import LazyIndex

SPACE = Space("lazy", 4)
QUERY = np.ones(4, np.float32)


@pytest.fixture(params=["gRPC", "REST"])
def indexes(request: pytest.FixtureRequest, qdrant_server: str) -> QdrantIndexes:
    if request.param == "gRPC":
        return QdrantIndexes(qdrant_server)
    url, _, _ = qdrant_server.partition("?")
    return QdrantIndexes(url, grpc_port=servers.free_ports(1)[0])


@pytest.mark.parametrize("steps", range(1, 11, 3))
def test_calls_under_way_end_before_it_closes(
    indexes: QdrantIndexes, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr(lazy, "_GRACE", 60)

    async def scene() -> None:
        index = LazyIndex(partial(indexes.open, SPACE), SPACE.name)
        assert await index.census() == {}
        calls = [asyncio.create_task(index.search(QUERY, Within("me"), 3)) for _ in range(4)]
        for _ in range(steps):
            await asyncio.sleep(0)
        await index.close()
        assert await asyncio.gather(*calls) == [[], [], [], []]
        with pytest.raises(IndexUnavailableError, match="closed"):
            await index.census()

    asyncio.run(scene())
    gc.collect()  # A connection that was left open is told of here.


def stop(pid: int) -> None:
    """Stop a process, and wait until all of its threads have stopped."""
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + 60
    while (state := state_of(pid)) != "T":
        # One that has ended never stops.
        assert state not in "XZ", f"process {pid} has ended"
        assert time.monotonic() < deadline, f"process {pid} is still in state {state}"
        time.sleep(0.01)


def state_of(pid: int) -> str:
    """The letter that Linux has for it: "T" is stopped, "Z" has ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_process_that_has_ended_is_not_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(AssertionError, match="has ended"):
            stop(process.pid)


@pytest.mark.parametrize("by", ["gRPC", "REST"])
def test_a_call_that_does_not_end_is_told_that_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(lazy, "_GRACE", 0.05)

    async def scene(indexes: QdrantIndexes, pid: int) -> None:
        index = LazyIndex(partial(indexes.open, SPACE), SPACE.name)
        await index.search(QUERY, Within("me"), 3)
        stop(pid)
        try:
            searching = asyncio.create_task(index.search(QUERY, Within("me"), 3))
            await asyncio.sleep(0.5)
            async with asyncio.timeout(60):
                await index.close()
        finally:
            os.kill(pid, signal.SIGCONT)
        with pytest.raises(IndexUnavailableError, match="is closed"):
            await searching

    with servers.qdrant(tmp_path) as server:
        port = server.grpc_port if by == "gRPC" else servers.free_ports(1)[0]
        asyncio.run(scene(QdrantIndexes(server.url, grpc_port=port), server.pid))
