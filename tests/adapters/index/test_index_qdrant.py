"""The Qdrant server when things go wrong."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx import Headers
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

import servers
from unchunk.adapters.index.qdrant import QdrantIndex, QdrantIndexes
from unchunk.domain import Space, Terms
from unchunk.errors import IndexUnavailableError, InvalidInputError, ProviderRefusedError
from unchunk.testing.indexes import ME, SEVEN, SPACE, point, vector


def at(server: servers.QdrantServer, api_key: str | None = None) -> QdrantIndexes:
    return QdrantIndexes(server.url, api_key, grpc_port=server.grpc_port)


def by_rest(server: servers.QdrantServer, api_key: str | None = None) -> QdrantIndexes:
    """Where gRPC does not get through."""
    return QdrantIndexes(server.url, api_key, grpc_port=servers.free_ports(1)[0])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[servers.QdrantServer]:
    with servers.qdrant(tmp_path / "qdrant") as started:
        yield started


def test_a_server_that_is_not_there_is_unavailable() -> None:
    http, grpc = servers.free_ports(2)
    indexes = QdrantIndexes(f"http://127.0.0.1:{http}", grpc_port=grpc)

    async def scene() -> None:
        with pytest.raises(IndexUnavailableError):
            await indexes.open(SPACE)
        with pytest.raises(IndexUnavailableError):
            await indexes.names()

    asyncio.run(scene())


def test_a_killed_server_is_unavailable_and_keeps_what_was_written(tmp_path: Path) -> None:
    async def write(server: servers.QdrantServer) -> None:
        index = await at(server).open(SPACE)
        await index.upsert([point("d", n) for n in range(20)])
        await index.flush()
        os.kill(server.pid, signal.SIGKILL)
        for call in (index.census(), index.search(vector(1), ME, 9), index.upsert([point("e")])):
            with pytest.raises(IndexUnavailableError):
                await call
        await index.close()

    async def read(server: servers.QdrantServer) -> None:
        index = await at(server).open(SPACE)
        assert await index.census() == {("d", 1): 20}
        assert len(await index.search(SEVEN, ME, 99)) == 20
        await index.close()

    with servers.qdrant(tmp_path) as server:
        asyncio.run(write(server))
    with servers.qdrant(tmp_path) as server:
        asyncio.run(read(server))


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_a_wrong_key_is_refused_and_the_right_one_is_not(tmp_path: Path) -> None:
    async def scene(server: servers.QdrantServer) -> None:
        for key in (None, "wrong"):
            for indexes in (at(server, key), by_rest(server, key)):
                with pytest.raises(ProviderRefusedError, match="Check its API key"):
                    await indexes.open(SPACE)
        index = await at(server, "secret").open(SPACE)
        assert await index.census() == {}
        await index.close()

    with servers.qdrant(tmp_path, api_key="secret") as server:
        asyncio.run(scene(server))


def test_several_processes_may_make_the_same_space_at_once(server: servers.QdrantServer) -> None:
    async def scene() -> None:
        opened = await asyncio.gather(*(at(server).open(SPACE) for _ in range(6)))
        await opened[0].upsert([point("d")])
        assert await opened[-1].census() == {("d", 1): 1}
        for index in opened:
            await index.close()

    asyncio.run(scene())


def test_a_collection_that_another_process_is_making_is_waited_for(
    server: servers.QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [b'{"status":{"error":"Service internal error: 0 of 0 read operations failed"}}'] * 2
    real = AsyncQdrantClient.get_collection

    async def early(*given: Any, **options: Any) -> object:  # noqa: ANN401 - their own
        if told:
            raise UnexpectedResponse(500, "Internal Server Error", told.pop(), Headers())
        return await real(*given, **options)

    monkeypatch.setattr(AsyncQdrantClient, "get_collection", early)

    async def scene() -> None:
        index = await at(server).open(SPACE)
        await index.upsert([point("d")])
        assert await index.census() == {("d", 1): 1}
        await index.close()

    asyncio.run(scene())
    assert not told


def test_a_space_without_vectors_holds_terms(server: servers.QdrantServer) -> None:
    async def scene() -> None:
        index: QdrantIndex = await at(server).open(Space("words", 0))
        await index.upsert([point("d", 0), point("d", 1, terms=Terms((), ()))])
        assert len(await index.search(SEVEN, ME, 9)) == 1
        assert await index.census() == {("d", 1): 2}
        assert {row.size for row in (await index.fetch([point("d").key])).values()} == {0}
        await index.close()
        index = await at(server).open(Space("words", 0))
        await index.close()

    asyncio.run(scene())


def test_what_the_server_cannot_use_is_the_callers_mistake(server: servers.QdrantServer) -> None:
    async def scene() -> None:
        for indexes in (at(server), by_rest(server)):
            index = await indexes.open(SPACE)
            with pytest.raises(InvalidInputError, match="the Qdrant server cannot use this"):
                await index.upsert([point("d", terms=Terms((3, 3), (1.0, 1.0)))])
            await index.close()

    asyncio.run(scene())


def test_where_grpc_does_not_get_through_rest_does_the_same(server: servers.QdrantServer) -> None:
    async def scene() -> None:
        indexes = by_rest(server)
        index = await indexes.open(SPACE)
        await index.upsert([point("d", n, generation=2) for n in range(5)])
        assert len(await index.search(SEVEN, ME, 9)) == 5
        assert [hit.key.chunk_index for hit in await index.search(vector(1, 3), ME, 1)] == [3]
        assert len(await index.fetch([point("d", 1, generation=2).key])) == 1
        assert await index.census() == {("d", 2): 5}
        await index.delete("d", [2])
        assert await index.census() == {}
        await index.close()
        assert await indexes.names() == [SPACE.name]
        await indexes.drop(SPACE.name)
        assert await indexes.names() == []

    asyncio.run(scene())


def test_a_field_that_is_about_to_be_indexed_is_waited_for(server: servers.QdrantServer) -> None:
    async def scene() -> None:
        index = await at(server).open(SPACE)
        assert isinstance(index, QdrantIndex)
        await index.upsert([point("d", n) for n in range(3)])
        name, field = index._collection, "generation"
        await index._nodes.ask(lambda client: client.delete_payload_index(name, field))
        counting = asyncio.create_task(index.census())
        await asyncio.sleep(0.3)
        assert not counting.done()
        kind = models.PayloadSchemaType.INTEGER
        await index._nodes.ask(lambda client: client.create_payload_index(name, field, kind))
        assert await counting == {("d", 1): 3}
        await index.close()

    asyncio.run(scene())
