"""What a job asks for, done to its document."""

from collections.abc import Callable
from logging import ERROR
from traceback import format_exc
from typing import NamedTuple, Protocol

from unchunk.domain import Document, DocumentId, OwnerId
from unchunk.errors import NotFoundError, TransientError, UnchunkError
from unchunk.library.ingest import Event, Outcome
from unchunk.library.reindexing import Reindexed
from unchunk.ports import Job, Progress
from unchunk.telemetry import log

_INTERNAL = "something went wrong inside; the log tells what, under the id of this job"

Report = Callable[[Progress], None]


class Library(Protocol):
    """What this needs of an engine."""

    async def exactly(self, document: DocumentId, *, owner: OwnerId) -> Document: ...

    async def retry(
        self, *documents: str, owner: OwnerId, report: Callable[[Event], None]
    ) -> list[Outcome]: ...

    async def reindex(
        self, *references: str, owner: OwnerId, report: Callable[[str, int, int], None]
    ) -> Reindexed: ...


class Ended(NamedTuple):
    """How a job ended, or, with the code "unavailable", why it waits."""

    result: str = ""
    error_code: str = ""
    error: str = ""


DELETED = Ended(error_code="deleted", error="it was deleted")


async def do(library: Library, job: Job, report: Report) -> Ended:
    """Raises only `TransientError`: what is needed is away, and the job can be done later."""
    try:
        if job.kind == "reindex":
            return await _rewritten(library, job, report)
        return await _brought_in(library, job, report)
    except NotFoundError:
        return DELETED
    except TransientError:
        raise
    except UnchunkError as error:
        return Ended(error_code=error.code, error=str(error))
    except Exception:  # noqa: BLE001 - the edge of a job: whoever asks is told
        log("the job failed: %s", format_exc(), level=ERROR)
        return Ended(error_code="internal", error=_INTERNAL)


async def _brought_in(library: Library, job: Job, report: Report) -> Ended:
    def reached(event: Event) -> None:
        # What fails stays where it was.
        if event.stage != "done":
            report(Progress(event.stage, event.done, event.total))

    await library.exactly(job.document, owner=job.owner)
    outcomes = await library.retry(job.document, owner=job.owner, report=reached)
    # Where nothing was left to do, another brought it in.
    ended = Ended("unchanged")
    for one in outcomes:
        if one.result == "waiting":
            raise TransientError(one.error)
        if one.result == "failed":
            return Ended(error_code=one.error_code, error=one.error)
        ended = Ended(one.result)
    if job.forced and ended.result == "unchanged":
        return await _rewritten(library, job, report)
    return ended


async def _rewritten(library: Library, job: Job, report: Report) -> Ended:
    def reached(_: str, done: int, total: int) -> None:
        report(Progress("embedding", done, total))

    await library.exactly(job.document, owner=job.owner)
    done = await library.reindex(job.document, owner=job.owner, report=reached)
    # Nothing was to be written where another replaced or deleted it meanwhile.
    return Ended("reindexed" if done.documents else "unchanged")
