"""The loop of the child process, run by a thread of this one."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from unchunk.adapters.index import edge_process, frames
from unchunk.adapters.index.edge_home import Home
from unchunk.adapters.index.edge_process import Inbox, Request, serve
from unchunk.adapters.index.edge_store import Store
from unchunk.adapters.index.packing import pack
from unchunk.errors import IndexUnavailableError, IntegrityError
from unchunk.testing.indexes import SPACE, point


class Asking:
    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.number = 0

    def send(self, method: str, *arguments: object) -> None:
        self.number += 1
        frames.send(self.link, (self.number, method, arguments))

    def receive(self) -> Any:  # noqa: ANN401 whatever is answered
        return frames.receive(self.link)


@contextmanager
def served(folder: Path, enough: int = 1000) -> Iterator[Asking]:
    store = Store(folder, SPACE.dimensions, enough=enough, quiet=0.0)
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=serve, args=(theirs, store))
    thread.start()
    with ours, theirs:
        yield Asking(ours)
        ours.shutdown(socket.SHUT_WR)
        thread.join(120)
        assert not thread.is_alive()


def test_requests_are_answered_under_their_numbers(tmp_path: Path) -> None:
    with served(tmp_path) as asking:
        asking.send("upsert", pack([point("d")], SPACE))
        assert asking.receive() == (1, None, None)
        asking.send("census", None)
        assert asking.receive() == (2, {("d", 1): 1}, None)


def test_a_request_that_fails_or_is_unknown_is_answered_too(tmp_path: Path) -> None:
    with served(tmp_path) as asking:
        for method in ("close", "__init__"):
            asking.send(method)
            number, _, error = asking.receive()
            assert number == asking.number
            assert isinstance(error, IndexUnavailableError)
        asking.send("search", None)
        _, _, error = asking.receive()
        assert isinstance(error, IndexUnavailableError)
        asking.send("census", None)
        assert asking.receive()[1] == {}


def test_it_goes_on_by_itself_when_nothing_is_asked(tmp_path: Path) -> None:
    with served(tmp_path, enough=10) as asking:
        asking.send("upsert", pack([point("d", at) for at in range(20)], SPACE))
        asking.receive()
        deadline = time.monotonic() + 120
        while not (tmp_path / "2").exists() or (tmp_path / "1").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        asking.send("census", None)
        assert asking.receive()[1] == {("d", 1): 20}


def test_it_ends_when_nobody_reads_its_answers(tmp_path: Path) -> None:
    store = Store(tmp_path, SPACE.dimensions)
    ours, theirs = socket.socketpair()
    frames.send(ours, (1, "census", (None,)))
    ours.close()
    with theirs:
        serve(theirs, store)


def test_it_ends_when_whoever_started_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents = iter([1000, 1000, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        serve(theirs, Store(tmp_path, SPACE.dimensions))


def test_what_reads_goes_before_what_writes() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            asking = Asking(ours)
            for method in ("upsert", "flush", "search", "delete", "fetch", "census"):
                asking.send(method)
        inbox = Inbox(theirs)
        deadline = time.monotonic() + 60
        while not inbox.ended:
            assert time.monotonic() < deadline
        order = [inbox.take(writes=False, timeout=0.0) for _ in range(4)]
        order += [inbox.take(writes=True, timeout=0.0) for _ in range(4)]
    names = [each.method if isinstance(each, Request) else "" for each in order]
    assert names == ["search", "fetch", "census", "", "upsert", "flush", "delete", ""]


def test_a_store_that_cannot_be_opened_is_told_and_that_is_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    (tmp_path / "current.json").write_text("{}")
    ours, theirs = socket.socketpair()
    with ours:
        edge_process.main(str(theirs.detach()), str(tmp_path), "8")
        number, _, error = frames.receive(ours)
        assert number == 0
        assert isinstance(error, IntegrityError)
        with pytest.raises(EOFError):
            frames.receive(ours)


def test_the_process_is_made_of_these(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    ours, theirs = socket.socketpair()
    with ours:
        frames.send(ours, (1, "census", (None,)))
        ours.shutdown(socket.SHUT_WR)
        edge_process.main(str(theirs.detach()), str(tmp_path), "8", "50")
        assert frames.receive(ours) == (1, {}, None)


def test_an_idle_process_reads_its_shard_once_and_answers_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    calls: list[Path] = []

    def slow(home: Home) -> None:
        calls.append(home.folder)
        begun.set()
        go_on.wait(120)

    monkeypatch.setattr(edge_process, "_TICK", 0.005)
    monkeypatch.setattr(Home, "read_ahead", slow)
    with served(tmp_path) as asking:
        assert begun.wait(120)
        for _ in range(3):
            asking.send("census", None)
            assert asking.receive()[1:] == ({}, None)
            time.sleep(0.05)
        go_on.set()

    assert calls == [tmp_path]
