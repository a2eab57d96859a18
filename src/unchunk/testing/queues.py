"""What every queue of jobs must do."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, TypeVar

import pytest

from unchunk.domain import Document
from unchunk.errors import NotFoundError
from unchunk.ports import Catalog, Job, Progress, Queue

S = TypeVar("S", bound="QueueContract")
ATTEMPTS = 3
# Longer than any scene.
LONG = 1000.0


class Place(NamedTuple):
    """A queue whose claims last for long, and the same one with claims that are over at once."""

    catalog: Catalog
    queue: Queue
    hasty: Queue


def on_queue(scene: Callable[[S, Place], Coroutine[None, None, None]]) -> Callable[[S], None]:
    """The scene as a test, with a fresh queue."""

    async def play(suite: S) -> None:
        async with suite.opened() as place:
            await scene(suite, place)

    def test(self: S) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


async def document(place: Place, name: str, owner: str = "me", folder: str = "") -> Document:
    """One whose bytes are to be kept as a draft."""
    checksum = f"{name:x<64}"[:64]
    return await place.catalog.begin(
        owner, folder, name, checksum=checksum, size=1, blob=f"{owner}/{name}"
    )


async def begun(place: Place, name: str, owner: str = "me") -> Job:
    return await place.queue.begin("upload", await document(place, name, owner))


async def now(place: Place, job: Job) -> Job:
    return await place.queue.find(job.owner, job.id)


async def names(place: Place, most: int, worker: str = "w") -> list[str]:
    return [one.name for one in await place.queue.claim(worker, most)]


class QueueContract:
    """Subclass it as `Test...`, and say how it is opened."""

    def opened(self) -> AbstractAsyncContextManager[Place]:
        """Empty at first. A job may end `ATTEMPTS` workers, a claim lasts `LONG` or 0 seconds."""
        raise NotImplementedError

    @on_queue
    async def test_a_job_is_as_it_was_begun_until_somebody_claims_it(self, place: Place) -> None:
        coming = await document(place, "ß 日本.txt", folder="a/b")
        job = await place.queue.begin("upload", coming, forced=True)
        assert (job.owner, job.kind, job.document) == ("me", "upload", coming.id)
        assert (job.name, job.folder, job.forced) == ("ß 日本.txt", "a/b", True)
        assert (job.state, job.stage, job.done, job.total) == ("queued", "read", 0, 0)
        assert (job.result, job.error_code, job.error, job.attempts) == ("", "", "", 0)
        assert job.ended_at is None
        assert await now(place, job) == job
        assert await place.queue.of("me", 10) == [job]
        [claimed] = await place.queue.claim("w", 10)
        assert (claimed.id, claimed.state, claimed.attempts) == (job.id, "running", 1)
        assert claimed.begun_at == job.begun_at
        assert await place.queue.claim("another", 10) == []

    @on_queue
    async def test_another_owners_job_is_not_there_as_one_that_never_was(
        self, place: Place
    ) -> None:
        job = await begun(place, "a")
        for owner, name in (("you", job.id), ("me", ""), ("me", "\0"), ("me", "\ud800 %")):
            with pytest.raises(NotFoundError, match="there is no job"):
                await place.queue.find(owner, name)
        assert await place.queue.of("you", 10) == []

    @on_queue
    async def test_one_job_does_for_all_but_bytes_that_came_after_it_was_claimed(
        self, place: Place
    ) -> None:
        coming = await document(place, "a")
        first = await place.queue.begin("upload", coming)
        again = await place.queue.begin("upload", coming, forced=True)
        assert (again.id, again.forced) == (first.id, True)
        assert (await place.queue.begin("retry", coming)).id == first.id
        anew = await place.queue.begin("reindex", coming)
        assert anew.id != first.id
        assert (await place.queue.begin("reindex", coming)).id == anew.id
        await place.queue.claim("w", 1)
        assert (await place.queue.begin("retry", coming)).id == first.id
        later = await place.queue.begin("upload", coming)
        assert later.id not in {first.id, anew.id}
        assert (await place.queue.begin("upload", coming)).id == later.id

    @on_queue
    async def test_nobody_claims_a_document_that_another_works_on(self, place: Place) -> None:
        coming = await document(place, "a")
        first = await place.queue.begin("upload", coming)
        assert len(await place.queue.claim("w", 5)) == 1
        second = await place.queue.begin("upload", coming)
        assert await place.queue.claim("another", 5) == []
        await place.queue.end("w", first.id, result="added")
        assert [one.id for one in await place.queue.claim("another", 5)] == [second.id]

    @on_queue
    async def test_what_there_was_nothing_to_do_for_is_done(self, place: Place) -> None:
        job = await place.queue.noted(await document(place, "a"), "unchanged")
        assert (job.state, job.stage, job.result) == ("done", "done", "unchanged")
        assert job.ended_at is not None
        assert await place.queue.claim("w", 5) == []

    @on_queue
    async def test_owners_take_turns_however_many_one_has(self, place: Place) -> None:
        for at in range(6):
            await begun(place, f"ann {at}", "ann")
        assert await names(place, 1) == ["ann 0"]
        for owner in ("bob", "cid"):
            for at in range(2):
                await begun(place, f"{owner} {at}", owner)
        order = [name for _ in range(9) for name in await names(place, 1)]
        # Each one's in the order in which they came, and nobody waits for all of another's.
        for owner in ("ann", "bob", "cid"):
            its = [name for name in order if name.startswith(owner)]
            assert its == sorted(its)
        assert {name.split()[0] for name in order[:3]} == {"ann", "bob", "cid"}
        assert order[-3:] == ["ann 3", "ann 4", "ann 5"]

    @on_queue
    async def test_who_comes_when_all_was_quiet_is_not_behind_those_who_came_before(
        self, place: Place
    ) -> None:
        for at in range(5):
            job = await begun(place, f"old {at}", "ann")
            await place.queue.claim("w", 1)
            await place.queue.end("w", job.id, result="added")
        for at in range(4):
            await begun(place, f"bob {at}", "bob")
        await begun(place, "ann", "ann")
        assert "ann" in await names(place, 2)

    @on_queue
    async def test_no_two_workers_get_the_same(self, place: Place) -> None:
        for at in range(12):
            await begun(place, f"{at}", f"owner {at % 3}")
        claimed = await asyncio.gather(*(place.queue.claim(f"w{at}", 5) for at in range(4)))
        ids = [one.id for some in claimed for one in some]
        assert len(ids) == len(set(ids))
        assert all(len(some) <= 5 for some in claimed)
        ids += [one.id for one in await place.queue.claim("last", 20)]
        assert len(set(ids)) == 12

    @on_queue
    async def test_a_beat_tells_what_a_worker_still_has(self, place: Place) -> None:
        jobs = [await begun(place, name) for name in "abc"]
        ids = {one.id for one in jobs}
        assert await place.queue.beat("w", ids) == set()
        await place.queue.claim("w", 1)
        await place.hasty.claim("w", 1)
        first, second, _ = (one.id for one in jobs)
        assert await place.queue.beat("w", ids) == {first, second}, "it was not too late yet"
        assert await place.queue.beat("w", {second}) == {second}
        assert await place.queue.beat("another", ids) == set()
        assert await names(place, 5, "another") == ["c"], "the beat held the second one"

    @on_queue
    async def test_what_nobody_beats_for_is_anothers_and_the_first_one_is_told(
        self, place: Place
    ) -> None:
        job = await begun(place, "a")
        await place.hasty.claim("slow", 1)
        [taken] = await place.queue.claim("quick", 1)
        assert (taken.id, taken.attempts) == (job.id, 2)
        assert await place.queue.beat("slow", [job.id]) == set()
        await place.queue.reached("slow", {job.id: Progress("embedding", 1, 2)})
        await place.queue.put_back("slow", job.id, "it rains", 5)
        await place.queue.end("slow", job.id, error_code="internal", error="too late")
        seen = await now(place, job)
        assert (seen.state, seen.stage, seen.error) == ("running", "read", "")
        await place.queue.end("quick", job.id, result="added")
        assert (await now(place, job)).state == "done"

    @on_queue
    async def test_how_far_a_job_is_and_how_it_ends(self, place: Place) -> None:
        good, bad = await begun(place, "good"), await begun(place, "bad")
        await place.queue.claim("w", 2)
        seen_so_far = {good.id: Progress("embedding", 3, 7), bad.id: Progress("extracted")}
        await place.queue.reached("w", seen_so_far)
        seen = await now(place, good)
        assert (seen.stage, seen.done, seen.total) == ("embedding", 3, 7)
        await place.queue.end("w", good.id, result="added")
        seen = await now(place, good)
        assert (seen.state, seen.stage, seen.result) == ("done", "done", "added")
        assert (seen.done, seen.total) == (7, 7)
        assert seen.ended_at is not None
        assert seen.begun_at <= seen.ended_at
        far = Progress("embedding", 2, 5)
        await place.queue.end("w", bad.id, reached=far, error_code="damaged", error="a\0b\ud800")
        seen = await now(place, bad)
        assert (seen.state, seen.stage, seen.result) == ("failed", "embedding", "failed")
        assert (seen.done, seen.total) == (2, 5)
        assert (seen.error_code, seen.error) == ("damaged", "a\0b\ud800")

    @on_queue
    async def test_what_cannot_be_done_now_waits_and_no_attempt_is_counted(
        self, place: Place
    ) -> None:
        job = await begun(place, "a")
        for _ in range(2 * ATTEMPTS):
            [claimed] = await place.queue.claim("w", 1)
            assert claimed.attempts == 1
            await place.queue.put_back("w", job.id, "it rains", 0)
        waits = await now(place, job)
        assert (waits.state, waits.error_code, waits.error) == (
            "waiting",
            "unavailable",
            "it rains",
        )
        await place.queue.claim("w", 1)
        await place.queue.put_back("w", job.id, "it rains", LONG)
        assert await place.queue.claim("w", 1) == []
        assert await place.queue.claim("w", 1, asked_for=True) == []
        assert (await place.queue.begin("retry", await document(place, "a"))).id == job.id
        [claimed] = await place.queue.claim("w", 1, asked_for=True)
        assert (claimed.id, claimed.error) == (job.id, "")

    @on_queue
    async def test_only_what_somebody_asked_for_again_is_asked_for(self, place: Place) -> None:
        await begun(place, "a")
        assert await place.queue.claim("w", 1, asked_for=True) == []

    @on_queue
    async def test_what_is_put_back_without_a_reason_is_queued_where_it_was(
        self, place: Place
    ) -> None:
        jobs = [await begun(place, name) for name in "ab"]
        await place.queue.claim("w", 1)
        await place.queue.put_back("w", jobs[0].id)
        assert (await now(place, jobs[0])).state == "queued"
        assert await names(place, 1) == ["a"]

    @on_queue
    async def test_what_ends_its_worker_again_and_again_fails_and_so_does_its_draft(
        self, place: Place
    ) -> None:
        job = await begun(place, "poison")
        for attempt in range(1, ATTEMPTS + 1):
            [claimed] = await place.hasty.claim(f"w{attempt}", 5)
            assert (claimed.id, claimed.attempts) == (job.id, attempt)
        assert await place.hasty.claim("last", 5) == []
        dead = await now(place, job)
        assert (dead.state, dead.result, dead.error_code) == ("failed", "failed", "crashed")
        assert f"{ATTEMPTS} times" in dead.error
        assert dead.ended_at is not None
        failed = await place.catalog.get("me", job.document)
        assert (failed.status, failed.error_code) == ("failed", "crashed")
        assert failed.error == dead.error
        # It can be tried again, and then it is no dead letter any more.
        again = await place.queue.begin("retry", failed)
        assert again.id != job.id
        [claimed] = await place.queue.claim("w", 5)
        assert (claimed.id, claimed.attempts) == (again.id, 1)
        await place.queue.settle([job.document])
        settled = await now(place, job)
        assert (settled.state, settled.error_code, settled.error) == ("done", "", "")
        assert (await now(place, again)).state == "running"

    @on_queue
    async def test_what_ended_two_workers_is_tried_alone(self, place: Place) -> None:
        await begun(place, "poison")
        for at in range(2):
            await place.hasty.claim(f"w{at}", 5)
        await begun(place, "other")
        assert await names(place, 5, "w") == ["poison"]
        assert await names(place, 5, "w") == [], "nothing beside it"
        assert await names(place, 5, "another") == ["other"]

    @on_queue
    async def test_who_has_others_takes_no_more_before_what_must_be_alone(
        self, place: Place
    ) -> None:
        good = await begun(place, "good")
        await place.queue.claim("w", 1)
        await begun(place, "poison")
        for at in range(2):
            await place.hasty.claim(f"w{at}", 5)
        await begun(place, "other")
        assert await names(place, 5, "w") == []
        await place.queue.end("w", good.id, result="added")
        assert await names(place, 5, "w") == ["poison"]

    @on_queue
    async def test_claims_of_workers_that_are_all_gone_end_at_once(self, place: Place) -> None:
        await begun(place, "a")
        await place.queue.claim("w", 1)
        assert await place.queue.release() == 1
        [claimed] = await place.queue.claim("next", 1)
        assert claimed.attempts == 2

    @on_queue
    async def test_what_is_deleted_ends_its_jobs(self, place: Place) -> None:
        running, queued = await begun(place, "running"), await begun(place, "queued")
        await place.queue.claim("w", 1)
        for job in (running, queued):
            await place.catalog.bury("me", job.document)
        gone = await now(place, queued)
        assert (gone.state, gone.error_code, gone.error) == ("failed", "deleted", "it was deleted")
        assert gone.ended_at is not None
        assert (await now(place, running)).state == "running"
        assert await place.queue.beat("w", [running.id]) == set(), "it is told to stop"
        await place.queue.end("w", running.id, result="added")
        assert (await now(place, running)).error_code == "deleted"
        await place.queue.settle([running.document, queued.document])
        assert (await now(place, running)).error_code == "deleted", "it did not come in"
        late = await place.queue.begin("retry", await _gone(place))
        assert (late.state, late.error_code) == ("failed", "deleted")
        assert late.ended_at is not None

    @on_queue
    async def test_what_is_deleted_is_neither_put_back_nor_taken_over(self, place: Place) -> None:
        first, second = await begun(place, "a"), await begun(place, "b")
        await place.queue.claim("w", 1)
        await place.hasty.claim("dies", 1)
        for job in (first, second):
            await place.catalog.bury("me", job.document)
        await place.queue.put_back("w", first.id, "it rains", 0)
        assert await place.queue.claim("another", 5) == []
        for job in (first, second):
            assert (await now(place, job)).error_code == "deleted"

    @on_queue
    async def test_of_many_jobs_those_to_be_done_are_told_of_before_those_that_were(
        self, place: Place
    ) -> None:
        done = [await begun(place, f"done {at}") for at in range(2)]
        for one in done:
            await place.queue.claim("w", 1)
            await place.queue.end("w", one.id, result="added")
        coming = [await begun(place, f"coming {at}") for at in range(3)]
        await place.queue.claim("w", 1)
        await begun(place, "another's", "you")

        async def told(limit: int) -> list[str]:
            return [one.name for one in await place.queue.of("me", limit)]

        assert len(coming) == 3
        every = ["coming 2", "coming 1", "coming 0", "done 1", "done 0"]
        assert await told(100) == every
        assert await told(4) == every[:4]
        assert await told(2) == ["coming 1", "coming 0"]

    @on_queue
    async def test_waiting_and_running_ones_are_counted(self, place: Place) -> None:
        for name, owner in (("a", "me"), ("b", "me"), ("c", "me"), ("d", "you")):
            await begun(place, name, owner)
        [job] = await place.queue.claim("w", 1)
        await place.queue.put_back("w", job.id, "it rains", LONG)
        await place.queue.claim("w", 1)
        assert await place.queue.waiting() == 3
        assert await place.queue.waiting("me") + await place.queue.waiting("you") == 3
        assert await place.queue.running() == 1
        assert await place.queue.waiting("nobody") == 0

    @on_queue
    async def test_a_draft_without_a_job_gets_one_and_only_one(self, place: Place) -> None:
        lost = [await document(place, f"{at}", "ann", folder="f") for at in range(3)]
        known = await begun(place, "known")
        failed = await document(place, "failed")
        assert failed.draft is not None
        await place.catalog.fail(failed.id, failed.draft.generation, "damaged", "it is broken")
        assert await place.queue.adopt(LONG) == 0, "somebody may be about to begin one"
        adopted = await asyncio.gather(*(place.queue.adopt() for _ in range(4)))
        assert sum(adopted) == 3
        jobs = await place.queue.of("ann", 10)
        assert [one.document for one in reversed(jobs)] == [one.id for one in lost]
        assert {(one.kind, one.state, one.folder) for one in jobs} == {("upload", "queued", "f")}
        assert await place.queue.of("me", 10) == [known]
        assert await place.queue.adopt() == 0

    @on_queue
    async def test_what_is_over_is_forgotten_after_a_while_or_when_there_is_more_of_it(
        self, place: Place
    ) -> None:
        jobs = [await begun(place, f"{at}") for at in range(5)]
        for one in jobs[:4]:
            await place.queue.claim("w", 1)
            await place.queue.end("w", one.id, result="added")

        async def left() -> list[str]:
            return [one.name for one in await place.queue.of("me", 10)]

        await place.queue.forget(LONG, 10)
        assert await left() == ["4", "3", "2", "1", "0"]
        await place.queue.forget(LONG, 2)
        assert await left() == ["4", "3", "2"]
        await place.queue.forget(0, 10)
        assert await left() == ["4"], "what is to be done stays"


async def _gone(place: Place) -> Document:
    coming = await document(place, "gone")
    await place.catalog.bury("me", coming.id)
    return coming
