"""Chunkenizer's routes over a real library, as its clients use them, and as ours do."""

import asyncio
import hashlib
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import unchunk
from server.houses import house
from server.scripted import Scripted, Served, eventually, serving
from servers import free_ports
from unchunk.adapters.sources.chunkenizer import ChunkenizerSource
from unchunk.engine import Engine
from unchunk.ports import Among
from unchunk.server.options import Options
from unchunk.settings import load
from unchunk.text.tokens import get_encoding
from unchunk.wiring import open_engine

TIDES = "The tide comes in twice a day.\n\n" + "Salt water rises over the flat sand. " * 40
WHALES = "The white whale swam before him.\n\n" + "Sailors speak of it at night. " * 40
Reply = dict[str, Any]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    uploads = tmp_path / "uploads"
    options = Options(max_upload=100_000, upload_folder=uploads, embedder="hashing")
    with house(tmp_path, options=options) as it:
        yield it.served


@pytest.fixture
def client(served: Served) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=served.url, timeout=30) as it:
        yield it


def send(
    client: httpx2.Client, name: str, content: str | bytes, at: str = "", **fields: str
) -> httpx2.Response:
    data = content if isinstance(content, bytes) else content.encode()
    return client.post(f"{at}/documents", files={"file": (name, data)}, data=fields)


def add(client: httpx2.Client, name: str, content: str, **fields: str) -> Reply:
    reply = send(client, name, content, **fields)
    assert reply.status_code == 200, reply.text
    body = reply.json()
    assert isinstance(body, dict)
    return body


@asynccontextmanager
async def source_at(url: str) -> AsyncIterator[ChunkenizerSource]:
    source = ChunkenizerSource(url)
    try:
        yield source
    finally:
        await source.close()


@pytest.mark.parametrize("at", ["", "/api"])
def test_a_document_comes_in_is_found_listed_and_deleted(client: httpx2.Client, at: str) -> None:
    reply = send(client, "tides.txt", TIDES, at, metadata_json='{"team": "blue"}')
    assert reply.status_code == 200
    added = reply.json()
    assert added["message"] == "Document ingested successfully"
    assert added["sha256"] == hashlib.sha256(TIDES.encode()).hexdigest()
    assert added["chunk_count"] > 1
    assert added["total_tokens"] == get_encoding("cl100k_base").count(TIDES)

    found = client.post(f"{at}/search", json={"query": "tide twice a day", "top_k": 2}).json()
    assert set(found) >= {"query", "results", "total_results"}
    assert (found["query"], found["total_results"]) == ("tide twice a day", 2)
    best = found["results"][0]
    known = {"score", "document_id", "document_name", "chunk_index", "chunk_text"}
    assert set(best) >= known | {"token_count", "metadata"}
    assert best["document_id"] == added["document_id"]
    assert (best["document_name"], best["chunk_index"]) == ("tides.txt", 0)
    assert best["chunk_text"] == TIDES[best["start"] : best["end"]]
    assert best["token_count"] == get_encoding("cl100k_base").count(best["chunk_text"])
    assert best["metadata"] == {"team": "blue"}

    listed = client.get(f"{at}/documents").json()
    assert listed["total"] == 1
    [row] = listed["documents"]
    assert row == client.get(f"{at}/documents/{added['document_id']}").json()
    assert (row["id"], row["name"], row["status"]) == (
        added["document_id"],
        "tides.txt",
        "ingested",
    )
    assert row["content_type"].startswith("text/")
    assert json.loads(row["metadata_json"]) == {"team": "blue"}
    for name in ("sha256", "chunk_count", "total_tokens"):
        assert row[name] == added[name]
    assert row["created_at"] <= row["updated_at"]

    gone = client.delete(f"{at}/documents/{added['document_id']}").json()
    assert gone["message"] == "Document deleted successfully"
    assert gone["document_id"] == added["document_id"]
    assert gone["receipt"]["clean"] is True
    assert client.get(f"{at}/documents").json() == {"documents": [], "total": 0}
    again = client.get(f"{at}/documents/{added['document_id']}")
    assert (again.status_code, type(again.json()["detail"])) == (404, str)
    assert client.delete(f"{at}/documents/{added['document_id']}").status_code == 404


@pytest.mark.parametrize("at", ["", "/api"])
def test_health_has_what_chunkenizers_has(client: httpx2.Client, at: str) -> None:
    body = client.get(f"{at}/health").json()
    assert body == {
        "status": "ok",
        "sqlite": "ok",
        "qdrant": "ok",
        "embedding_model": "hashing",
        "live": True,
        "ready": True,
        "reasons": [],
    }


def test_the_same_bytes_again_say_so(client: httpx2.Client) -> None:
    first = add(client, "tides.txt", TIDES, metadata_json='{"team": "blue"}')
    again = add(client, "tides.txt", TIDES)
    assert again["message"] == "Document already exists"
    same = ("document_id", "chunk_count", "total_tokens", "sha256")
    assert [again[name] for name in same] == [first[name] for name in same]
    # What nothing was said of stays.
    assert again["document"]["attributes"] == {"team": "blue"}
    forced = add(client, "tides.txt", TIDES, force_reindex="true", metadata_json='{"team": "red"}')
    assert forced["message"] == "Document reindexed successfully"
    assert forced["document_id"] == first["document_id"]
    assert forced["document"]["attributes"] == {"team": "red"}
    linked = add(client, "copy.txt", TIDES)
    assert linked["message"].startswith("Document already exists as tides.txt")
    assert client.get("/documents").json()["total"] == 2
    replaced = add(client, "tides.txt", WHALES)
    assert replaced["message"] == "Document ingested successfully"
    assert replaced["document_id"] == first["document_id"]
    # The newest first.
    assert [one["name"] for one in client.get("/documents").json()["documents"]] == [
        "copy.txt",
        "tides.txt",
    ]


def test_filters_are_exact_matches(client: httpx2.Client) -> None:
    tides = add(client, "tides.txt", TIDES, metadata_json='{"team": "blue", "year": 1}')
    whales = add(client, "whales.md", WHALES, metadata_json='{"team": "red", "year": true}')

    def names(**filters: object) -> set[str]:
        reply = client.post("/search", json={"query": "the water", "top_k": 50, "filters": filters})
        assert reply.status_code == 200, reply.text
        return {one["document_name"] for one in reply.json()["results"]}

    assert names() == {"tides.txt", "whales.md"}
    assert names(team="blue") == names(year=1) == {"tides.txt"}
    assert names(team="red") == names(year=True) == {"whales.md"}
    assert names(team="blu") == names(team="blue", year=True) == names(none="x") == set()
    assert names(doc_id=tides["document_id"]) == {"tides.txt"}
    assert names(document_id=whales["document_id"], team="red") == {"whales.md"}
    assert names(doc_id=tides["document_id"], document_id=whales["document_id"]) == set()
    assert names(document_name="whales.md") == names(name="whales.md") == {"whales.md"}
    assert names(content_type="text/markdown") == {"whales.md"}
    assert names(doc_id=5) == set()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": 5},
        {"query": "q", "top_k": 0},
        {"query": "q", "top_k": 10_000},
        {"query": "q", "filters": []},
        {"query": "q", "filters": {"a": ["b"]}},
        {"query": "q", "filters": {"a": None}},
    ],
)
def test_a_search_that_cannot_be_says_so(client: httpx2.Client, body: Reply) -> None:
    reply = client.post("/search", json=body)
    assert reply.status_code in (400, 422)
    assert reply.json()["detail"]


def test_a_search_in_nothing_finds_nothing(client: httpx2.Client) -> None:
    found = client.post("/search", json={"query": "q", "filters": None}).json()
    assert (found["results"], found["total_results"]) == ([], 0)


@pytest.mark.parametrize(
    ("name", "content", "fields", "status", "said"),
    [
        ("a.txt", b"", {}, 422, "a.txt"),
        ("a.bin", bytes(range(256)) * 9, {}, 415, "a.bin"),
        ("a.pdf", b"%PDF-1.7 broken", {}, 422, "a.pdf"),
        ("../a.txt", b"text", {}, 400, "leads out of its folder"),
        ("a.txt", b"text", {"metadata_json": "{"}, 400, "metadata_json"),
        ("a.txt", b"text", {"metadata_json": "[1]"}, 400, "metadata_json"),
        ("a.txt", b"text", {"metadata_json": '{"a": NaN}'}, 400, "metadata_json"),
        ("a.txt", b"text", {"force_reindex": "maybe"}, 400, "force_reindex"),
        ("a.txt", b"text", {"metadata_json": "x" * 600_000}, 400, "metadata_json"),
    ],
)
def test_a_file_that_cannot_be_taken_says_why(  # noqa: PLR0917 - named by the table
    client: httpx2.Client, name: str, content: bytes, fields: dict[str, str], status: int, said: str
) -> None:
    reply = send(client, name, content, **fields)
    assert reply.status_code == status, reply.text
    assert said in reply.json()["detail"]
    assert reply.json()["error"]["request_id"] == reply.headers["x-request-id"]


def test_a_file_that_failed_is_listed_with_its_reason(client: httpx2.Client) -> None:
    assert send(client, "empty.txt", b"").status_code == 422
    [row] = client.get("/documents").json()["documents"]
    assert (row["status"], row["state"], row["error_code"]) == ("error", "failed", "empty")
    assert row["chunk_count"] == row["total_tokens"] == 0


def test_a_file_that_is_too_large_is_refused_while_it_comes(client: httpx2.Client) -> None:
    reply = send(client, "big.txt", b"x" * 150_000)
    assert (reply.status_code, reply.json()["error"]["type"]) == (413, "too-big")

    def endless() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for _ in range(400):
            yield b"x" * 10_000

    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    try:
        reply = client.post("/documents", content=endless(), headers=headers)
    except httpx2.WriteError:
        pass  # It hung up before all was sent, which is as good.
    else:
        assert reply.status_code == 413
    assert client.get("/documents").json()["total"] == 0


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"", "multipart/form-data; boundary=b", 400),
        (b"nonsense", "multipart/form-data; boundary=b", 400),
        (b"--b--\r\n", "multipart/form-data; boundary=b", 400),
        (b"{}", "application/json", 415),
        (b"x", "multipart/form-data", 415),
        (b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\nv\r\n--b--\r\n', "B", 400),
        (b'--b\r\nContent-Disposition: form-data; name="x"; filename="f"\r\n\r\nv', "B", 400),
        (b"--b\r\nX-Long: " + b"x" * 9_000 + b"\r\n\r\nv\r\n--b--\r\n", "B", 400),
        (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nv\r\n' * 2
            + b"--b--\r\n",
            "B",
            400,
        ),
        (
            b"".join(
                b'--b\r\nContent-Disposition: form-data; name="%d"\r\n\r\nv\r\n' % at
                for at in range(30)
            )
            + b"--b--\r\n",
            "B",
            400,
        ),
    ],
)
def test_a_form_that_is_none_is_refused(
    client: httpx2.Client, content: bytes, kind: str, status: int
) -> None:
    kind = "multipart/form-data; boundary=b" if kind == "B" else kind
    reply = client.post("/documents", content=content, headers={"Content-Type": kind})
    assert reply.status_code == status, reply.text
    assert isinstance(reply.json()["detail"], str)


def test_a_document_is_got_and_deleted_by_its_id_alone(client: httpx2.Client) -> None:
    """By a name or the beginning of an id something else might be deleted tomorrow."""
    added = add(client, "tides.txt", TIDES)
    for other in ("tides.txt", added["document_id"][:8]):
        assert client.get(f"/documents/{other}").status_code == 404
        assert client.delete(f"/documents/{other}").status_code == 404


def test_odd_names_come_in_as_they_are(client: httpx2.Client) -> None:
    name = "Ünï <b>'x'</b> 😀.txt"
    added = add(client, name, TIDES)
    assert added["document"]["name"] == name
    latin = b'--b\r\nContent-Disposition: form-data; name="file"; filename="\xe9.txt"\r\n\r\nhi there\r\n'
    reply = client.post(
        "/documents",
        content=latin + b"--b--\r\n",
        headers={"Content-Type": "multipart/form-data; boundary=b"},
    )
    assert reply.json()["document"]["name"] == "é.txt"


def test_our_own_client_of_chunkenizer_works_against_it(
    served: Served, client: httpx2.Client
) -> None:
    tides = add(client, "tides.txt", TIDES, metadata_json='{"team": "blue"}')
    add(client, "whales.md", WHALES)

    async def scene(source: ChunkenizerSource) -> None:
        found = await source.search("tide twice a day", Among(), 3)
        assert not found.notes
        assert found.chunks[0].document == tides["document_id"]
        assert found.chunks[0].text == TIDES[: len(found.chunks[0].text)]
        only = await source.search("the", Among(fields=(("team", "blue"),)), 9)
        assert {one.document for one in only.chunks} == {tides["document_id"]}
        by_id = await source.search("the", Among(documents=(tides["document_id"],)), 9)
        assert {one.document for one in by_id.chunks} == {tides["document_id"]}
        titles = {one.title for one in await source.documents(Among())}
        assert titles == {"tides.txt", "whales.md"}

    async def play() -> None:
        async with source_at(served.url) as source:
            await scene(source)

    asyncio.run(play())


def test_what_is_found_has_falling_scores_in_the_order_of_our_search(client: httpx2.Client) -> None:
    for at in range(8):
        add(client, f"{at}.txt", f"{WHALES[at * 30 : at * 90 + 200]} The tide {at}. {TIDES[:99]}")
    found = client.post("/search", json={"query": "tide twice 3", "top_k": 8}).json()["results"]
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    assert all(one["score"] >= one["similarity"] for one in found)
    assert len({one["similarity"] for one in found}) > 2


def test_a_collection_can_be_opened_on_it(served: Served, client: httpx2.Client) -> None:
    add(client, "tides.txt", TIDES)

    async def scene() -> str:
        async with unchunk.open_collection(f"chunkenizer:{served.url}/api") as collection:
            [document] = await collection.search_with_context("tide twice a day", limit=1)
            return document.passages[0].text

    assert "The tide comes in twice a day." in asyncio.run(scene())


def test_a_file_whose_embedder_is_away_is_kept_and_waits(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    away: dict[str, str | float] = {
        "embedder": "openai:some",
        "embedder_url": f"http://127.0.0.1:{port}/v1",
        "embedder_dimensions": 8,
        "embedder_max_tokens": 512,
        "embedder_patience": 0.1,
    }

    async def opening() -> Engine:
        return await open_engine(load(tmp_path / "home", {}, **away))

    with serving(opening) as served, httpx2.Client(base_url=served.url, timeout=60) as client:
        reply = send(client, "tides.txt", TIDES)
        assert reply.status_code == 202, reply.text
        body = reply.json()
        assert (body["result"], body["chunk_count"]) == ("waiting", 0)
        assert body["sha256"] == hashlib.sha256(TIDES.encode()).hexdigest()
        [row] = client.get("/documents").json()["documents"]
        assert (row["status"], row["state"]) == ("processing", "pending")


def test_an_upload_that_breaks_off_leaves_nothing(served: Served, client: httpx2.Client) -> None:
    before = served.tasks()
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as line:
        line.sendall(
            f"POST /documents HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 90000\r\n"
            "Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n"
            'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nsome'.encode()
        )
        folder = served.app.state.house.options.upload_folder
        eventually(lambda: bool(list(folder.iterdir())))
    eventually(lambda: not list(folder.iterdir()))
    eventually(lambda: served.tasks() <= before)
    assert client.get("/documents").json()["total"] == 0


def test_an_upload_that_cannot_be_kept_says_so(tmp_path: Path) -> None:
    options = Options(upload_folder=tmp_path / "none")
    with (
        serving(Scripted().engine, options) as served,
        httpx2.Client(base_url=served.url) as client,
    ):
        reply = send(client, "tides.txt", TIDES)
        assert (reply.status_code, reply.json()["error"]["type"]) == (507, "not-written")
