"""A worker process as its owner sees it: asked, timed, and ended without mercy."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from unchunk.adapters.extract.frames import BrokenFrameError, Header, read_frame
from unchunk.adapters.extract.limits import Limits, MiB
from unchunk.errors import ExtractionError

T = TypeVar("T")

_PACKAGE = Path(__file__).parents[2]
# The public API is not imported on the way to the worker: a parser needs none of it, and it
# takes three times as long to start as all the rest.
_START = """
import sys, types
package = types.ModuleType("unchunk")
package.__path__ = [sys.argv[1]]
sys.modules["unchunk"] = package
from unchunk.adapters.extract.worker import main
main(sys.argv[2:])
"""
_ATOMIC = select.PIPE_BUF  # what a pipe that has room takes without waiting
_SECONDS_TO_START = 60.0
_SECONDS_TO_STOP = 2.0
# All of the owner's environment that a parser may see: no keys, no tokens.
_PASSED_ON = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR")
_NO_MEMORY = (b"memory allocation of", b"out of memory", b"bad_alloc", b"MemoryError")
_MUCH = 0.7  # a process that died this close to its limit died of it


class GoneError(Exception):
    """The worker was not there any more before it was given the file."""


class Worker:
    """One process. Used by one thread at a time; only `kill` may come from another."""

    def __init__(self, limits: Limits) -> None:
        self.spent = self.killed = False
        self._limits = limits
        self._held = 0
        self._lock = threading.Lock()
        said, says = os.pipe()
        os.set_blocking(said, False)
        os.set_blocking(says, False)  # a parser that says too much is not held up by it
        self._said = said
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own module
                [
                    *(sys.executable, "-B", "-P", "-X", "utf8", "-c", _START, str(_PACKAGE)),
                    *(json.dumps(limits.as_record()), str(os.getpid())),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=says,
                bufsize=0,
                env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            )
        finally:
            os.close(says)

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self) -> None:
        """Wait until it can be asked, so that its start is not counted against a file."""
        try:
            header, _ = self._receive(time.monotonic() + _SECONDS_TO_START)
            held = header.get("held")
            self._held = held if isinstance(held, int) else 0
        except (EOFError, TimeoutError, BrokenFrameError) as error:
            said = self._end()
            raise ExtractionError(
                "crashed", f"the process that reads files does not start: {said[-500:]!r}"
            ) from error

    def ask(self, request: bytes, understand: Callable[[Header, bytes], T]) -> T:
        """What it finds in a file. After any failure but the file's own, this worker is spent.

        `understand` looks at what it answers before it believes it.
        """
        deadline = time.monotonic() + self._limits.seconds
        try:
            self._send(request, deadline)
        except OSError as error:
            self._end()
            raise GoneError from error
        try:
            header, body = self._receive(deadline)
            self.spent = header.get("last") is not False
            return understand(header, body)
        except TimeoutError:
            self._end()
            raise self._limits.too_slow() from None
        except EOFError:
            raise self._autopsy() from None
        except BrokenFrameError as error:
            self._end()
            raise ExtractionError("crashed", f"its parser answered nonsense: {error}") from error

    def _send(self, request: bytes, deadline: float) -> None:
        """One that does not even listen is not waited for longer than one that reads."""
        assert self._process.stdin is not None
        pipe = self._process.stdin.fileno()
        ready = select.poll()
        ready.register(pipe, select.POLLOUT)
        rest = memoryview(request)
        while rest:
            if not ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise TimeoutError
            rest = rest[os.write(pipe, rest[:_ATOMIC]) :]

    def kill(self) -> None:
        with self._lock:
            self.killed = True
            if self._process.returncode is None:
                os.kill(self._process.pid, signal.SIGKILL)

    def stop(self) -> None:
        """Let it end by itself, as it does without input; if it does not, end it."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        if self._process.returncode is None:
            try:
                self._process.wait(_SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                self.kill()
                self._process.wait()
        if self._said >= 0:
            os.close(self._said)
            self._said = -1

    def _receive(self, deadline: float) -> tuple[dict[str, object], bytes]:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        ready = select.poll()
        ready.register(pipe, select.POLLIN)

        def read(count: int) -> bytes:
            parts = bytearray()
            while len(parts) < count:
                if not ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
                    raise TimeoutError
                part = os.read(pipe, min(count - len(parts), MiB))
                if not part:
                    raise EOFError
                parts += part
            return bytes(parts)

        return read_frame(read, 4 * self._limits.max_text)

    def _end(self) -> bytes:
        """Kill it, wait, and return what it said last."""
        self.kill()
        self._wait()
        return self._last_words()

    def _wait(self) -> int:
        """Wait for its end, and return the most memory that it held."""
        self.spent = True
        try:
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            with self._lock:
                _, status, usage = os.wait4(self._process.pid, 0)
                self._process.returncode = os.waitstatus_to_exitcode(status)
        except ChildProcessError:  # pragma: no cover  # the owner's program waits for all children
            with self._lock:
                self._process.returncode = -signal.SIGKILL
            return 0
        return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)

    def _last_words(self) -> bytes:
        try:
            return os.read(self._said, 64 * 1024)
        except OSError:
            return b""

    def _autopsy(self) -> ExtractionError:
        """Why it died while it read a file."""
        memory = self._wait()
        words = self._last_words()
        code = self._process.returncode
        if code == -signal.SIGXCPU:
            return self._limits.too_slow()
        much = max(self._held, _MUCH * self._limits.memory)
        if memory > much or any(sign in words for sign in _NO_MEMORY):
            return self._limits.too_much_memory()
        cause = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return ExtractionError("crashed", f"its parser crashed with {cause}")
