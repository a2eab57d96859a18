"""Servers with keys in force, and clients that speak to them byte by byte."""

import asyncio
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast

import httpx2

import towns
from server.scripted import Scripted, Served, serving
from unchunk.domain import KeyScope
from unchunk.engine import Engine
from unchunk.keyring import Keyring
from unchunk.server.options import Options
from unchunk.settings import load
from unchunk.wiring import open_engine, open_keyring

PATIENCE = 30.0


@dataclass
class Door:
    """A server, and keys of two owners, and one for its figures."""

    served: Served
    keyring: Keyring
    engine: Scripted = field(default_factory=Scripted)
    keys: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    def client(self, key: str = "", **headers: str) -> httpx2.Client:
        if key:
            headers["Authorization"] = f"Bearer {self.keys[key]}"
        return httpx2.Client(base_url=self.served.url, headers=headers, timeout=PATIENCE)

    @contextmanager
    def signed_in(self, key: str) -> Iterator[tuple[httpx2.Client, str]]:
        """As a browser is, and the token that its page knows."""
        with self.client(Origin=self.served.url) as client:
            reply = client.post("/api/session", json={"key": self.keys[key]})
            assert reply.status_code == 200, reply.text
            yield client, reply.json()["csrf"]

    def make_keys(self) -> None:
        for name in ("local", "other", "figures"):
            scope: KeyScope = "metrics" if name == "figures" else "all"
            new = partial(self.keyring.new, "a key", name, scope)
            key, self.keys[name] = self.served.inside(new)
            self.ids[name] = key.id

    def revoke(self, key: str) -> None:
        self.served.inside(lambda: self.keyring.revoke(self.ids[key]))


@contextmanager
def keyring_in(folder: Path) -> Iterator[Keyring]:
    keyring = asyncio.run(open_keyring(load(folder / "home", {})))
    try:
        yield keyring
    finally:
        asyncio.run(keyring.close())


@contextmanager
def guarded(folder: Path, options: Options | None = None) -> Iterator[Door]:
    """Over an engine that says what a test wants."""
    with keyring_in(folder) as keyring:
        engine = Scripted(keyring=keyring)
        with serving(engine.engine, options or Options(require_keys=True)) as served:
            door = Door(served, keyring, engine)
            door.make_keys()
            yield door


@contextmanager
def with_library(folder: Path, options: Options) -> Iterator[Door]:
    """Over a real one."""
    if towns.is_on():
        chosen: dict[str, str | float] = {"embedder": "hashing", "chunk_size": 200}
        with towns.housed(folder, ("local", "other"), options, chosen) as (outside, keys):
            figures = towns.key_of(folder, "figures", chosen, "metrics")
            yield Door(outside, cast("Keyring", None), keys=keys | {"figures": figures})
        return

    async def opening() -> Engine:
        return await open_engine(load(folder / "home", {}, embedder="hashing", chunk_size=200))

    with serving(opening, options) as served:
        door = Door(served, served.app.state.house.engine.keyring)
        door.make_keys()
        yield door


def stop_clocks(door: Door) -> None:
    """No bucket fills again, however long a test takes."""
    limits = door.served.app.state.house.limits
    for buckets in (limits.requests, limits.sign_ins):
        buckets.local._now = lambda: 1000.0


def opened(served: Served) -> socket.socket:
    host, port = served.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def head(served: Served, method: str, target: str, *lines: str) -> bytes:
    host = served.url.removeprefix("http://")
    return "\r\n".join([f"{method} {target} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode(
        "latin-1"
    )


def heard(line: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    said = b""
    while True:
        try:
            piece = line.recv(1 << 16)
        except ConnectionResetError:
            return said
        if not piece:
            return said
        said += piece


def one_reply(line: socket.socket) -> bytes:
    """The next reply on a connection that stays open."""
    said = b""
    while b"\r\n\r\n" not in said:
        said += line.recv(1)
    length = re.search(rb"content-length: (\d+)", said.lower())
    assert length is not None
    body = b""
    while len(body) < int(length[1]):
        body += line.recv(int(length[1]) - len(body))
    return said + body


def asked(served: Served, method: str, target: str, *lines: str, body: bytes = b"") -> bytes:
    """The whole reply, as it comes over the line."""
    with opened(served) as line:
        line.sendall(head(served, method, target, "Connection: close", *lines) + body)
        return heard(line)


def status_of(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])
