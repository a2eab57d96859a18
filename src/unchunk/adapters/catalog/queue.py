"""The queue of jobs in an SQL database, for one process or for many on many machines."""

from collections.abc import Collection, Mapping
from functools import partial

from unchunk.adapters.catalog.claims import beat, claim, end, put_back, reached, release
from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.jobs import (
    adopt,
    begin,
    find,
    forget,
    noted,
    of,
    running,
    settle,
    waiting,
)
from unchunk.domain import Document, DocumentId, OwnerId
from unchunk.ports import DUE, OVER, Job, JobKind, Progress


class SqlQueue:
    """`Queue`. A claim lasts `seconds` without a beat, and a job ends `attempts` workers at most."""

    def __init__(self, database: Database, seconds: float, attempts: int) -> None:
        self._database = database
        self._seconds, self._attempts = seconds, attempts

    @property
    def lease(self) -> float:
        return self._seconds

    async def begin(self, kind: JobKind, document: Document, *, forced: bool = False) -> Job:
        work = partial(begin, kind=kind, document=document, forced=forced)
        return await self._database.write(work, rings=(DUE,))

    async def noted(self, document: Document, result: str) -> Job:
        return await self._database.write(partial(noted, document=document, result=result))

    async def adopt(self, older_than: float = 0.0) -> int:
        work = partial(adopt, older_than=older_than)
        return await self._database.write(work, rings=(DUE,))

    async def claim(self, worker: str, most: int, *, asked_for: bool = False) -> list[Job]:
        work = partial(
            claim,
            worker=worker,
            most=most,
            seconds=self._seconds,
            limit=self._attempts,
            asked_for=asked_for,
        )
        return await self._database.write(work)

    async def beat(self, worker: str, jobs: Collection[str]) -> set[str]:
        work = partial(beat, worker=worker, had=jobs, seconds=self._seconds)
        return await self._database.write(work, repeatable=True)

    async def reached(self, worker: str, jobs: Mapping[str, Progress]) -> None:
        work = partial(reached, worker=worker, seen=jobs)
        await self._database.write(work, repeatable=True)

    async def put_back(self, worker: str, job: str, why: str = "", seconds: float = 0.0) -> None:
        work = partial(put_back, worker=worker, job=job, why=why, seconds=seconds)
        await self._database.write(work, repeatable=True, rings=(OVER if why else DUE,))

    async def end(
        self,
        worker: str,
        job: str,
        *,
        reached: Progress | None = None,
        result: str = "",
        error_code: str = "",
        error: str = "",
    ) -> None:
        work = partial(
            end,
            worker=worker,
            job=job,
            reached=reached,
            result=result,
            error_code=error_code,
            error=error,
        )
        await self._database.write(work, repeatable=True, rings=(OVER,))

    async def release(self) -> int:
        return await self._database.write(release, repeatable=True, rings=(DUE,))

    async def settle(self, documents: Collection[DocumentId]) -> None:
        await self._database.write(partial(settle, came_in=documents), repeatable=True)

    async def find(self, owner: OwnerId, job: str) -> Job:
        return await self._database.read(partial(find, owner=owner, job=job))

    async def of(self, owner: OwnerId, limit: int) -> list[Job]:
        return await self._database.read(partial(of, owner=owner, limit=limit))

    async def waiting(self, owner: OwnerId | None = None) -> int:
        return await self._database.read(partial(waiting, owner=owner))

    async def running(self) -> int:
        return await self._database.read(running)

    async def forget(self, older_than: float, most: int) -> None:
        work = partial(forget, older_than=older_than, most=most)
        await self._database.write(work, repeatable=True)
