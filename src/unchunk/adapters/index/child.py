"""A process of our own that does what would hold up this one.

It is started with the first call or before it, and again with the next one after it died; whoever
called before that is told so. Calls may overlap, and reach it in the order in which they were made;
each is answered when it is done. It ends when its socket closes, so it cannot outlive whoever
started it.
"""

import asyncio
import socket
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeAlias

from unchunk.adapters.index import frames
from unchunk.adapters.index.wire import command
from unchunk.errors import IndexUnavailableError, UnchunkError

Answer: TypeAlias = "asyncio.Future[Any]"


class Child:
    """`module` is run with the number of its socket and then `arguments`.

    It gets `kept_open` too, so that what hangs on that file lasts as long as the child.
    """

    def __init__(self, module: str, arguments: Sequence[str], kept_open: int, name: str) -> None:
        self._module = module
        self._arguments = arguments
        self._kept_open = kept_open
        self._name = name
        # It starts the child, and sends what does not go at once.
        self._sender = ThreadPoolExecutor(1, thread_name_prefix=f"send-{name}")
        self._running: _Running | None = None
        self._order = threading.Lock()
        self._queued = 0
        self._closed = False

    @property
    def pid(self) -> int | None:
        running = self._running
        return running.process.pid if running and not running.gone else None

    def start(self) -> None:
        """Let it begin, if it never did; if it cannot, the next call tries again and tells."""
        if not self._closed and self._running is None:
            self._sender.submit(self._begin)

    async def call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401 per method
        if self._closed:
            raise IndexUnavailableError(f"the index {self._name!r} was closed")
        answer: Answer = asyncio.get_running_loop().create_future()
        with self._order:
            running = self._running
            # Nobody goes past those who wait until it has begun.
            if self._queued or running is None or running.gone:
                self._sender.submit(self._send, answer, method, arguments)
                self._queued += 1
            elif running.send(answer, method, arguments):
                self._sender.submit(running.drain)
        return await answer

    async def close(self) -> None:
        """Return when it has ended; can be called again."""
        self._closed = True
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self._sender.shutdown(wait=True)
        if self._running is not None:
            self._running.end()

    def _send(self, answer: Answer, method: str, arguments: tuple[object, ...]) -> None:
        try:
            running = self._begin()
            if running.send(answer, method, arguments):
                running.drain()
        except OSError as error:
            what = f"the process of the index {self._name!r} cannot be started: {error}"
            _tell(answer, None, IndexUnavailableError(what))
        finally:
            with self._order:
                self._queued -= 1

    def _begin(self) -> "_Running":
        if self._running is None or self._running.gone:
            if self._running is not None:
                self._running.end()
            self._running = _Running(self._module, self._arguments, self._kept_open, self._name)
        return self._running


class _Running:
    """One life of the child."""

    def __init__(self, module: str, arguments: Sequence[str], kept_open: int, name: str) -> None:
        self._name = name
        self._waiting: dict[int, Answer] = {}
        self._unsent: list[memoryview] = []
        self._draining = False
        self._count = 0
        self._guard = threading.Lock()
        self.gone: UnchunkError | None = None
        self._link, theirs = socket.socketpair()
        with theirs:
            try:
                self.process = subprocess.Popen(  # noqa: S603 our own interpreter and module
                    command(module, str(theirs.fileno()), *arguments),
                    stdin=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(), kept_open),
                )
            except OSError:
                self._link.close()
                raise
        self._reader = threading.Thread(target=self._read, name=f"read-{name}", daemon=True)
        self._reader.start()

    def send(self, answer: Answer, method: str, arguments: tuple[object, ...]) -> bool:
        """Without waiting. Whether there is a rest, which somebody who may wait has to `drain`.

        A message is never cut in two by another, nor by a cancelled caller.
        """
        with self._guard:
            if self.gone is not None:
                _tell(answer, None, self.gone)
                return False
            self._count += 1
            self._waiting[self._count] = answer
            self._unsent += frames.pack((self._count, method, arguments))
            if self._draining:
                return False
            # Where it is gone already, the reader finds out and fails whoever waits.
            with suppress(OSError):
                frames.send_some(self._link, self._unsent)
                self._draining = bool(self._unsent)
            return self._draining

    def drain(self) -> None:
        while True:
            with self._guard:
                unsent, self._unsent = self._unsent, []
                self._draining = bool(unsent)
            if not unsent:
                return
            with suppress(OSError):
                frames.send_all(self._link, unsent)

    def end(self) -> None:
        """Ask it to end, and wait until it has."""
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_WR)
        self._reader.join()
        self.process.wait()
        self._link.close()

    def _read(self) -> None:
        reason: UnchunkError | None = None
        try:
            while True:
                number, value, error = frames.receive(self._link)
                if not number:
                    reason = error
                    continue
                with self._guard:
                    answer = self._waiting.pop(number)
                _tell(answer, value, error)
        except EOFError:
            self._abandon(reason or self._ended())

    def _ended(self) -> UnchunkError:
        code = self.process.wait()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return IndexUnavailableError(
            f"the process of the index {self._name!r} {how}; the next call starts it again"
        )

    def _abandon(self, error: UnchunkError) -> None:
        with self._guard:
            self.gone = error
            waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            _tell(answer, None, error)


def _tell(answer: Answer, value: object, error: UnchunkError | None) -> None:
    """From any thread."""
    # Where its loop is closed, nobody waits any more.
    with suppress(RuntimeError):
        answer.get_loop().call_soon_threadsafe(_settle, answer, value, error)


def _settle(answer: Answer, value: object, error: UnchunkError | None) -> None:
    # A caller who was cancelled waits no more.
    if answer.done():
        return
    if error is None:
        answer.set_result(value)
    else:
        answer.set_exception(error)
