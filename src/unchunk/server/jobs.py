"""Documents that come in while nobody waits for them, as a server sees them.

The queue is in the catalog, so a job outlives the server, and another may work on it. Unless it is
told not to, a server works on jobs itself. Knows nothing of HTTP.
"""

import asyncio
from dataclasses import asdict
from logging import ERROR
from traceback import format_exception

from unchunk.domain import Document, OwnerId
from unchunk.engine import Engine
from unchunk.errors import TransientError, UnchunkError
from unchunk.library.working import Pace, Worker
from unchunk.ports import OVER, Job, JobKind
from unchunk.server.options import Options
from unchunk.server.streams import SHUTTING_DOWN
from unchunk.telemetry import log

_LOOK = 0.5
_UNSEEN = ("owner", "document", "forced", "attempts")


def shown(job: Job) -> dict[str, object]:
    """As replies have it."""
    told = {name: it for name, it in asdict(job).items() if name not in _UNSEEN}
    return told | {"document_id": job.document}


class Jobs:
    """Those of one server's library, and the worker of that server."""

    def __init__(self, engine: Engine, options: Options) -> None:
        self._engine, self._options = engine, options
        self._queue, self._bell = engine.sharing.queue, engine.sharing.bell
        self._worker: Worker | None = None
        self._work: asyncio.Task[None] | None = None
        self._is_closing = False

    @property
    def works(self) -> bool:
        """Whether this server works on jobs itself."""
        return self._options.work

    async def start(self) -> None:
        """Work on jobs from now on, if that is wanted."""
        if self._engine.is_alone:
            try:
                # Whoever worked on them is gone: nobody needs to wait until their time is over.
                await self._queue.release()
            except UnchunkError as error:
                log("jobs of a server before this one have to wait: %s", error)
        if self._options.work:
            self._worker = Worker(self._engine, self._queue, self._bell, _pace(self._options))
            self._work = asyncio.create_task(self._worker.run())
            self._work.add_done_callback(_complain)

    async def check(self, owner: OwnerId) -> None:
        """Raise where no further job can be begun."""
        if self._is_closing:
            raise TransientError(SHUTTING_DOWN.message)
        waiting = await self._queue.waiting(owner)
        if waiting >= self._options.max_jobs:
            raise TransientError(f"{waiting} files wait already: try again later")

    async def begin(self, kind: JobKind, document: Document, *, forced: bool = False) -> Job:
        """Have a document worked on; one job does for all that is to be done to it."""
        return await self._queue.begin(kind, document, forced=forced)

    async def noted(self, document: Document, result: str) -> Job:
        """The job of a file that there was nothing to do for."""
        return await self._queue.noted(document, result)

    async def adopt(self, older_than: float = 0.0) -> int:
        """Give jobs to documents that are on their way in and have none; to how many."""
        return await self._queue.adopt(older_than)

    async def find(self, owner: OwnerId, name: str) -> Job:
        """Another owner's job is not there, as one that never was."""
        return await self._queue.find(owner, name)

    async def of(self, owner: OwnerId, limit: int) -> list[Job]:
        return await self._queue.of(owner, limit)

    async def ended(self, job: Job) -> Job:
        """The job when it is over, or waits for something that is away.

        As it is then, where it takes longer than the options say, or the server ends.
        """
        loop = asyncio.get_running_loop()
        last = loop.time() + self._options.upload_seconds
        while job.ended_at is None and job.state != "waiting":
            if self._is_closing or (left := last - loop.time()) <= 0:
                break
            await self._bell.wait(OVER, min(_LOOK, left))
            job = await self._queue.find(job.owner, job.id)
        return job

    async def counts(self) -> dict[str, int]:
        return {"running": await self._queue.running(), "queued": await self._queue.waiting()}

    def stop(self) -> None:
        """Begin no more."""
        self._is_closing = True
        if self._worker is not None:
            self._worker.stop()

    async def close(self) -> None:
        """Let what runs come to its end for a while. Whatever is left goes back to the queue."""
        self.stop()
        if self._work is not None:
            await asyncio.wait([self._work])


def _pace(options: Options) -> Pace:
    return Pace(
        width=options.job_width,
        patience=options.job_patience,
        longest_patience=options.job_longest_patience,
        grace=options.job_grace,
        kept=options.kept_jobs,
        kept_seconds=options.kept_job_seconds,
    )


def _complain(work: asyncio.Task[None]) -> None:
    """Nobody awaits it before the end."""
    error = None if work.cancelled() else work.exception()
    if error is not None:
        log("no job is worked on any more: %s", "".join(format_exception(error)), level=ERROR)
