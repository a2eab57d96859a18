"""A proxy before a vector store that does to its chunks what other stores and pipelines do.

Knows nothing of recovery: it only forwards, and changes what `/content` and lists of files say.
"""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Damage = Callable[[str, list[str]], list[str]]
_PATIENCE = 30.0


def none(_file: str, chunks: list[str]) -> list[str]:
    return chunks


def stripped(_file: str, chunks: list[str]) -> list[str]:
    return [chunk.strip() for chunk in chunks]


def shuffled(file: str, chunks: list[str]) -> list[str]:
    return random.Random(file).sample(chunks, len(chunks))


def missing(file: str, chunks: list[str]) -> list[str]:
    """Without one that is neither the first nor the last."""
    if len(chunks) < 3:
        return chunks
    gone = random.Random(file).randrange(1, len(chunks) - 1)
    return chunks[:gone] + chunks[gone + 1 :]


DAMAGES: Mapping[str, Damage] = {
    "the strategy hidden": none,
    "hidden, chunks stripped": stripped,
    "hidden, order shuffled": shuffled,
    "hidden, one chunk missing": missing,
}


@contextmanager
def damaging(upstream: str, damage: Damage) -> Iterator[str]:
    """The address of a proxy to `upstream` that also hides how files were cut."""
    client = httpx2.AsyncClient(base_url=upstream, timeout=300.0)

    async def forward(request: Request) -> Response:
        headers = {
            name: value
            for name, value in request.headers.items()
            if name not in ("host", "content-length", "accept-encoding", "connection")
        }
        url = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        answer = await client.request(
            request.method, url, headers=headers, content=await request.body()
        )
        body = answer.content
        if answer.status_code == 200 and "/vector_stores/" in request.url.path:
            body = json.dumps(_changed(request.url.path, answer.json(), damage)).encode()
        return Response(body, answer.status_code, media_type=answer.headers.get("content-type"))

    app = Starlette(routes=[Route("/{path:path}", forward, methods=["GET", "POST", "DELETE"])])
    server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", 0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        began = time.monotonic()
        while not server.started and time.monotonic() - began < _PATIENCE:
            time.sleep(0.02)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def _changed(path: str, reply: dict[str, object], damage: Damage) -> dict[str, object]:
    parts = path.strip("/").split("/")
    if parts[-1] == "content":
        data = reply["data"]
        assert isinstance(data, list)
        texts = damage(parts[-2], [one["text"] for one in data])
        return reply | {"data": [{"type": "text", "text": text} for text in texts]}
    if "files" not in parts:
        return reply
    hidden = {"chunking_strategy": {"type": "other"}}
    data = reply.get("data")
    if isinstance(data, list):
        return reply | {"data": [one | hidden for one in data]}
    return reply | hidden
