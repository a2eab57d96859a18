"""A server of ours that speaks OpenAI's vector stores over a real socket, and misbehaves as told.

In a test:

    with VectorStores() as server:
        server.put("vs_1", Held("file-1", "notes.md", "a text", 800, 400))
        server.faults.append(("/content", too_many))        # what such paths get from now on
        ... ask server.url ...
        assert server.count("/content") == 1
"""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from foreign import tokens


@dataclass
class Held:
    """A file in a store. Without `chunks`, its text is cut as its numbers say, by tiktoken."""

    id: str
    name: str
    text: str = ""
    size: int | None = 800
    overlap: int = 400
    chunks: list[str] | None = None
    status: str = "completed"
    attributes: dict[str, Any] = field(default_factory=dict)
    error: dict[str, str] | None = None
    created_at: int = 1_700_000_000
    length: int | None = None

    def cut(self) -> list[str]:
        if self.chunks is None and self.size is not None:
            self.chunks = tokens(self.size, self.overlap).cut(self.text) if self.text else []
        return self.chunks or []

    def member(self, store: str) -> dict[str, Any]:
        strategy: dict[str, Any] = {"type": "other"}
        if self.size is not None:
            static = {"max_chunk_size_tokens": self.size, "chunk_overlap_tokens": self.overlap}
            strategy = {"type": "static", "static": static}
        return {
            "id": self.id,
            "object": "vector_store.file",
            "created_at": self.created_at,
            "usage_bytes": len(self.text),
            "vector_store_id": store,
            "status": self.status,
            "last_error": self.error,
            "attributes": self.attributes,
            "chunking_strategy": strategy,
        }

    def about(self) -> dict[str, Any]:
        length = len(self.text.encode("utf-8", "surrogatepass"))
        return {
            "id": self.id,
            "object": "file",
            "bytes": length if self.length is None else self.length,
            "created_at": self.created_at,
            "filename": self.name,
            "purpose": "assistants",
            "status": "processed",
        }


class Exchange(BaseHTTPRequestHandler):
    """One connection, and how to answer on it."""

    protocol_version = "HTTP/1.1"
    stores: "VectorStores"

    def do_GET(self) -> None:
        self.stores.answer(self)

    def reply(self, status: int, content: object, **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        head = {"content_type": "application/json", "content_length": str(len(data))} | headers
        self.begin(status, **head)
        self.wfile.write(data)

    def begin(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its own name
        del format, arguments


Fault = Callable[[Exchange], None]


class VectorStores:
    """`seen` holds the path and query of each request, in order."""

    def __init__(self) -> None:
        self.stores: dict[str, list[Held]] = {}
        self.faults: list[tuple[str, Fault]] = []
        self.seen: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.chunks_per_page = 0
        handler = type("Handler", (Exchange,), {"stores": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def put(self, store: str, *files: Held) -> None:
        for one in files:
            one.cut()
        self.stores.setdefault(store, []).extend(files)

    def count(self, part: str) -> int:
        return sum(part in path for path in self.seen)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, exchange: Exchange) -> None:
        self.seen.append(exchange.path)
        self.headers.append({name.lower(): value for name, value in exchange.headers.items()})
        for part, fault in self.faults:
            if part in exchange.path:
                fault(exchange)
                return
        parts = urlsplit(exchange.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        steps = [unquote(step) for step in parts.path.strip("/").split("/")]
        steps = [step for step in steps if step not in ("v1", "openai")]
        match steps:
            case ["vector_stores", store, "files"] if store in self.stores:
                exchange.reply(200, self._listed(store, query))
            case ["vector_stores", store, "files", file, "content"]:
                self._content(exchange, self._held(self.stores.get(store, []), file), query)
            case ["files", file]:
                held = self._held([one for all_ in self.stores.values() for one in all_], file)
                exchange.reply(*((200, held.about()) if held else (404, _error("No such File"))))
            case _:
                exchange.reply(404, _error("There is no such thing"))

    def _listed(self, store: str, query: dict[str, str]) -> dict[str, Any]:
        files = self.stores[store]
        begin = 0
        if after := query.get("after"):
            begin = next((at for at, one in enumerate(files, 1) if one.id == after), len(files))
        limit = int(query.get("limit", "20"))
        part = files[begin : begin + limit]
        return {
            "object": "list",
            "data": [one.member(store) for one in part],
            "first_id": part[0].id if part else None,
            "last_id": part[-1].id if part else None,
            "has_more": begin + limit < len(files),
        }

    def _content(self, exchange: Exchange, held: Held | None, query: dict[str, str]) -> None:
        if held is None:
            exchange.reply(404, _error("No such file in this store"))
            return
        chunks = held.cut()
        begin = int(query.get("page", "0"))
        end = begin + self.chunks_per_page if self.chunks_per_page else len(chunks)
        more = end < len(chunks)
        page = {
            "object": "vector_store.file_content.page",
            "data": [{"type": "text", "text": text} for text in chunks[begin:end]],
            "has_more": more,
            "next_page": str(end) if more else None,
        }
        exchange.reply(200, page)

    @staticmethod
    def _held(files: Sequence[Held], file: str) -> Held | None:
        return next((one for one in files if one.id == file), None)


def _error(message: str, code: str | None = None) -> dict[str, Any]:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return {"error": error}


def refusing(status: int, message: str = "no", **headers: str) -> Fault:
    return lambda exchange: exchange.reply(status, _error(message), **headers)


def prose(words: int, seed: int = 0) -> str:
    """Text that hardly repeats itself, with lines and paragraphs."""
    parts = []
    for at in range(words):
        parts.append(f"word{(at * 7919 + seed * 104_729) % 99_991}")
        parts.append("\n\n" if at % 97 == 96 else "\n" if at % 13 == 12 else " ")
    return f"Title {seed}\n\n{''.join(parts)}"
