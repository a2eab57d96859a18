"""Documents that come in while nobody waits for them: queued, worked on, and told about.

The queue is only in memory, and need not be more: what a job is to do is noted in the catalog
before it begins, as a draft, and a server that starts takes up every draft that it finds. Owners
take turns. While something that all need is away, such as the embedder, one job after the other
is tried, with longer and longer pauses. Knows nothing of HTTP.
"""

import asyncio
import secrets
from asyncio import TimerHandle
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from logging import ERROR
from traceback import format_exc
from typing import Literal

from unchunk.domain import Document, DocumentId, OwnerId
from unchunk.engine import Engine
from unchunk.errors import NotFoundError, TransientError, UnchunkError
from unchunk.server.options import Options
from unchunk.server.streams import LAST_WORDS, SHUTTING_DOWN
from unchunk.telemetry import job as work_of
from unchunk.telemetry import log

Kind = Literal["upload", "retry", "reindex"]
State = Literal["queued", "running", "done", "failed", "waiting"]
Stage = Literal["read", "extracted", "embedding", "done"]

_INTERNAL = "something went wrong inside; the server's log tells what, under the id of this job"
_DELETED = "it was deleted"
# A name to log under.
_NAMED = 12


@dataclass(slots=True, eq=False)
class Job:
    """What is done to one document, and how far that is: `done` of `total` chunks."""

    owner: OwnerId
    kind: Kind
    document: DocumentId
    name: str
    folder: str
    forced: bool = False
    id: str = field(default_factory=lambda: secrets.token_urlsafe(_NAMED))
    state: State = "queued"
    stage: Stage = "read"
    done: int = 0
    total: int = 0
    result: str = ""
    error_code: str = ""
    error: str = ""
    is_dropped: bool = False
    begun_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended_at: datetime | None = None

    def as_dict(self) -> dict[str, object]:
        return {
            "id": self.id,
            "kind": self.kind,
            "document_id": self.document,
            "name": self.name,
            "folder": self.folder,
            "state": self.state,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "result": self.result,
            "error_code": self.error_code,
            "error": self.error,
            "begun_at": self.begun_at,
            "ended_at": self.ended_at,
        }

    def reached(self, stage: Stage, done: int = 0, total: int = 0) -> None:
        """What fails stays where it was."""
        if stage != "done":
            self.stage, self.done, self.total = stage, done, total

    def wait(self, why: str) -> None:
        self.state, self.result, self.error_code, self.error = "waiting", "", "unavailable", why

    def succeed(self, result: str) -> None:
        self.state, self.stage, self.result = "done", "done", result
        self.done, self.error_code, self.error = self.total, "", ""

    def fail(self, code: str, why: str) -> None:
        self.state, self.result, self.error_code, self.error = "failed", "failed", code, why


class Jobs:
    """Those of one server."""

    def __init__(self, engine: Engine, options: Options) -> None:
        self._engine, self._options = engine, options
        self._queues: OrderedDict[OwnerId, deque[Job]] = OrderedDict()
        self._active: dict[str, Job] = {}
        self._about: dict[DocumentId, list[Job]] = {}
        self._ended: OrderedDict[str, Job] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pause: TimerHandle | None = None
        self._in_vain = 0
        self._is_closing = False

    @property
    def running(self) -> int:
        return len(self._tasks)

    @property
    def queued(self) -> int:
        return len(self._active) - len(self._tasks)

    def check(self, owner: OwnerId) -> None:
        """Raise where no further job can be begun."""
        if self._is_closing:
            raise TransientError(SHUTTING_DOWN.message)
        waiting = len(self._queues.get(owner, ()))
        if waiting >= self._options.max_jobs:
            raise TransientError(f"{waiting} files wait already: try again later")

    def begin(self, kind: Kind, document: Document, *, forced: bool = False) -> Job:
        """Work on a document. One job does for all that is to be done, but for bytes that came
        after it had begun.
        """
        for job in self._about.get(document.id, ()):
            is_in_time = job.state != "running" or kind != "upload"
            if is_in_time and (job.kind == "reindex") == (kind == "reindex"):
                job.forced = job.forced or forced
                self._try_again(job)
                return job
        job = Job(document.owner, kind, document.id, document.name, document.folder, forced)
        self._active[job.id] = job
        self._about.setdefault(job.document, []).append(job)
        self._enqueue(job)
        return job

    def noted(self, document: Document, result: str) -> Job:
        """The job of a file that there was nothing to do for."""
        job = Job(document.owner, "upload", document.id, document.name, document.folder)
        job.succeed(result)
        self._keep(job)
        return job

    def find(self, owner: OwnerId, name: str) -> Job:
        """Another owner's job is not there, as one that never was."""
        self._forget_old()
        job = self._active.get(name) or self._ended.get(name)
        if job is None or job.owner != owner:
            raise NotFoundError(f"there is no job {name[:40]!r}")
        return job

    def of(self, owner: OwnerId, limit: int) -> list[Job]:
        """Those that are to be done, then those that were lately, of both the newest first.

        Of more than `limit` that are to be done, those that were begun first.
        """
        self._forget_old()
        active = [job for job in self._active.values() if job.owner == owner][:limit]
        ended = (job for job in reversed(self._ended.values()) if job.owner == owner)
        return [*reversed(active), *islice(ended, limit - len(active))]

    def drop(self, document: DocumentId) -> None:
        """Its document was deleted: what has not begun never will, the rest stops by itself."""
        for job in list(self._about.get(document, ())):
            job.is_dropped = True
            queue = self._queues.get(job.owner, deque())
            if job in queue:
                queue.remove(job)
                if not queue:
                    del self._queues[job.owner]
                self._end(job)

    def stop(self) -> None:
        """Begin no more."""
        self._is_closing = True
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None

    async def close(self) -> None:
        """Let what runs come to its end for a while. Whatever is left is as it was in the catalog."""
        self.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._options.job_grace)
        parked = len(self._active)
        if self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks, timeout=LAST_WORDS)
        if parked:
            log("%d jobs are parked: the next start goes on with them", parked)

    def _enqueue(self, job: Job) -> None:
        self._queues.setdefault(job.owner, deque()).append(job)
        self._pump()

    def _try_again(self, job: Job) -> None:
        """Somebody asks for it: no pause is waited for."""
        if self._pause is not None and job.state == "waiting":
            self._pause.cancel()
            self._go_on()

    def _pump(self) -> None:
        """Begin as many as may run; while it is not known whether any can succeed, one."""
        if self._is_closing or self._pause is not None:
            return
        width = 1 if self._in_vain else self._options.job_width
        while len(self._tasks) < width and self._queues:
            owner, queue = self._queues.popitem(last=False)
            job = queue.popleft()
            if queue:
                self._queues[owner] = queue
            job.state = "running"
            task = asyncio.create_task(self._run(job))
            self._tasks.add(task)
            task.add_done_callback(self._settle(job))

    def _settle(self, job: Job) -> Callable[[asyncio.Task[None]], None]:
        def settle(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if job.is_dropped or job.state in ("done", "failed"):
                self._end(job)
            elif not task.cancelled():
                self._queues.setdefault(job.owner, deque()).append(job)
            self._pump()

        return settle

    async def _run(self, job: Job) -> None:
        with work_of(f"job-{job.id}"):
            try:
                await (self._rewrite(job) if job.kind == "reindex" else self._bring_in(job))
                if job.state == "done":
                    self._in_vain = 0
            except NotFoundError:
                job.is_dropped = True
            except TransientError as error:
                self._hold_back(job, str(error))
            except UnchunkError as error:
                job.fail(error.code, str(error))
            except Exception:  # noqa: BLE001 - the edge of this task: whoever asks is told
                log("the job failed: %s", format_exc(), level=ERROR)
                job.fail("internal", _INTERNAL)

    async def _bring_in(self, job: Job) -> None:
        await self._engine.exactly(job.document, owner=job.owner)
        outcomes = await self._engine.retry(
            job.document,
            owner=job.owner,
            report=lambda event: job.reached(event.stage, event.done, event.total),
        )
        for outcome in outcomes:
            if outcome.result == "waiting":
                raise TransientError(outcome.error)
            if outcome.result == "failed":
                job.fail(outcome.error_code, outcome.error)
                return
            job.succeed(outcome.result)
        # Nothing was left to do: another brought it in.
        if not outcomes:
            job.succeed("unchanged")
        if job.forced and job.result == "unchanged":
            await self._rewrite(job)

    async def _rewrite(self, job: Job) -> None:
        job.state = "running"
        await self._engine.exactly(job.document, owner=job.owner)
        await self._engine.reindex(
            job.document,
            owner=job.owner,
            report=lambda _, done, total: job.reached("embedding", done, total),
        )
        job.succeed("reindexed")

    def _hold_back(self, job: Job, why: str) -> None:
        """What all need is away: there is no sense in trying them all."""
        job.wait(why)
        if self._pause is None and not self._is_closing:
            self._in_vain += 1
            patience = self._options.job_patience * 2 ** min(self._in_vain - 1, 20)
            patience = min(patience, self._options.job_longest_patience)
            log("%s waits: the next try is in %.0f s: %s", job.name, patience, why)
            self._pause = asyncio.get_running_loop().call_later(patience, self._go_on)

    def _go_on(self) -> None:
        self._pause = None
        self._pump()

    def _end(self, job: Job) -> None:
        if job.is_dropped:
            job.fail("deleted", _DELETED)
        del self._active[job.id]
        self._about[job.document].remove(job)
        if not self._about[job.document]:
            del self._about[job.document]
        self._keep(job)

    def _keep(self, job: Job) -> None:
        job.ended_at = datetime.now(UTC)
        self._ended[job.id] = job
        self._forget_old()

    def _forget_old(self) -> None:
        """The oldest first: they are in the order in which they ended."""
        moment = datetime.now(UTC)
        while self._ended:
            oldest = next(iter(self._ended.values()))
            assert oldest.ended_at is not None
            age = (moment - oldest.ended_at).total_seconds()
            is_many = len(self._ended) > self._options.kept_jobs
            if not is_many and age < self._options.kept_job_seconds:
                return
            del self._ended[oldest.id]
