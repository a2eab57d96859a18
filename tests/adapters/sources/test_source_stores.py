"""Other people's collections as they are: odd, old, double, refused, or not there."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

import servers
from adapters.sources import stores
from adapters.sources.stores import Payload
from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.adapters.sources.chroma import ChromaSource, open_chroma
from unchunk.adapters.sources.fields import LLAMA_INDEX, Fields
from unchunk.adapters.sources.qdrant import QdrantSource, open_qdrant
from unchunk.errors import (
    IndexUnavailableError,
    InvalidInputError,
    InvalidSettingError,
    NotFoundError,
    ProviderRefusedError,
)
from unchunk.ports import Among, Embedder, ForeignChunks

_NUMBERS = count()
WORDS = ("the tide comes in", "the lamp is lit", "a rope and a sail")


def payloads(**more: object) -> list[Payload]:
    return [
        {"parent_id": "d", "chunk_index": at, "content": text, **more}
        for at, text in enumerate(WORDS)
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.QdrantServer]:
    with servers.qdrant(tmp_path_factory.mktemp("qdrant")) as started:
        yield started


@pytest.fixture
def name() -> str:
    return f"odd{next(_NUMBERS)}"


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await scene()

    asyncio.run(run())


def in_chroma(folder: Path, name: str, rows: list[Payload], space: str = "l2") -> None:
    with stores.chroma_client(folder) as client:
        stores.fill_chroma(client, name, rows, space=space)


def test_an_embedder_of_another_size_is_refused(
    server: servers.QdrantServer, name: str, tmp_path: Path
) -> None:
    stores.fill_qdrant(server.url, name, payloads())
    in_chroma(tmp_path, name, payloads())
    small = HashingEmbedder(64)

    async def scene() -> None:
        for call in (open_qdrant(server.url, name, small), open_chroma(tmp_path, name, small)):
            with pytest.raises(
                InvalidInputError, match=r"have 256 dimensions.*'hashing-1' have 64"
            ):
                await call

    play(scene)


def test_without_an_embedder_it_is_said_what_to_do(
    server: servers.QdrantServer, name: str, tmp_path: Path
) -> None:
    stores.fill_qdrant(server.url, name, payloads())
    in_chroma(tmp_path, name, payloads())

    async def scene() -> None:
        for call in (open_qdrant(server.url, name, None), open_chroma(tmp_path, name, None)):
            with pytest.raises(InvalidInputError, match=f"{name}.*give the embedder that made"):
                await call

    play(scene)


def test_vectors_of_another_embedder_of_the_same_size_are_noticed(
    server: servers.QdrantServer, name: str, tmp_path: Path
) -> None:
    rows = np.random.default_rng(7).normal(size=(3, stores.DIMENSIONS)).astype(np.float32)
    stores.fill_qdrant(server.url, name, payloads(), rows=rows)
    with stores.chroma_client(tmp_path) as client:
        stores.fill_chroma(client, name, payloads(), rows=rows)

    async def scene() -> None:
        theirs = stores.embedder()
        for source in (
            await open_qdrant(server.url, name, theirs),
            await open_chroma(tmp_path, name, theirs),
        ):
            found = await source.search(WORDS[0], Among(), 3)
            assert len(found.chunks) == 3
            assert "do not look like those of embedder 'hashing-1'" in found.notes[0]
            await source.close()

    play(scene)


def test_a_collection_that_is_not_there_is_named(
    server: servers.QdrantServer, tmp_path: Path
) -> None:
    in_chroma(tmp_path, "other", payloads())

    async def scene() -> None:
        theirs = stores.embedder()
        for call in (
            open_qdrant(server.url, "absent", theirs),
            open_qdrant(server.url, "absent", theirs, grpc_port=server.grpc_port),
            open_chroma(tmp_path, "absent", theirs),
        ):
            with pytest.raises(NotFoundError, match="collection 'absent' does not exist"):
                await call
        with pytest.raises(NotFoundError, match=r"it has no chroma\.sqlite3"):
            await open_chroma(tmp_path / "nowhere", "absent", theirs)
        assert not (tmp_path / "nowhere").exists()

    play(scene)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    http, grpc = servers.free_ports(2)
    url = f"http://127.0.0.1:{http}"

    async def scene() -> None:
        theirs = stores.embedder()
        for call in (
            open_qdrant(url, "c", theirs),
            open_qdrant(url, "c", theirs, grpc_port=grpc),
            open_chroma(url, "c", theirs),
        ):
            with pytest.raises(IndexUnavailableError):
                await call

    play(scene)


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_a_wrong_key_is_refused(tmp_path: Path) -> None:
    async def scene(server: servers.QdrantServer) -> None:
        for port in (None, server.grpc_port):
            with pytest.raises(ProviderRefusedError, match="Check its API key"):
                await open_qdrant(
                    server.url, "c", stores.embedder(), api_key="wrong", grpc_port=port
                )

    with servers.qdrant(tmp_path / "qdrant", "right") as server:
        asyncio.run(scene(server))


def test_what_is_no_address_is_refused() -> None:
    async def scene() -> None:
        for url in ("ftp://x", "http://[::1"):
            with pytest.raises(InvalidSettingError, match="is not the URL of a Qdrant server"):
                await open_qdrant(url, "c", stores.embedder())
        with pytest.raises(InvalidInputError):
            await open_chroma("http://[::1", "c", stores.embedder())

    play(scene)


def test_an_empty_collection_finds_nothing(
    server: servers.QdrantServer, name: str, tmp_path: Path
) -> None:
    stores.fill_qdrant(server.url, name, [], rows=np.empty((0, stores.DIMENSIONS), np.float32))
    in_chroma(tmp_path, name, [])

    async def scene() -> None:
        theirs = stores.embedder()
        for source in (
            await open_qdrant(server.url, name, theirs),
            await open_chroma(tmp_path, name, theirs),
        ):
            assert await source.search("x", Among(), 3) == ForeignChunks()
            assert await source.fetch({"d": [0]}, Among()) == ForeignChunks()
            await source.close()

    play(scene)


@pytest.mark.parametrize("distance", list(models.Distance))
def test_scores_are_cosines_whatever_qdrant_measures_by(
    server: servers.QdrantServer, name: str, distance: models.Distance
) -> None:
    rows = stores.vectors(WORDS) * np.asarray([[3.0], [0.5], [1.0]], np.float32)
    stores.fill_qdrant(server.url, name, payloads(), rows=rows, distance=distance)
    expected = sorted(stores.vectors(WORDS) @ stores.vectors([WORDS[0]])[0], reverse=True)

    async def scene() -> None:
        source = await open_qdrant(server.url, name, stores.embedder())
        found = await source.search(WORDS[0], Among(), 3)
        assert found.chunks[0].text == WORDS[0]
        assert [one.score for one in found.chunks] == pytest.approx(expected, abs=1e-5)
        await source.close()

    play(scene)


@pytest.mark.parametrize("space", ["l2", "ip", "cosine"])
def test_scores_are_cosines_whatever_chroma_measures_by(
    tmp_path: Path, name: str, space: str
) -> None:
    in_chroma(tmp_path, name, payloads(), space)
    expected = sorted(stores.vectors(WORDS) @ stores.vectors([WORDS[0]])[0], reverse=True)

    async def scene() -> None:
        source = await open_chroma(tmp_path, name, stores.embedder())
        found = await source.search(WORDS[0], Among(), 3)
        assert [one.score for one in found.chunks] == pytest.approx(expected, abs=1e-5)
        await source.close()

    play(scene)


def test_a_named_vector_is_found_or_chosen(server: servers.QdrantServer, name: str) -> None:
    stores.fill_qdrant(server.url, name, payloads(), vector="text", distance=models.Distance.DOT)
    client = QdrantClient(url=server.url, check_compatibility=False)
    size = models.VectorParams(size=8, distance=models.Distance.DOT)
    tokens = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
    late = size.model_copy(update={"multivector_config": tokens})
    client.create_collection(f"{name}-several", vectors_config={"a": size, "b": size, "c": late})
    client.create_collection(f"{name}-late", vectors_config=late)
    client.create_collection(f"{name}-none", vectors_config={})
    client.close()
    theirs = stores.embedder()

    async def scene() -> None:
        for vector in (None, "text"):
            source = await open_qdrant(server.url, name, theirs, vector=vector)
            assert (await source.search(WORDS[1], Among(), 1)).chunks[0].text == WORDS[1]
            await source.close()
        for wish, vector, said in (
            ("", "image", "has no dense vector 'image': name one of 'text'"),
            ("-several", None, "has several dense vectors: name one of 'a', 'b'"),
            ("-several", "c", "has no dense vector 'c'"),
            ("-late", None, "has no dense vectors"),
            ("-none", None, "has no dense vectors"),
        ):
            with pytest.raises(InvalidInputError, match=said):
                await open_qdrant(server.url, name + wish, theirs, vector=vector)
        with pytest.raises(InvalidInputError, match="8 dimensions"):
            await open_qdrant(server.url, f"{name}-several", theirs, vector="a")

    play(scene)


def test_documents_may_be_named_by_either_field_or_by_numbers(
    server: servers.QdrantServer, name: str, tmp_path: Path
) -> None:
    rows: list[Payload] = [
        {"mongo_id": "m", "chunk_index": 0, "content": "the tide"},
        {"mongo_id": "m", "parent_id": "p", "chunk_index": 0, "content": "the tide"},
        {"parent_id": 17, "chunk_index": 2.0, "content": "the tide"},
    ]
    stores.fill_qdrant(server.url, name, rows)
    in_chroma(tmp_path, name, rows)

    async def check(source: QdrantSource | ChromaSource) -> None:
        for document, at in (("m", 0), ("p", 0), ("17", 2)):
            for found in (
                await source.search("the tide", Among((document,)), 9),
                await source.fetch({document: [0, 1, 2]}, Among()),
            ):
                assert [(one.document, one.chunk_index) for one in found.chunks] == [(document, at)]
        await source.close()

    async def scene() -> None:
        await check(await open_qdrant(server.url, name, stores.embedder()))
        await check(await open_chroma(tmp_path, name, stores.embedder()))

    play(scene)


def test_chunks_that_are_there_twice_are_read_page_by_page(
    server: servers.QdrantServer, name: str
) -> None:
    stores.fill_qdrant(server.url, name, payloads() * 4)

    async def scene() -> None:
        with stores.counted(server.url) as (url, calls):
            source = await open_qdrant(url, name, stores.embedder())
            calls.clear()
            found = await source.fetch({"d": [0, 1, 2]}, Among())
            assert sorted(one.text for one in found.chunks) == sorted(WORDS)
            assert len(found.notes) == 1
            assert calls == {"scroll": 4}
            await source.close()

    play(scene)


def test_some_odd_chunks_spoil_no_search(server: servers.QdrantServer, name: str) -> None:
    odd: Payload = {"parent_id": "d", "chunk_index": "x", "content": "the tide"}
    stores.fill_qdrant(server.url, name, [*payloads(), odd, {"unrelated": 1}])

    async def scene() -> None:
        source = await open_qdrant(server.url, name, stores.embedder())
        found = await source.search("the tide", Among(), 9)
        assert len(found.chunks) == 3
        assert len(found.notes) == 2
        await source.close()
        other = await open_qdrant(server.url, name, stores.embedder(), LLAMA_INDEX)
        with pytest.raises(InvalidInputError, match=f"{name}.*'ref_doc_id'.*'chunk_index'"):
            await other.search("the tide", Among(), 9)
        await other.close()

    play(scene)


def test_what_no_field_has_cannot_be_searched_by(
    server: servers.QdrantServer, name: str, tmp_path: Path
) -> None:
    stores.fill_qdrant(server.url, name, payloads())
    in_chroma(tmp_path, name, payloads())
    bare = Fields(title=(), chunk_index=())

    async def scene() -> None:
        for source in (
            await open_qdrant(server.url, name, stores.embedder(), bare),
            await open_chroma(tmp_path, name, stores.embedder(), bare),
        ):
            with pytest.raises(InvalidInputError, match="cannot be searched by titles"):
                await source.search("x", Among(titles=("T",)), 3)
            assert await source.fetch({"d": [0]}, Among()) == ForeignChunks()
            found = await source.search(WORDS[0], Among(), 1)
            assert found.chunks[0].chunk_index is None
            assert found.chunks[0].id
            await source.close()

    play(scene)


def test_a_filter_that_a_store_cannot_use_is_the_callers_mistake(tmp_path: Path, name: str) -> None:
    in_chroma(tmp_path, name, payloads())

    async def scene() -> None:
        source = await open_chroma(tmp_path, name, stores.embedder())
        with pytest.raises(InvalidInputError, match="cannot be asked this"):
            await source.search("x", Among(fields=(("$or", "x"),)), 3)
        await source.close()

    play(scene)


def test_a_store_that_goes_away_is_unavailable(tmp_path: Path) -> None:
    theirs: Embedder = stores.embedder()

    async def scene() -> None:
        with servers.qdrant(tmp_path / "qdrant") as server:
            await asyncio.to_thread(stores.fill_qdrant, server.url, "c", payloads())
            by_rest = await open_qdrant(server.url, "c", theirs)
            by_grpc = await open_qdrant(server.url, "c", theirs, grpc_port=server.grpc_port)
        for source in (by_rest, by_grpc):
            with pytest.raises(IndexUnavailableError, match="'c' cannot be reached"):
                await source.search("x", Among(), 3)
            with pytest.raises(IndexUnavailableError):
                await source.fetch({"d": [0]}, Among())
            await source.close()

    play(scene)
