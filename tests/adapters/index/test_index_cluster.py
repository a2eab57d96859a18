"""The index in a Qdrant cluster of three nodes: the contract, and nodes that are lost."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from itertools import count
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient

import clusters
import servers
from server.scripted import eventually
from unchunk.adapters.index import qdrant, qdrant_asking
from unchunk.adapters.index.qdrant import QdrantIndex, QdrantIndexes
from unchunk.adapters.index.qdrant_collections import Making, made_as
from unchunk.adapters.index.qdrant_nodes import Address, addresses
from unchunk.domain import Scored, Within
from unchunk.errors import IndexUnavailableError, InvalidSettingError
from unchunk.ports import Index, Indexes
from unchunk.testing.indexes import (
    CORPUS,
    ME,
    QUERIES,
    SEVEN,
    SPACE,
    IndexContract,
    asked,
    bm25,
    chunks,
    point,
    vector,
    weighed,
)

_NUMBERS = count()
# Fewer shards than by default: tests make many collections.
_FEW = Making(shards=3)

Census = dict[tuple[str, int], int]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clusters.Cluster]:
    with clusters.quick_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def fresh() -> str:
    return f"test{next(_NUMBERS)}_"


def at(cluster: clusters.Cluster, prefix: str, making: Making = _FEW) -> QdrantIndexes:
    _, _, urls = cluster.spec.partition(":")
    return QdrantIndexes(urls, prefix=prefix, timeout=10, making=making)


def alone(node: clusters.Node, prefix: str) -> QdrantIndexes:
    return QdrantIndexes(node.spec, prefix=prefix, timeout=20)


def on(indexes: QdrantIndexes, scene: Callable[[QdrantIndex], Coroutine[None, None, None]]) -> None:
    async def play() -> None:
        index = await indexes.open(SPACE)
        try:
            await scene(index)
        finally:
            await index.close()

    asyncio.run(play())


def told(cluster: clusters.Cluster, prefix: str) -> dict[str, Any]:
    """What a node says of a collection, when it has heard all that others decided."""
    node, found = cluster.nodes[0], list[dict[str, Any] | None]()

    def is_known() -> bool:
        found.append(node.asked(f"/collections/{prefix}{SPACE.name}"))
        return bool(found[-1] and len(found[-1]["payload_schema"]) == 4)

    eventually(is_known, patience=60.0)
    assert found[-1] is not None
    return found[-1]


# Lost nodes come first: with many collections a cluster takes longer to get well.


async def _write(index: Index, wanted: Census, numbers: range) -> None:
    """Documents of three chunks each; every second one is deleted again."""
    for number in numbers:
        name = f"document-{number}"
        await index.upsert([point(name, n) for n in range(3)])
        wanted[name, 1] = 3
        if number % 2:
            await index.delete(name)
            del wanted[name, 1]


def test_a_killed_node_costs_nothing_that_was_acknowledged(cluster: clusters.Cluster) -> None:
    prefix, single, wanted = fresh(), fresh(), Census()
    lost = cluster.nodes[1]

    async def scene(index: QdrantIndex) -> None:
        unsafe = await at(cluster, single, Making(shards=3, replicas=1)).open(SPACE)
        await unsafe.upsert([point("d", n) for n in range(30)])
        writing = asyncio.create_task(_write(index, wanted, range(60)))
        while len(wanted) < 10:  # noqa: ASYNC110 - until a few are in, and most are still to come
            await asyncio.sleep(0.01)
        lost.kill()
        try:
            await writing
            assert await index.census() == wanted
            assert len(await index.search(SEVEN, ME, 999)) == 3 * len(wanted)
            # A third of these is gone: an error, and not two thirds of an answer.
            for call in (unsafe.search(SEVEN, ME, 99), unsafe.census()):
                with pytest.raises(IndexUnavailableError):
                    await call
            await unsafe.close()
            assert "replicas are not up to date" in await index.degraded()
        finally:
            lost.start()
        await _write(index, wanted, range(60, 70))
        cluster.wait()
        assert not await index.degraded()

    async def check(index: QdrantIndex) -> None:
        assert await index.census() == wanted
        assert len(await index.search(SEVEN, ME, 999)) == 3 * len(wanted)

    on(at(cluster, prefix), scene)
    for node in cluster.nodes:
        on(alone(node, prefix), check)


def test_a_paused_node_stops_nobody(
    cluster: clusters.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix, wanted = fresh(), Census()
    paused = cluster.nodes[2]
    # So that it is known who asks the one that will be paused.
    monkeypatch.setattr("random.shuffle", lambda nodes: nodes.reverse())

    async def scene(index: QdrantIndex) -> None:
        await _write(index, wanted, range(6))
        paused.pause()
        try:
            assert len(await index.search(SEVEN, ME, 99)) == 9
            assert f"{paused.url} does not answer" in await index.degraded()
            # As many as reach every shard at once: each takes its time to see that a node is lost.
            await index.upsert([point("new", n) for n in range(60)])
            wanted["new", 1] = 60
            await index.delete("document-0")
            del wanted["document-0", 1]
            assert len(await index.search(SEVEN, ME, 99)) == 66
        finally:
            paused.resume()
        cluster.wait()

    async def check(index: QdrantIndex) -> None:
        assert await index.census() == wanted

    on(at(cluster, prefix), scene)
    for node in cluster.nodes:
        on(alone(node, prefix), check)


def test_settings_arrive_in_the_collection_and_are_not_forced_on_one_that_is_there(
    cluster: clusters.Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "unchunk")
    prefix = fresh()
    wanted = Making(shards=4, replicas=3, write_consistency=2, quantization="scalar", on_disk=True)

    async def scene(index: QdrantIndex) -> None:
        await index.upsert([point("d", n) for n in range(30)])
        assert len(await index.search(vector(1), ME, 99)) == 30

    on(at(cluster, prefix, wanted), scene)
    made = told(cluster, prefix)["config"]
    assert made["params"]["shard_number"] == 4
    assert made["params"]["replication_factor"] == 3
    assert made["params"]["write_consistency_factor"] == 2
    assert made["params"]["on_disk_payload"] is True
    assert made["params"]["vectors"]["dense"]["on_disk"] is True
    assert made["quantization_config"]["scalar"]["type"] == "int8"
    assert not caplog.messages
    on(at(cluster, prefix, Making(shards=6, quantization="binary")), scene)
    [first, *_] = caplog.messages
    assert (
        first
        == f"the collection {prefix}{SPACE.name} has qdrant_shards=4, not 6: it stays as it was made"
    )
    assert len(caplog.messages) == 3  # the quantization and the disk are others, too


def test_a_cluster_gets_two_shards_for_a_node_and_two_replicas_of_each(
    cluster: clusters.Cluster,
) -> None:
    prefix = fresh()

    async def scene(index: QdrantIndex) -> None:
        # A node that is busy with other tests may be late.
        async with asyncio.timeout(60):
            while await index.degraded():  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.2)

    on(at(cluster, prefix, Making()), scene)
    made = told(cluster, prefix)
    params = made["config"]["params"]
    assert (params["shard_number"], params["replication_factor"]) == (6, 2)
    assert made["payload_schema"].keys() == {"owner", "document", "folder", "generation"}


def test_several_may_make_a_space_and_its_owners_at_once(cluster: clusters.Cluster) -> None:
    prefix, making = fresh(), Making(tenants="shards")

    async def scene() -> None:
        opened = await asyncio.gather(*(at(cluster, prefix, making).open(SPACE) for _ in range(3)))
        await asyncio.gather(
            *(index.upsert([point(f"d{n}", owner="new")]) for n, index in enumerate(opened))
        )
        for index in opened:
            assert await index.census() == {("d0", 1): 1, ("d1", 1): 1, ("d2", 1): 1}
            await index.close()

    asyncio.run(scene())


def test_each_owner_may_have_a_shard(cluster: clusters.Cluster) -> None:
    prefix = fresh()

    async def scene(index: QdrantIndex) -> None:
        assert await index.search(vector(1), ME, 9) == []
        await index.delete("d")
        mine = [point("d", n) for n in range(5)]
        theirs = [point("e", n, owner="them") for n in range(7)]
        await index.upsert([*mine, *theirs])
        for query in (vector(1), SEVEN):
            assert {one.key for one in await index.search(query, ME, 99)} == {
                one.key for one in mine
            }
            assert await index.search(query, Within("nobody"), 9) == []
        assert len(await index.fetch([mine[0].key, theirs[0].key, point("f", owner="x").key])) == 2
        assert await index.census() == {("d", 1): 5, ("e", 1): 7}
        await index.delete("d")
        assert await index.census() == {("e", 1): 7}

    on(at(cluster, prefix, Making(tenants="shards")), scene)
    shards = cluster.nodes[0].asked(f"/collections/{prefix}{SPACE.name}/cluster")
    both = shards["local_shards"] + shards["remote_shards"]
    assert {one["shard_key"] for one in both} == {"me", "them"}


def test_a_node_that_has_not_heard_of_an_owner_yet_is_not_believed(
    cluster: clusters.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = fresh()
    making = Making(tenants="shards")

    async def scene(index: QdrantIndex) -> None:
        other = await at(cluster, prefix, making).open(SPACE)
        await index.upsert([point("d", n) for n in range(5)])
        behind = await other._nodes._nodes[0].client()
        for name in ("collection_cluster_info", "delete", "facet"):
            late(monkeypatch, behind, name)
        assert len(await other.search(SEVEN, ME, 99)) == 5
        await other.delete("d")
        assert await other.census() == {}
        assert await index.census() == {}
        await other.close()

    on(at(cluster, prefix, making), scene)


def late(patch: pytest.MonkeyPatch, client: AsyncQdrantClient, name: str) -> None:
    """As a node that has not heard of any shard yet."""
    real = getattr(client, name)

    async def asked(*given: Any, **options: Any) -> object:  # noqa: ANN401 - their own
        if name == "collection_cluster_info":
            info = await real(*given, **options)
            return info.model_copy(update={"local_shards": [], "remote_shards": []})
        if options.get("shard_key_selector"):
            # Truly their words.
            options["shard_key_selector"] = ["nobody"]
        return await real(*given, **options)

    patch.setattr(client, name, asked)


def test_several_searches_are_one_request(
    cluster: clusters.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_of: list[int] = []
    real = qdrant_asking.found

    async def noted(*arguments: Any) -> list[list[Scored]]:  # noqa: ANN401 -- passed on
        asked_of.append(len(arguments[2]))
        return await real(*arguments)

    monkeypatch.setattr(qdrant, "found", noted)

    async def scene(index: QdrantIndex) -> None:
        await index.upsert([point("d", n) for n in range(5)])
        dense, lexical = await index.search_many([vector(1, 3), SEVEN], ME, 3)
        assert (dense[0].key.chunk_index, len(dense), len(lexical)) == (3, 3, 3)
        assert asked_of == [2]
        assert await index.search(vector(1, 3), ME, 3) == dense

    on(at(cluster, fresh()), scene)


def test_a_node_that_is_not_there_is_passed_over(cluster: clusters.Cluster) -> None:
    http, grpc = servers.free_ports(2)
    gone = f"http://127.0.0.1:{http}?grpc={grpc}"
    for urls in (f"{gone},{cluster.nodes[0].spec}", f"{cluster.nodes[0].spec}, {gone}"):

        async def scene(index: QdrantIndex) -> None:
            assert await index.census() == {}

        on(QdrantIndexes(urls, prefix=fresh(), timeout=20, making=_FEW), scene)


def test_where_no_node_answers_the_index_is_unavailable() -> None:
    gone = ",".join(f"http://127.0.0.1:{port}?grpc={port}" for port in servers.free_ports(2))

    async def scene() -> None:
        with pytest.raises(IndexUnavailableError, match="the Qdrant server"):
            await QdrantIndexes(gone, timeout=5).names()

    asyncio.run(scene())


def test_words_that_mean_no_way_to_make_a_collection_are_named() -> None:
    assert made_as("binary", "shards") == ("binary", "shards")
    with pytest.raises(InvalidSettingError, match="use none, scalar or binary"):
        made_as("all", "shards")
    with pytest.raises(InvalidSettingError, match="use payload or shards"):
        made_as("none", "folders")


def test_addresses_may_tell_their_port_for_grpc() -> None:
    assert addresses("http://a:6333", 6334) == [Address("http://a:6333", 6334)]
    assert addresses("https://a, http://b:1?grpc=2", 6334) == [
        Address("https://a", 6334),
        Address("http://b:1", 2),
    ]
    for wrong in ("", "a:6333", "http://a,", "http://a?grpc=x"):
        with pytest.raises(InvalidSettingError, match="not the address of a Qdrant server"):
            addresses(wrong, 6334)


class TestCluster(IndexContract):
    @pytest.fixture(autouse=True)
    def _choose(self, cluster: clusters.Cluster) -> None:
        self.cluster = cluster
        self.prefix = fresh()

    def indexes(self) -> Indexes:
        return at(self.cluster, self.prefix)

    def test_terms_rank_by_bm25(self) -> None:
        """Each shard knows only how rare a word is in itself, which tells in so few texts."""

        async def scene(index: Index) -> None:
            texts = enumerate(CORPUS)
            await index.upsert([point("d", n, terms=weighed(text)) for n, text in texts])
            for query in QUERIES:
                assert chunks(await index.search(asked(query), ME, 10)) == bm25(query, CORPUS)

        on(at(self.cluster, self.prefix, Making(shards=1)), scene)
