"""Chunks of others, opened by where they are."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from qdrant_client import QdrantClient, models

import unchunk
from adapters.sources.stores import Payload, chroma_client, fill_chroma, fill_qdrant, vectors
from servers import qdrant
from sheets import prose
from unchunk.cli import main
from unchunk.domain import EmbedderIdentity
from unchunk.errors import (
    IndexUnavailableError,
    InvalidInputError,
    InvalidSettingError,
    NotFoundError,
    UnchunkError,
)
from unchunk.settings import load
from unchunk.wiring.collections import open_collection

TEXT = f"{prose(9000, 1)}The white whale swam before him. {prose(9000, 2)}"
CUT = unchunk.ChunkingStrategy("words", 320, 80)


def payloads(**more: str) -> list[Payload]:
    """As somebody else's indexer wrote them: 320 words with 80 shared."""
    texts = unchunk.chunk_text(TEXT, max_words=320, overlap_words=80)
    return [
        {
            "mongo_id": "m1",
            "parent_id": "m1",
            "chunk_index": at,
            "chunk_count": len(texts),
            "content": text,
            "title": "Moby",
            "content_type": "page",
            **more,
        }
        for at, text in enumerate(texts)
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with qdrant(tmp_path_factory.mktemp("qdrant")) as running:
        url = running.url
        fill_qdrant(url, "pages", payloads())
        yield url


def test_a_collection_is_asked_as_a_library_is_with_await_and_without(
    server: str, tmp_path: Path
) -> None:
    place = f"qdrant:{server}#pages"
    with unchunk.open_collection(place, tmp_path, cut=CUT, embedder="hashing:256") as pages:
        [document] = pages.search_with_context("the white whale", limit=5)
    assert document.title == "Moby"
    assert all(one.text in TEXT for one in document.passages)
    assert any("The white whale swam before him." in one.text for one in document.passages)

    async def again() -> unchunk.Evidence:
        opening = unchunk.open_collection(place, tmp_path, cut=CUT, embedder="hashing:256")
        async with opening as collection:
            return await collection.retrieve("the white whale")

    [same] = asyncio.run(again()).documents
    assert same.passages == document.passages


def test_the_command_asks_a_collection(server: str, tmp_path: Path) -> None:
    with chroma_client(tmp_path / "chroma") as client:
        fill_chroma(client, "pages", payloads())
    for place in (f"qdrant:{server}#pages", f"chroma:{tmp_path / 'chroma'}#pages"):
        chosen = ["--collection", place, "--cut", "320/80 words", "--fields", "pages"]
        done = CliRunner().invoke(
            main,
            ["--home", str(tmp_path / "home"), "search", "the white whale", "--json", *chosen],
            env={"UNCHUNK_EMBEDDER": "hashing:256"},
        )
        assert done.exit_code == 0, done.output
        [document] = json.loads(done.stdout)["documents"]
        assert document["title"] == "Moby"
        assert all(one["text"] in TEXT for one in document["passages"])


def test_a_folder_of_qdrants_own_client_is_a_place(tmp_path: Path) -> None:
    folder = tmp_path / "qdrant"
    client = QdrantClient(path=str(folder))
    rows = vectors([one["content"] for one in payloads()])
    client.create_collection(
        "pages", vectors_config=models.VectorParams(size=256, distance=models.Distance.DOT)
    )
    client.upsert(
        "pages",
        [
            models.PointStruct(id=at, vector=row.tolist(), payload=payload)
            for at, (row, payload) in enumerate(zip(rows, payloads(), strict=True))
        ],
    )
    place, hashing = f"qdrant:{folder}#pages", "hashing:256"
    with (
        pytest.raises(IndexUnavailableError, match="is open elsewhere: close it there"),
        unchunk.open_collection(place, tmp_path, embedder=hashing),
    ):
        pass
    client.close()
    with unchunk.open_collection(place, tmp_path, cut=CUT, embedder=hashing) as pages:
        [document] = pages.search_with_context("the white whale", min_score=0.0)
        assert pages.find_file_by_name("Moby")[0].document == "m1"
    assert document.mongo_id == "m1"
    with (
        pytest.raises(NotFoundError, match="is not a Qdrant folder"),
        unchunk.open_collection(f"qdrant:{tmp_path}#pages", tmp_path, embedder=hashing),
    ):
        pass


def test_fields_of_ones_own_are_named_one_by_one(server: str, tmp_path: Path) -> None:
    renamed = [
        {"file": one["mongo_id"], "number": one["chunk_index"], "body": one["content"]}
        for one in payloads()
    ]
    fill_qdrant(server, "renamed", [{**one, "content": one["body"]} for one in renamed])
    fields = {"document": "file", "chunk_index": "number", "text": "body"}
    place = f"qdrant:{server}#renamed"
    with unchunk.open_collection(
        place, tmp_path, fields=fields, cut=CUT, embedder="hashing:256"
    ) as mine:
        [document] = mine.search_with_context("the white whale")
    assert document.document == "m1"
    assert all(one.text in TEXT for one in document.passages)


@pytest.mark.parametrize(
    ("place", "options", "says"),
    [
        ("qdrant:http://127.0.0.1:1", {}, "write qdrant:URL#NAME"),
        ("pinecone:x#y", {}, "there is no collection 'pinecone:x#y'"),
        ("chroma:x#y", {"fields": "mongo"}, "there are no fields 'mongo': use pages"),
        ("chroma:x#y", {"fields": {"txt": "body"}}, "a chunk has no txt: its parts are"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(
    tmp_path: Path, place: str, options: dict[str, Any], says: str
) -> None:
    with (
        pytest.raises(InvalidSettingError, match=says),
        unchunk.open_collection(place, tmp_path, embedder="hashing:256", **options),
    ):
        pass


class Closable:
    """A model that notes whether it is open."""

    def __init__(self, opened: set[object]) -> None:
        self.identity = EmbedderIdentity("m", 2, 10, min_score=0.2)
        self._opened = opened
        opened.add(self)

    async def close(self) -> None:
        self._opened.remove(self)


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"language": "klingon"}, "chroma:/nowhere#c"),
        ({"embedder_min_score": 2.0}, "chroma:/nowhere#c"),
        ({}, "chroma:/nowhere#c"),
        ({}, "qdrant:/nowhere#c"),
        ({}, "chunkenizer:ftp://nowhere"),
    ],
)
def test_where_opening_fails_the_models_are_closed(
    options: dict[str, Any], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: set[object] = set()

    async def make_embedder(*_: object) -> Closable:
        return Closable(opened)

    monkeypatch.setattr("unchunk.wiring.collections.make_embedder", make_embedder)
    monkeypatch.setattr("unchunk.wiring.manners.make_reranker", lambda _: Closable(opened))
    with pytest.raises(UnchunkError):
        asyncio.run(open_collection(load(tmp_path, {}, **options), place))
    assert not opened


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--cut", "320"], "write it as '320/80 words'"),
        (["--vector", "title"], "are for a --collection"),
        (["--collection", "chroma:x#y", "--field", "body"], "write it as text=body"),
    ],
)
def test_options_that_do_not_go_together_are_told(
    tmp_path: Path, options: list[str], says: str
) -> None:
    done = CliRunner().invoke(
        main,
        ["--home", str(tmp_path), "search", "whale", *options],
        env={"UNCHUNK_EMBEDDER": "hashing:256"},
    )
    assert done.exit_code == 2
    assert says in done.output


def test_one_of_several_vectors_is_chosen_by_its_name(server: str, tmp_path: Path) -> None:
    rows = vectors([one["content"] for one in payloads()])
    parameters = models.VectorParams(size=256, distance=models.Distance.COSINE)
    client = QdrantClient(url=server, check_compatibility=False)
    client.create_collection("several", vectors_config={"text": parameters, "title": parameters})
    points = [
        models.PointStruct(
            id=at, vector={"text": row.tolist(), "title": rows[0].tolist()}, payload=payload
        )
        for at, (row, payload) in enumerate(zip(rows, payloads(), strict=True))
    ]
    client.upsert("several", points, wait=True)
    client.close()
    place = f"qdrant:{server}#several"
    with (
        pytest.raises(InvalidInputError, match="name one of 'text', 'title'"),
        unchunk.open_collection(place, tmp_path, embedder="hashing:256"),
    ):
        pass
    opening = unchunk.open_collection(
        place, tmp_path, vector="text", cut=CUT, embedder="hashing:256"
    )
    with opening as pages:
        [document] = pages.search_with_context("the white whale", limit=5)
    chosen = {"embedder": "hashing:256", "chat_source": place, "collection_vector": "text"}
    with unchunk.open(tmp_path / "home", **chosen) as library:
        [same] = library.search_with_context("the white whale", limit=5)
    assert same.chunks == document.chunks
    arguments = ["--collection", place, "--vector", "text", "--cut", "320/80 words", "--json"]
    done = CliRunner().invoke(
        main,
        ["--home", str(tmp_path / "none"), "search", "the white whale", *arguments],
        env={"UNCHUNK_EMBEDDER": "hashing:256"},
    )
    assert json.loads(done.stdout)["documents"][0]["mongo_id"] == "m1", done.output


def test_a_sparse_vector_is_chosen_by_its_name_too(server: str, tmp_path: Path) -> None:
    place, hashing, refusal = f"qdrant:{server}#pages", "hashing:256", "has no sparse vector 'bm25'"
    wish: dict[str, Any] = {"sparse_vector": "bm25", "embedder": hashing}
    with (
        pytest.raises(InvalidInputError, match=refusal),
        unchunk.open_collection(place, tmp_path, **wish),
    ):
        pass
    with pytest.raises(InvalidInputError, match=refusal):
        unchunk.rag_search("whale", home=tmp_path, collection=place, **wish)
    chosen = {"embedder": hashing, "chat_source": place, "collection_sparse_vector": "bm25"}
    with (
        unchunk.open(tmp_path / "home", **chosen) as library,
        pytest.raises(InvalidInputError, match=refusal),
    ):
        library.search("whale")
    done = CliRunner().invoke(
        main,
        ["search", "whale", "--collection", place, "--sparse-vector", "bm25"],
        env={"UNCHUNK_EMBEDDER": hashing, "UNCHUNK_HOME": str(tmp_path)},
    )
    assert refusal in done.output
