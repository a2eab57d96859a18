"""Jobs over HTTP: what comes in while nobody waits for it, again, and anew."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, JsonValue
from starlette.responses import Response

from unchunk.server.access import InHouse, Owner
from unchunk.server.documented import told
from unchunk.server.faults import RefusedError
from unchunk.server.jobs import shown
from unchunk.server.rendering import reply

router = APIRouter(prefix="/api", tags=["jobs"])

_EXAMPLE: dict[str, JsonValue] = {
    "id": "4yDsEkF0yLwGvq1B",
    "kind": "upload",
    "document_id": "06a1v8k2m4n7p0q3",
    "name": "Harbour rules.md",
    "folder": "Sample",
    "state": "running",
    "stage": "embedding",
    "done": 8,
    "total": 12,
    "result": "",
    "error_code": "",
    "error": "",
    "begun_at": "2026-01-02T03:04:05+00:00",
    "ended_at": None,
}


class JobReply(BaseModel):
    """`waiting` is one that is tried again by itself; `error` says what it waits for."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str
    kind: Literal["upload", "retry", "reindex"]
    document_id: str
    name: str
    folder: str
    state: Literal["queued", "running", "done", "failed", "waiting"]
    stage: Literal["read", "extracted", "embedding", "done"]
    done: int
    total: int
    result: str
    error_code: str
    error: str
    begun_at: datetime
    ended_at: datetime | None


class JobsReply(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"jobs": [_EXAMPLE]}]})

    jobs: list[JobReply]


class JobBegun(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"job": _EXAMPLE}]})

    job: JobReply


class Begun(JobBegun):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"job": _EXAMPLE, "document_id": _EXAMPLE["document_id"]}]}
    )

    document_id: str


@router.get("/jobs", responses=told(JobsReply))
async def list_jobs(
    house: InHouse, owner: Owner, limit: Annotated[int, Query(ge=1, le=1_000)] = 200
) -> Response:
    """Those that are to be done, then those that were lately, of both the newest first.

    Of more than `limit` that are to be done, those that were begun first.
    """
    return reply({"jobs": [shown(job) for job in await house.jobs.of(owner, limit)]})


@router.get("/jobs/{job}", responses=told(JobReply, 404))
async def get_job(job: str, house: InHouse, owner: Owner) -> Response:
    """How far a job is, or how it ended."""
    return reply(shown(await house.jobs.find(owner, job)))


@router.post(
    "/documents/{document}/retry", status_code=202, responses=told(JobBegun, 404, 409, status=202)
)
async def retry_document(document: str, house: InHouse, owner: Owner) -> Response:
    """Go on with a document that is pending or failed, from the bytes that are kept."""
    found = await house.engine.exactly(document, owner=owner)
    if found.draft is None:
        raise RefusedError(409, "nothing-to-do", f"{found.name} is in: nothing of it is left to do")
    await house.jobs.check(owner)
    return reply({"job": shown(await house.jobs.begin("retry", found))}, 202)


@router.post(
    "/documents/{document}/reindex",
    status_code=202,
    responses=told(JobBegun, 404, 409, status=202),
)
async def reindex_document(document: str, house: InHouse, owner: Owner) -> Response:
    """Write a document anew from its text; until that is done, it is found as it was."""
    found = await house.engine.exactly(document, owner=owner)
    if found.live is None:
        reason = found.error or "it is still on its way in"
        raise RefusedError(409, "no-text", f"{found.name} has no text to write: {reason}")
    await house.jobs.check(owner)
    return reply({"job": shown(await house.jobs.begin("reindex", found))}, 202)
