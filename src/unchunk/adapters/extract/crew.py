"""Processes that files may ruin, and who waits for one of them.

Workers start when those that are there stay busy, stay warm, and are replaced when a file has killed
them, when they have grown, or after some hundred files.
"""

import asyncio
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from unchunk.adapters.extract.frames import Header
from unchunk.adapters.extract.limits import Limits
from unchunk.adapters.extract.process import GoneError, Worker
from unchunk.errors import ExtractionError, InvalidSettingError

T = TypeVar("T")

_TRIES = 3  # how often an idle worker may be found dead before a file is given up
# A worker takes so many seconds to start, and most files far less to read: who finds all of them
# busy waits as long as that for one before another is started.
_PATIENCE = 0.2


class Crew:
    """Up to `workers` files at once; more wait. Not bound to an event loop.

    A message of its `ExtractionError`s speaks of the file as "it": who asked knows the name.
    Time spent waiting for a worker does not count against a file.
    """

    def __init__(self, limits: Limits, workers: int, name: str) -> None:
        if workers < 1:
            raise InvalidSettingError(f"workers must be at least 1, not {workers}")
        self._limits = limits
        # A thread that starts a worker must outlive it: Linux ties the worker's life to it.
        self._threads = ThreadPoolExecutor(workers, name)
        self._lock = threading.Lock()
        self._freed = threading.Condition(self._lock)
        self._idle: list[Worker] = []
        self._busy = 0
        self._jobs: set[_Job[Any]] = set()

    async def ask(self, path: Path, request: bytes, understand: Callable[[Header, bytes], T]) -> T:
        """What a worker answers about a file. Cancelling it kills the worker that is reading."""
        job = _Job(path, request, understand)
        future = self._threads.submit(self._run, job)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            job.cancel()
            raise

    async def close(self) -> None:
        """End all workers, those at work too: whoever waits for them sees a cancellation.

        It is no error of the file, which can be read another time.
        """
        await asyncio.to_thread(self._close)

    def pids(self) -> list[int]:
        """The processes of the workers that wait for a file, for whoever watches them."""
        with self._lock:
            return [worker.pid for worker in self._idle]

    def _close(self) -> None:
        with self._lock:
            jobs = list(self._jobs)
        for job in jobs:
            job.cancel()
        self._threads.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.stop()

    def _run(self, job: "_Job[T]") -> T:
        self._check(job.path)
        with self._lock:
            self._jobs.add(job)
        try:
            return self._try(job)
        except ExtractionError:
            if job.cancelled:
                raise CancelledError from None
            raise
        finally:
            with self._lock:
                self._jobs.discard(job)

    def _try(self, job: "_Job[T]") -> T:
        for _ in range(_TRIES):
            with suppress(GoneError):
                return self._ask(job)
        raise ExtractionError("crashed", "the processes that read files do not stay alive")

    def _ask(self, job: "_Job[T]") -> T:
        if job.cancelled:
            raise CancelledError
        with self._worker(job) as worker:
            job.attach(worker)
            try:
                return worker.ask(job.request, job.understand)
            finally:
                job.detach()

    @contextmanager
    def _worker(self, job: "_Job[T]") -> Iterator[Worker]:
        """One for this file alone; if it is still good afterwards, it waits for another."""
        with self._freed:
            if self._busy:
                self._freed.wait_for(lambda: self._idle or not self._busy, _PATIENCE)
                if job.cancelled:
                    raise CancelledError
            self._busy += 1
            worker = self._idle.pop() if self._idle else None
        try:
            if worker is None:
                worker = Worker(self._limits)
                worker.start()
            yield worker
        finally:
            if worker is not None and (worker.spent or worker.killed):
                worker.stop()
                worker = None
            with self._freed:
                self._busy -= 1
                if worker is not None:
                    self._idle.append(worker)
                self._freed.notify()

    def _check(self, path: Path) -> None:
        """Refuse by what can be known without reading."""
        try:
            status = path.stat()
        except OSError as error:
            raise ExtractionError("unreadable", f"it cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise ExtractionError("unreadable", f"it cannot be read: {error}") from error
        if not stat.S_ISREG(status.st_mode):
            raise ExtractionError("unreadable", "it is not a regular file")
        self._limits.check_size(status.st_size)


class _Job(Generic[T]):
    """One file on its way; knows which worker to kill if nobody wants it any more."""

    def __init__(
        self, path: Path, request: bytes, understand: Callable[[Header, bytes], T]
    ) -> None:
        self.path, self.request, self.understand = path, request, understand
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self.cancelled = False

    def attach(self, worker: Worker) -> None:
        with self._lock:
            self._worker = worker
            if self.cancelled:
                worker.kill()

    def detach(self) -> None:
        with self._lock:
            self._worker = None

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True
            if self._worker is not None:
                self._worker.kill()
