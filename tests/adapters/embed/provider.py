"""A provider of embeddings on 127.0.0.1 that misbehaves as it is told to. Real HTTP, hashed vectors."""

import asyncio
import base64
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.ports import Vectors

DIMENSIONS = 512
KEY = "sk-test-0123456789abcdef"

Handler = BaseHTTPRequestHandler
Answer = Callable[[Handler, dict[str, Any]], None]


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Provider:
    """`plan` says what the next requests get; when it is empty, they get what they ask for."""

    def __init__(self) -> None:
        self.plan: deque[Answer] = deque()
        self.requests: list[Request] = []
        self.url = ""
        self.running = self.most_running = 0
        self.released = threading.Event()
        self.lock = threading.Lock()

    @property
    def sizes(self) -> list[int]:
        return [len(request.body["input"]) for request in self.requests]


def vectors(texts: list[str]) -> Vectors:
    return asyncio.run(HashingEmbedder(DIMENSIONS).embed(texts, "document"))


def right(handler: Handler, body: dict[str, Any]) -> None:
    # Not of length one: that is the adapter's affair.
    rows = 3 * vectors(body["input"])
    if handler.path == "/api/embed":
        reply(handler, 200, {"embeddings": rows.tolist()})
        return
    compact = body.get("encoding_format") == "base64"
    data = [
        {"index": at, "embedding": base64.b64encode(row).decode() if compact else row.tolist()}
        for at, row in enumerate(rows)
    ]
    reply(handler, 200, {"data": data[::-1]})


def only_floats(handler: Handler, body: dict[str, Any]) -> None:
    if "encoding_format" in body:
        refuse(422, {"detail": "extra fields not permitted"})(handler, body)
    else:
        right(handler, body)


def refuse(status: int, content: object, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, _: reply(handler, status, content, named)


def reply(
    handler: Handler, status: int, content: object, headers: dict[str, str] | None = None
) -> None:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def cut(handler: Handler, _: dict[str, Any]) -> None:
    """Half an answer, and then nothing more."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that give up are part of the tests."""


@contextmanager
def provider() -> Iterator[Provider]:
    told = Provider()

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(length))
            with told.lock:
                told.requests.append(Request(self.path, dict(self.headers), body))
                answer = told.plan.popleft() if told.plan else right
                told.running += 1
                told.most_running = max(told.most_running, told.running)
            try:
                answer(self, body)
            except OSError:
                self.close_connection = True  # nobody waits for it any more
            finally:
                with told.lock:
                    told.running -= 1

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base's name
            pass

    with _Server(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        told.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield told
        finally:
            told.released.set()
            server.shutdown()
            thread.join()
