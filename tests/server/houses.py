"""Servers over real libraries; only the embedder is the hashing one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

import towns
from server.scripted import Served, eventually, serving
from unchunk.engine import Engine
from unchunk.server.options import Options
from unchunk.settings import load
from unchunk.wiring import open_engine

PATIENCE = 60.0
Reply = dict[str, Any]


@dataclass
class House:
    """A server, and a client for each of its owners; "local" is who needs no key."""

    served: Served
    home: Path
    clients: dict[str, httpx2.Client] = field(default_factory=dict)

    def __getitem__(self, owner: str) -> httpx2.Client:
        return self.clients[owner]


@contextmanager
def house(
    folder: Path,
    *owners: str,
    options: Options | None = None,
    settings: Mapping[str, str | float] | None = None,
) -> Iterator[House]:
    """With owners, each needs a key, and has it."""
    home = folder / "home"
    keys: dict[str, str] = {}
    chosen: dict[str, str | float] = {"embedder": "hashing", **(settings or {})}
    if towns.is_on():
        with (
            towns.housed(folder, owners, options, chosen) as (outside, keys),
            _known(House(outside, home), owners, keys) as it,
        ):
            yield it
        return

    async def opening() -> Engine:
        engine = await open_engine(load(home, {}, **chosen))
        for owner in owners:
            _, keys[owner] = await engine.keyring.new("a key", owner)
        return engine

    uploads = folder / "uploads"
    uploads.mkdir(exist_ok=True)
    given = options or Options(require_keys=bool(owners), upload_folder=uploads)
    with serving(opening, given) as served, _known(House(served, home), owners, keys) as it:
        yield it
    # Whatever became of an upload, nothing of it stays here.
    assert not list(uploads.iterdir())


@contextmanager
def _known(it: House, owners: Sequence[str], keys: Mapping[str, str]) -> Iterator[House]:
    """With a client for each owner."""
    try:
        for owner in owners or ("local",):
            headers = {"Authorization": f"Bearer {keys[owner]}"} if owners else {}
            it.clients[owner] = httpx2.Client(
                base_url=it.served.url, headers=headers, timeout=PATIENCE
            )
        yield it
    finally:
        for client in it.clients.values():
            client.close()


def send(client: httpx2.Client, name: str, content: str | bytes, **fields: str) -> httpx2.Response:
    data = content if isinstance(content, bytes) else content.encode()
    return client.post("/api/documents", files={"file": (name, data)}, data=fields)


def add(client: httpx2.Client, name: str, content: str | bytes, **fields: str) -> str:
    """The id of a document that came in."""
    reply = send(client, name, content, **fields)
    assert reply.status_code == 200, reply.text
    return str(reply.json()["document_id"])


def later(client: httpx2.Client, name: str, content: str | bytes, **fields: str) -> Reply:
    """The job of a document that is to come in."""
    reply = send(client, name, content, wait="false", **fields)
    assert reply.status_code == 202, reply.text
    job = reply.json()["job"]
    assert reply.json()["document_id"] == job["document_id"]
    assert isinstance(job, dict)
    return job


def job_of(client: httpx2.Client, job: str) -> Reply:
    reply = client.get(f"/api/jobs/{job}")
    assert reply.status_code == 200, reply.text
    found = reply.json()
    assert isinstance(found, dict)
    return found


def ended(client: httpx2.Client, job: str) -> Reply:
    """A job when it is over."""
    eventually(lambda: job_of(client, job)["ended_at"] is not None, PATIENCE)
    return job_of(client, job)


def error(reply: httpx2.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]["type"]
