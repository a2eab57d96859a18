"""What a worker does with jobs, over a real queue and a library that acts as a test wants it to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from unchunk.adapters.catalog import SqlBell, SqlCatalog, SqlQueue, open_database
from unchunk.domain import Document
from unchunk.errors import NotFoundError, OutputError, TransientError
from unchunk.library.doing import Ended
from unchunk.library.ingest import Event, Outcome
from unchunk.library.reindexing import Reindexed
from unchunk.library.working import Pace, Worker
from unchunk.ports import Job

PATIENCE = 30.0
Act = Outcome | Exception | None | Callable[[], Awaitable[object]]
ADDED = Outcome("a", "added", "d")


class Acting:
    """A library whose documents do what `acts` says, one after the other, and then come in."""

    def __init__(self, *acts: Act) -> None:
        self.acts, self.asked, self.running, self.most = list(acts), [], 0, 0  # type: ignore[var-annotated]
        self.rewritten: list[str] = []
        self.gone: set[str] = set()
        self.is_overtaken = False

    async def exactly(self, document: str, *, owner: str) -> Document:
        if document in self.gone:
            raise NotFoundError(f"there is no document {document!r} of {owner}")
        return Document.__new__(Document)

    async def retry(
        self, *documents: str, owner: str, report: Callable[[Event], None]
    ) -> list[Outcome]:
        self.asked.append((owner, *documents))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            report(Event("extracted", "a"))
            act = self.acts.pop(0) if self.acts else ADDED
            if isinstance(act, Exception):
                raise act
            if callable(act):
                await act()
                act = ADDED
            report(Event("embedding", "a", 3, 3))
            return [] if act is None else [act]
        finally:
            self.running -= 1

    async def reindex(
        self, *references: str, owner: str, report: Callable[[str, int, int], None]
    ) -> Reindexed:
        self.rewritten += [f"{owner} {one}" for one in references]
        report("a", 2, 2)
        return Reindexed(0 if self.is_overtaken else 1)


class Scene:
    """A queue, and workers on it."""

    def __init__(self, catalog: SqlCatalog, queue: SqlQueue, bell: SqlBell) -> None:
        self.catalog, self.queue, self.bell = catalog, queue, bell
        self.told: list[tuple[str, Ended]] = []

    async def job(self, name: str = "a", owner: str = "me", *, forced: bool = False) -> Job:
        return await self.queue.begin("upload", await self.document(name, owner), forced=forced)

    async def document(self, name: str, owner: str = "me") -> Document:
        checksum = f"{name:x<64}"[:64]
        return await self.catalog.begin(owner, "", name, checksum=checksum, size=1, blob=name)

    async def now(self, job: Job) -> Job:
        return await self.queue.find(job.owner, job.id)

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not await holds():  # noqa: ASYNC110 - nothing else tells
                await asyncio.sleep(0.005)

    async def ended(self, job: Job) -> Job:
        async def is_over() -> bool:
            return (await self.now(job)).ended_at is not None

        await self.until(is_over)
        return await self.now(job)

    async def heard(self, count: int) -> None:
        """A job is over a moment before that is told; who stops in between is told nothing."""

        async def is_so() -> bool:
            return len(self.told) == count

        await self.until(is_so)

    async def is_running(self, library: Acting, count: int) -> None:
        async def is_so() -> bool:
            return library.running == count

        await self.until(is_so)

    @asynccontextmanager
    async def working(self, library: Acting, **pace: float) -> AsyncIterator[Worker]:
        chosen = Pace(**{"patience": 0.001, "grace": 0.0, **pace})  # type: ignore[arg-type]
        worker = Worker(
            library,
            self.queue,
            self.bell,
            chosen,
            lambda job, end: self.told.append((job.name, end)),
        )
        work = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            async with asyncio.timeout(PATIENCE):
                await work


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., None]:
    def run(scene: Callable[[Scene], Awaitable[None]], lease: float = 60.0) -> None:
        async def opened() -> None:
            database = await open_database(tmp_path / "catalog.sqlite")
            bell = SqlBell(database)
            try:
                await scene(Scene(SqlCatalog(database), SqlQueue(database, lease, 3), bell))
            finally:
                await bell.close()
                await database.close()

        asyncio.run(opened())

    return run


def held() -> tuple[asyncio.Event, Callable[[], Awaitable[object]]]:
    gate = asyncio.Event()
    return gate, gate.wait


@pytest.mark.parametrize(
    ("acts", "code", "said"),
    [
        ([OutputError("no space left")], "not-written", "no space left"),
        ([RuntimeError("a secret")], "internal", "the log tells"),
        ([NotFoundError("gone")], "deleted", "it was deleted"),
        ([Outcome("a", "failed", error_code="overtaken", error="too late")], "overtaken", "late"),
        ([TransientError("busy"), TransientError("busy"), OutputError("full")], "not-written", "f"),
    ],
)
def test_a_job_that_cannot_be_done_says_why(
    play: Callable[..., None], acts: list[Act], code: str, said: str
) -> None:
    async def scene(it: Scene) -> None:
        library = Acting(*acts)
        async with it.working(library):
            job = await it.ended(await it.job())
            await it.heard(len(acts))
        assert (job.state, job.result, job.error_code) == ("failed", "failed", code)
        assert said in job.error
        assert "secret" not in str(job)
        assert not library.acts
        assert it.told[-1] == ("a", Ended(error_code=code, error=job.error))

    play(scene)


def test_a_job_that_is_done_tells_how_far_it_was_and_how_it_ended(
    play: Callable[..., None],
) -> None:
    async def scene(it: Scene) -> None:
        async with it.working(Acting(Outcome("a", "replaced", "d"))):
            job = await it.ended(await it.job())
            await it.heard(1)
        assert (job.state, job.stage, job.result) == ("done", "done", "replaced")
        assert (job.done, job.total, job.attempts) == (3, 3, 1)
        assert it.told == [("a", Ended("replaced"))]

    play(scene)


def test_how_far_a_job_is_can_be_seen_while_it_runs(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        gate, wait = held()
        async with it.working(Acting(wait)):
            job = await it.job()

            async def is_seen() -> bool:
                return (await it.now(job)).stage == "extracted"

            await it.until(is_seen)
            gate.set()
            await it.ended(job)

    play(scene)


def test_what_another_brought_in_meanwhile_is_unchanged(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        library = Acting(None, None)
        async with it.working(library):
            assert (await it.ended(await it.job())).result == "unchanged"
            assert library.rewritten == []
            job = await it.job("b", forced=True)
            assert (await it.ended(job)).result == "reindexed"
            assert library.rewritten == [f"me {job.document}"]

    play(scene)


def test_a_document_that_was_not_written_anew_is_not_said_to_be(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        library = Acting()
        library.is_overtaken = True
        async with it.working(library):
            job = await it.queue.begin("reindex", await it.document("a"))
            assert (await it.ended(job)).result == "unchanged"

    play(scene)


def test_a_document_is_written_anew_where_that_was_asked_for(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        library = Acting()
        async with it.working(library):
            job = await it.queue.begin("reindex", await it.document("a"))
            done = await it.ended(job)
            assert (done.result, done.done, done.total) == ("reindexed", 2, 2)
            assert library.asked == []

    play(scene)


def test_so_many_run_at_once_and_no_more_are_claimed(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        gate, wait = held()
        library = Acting(*[wait] * 5)
        async with it.working(library, width=2):
            jobs = [await it.job(name) for name in "abcde"]
            await it.is_running(library, 2)
            assert (await it.queue.running(), await it.queue.waiting()) == (2, 3)
            gate.set()
            for job in jobs:
                await it.ended(job)
            assert library.most == 2

    play(scene)


def test_pauses_grow_while_nothing_works_and_end_with_the_first_success(
    play: Callable[..., None],
) -> None:
    async def scene(it: Scene) -> None:
        waits: list[float] = []
        put_back = it.queue.put_back

        async def noting(worker: str, job: str, why: str = "", seconds: float = 0.0) -> None:
            waits.append(seconds)
            await put_back(worker, job, why, 0.0)

        loop = asyncio.get_running_loop()
        later = loop.call_later

        def soon(delay: float, work: Callable[..., object], *given: object) -> asyncio.TimerHandle:
            return later(0 if delay >= 8 else delay, work, *given)

        it.queue.put_back = noting  # type: ignore[method-assign]
        loop.call_later = soon  # type: ignore[method-assign,assignment]
        library = Acting(*[TransientError("busy")] * 4, ADDED, TransientError("busy"))
        async with it.working(library, width=1, patience=8, longest_patience=30):
            assert (await it.ended(await it.job())).result == "added"
            await it.ended(await it.job("b"))
        assert waits == [8, 16, 30, 30, 8]

    play(scene)


def test_while_something_is_away_one_after_the_other_is_tried(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        gate, wait = held()

        async def fails() -> None:
            await wait()
            raise TransientError("it rains")

        library = Acting(*[fails] * 3)
        pauses: list[float] = []
        put_back = it.queue.put_back

        async def noting(worker: str, job: str, why: str = "", seconds: float = 0.0) -> None:
            pauses.append(seconds)
            await put_back(worker, job, why, seconds)

        it.queue.put_back = noting  # type: ignore[method-assign]
        async with it.working(library, width=3, patience=1000, longest_patience=10_000):
            jobs = [await it.job(name) for name in "abcd"]
            await it.is_running(library, 3)
            gate.set()
            await it.heard(3)
            assert pauses == [1000, 1000, 1000], "it is away once, however many need it"
            waits = await it.now(jobs[0])
            assert (waits.state, waits.error_code, waits.error) == (
                "waiting",
                "unavailable",
                "it rains",
            )
            assert (await it.now(jobs[3])).state == "queued", "there is no sense in trying it"
            # Somebody asks for one that waits: it is tried, and as it works, the rest follows.
            await it.queue.begin("retry", await it.document("b"))
            assert (await it.ended(jobs[1])).result == "added"
            assert (await it.ended(jobs[3])).result == "added"

    play(scene)


def test_a_worker_that_stops_lets_a_job_come_to_its_end(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        gate, wait = held()
        library = Acting(wait)
        async with it.working(library, width=1, grace=PATIENCE) as worker:
            first, second = await it.job("a"), await it.job("b")
            await it.is_running(library, 1)
            worker.stop()
            gate.set()
        assert (await it.now(first)).state == "done"
        assert (await it.now(second)).state == "queued", "it was not begun any more"

    play(scene)


def test_what_does_not_end_in_time_is_anothers_at_once(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        _, wait = held()
        library = Acting(wait)
        async with it.working(library):
            job = await it.job()
            await it.is_running(library, 1)
        assert library.running == 0
        parked = await it.now(job)
        assert (parked.state, parked.attempts) == ("queued", 0)
        async with it.working(library):
            assert (await it.ended(job)).attempts == 1

    play(scene)


def test_what_takes_long_is_held_on_to(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        gate, wait = held()
        library = Acting(wait)
        async with it.working(library):
            job = await it.job()
            await it.is_running(library, 1)
            await asyncio.sleep(4)  # several times as long as a claim lasts
            assert await it.queue.claim("another", 5) == []
            gate.set()
            assert (await it.ended(job)).attempts == 1

    play(scene, lease=1.0)


def test_what_was_deleted_is_stopped(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        _, wait = held()
        library = Acting(wait)
        async with it.working(library):
            job = await it.job()
            await it.is_running(library, 1)
            await it.catalog.bury("me", job.document)
            gone = await it.ended(job)
            assert (gone.state, gone.error_code) == ("failed", "deleted")
            await it.is_running(library, 0)

    play(scene, lease=0.3)


def test_what_is_anothers_by_now_is_stopped_and_left_to_it(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        _, wait = held()
        library = Acting(wait)
        async with it.working(library):
            job = await it.job()
            await it.is_running(library, 1)
            await it.queue.release()
            # Before its next beat.
            [taken] = await it.queue.claim("another", 1)
            assert taken.id == job.id
            await it.is_running(library, 0)
            assert (await it.now(job)).state == "running"
            await it.queue.end("another", job.id, result="added")
            assert (await it.ended(job)).result == "added"

    play(scene, lease=1.0)


def test_a_document_that_is_gone_ends_its_job(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        library = Acting()
        job = await it.job()
        library.gone.add(job.document)
        async with it.working(library):
            assert (await it.ended(job)).error_code == "deleted"
        assert library.asked == []

    play(scene)


def test_a_worker_goes_on_when_its_queue_is_back(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        claim, failures = it.queue.claim, [TransientError("restarting"), OutputError("full")]

        async def failing(worker: str, most: int, *, asked_for: bool = False) -> list[Job]:
            if failures:
                raise failures.pop()
            return await claim(worker, most, asked_for=asked_for)

        it.queue.claim = failing  # type: ignore[method-assign]
        async with it.working(Acting(), look=0.01):
            assert (await it.ended(await it.job())).result == "added"
        assert not failures

    play(scene)


def test_two_workers_share_the_work(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        gate, wait = held()
        first, second = Acting(*[wait] * 2), Acting(*[wait] * 2)
        jobs = [await it.job(name) for name in "abcdef"]
        async with it.working(first, width=2), it.working(second, width=2):
            await it.is_running(first, 2)
            await it.is_running(second, 2)
            gate.set()
            for job in jobs:
                assert (await it.ended(job)).attempts == 1
        assert len(first.asked) + len(second.asked) == 6

    play(scene)


def test_what_is_over_is_forgotten(play: Callable[..., None]) -> None:
    async def scene(it: Scene) -> None:
        async with it.working(Acting(), kept=1):
            for name in "ab":
                await it.ended(await it.job(name))

            async def is_forgotten() -> bool:
                return [one.name for one in await it.queue.of("me", 9)] == ["b"]

            await it.until(is_forgotten)

    play(scene)
