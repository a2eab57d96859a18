"""Documents that come in while nobody waits for them: jobs out of the queue, several at a time.

A worker claims only what it can begin. While something that all need is away, such as the embedder,
it tries one job after the other, with longer and longer pauses. Correctness does not hang on it:
whoever takes over from a worker that was thought dead is safe from it, since each writes a
generation of its own.
"""

import asyncio
import os
import secrets
import socket
from asyncio import TimerHandle
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from logging import ERROR
from traceback import format_exc

from unchunk.errors import TransientError, UnchunkError
from unchunk.library.doing import DELETED, Ended, Library, do
from unchunk.ports import DUE, Bell, Job, Progress, Queue
from unchunk.telemetry import job as work_of
from unchunk.telemetry import log

_TOLD_EVERY = 0.5
_FORGOTTEN_EVERY = 1.0
# How long whoever is stopped may take to end what they began.
_LAST_WORDS = 5.0


@dataclass(frozen=True, slots=True)
class Pace:
    """`width` jobs at a time. The queue is looked at after `look` seconds at the latest.

    The first pause is `patience` seconds. Who is to stop has `grace` seconds for what has begun.
    What is over is kept for `kept_seconds`, of the last `kept`.
    """

    width: int = 8
    look: float = 1.0
    patience: float = 5.0
    longest_patience: float = 300.0
    grace: float = 5.0
    kept: int = 1_000
    kept_seconds: float = 3_600.0


Told = Callable[[Job, Ended], None]


class Worker:
    """Takes jobs of all owners until it is closed; `told` hears what became of each."""

    def __init__(
        self,
        library: Library,
        queue: Queue,
        bell: Bell,
        pace: Pace | None = None,
        told: Told = lambda *_: None,
    ) -> None:
        self._library, self._queue, self._bell = library, queue, bell
        self._pace, self._told = pace or Pace(), told
        self.name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._held: set[str] = set()
        self._progress: dict[str, Progress] = {}
        self._news = asyncio.Event()
        self._pause: TimerHandle | None = None
        self._in_vain = 0
        self._is_closing = False
        self._has_ended = False

    async def run(self) -> None:
        """Work until it is told to `stop`, and has."""
        chores = [
            asyncio.create_task(self._again(chore, every))
            for chore, every in (
                (self._listen, 0.0),
                (self._beat, self._queue.lease / 3),
                (self._tell, _TOLD_EVERY),
                (self._forget, _FORGOTTEN_EVERY),
            )
        ]
        try:
            while not self._is_closing:
                self._news.clear()
                await self._begin()
                await self._news.wait()
            await self._finish()
        finally:
            for one in chores:
                one.cancel()
            await asyncio.wait(chores)

    def stop(self) -> None:
        """Begin no more."""
        self._is_closing = True
        self._go_on()

    async def _begin(self) -> None:
        """As many as may run; while it is not known whether any can succeed, one."""
        room = (1 if self._in_vain else self._pace.width) - len(self._tasks)
        if room <= 0 or self._is_closing:
            return
        try:
            claimed = await self._queue.claim(self.name, room, asked_for=self._pause is not None)
        except UnchunkError as error:
            log("no jobs can be had: %s", error)
            return
        for job in claimed:
            await self._take(job)

    async def _take(self, job: Job) -> None:
        # What was lost for a moment, and is worked on here, is claimed again.
        if job.id in self._tasks:
            return
        if self._is_closing:
            with suppress(UnchunkError):
                await self._queue.put_back(self.name, job.id)
            return
        self._tasks[job.id] = task = asyncio.create_task(self._work(job))
        self._held.add(job.id)
        task.add_done_callback(lambda _: self._settled(job))

    def _settled(self, job: Job) -> None:
        del self._tasks[job.id]
        self._held.discard(job.id)
        self._progress.pop(job.id, None)
        self._has_ended = True
        self._news.set()

    async def _work(self, job: Job) -> None:
        with work_of(f"job-{job.id}"):
            try:
                ended = await do(self._library, job, partial(self._reached, job.id))
            except TransientError as error:
                await self._hold_back(job, str(error))
            else:
                await self._end(job, ended)

    def _reached(self, job: str, progress: Progress) -> None:
        self._progress[job] = progress

    async def _end(self, job: Job, ended: Ended) -> None:
        self._held.discard(job.id)
        reached = self._progress.pop(job.id, None)
        try:
            await self._queue.end(self.name, job.id, reached=reached, **ended._asdict())
        except UnchunkError as error:
            # Whoever has it next finds that nothing is left to do.
            log("the end of %s cannot be noted: %s", job.name, error)
        if not ended.error_code:
            self._in_vain = 0
            self._go_on()
        self._told(job, ended)

    async def _hold_back(self, job: Job, why: str) -> None:
        """What all need is away: there is no sense in trying them all."""
        self._held.discard(job.id)
        is_first = self._pause is None
        self._in_vain += is_first
        patience = self._pace.patience * 2 ** min(self._in_vain - 1, 20)
        patience = min(patience, self._pace.longest_patience)
        if is_first:
            log("%s waits: the next try is in %.0f s: %s", job.name, patience, why)
            self._pause_for(patience)
        pause = self._pause
        with suppress(UnchunkError):
            await self._queue.put_back(self.name, job.id, why, patience)
        if is_first and self._pause is pause is not None:
            # From now on, so that the job is due when it ends.
            self._pause_for(patience)
        self._told(job, Ended(error_code="unavailable", error=why))

    def _pause_for(self, seconds: float) -> None:
        if self._pause is not None:
            self._pause.cancel()
        self._pause = asyncio.get_running_loop().call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self._news.set()

    async def _finish(self) -> None:
        """Let what runs come to its end for a while; the rest goes back at once."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=self._pace.grace)
        parked = dict(self._tasks)
        for task in parked.values():
            task.cancel()
        if parked:
            await asyncio.wait(parked.values(), timeout=_LAST_WORDS)
            log("%d jobs are parked: whoever works next goes on with them", len(parked))
        for job in parked:
            with suppress(UnchunkError):
                await self._queue.put_back(self.name, job)

    async def _again(self, chore: Callable[[], Awaitable[None]], every: float) -> None:
        while True:
            await asyncio.sleep(every)
            try:
                await chore()
            except UnchunkError as error:
                log("the queue does not answer: %s", error)
                await asyncio.sleep(self._pace.look)
            except Exception:  # noqa: BLE001 - the edge of this task: the next time may be better
                log("a worker is out of step: %s", format_exc(), level=ERROR)
                await asyncio.sleep(self._pace.look)

    async def _listen(self) -> None:
        await self._bell.wait(DUE, self._pace.look)
        self._news.set()

    async def _beat(self) -> None:
        """Hold on to all that runs; what was deleted, or is another's by now, stops."""
        held = frozenset(self._held)
        kept = await self._queue.beat(self.name, held) if held else held
        for job in held - kept:
            if job in self._held:
                log("job %s is no longer to be done here", job)
                self._tasks[job].cancel()
                # Of another's, this changes nothing.
                await self._queue.end(self.name, job, **DELETED._asdict())

    async def _tell(self) -> None:
        told, self._progress = self._progress, {}
        if told:
            await self._queue.reached(self.name, told)

    async def _forget(self) -> None:
        if self._has_ended:
            self._has_ended = False
            await self._queue.forget(self._pace.kept_seconds, self._pace.kept)
