"""A file that is sent, taken into the library: at once, or while nobody waits for it."""

import json
from typing import Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from unchunk.domain import OwnerId, json_object
from unchunk.errors import InvalidInputError
from unchunk.library.ingest import Outcome
from unchunk.server.access import House
from unchunk.server.faults import problem
from unchunk.server.listing import EXAMPLE, Listed, listed
from unchunk.server.rendering import reply
from unchunk.server.uploads import Upload, received

# Where files are sent to.
UPLOADS = frozenset({"/documents", "/api/documents"})

_TRUTH = {"true": True, "1": True, "yes": True, "on": True}
_TRUTH |= {"false": False, "0": False, "no": False, "off": False}
_STATUS = {"too-big": 413, "unsupported": 415, "overtaken": 409}
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
        if not _switch(sent, "wait", usual=True):
            return await _add_later(house, owner, sent, request_id, force=force)
        outcome = await house.engine.add_file(
            sent.path,
            sent.name,
            folder=sent.fields.get("folder", ""),
            owner=owner,
            attributes=_attributes(sent),
        )
    if outcome.result == "failed":
        return _failed(outcome, request_id)
    if force and outcome.result == "unchanged":
        await house.engine.reindex(outcome.document, owner=owner)
    document = await house.engine.exactly(outcome.document, owner=owner)
    if outcome.result == "waiting":
        house.jobs.begin("upload", document)
    shown = listed(document)
    body = {
        "message": _message(outcome, force=force),
        "document_id": document.id,
        "result": outcome.result,
        **{key: shown[key] for key in ("chunk_count", "total_tokens", "sha256")},
        "document": shown,
    }
    return reply(body, 202 if outcome.result == "waiting" else 200)


async def _add_later(
    house: House, owner: OwnerId, sent: Upload, request_id: str, *, force: bool
) -> Response:
    house.jobs.check(owner)
    outcome = await house.engine.keep_file(
        sent.path,
        sent.name,
        folder=sent.fields.get("folder", ""),
        owner=owner,
        attributes=_attributes(sent),
    )
    if outcome.result == "failed":
        return _failed(outcome, request_id)
    document = await house.engine.exactly(outcome.document, owner=owner)
    if outcome.result == "unchanged" and not force:
        job = house.jobs.noted(document, outcome.result)
    else:
        job = house.jobs.begin("upload", document, forced=force)
    return reply({"job": job.as_dict(), "document_id": document.id}, 202)


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
        return "Document is kept, and is ingested as soon as what it needs answers"
    return "Document ingested successfully"
