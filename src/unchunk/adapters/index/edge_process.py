"""The child process of the edge index: requests in by a socket, one after the other.

What reads goes before what writes, so that a search does not wait for a queue of documents.
It ends when its parent closes the socket, or dies.
"""

import os
import signal
import socket
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from unchunk.adapters.index import frames
from unchunk.adapters.index.edge_store import Store
from unchunk.errors import IndexUnavailableError, IntegrityError

_WRITES = frozenset({"upsert", "delete", "flush"})
_READS = frozenset({"search", "fetch", "census"})
_TICK = 0.5  # seconds between looks at what goes on in the background
_IDLE = 6  # ticks without a request: whoever asks once and leaves is gone by then


class Request(NamedTuple):
    number: int
    method: str
    arguments: tuple[object, ...]


class Inbox:
    """Requests as they come in, read by a thread; `ended` when no more will come."""

    def __init__(self, link: socket.socket) -> None:
        self._reads: deque[Request] = deque()
        self._writes: deque[Request] = deque()
        self._changed = threading.Condition()
        self.ended = False
        threading.Thread(target=self._listen, args=(link,), daemon=True).start()

    def take(self, *, writes: bool, timeout: float) -> Request | None:
        def ready() -> bool:
            return bool(self._reads or (writes and self._writes) or self.ended)

        with self._changed:
            self._changed.wait_for(ready, timeout)
            if self._reads:
                return self._reads.popleft()
            return self._writes.popleft() if writes and self._writes else None

    def _listen(self, link: socket.socket) -> None:
        with suppress(EOFError):
            while True:
                request = Request(*frames.receive(link))
                with self._changed:
                    queue = self._writes if request.method in _WRITES else self._reads
                    queue.append(request)
                    self._changed.notify()
        with self._changed:
            self.ended = True
            self._changed.notify()


def serve(link: socket.socket, store: Store) -> None:
    """Answer until the other end is gone, or whoever started us is."""
    inbox = Inbox(link)
    parent = os.getppid()
    idle, is_warm = 0, False
    while os.getppid() == parent:
        copying = store.copying
        timeout = 0.0 if store.carrying else _TICK / 20 if copying else _TICK
        request = inbox.take(writes=not copying, timeout=timeout)
        idle = 0 if request is not None else idle + 1
        if request is not None:
            try:
                _answer(link, store, request)
            except OSError:
                break
        elif inbox.ended:
            break
        elif idle == _IDLE and not is_warm:
            is_warm = True
            threading.Thread(target=store.read_ahead, daemon=True).start()
        store.go_on()
    store.close()


def _answer(link: socket.socket, store: Store, request: Request) -> None:
    value = error = None
    if request.method not in _WRITES | _READS:
        error = IndexUnavailableError(f"no such request: {request.method}")
    else:
        try:
            value = getattr(store, request.method)(*request.arguments)
        except Exception as reason:  # noqa: BLE001 the engine knows no better type
            error = IndexUnavailableError(f"the index could not {request.method}: {reason}")
    frames.send(link, (request.number, value, error))


def main(handle: str, home: str, dimensions: str, enough: str = "0") -> None:
    """`handle` is the number of its socket; `enough` of 0 leaves it to the store."""
    # Whoever ends the parent by a signal to all ends this one by the closed socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with socket.socket(fileno=int(handle)) as link:
        try:
            store = Store(Path(home), int(dimensions), int(enough) or None)
        except Exception as reason:  # noqa: BLE001 the engine knows no better type
            message = f"the index at {home} cannot be opened: {reason}. Remove it and index anew"
            frames.send(link, (0, None, IntegrityError(message)))
            return
        serve(link, store)
