"""A file that is sent, taken into the library: at once, or while nobody waits for it."""

import asyncio
import json
from dataclasses import replace
from typing import Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response
from starlette.types import Receive

from unchunk.domain import OwnerId, json_object
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.library.ingest import Outcome, Result
from unchunk.ports import Job
from unchunk.server.access import House
from unchunk.server.faults import problem
from unchunk.server.jobs import shown
from unchunk.server.listing import EXAMPLE, Listed, listed
from unchunk.server.rendering import reply
from unchunk.server.streaming import attended
from unchunk.server.uploads import Upload, received

# Where files are sent to.
UPLOADS = frozenset({"/documents", "/api/documents"})

_TRUTH = {"true": True, "1": True, "yes": True, "on": True}
_TRUTH |= {"false": False, "0": False, "no": False, "off": False}
_STATUS = {"too-big": 413, "unsupported": 415, "overtaken": 409, "deleted": 409}
_RESULTS: dict[str, Result] = {"added": "added", "replaced": "replaced", "linked": "linked"}
_OVERTAKEN = "it was deleted while it came in"
FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "folder": {"type": "string", "default": "", "maxLength": 1000},
                        "metadata_json": {"type": "string", "description": "an object of JSON"},
                        "force_reindex": {"type": "boolean", "default": False},
                        "wait": {"type": "boolean", "default": True},
                    },
                    "examples": [{"file": "# Harbour rules", "folder": "Sample", "wait": False}],
                }
            }
        },
    }
}


class Added(BaseModel):
    """`chunk_count`, `total_tokens` and `sha256` are the document's, too."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "message": "Document ingested successfully",
                    "document_id": EXAMPLE["id"],
                    "result": "added",
                    "chunk_count": EXAMPLE["chunk_count"],
                    "total_tokens": EXAMPLE["total_tokens"],
                    "sha256": EXAMPLE["sha256"],
                    "document": EXAMPLE,
                }
            ]
        }
    )

    message: str
    document_id: str
    result: str
    chunk_count: int
    total_tokens: int
    sha256: str
    document: Listed


async def add(request: Request, house: House, owner: OwnerId, request_id: str) -> Response:
    with house.metrics.uploading():
        return await _taken_in(request, house, owner, request_id)


async def _taken_in(request: Request, house: House, owner: OwnerId, request_id: str) -> Response:
    options = house.options
    async with received(request, options.upload_folder, options.max_upload) as sent:
        house.metrics.uploaded(sent.path.stat().st_size)
        force = _switch(sent, "force_reindex", usual=False)
        try:
            if not _switch(sent, "wait", usual=True):
                return await _add_later(house, owner, sent, request_id, force=force)
            if house.jobs.works:
                outcome = await _added(house, owner, sent, force)
            else:
                outcome = await _by_another(house, owner, sent, force, request.receive)
            if outcome.result == "failed":
                return _failed(outcome, request_id)
            document = await house.engine.exactly(outcome.document, owner=owner)
        except NotFoundError:
            # Whoever sent it named no document: this one was deleted as it came in.
            gone = Outcome(sent.name, "failed", error_code="overtaken", error=_OVERTAKEN)
            return _failed(gone, request_id)
    seen = listed(document)
    body = {
        "message": _message(outcome, force=force),
        "document_id": document.id,
        "result": outcome.result,
        **{key: seen[key] for key in ("chunk_count", "total_tokens", "sha256")},
        "document": seen,
    }
    return reply(body, 202 if outcome.result == "waiting" else 200)


async def _added(house: House, owner: OwnerId, sent: Upload, force: bool) -> Outcome:
    """What became of a file that this server takes in; where something is away, it waits."""
    outcome = await house.engine.add_file(sent.path, sent.name, owner=owner, **_about(sent))
    if force and outcome.result == "unchanged":
        await house.engine.reindex(outcome.document, owner=owner)
    if outcome.result == "waiting":
        document = await house.engine.exactly(outcome.document, owner=owner)
        await house.jobs.begin("upload", document)
    return outcome


async def _by_another(
    house: House, owner: OwnerId, sent: Upload, force: bool, receive: Receive
) -> Outcome:
    """As `_added`, but another process does it; whoever goes away ends only the waiting."""
    outcome, job = await _kept(house, owner, sent, force=force)
    if job is None:
        return outcome
    waiting = asyncio.create_task(house.jobs.ended(job))
    await attended(receive, waiting)
    try:
        # As it was, where whoever sent it is gone.
        job = job if waiting.cancelled() else waiting.result()
    except NotFoundError:
        # It is over for so long that it was forgotten, and the document tells how it went.
        document = await house.engine.exactly(outcome.document, owner=owner)
        return replace(outcome, result="unchanged" if document.live else "waiting")
    if job.state == "failed":
        return replace(outcome, result="failed", error_code=job.error_code, error=job.error)
    if job.ended_at is None:
        return replace(outcome, result="waiting", error=job.error)
    result = _RESULTS.get(job.result, "unchanged")
    if result != "linked":
        return replace(outcome, result=result)
    document = await house.engine.exactly(outcome.document, owner=owner)
    return replace(outcome, result=result, same_as=await house.engine.twin(document))


async def _add_later(
    house: House, owner: OwnerId, sent: Upload, request_id: str, *, force: bool
) -> Response:
    outcome, job = await _kept(house, owner, sent, force=force)
    if outcome.result == "failed":
        return _failed(outcome, request_id)
    if job is None:
        document = await house.engine.exactly(outcome.document, owner=owner)
        job = await house.jobs.noted(document, outcome.result)
    return reply({"job": shown(job), "document_id": outcome.document}, 202)


async def _kept(
    house: House, owner: OwnerId, sent: Upload, *, force: bool
) -> tuple[Outcome, Job | None]:
    """A file that cannot be lost any more, and the job that takes it in; None if there is no need."""
    await house.jobs.check(owner)
    outcome = await house.engine.keep_file(sent.path, sent.name, owner=owner, **_about(sent))
    if outcome.result == "failed" or (outcome.result == "unchanged" and not force):
        return outcome, None
    document = await house.engine.exactly(outcome.document, owner=owner)
    return outcome, await house.jobs.begin("upload", document, forced=force)


def _about(sent: Upload) -> dict[str, Any]:
    return {"folder": sent.fields.get("folder", ""), "attributes": _attributes(sent)}


def _failed(outcome: Outcome, request_id: str) -> Response:
    message = f"{outcome.name}: {outcome.error}"
    return problem(_STATUS.get(outcome.error_code, 422), outcome.error_code, message, request_id)


def _switch(sent: Upload, name: str, *, usual: bool) -> bool:
    given = sent.fields.get(name, "").strip().lower()
    value = _TRUTH.get(given) if given else usual
    if value is None:
        raise InvalidInputError(f"{name} must be true or false")
    return value


def _attributes(sent: Upload) -> dict[str, object] | None:
    """None where nothing was said: what a document has stays."""
    given = sent.fields.get("metadata_json", "")
    if not given.strip():
        return None
    try:
        attributes = json.loads(given)
    except (ValueError, RecursionError):
        attributes = None
    if not isinstance(attributes, dict):
        raise InvalidInputError("metadata_json must be an object of JSON")
    return json_object(attributes, "metadata_json")


def _message(outcome: Outcome, *, force: bool) -> str:
    """In Chunkenizer's words, where it has any."""
    if outcome.result == "unchanged":
        return "Document reindexed successfully" if force else "Document already exists"
    if outcome.result == "linked":
        return f"Document already exists as {outcome.same_as}; it is there under this name, too"
    if outcome.result == "waiting":
        if not outcome.error:
            return "Document is kept, and is ingested as soon as a worker has time for it"
        return "Document is kept, and is ingested as soon as what it needs answers"
    return "Document ingested successfully"
