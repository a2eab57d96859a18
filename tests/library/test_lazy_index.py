"""An index that is closed while it is used."""

import asyncio
import gc
from functools import partial

import numpy as np
import pytest

import servers
from gates import hold
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
def test_calls_under_way_end_before_it_closes(indexes: QdrantIndexes, steps: int) -> None:
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


def test_a_call_that_does_not_end_does_not_keep_it_open(
    indexes: QdrantIndexes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy, "_GRACE", 0.05)

    async def scene() -> None:
        opened = await indexes.open(SPACE)
        held = hold(monkeypatch, opened, "search_many")
        index = LazyIndex(lambda: asyncio.sleep(0, opened), SPACE.name)
        searching = asyncio.create_task(index.search(QUERY, Within("me"), 3))
        await held.reached.wait()
        async with asyncio.timeout(60):
            await index.close()
        held.opened.set()
        with pytest.raises(IndexUnavailableError):
            await searching

    asyncio.run(scene())
