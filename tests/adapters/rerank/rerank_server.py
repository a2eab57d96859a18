"""A rerank server on 127.0.0.1 that misbehaves as it is told to. Real HTTP; scores are shared words."""

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

KEY = "sk-test-0123456789abcdef"
# As real ones do, it reads no further, and does not tell.
CUT = 6000

Handler = BaseHTTPRequestHandler
Answer = Callable[[Handler, dict[str, Any]], None]


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Server:
    """`plan` says what the next requests get; when it is empty, they get what they ask for."""

    def __init__(self) -> None:
        self.plan: deque[Answer] = deque()
        self.requests: list[Request] = []
        self.url = ""
        self.released = threading.Event()
        self.lock = threading.Lock()


def score(question: str, text: str) -> float:
    """The share of the question's words that the text has."""
    asked, read = (set(re.findall(r"\w{3,}", each.lower())) for each in (question, text[:CUT]))
    return len(asked & read) / max(1, len(asked))


def right(handler: Handler, body: dict[str, Any]) -> None:
    scores = [score(body["query"], text) for text in body["documents"]]
    ranked = sorted(range(len(scores)), key=lambda at: -scores[at])[: body["top_n"]]
    results = [{"index": at, "relevance_score": scores[at]} for at in ranked]
    reply(handler, 200, {"id": "1", "results": results})


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
    handler.wfile.write(b'{"results": [')
    handler.close_connection = True


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that give up are part of the tests."""


@contextmanager
def running() -> Iterator[Server]:
    told = Server()

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with told.lock:
                told.requests.append(Request(self.path, dict(self.headers), body))
                answer = told.plan.popleft() if told.plan else right
            try:
                answer(self, body)
            except OSError:
                self.close_connection = True  # nobody waits for it any more

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base's name
            pass

    with _Http(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        told.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield told
        finally:
            told.released.set()
            server.shutdown()
            thread.join()
