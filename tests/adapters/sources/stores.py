"""Stores as other people fill them, a Chunkenizer that is small, and a door that counts."""

import asyncio
import json
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings
from qdrant_client import QdrantClient, models

from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.ports import Vectors

DIMENSIONS = 256
Payload = dict[str, Any]


def embedder() -> HashingEmbedder:
    return HashingEmbedder(DIMENSIONS)


def vectors(texts: Sequence[str]) -> Vectors:
    return asyncio.run(embedder().embed(texts, "document"))


def text_of(payload: Mapping[str, Any]) -> str:
    return str(payload.get("content") or payload.get("page_content") or "?")


def fill_qdrant(
    url: str,
    collection: str,
    payloads: Sequence[Payload],
    *,
    rows: Vectors | None = None,
    vector: str = "",
    distance: models.Distance = models.Distance.COSINE,
) -> None:
    rows = vectors([text_of(one) for one in payloads]) if rows is None else rows
    client = QdrantClient(url=url, check_compatibility=False, timeout=60)
    try:
        parameters = models.VectorParams(size=rows.shape[1], distance=distance)
        client.create_collection(
            collection, vectors_config={vector: parameters} if vector else parameters
        )
        points = [
            models.PointStruct(
                id=at, vector={vector: row.tolist()} if vector else row.tolist(), payload=payload
            )
            for at, (row, payload) in enumerate(zip(rows, payloads, strict=True))
        ]
        if points:
            client.upsert(collection, points, wait=True)
    finally:
        client.close()


def index_texts(url: str, collection: str) -> None:
    """A full-text index, such as people make to filter by words."""
    client = QdrantClient(url=url, check_compatibility=False, timeout=60)
    try:
        client.create_payload_index(collection, "content", models.PayloadSchemaType.TEXT, wait=True)
    finally:
        client.close()


def fill_chroma(
    client: Any,  # noqa: ANN401 theirs
    collection: str,
    payloads: Sequence[Payload],
    *,
    rows: Vectors | None = None,
    space: str = "l2",
) -> None:
    """As most do: the text is Chroma's own document, and the rest beside it."""
    texts = [text_of(one) for one in payloads]
    made = client.create_collection(collection, configuration={"hnsw": {"space": space}})
    if payloads:
        kept = [
            {name: it for name, it in one.items() if name not in ("content", "page_content")}
            for one in payloads
        ]
        made.add(
            ids=[f"id{at}" for at in range(len(payloads))],
            embeddings=vectors(texts) if rows is None else rows,
            documents=texts,
            metadatas=kept,
        )


@contextmanager
def chroma_client(where: str | Path) -> Iterator[Any]:
    settings = Settings(anonymized_telemetry=False)
    client: Any
    if str(where).startswith("http:"):
        host, _, port = str(where).removeprefix("http://").partition(":")
        client = chromadb.HttpClient(host=host, port=int(port), settings=settings)
    else:
        client = chromadb.PersistentClient(str(where), settings)
    try:
        yield client
    finally:
        client.close()
        for server in (client._server, client._admin_client._server):
            if hasattr(server, "_session"):
                server._session.close()


class Chunkenizer:
    """What a Chunkenizer keeps; `trick`, if set, answers in its place.

    It refuses a `top_k` of more than `most`.
    """

    def __init__(self, results: Sequence[Payload]) -> None:
        self.results = list(results)
        self.rows = vectors([one["chunk_text"] for one in results] or ["?"])
        self.asked: list[Payload] = []
        self.listings = 0
        self.trick: tuple[int, bytes] | None = None
        self.heeds_filters = True
        self.most = 10_000
        self.delay = threading.Event()
        self.delay.set()

    def listed(self) -> bytes:
        """Its documents; who gave what with them is text that is JSON."""
        self.listings += 1
        rows = {
            one["document_id"]: {
                "id": one["document_id"],
                "name": one["document_name"],
                "content_type": one.get("content_type"),
                "status": "ingested",
                "metadata_json": json.dumps(one["metadata"]),
                "chunk_count": sum(
                    other["document_id"] == one["document_id"] for other in self.results
                ),
            }
            for one in self.results
        }
        return json.dumps({"documents": [*rows.values()], "total": len(rows)}).encode()

    def answer(self, request: Payload) -> tuple[int, bytes]:
        self.asked.append(request)
        self.delay.wait(10)
        if self.trick is not None:
            return self.trick
        if request.get("top_k", 5) > self.most:
            return 422, b'{"detail":"top_k is too large"}'
        (row,) = vectors([request["query"]])
        scored = sorted(zip(self.rows @ row, self.results, strict=False), key=lambda it: -it[0])
        found = [
            {"score": float(score)} | {k: v for k, v in one.items() if k != "content_type"}
            for score, one in scored
            if not self.heeds_filters or _holds(one, request.get("filters") or {})
        ][: request.get("top_k", 5)]
        reply = {"query": request["query"], "results": found, "total_results": len(found)}
        return 200, json.dumps(reply).encode()


def as_result(payload: Payload) -> Payload:
    """A chunk as document 001 has it, as a Chunkenizer answers it."""
    own = ("parent_id", "mongo_id", "title", "content_type", "chunk_index", "content")
    return {
        "document_id": payload["parent_id"],
        "document_name": payload["title"],
        "content_type": payload["content_type"],
        "chunk_index": payload["chunk_index"],
        "chunk_text": payload["content"],
        "token_count": 9,
        "metadata": {name: it for name, it in payload.items() if name not in own},
    }


def _holds(result: Payload, filters: Payload) -> bool:
    kept = result["metadata"] | {
        "doc_id": result["document_id"],
        "name": result["document_name"],
        "content_type": result.get("content_type"),
    }
    return all(
        type(kept.get(name)) is type(value) and kept[name] == value
        for name, value in filters.items()
    )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Many may knock at once while the machine is busy.
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that give up are part of the tests."""


@contextmanager
def _serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def chunkenizer(kept: Chunkenizer) -> Iterator[str]:
    """The address of a server that speaks as Chunkenizer does."""

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            known = self.path.partition("?")[0] == "/documents"
            self._send(*(kept.trick or (200, kept.listed())) if known else (404, b"{}"))

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = self.path == "/search"
            self._send(*kept.answer(request) if known else (404, b'{"detail":"Not Found"}'))

        def _send(self, status: int, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base's name
            pass

    with _serving(Answers) as url:
        try:
            yield url
        finally:
            kept.delay.set()


@contextmanager
def counted(url: str) -> Iterator[tuple[str, Counter[str]]]:
    """A door to the server at `url`: its address, and how often each path was asked for."""
    calls: Counter[str] = Counter()

    class Passes(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            calls[self.path.partition("?")[0].rpartition("/")[2]] += 1
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = urllib.request.Request(  # noqa: S310 our own server
                url + self.path, body or None, method=self.command
            )
            request.add_header("Content-Type", self.headers.get("Content-Type", ""))
            try:
                with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310
                    status, data = reply.status, reply.read()
                    kind = reply.headers.get("Content-Type", "")
            except urllib.error.HTTPError as error:
                status, data, kind = error.code, error.read(), "application/json"
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _pass  # noqa: N815 -- the base's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base's name
            pass

    with _serving(Passes) as door:
        yield door, calls
