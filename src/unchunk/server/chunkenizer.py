"""Chunkenizer's routes over our library, so that its clients work here unchanged.

What they do not know stands beside what they do: each reply is theirs with fields of ours added,
so that the same routes serve both. Their `status` is "ingested" where ours, in `state`, is "live".
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, StrictBool, StrictInt, StrictStr
from starlette.responses import Response

from unchunk.domain import Document, OwnerId, json_object
from unchunk.engine import OK, Engine
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.retrieval.shelf import Where
from unchunk.retrieval.snippets import Hit
from unchunk.server.access import House, InHouse, Owner, RequestId
from unchunk.server.faults import problem
from unchunk.server.rendering import reply
from unchunk.server.uploads import received

router = APIRouter(tags=["chunkenizer"])
UPLOADS = frozenset({"/documents", "/api/documents"})

# What its payloads call what a document is, and what its answers do.
_NATIVE = {
    "doc_id": "documents",
    "document_id": "documents",
    "name": "names",
    "document_name": "names",
    "content_type": "media_types",
}

_Value = StrictStr | StrictInt | StrictBool
_STATUS = {"live": "ingested", "pending": "processing", "failed": "error"}
_TRUTH = {"true": True, "1": True, "yes": True, "on": True}
_TRUTH |= {"false": False, "0": False, "no": False, "off": False, "": False}
_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "metadata_json": {"type": "string", "description": "an object of JSON"},
                        "force_reindex": {"type": "boolean", "default": False},
                    },
                }
            }
        },
    }
}


class SearchBody(BaseModel):
    """`filters` are exact matches: of the document, and of what was given with it."""

    query: Annotated[str, Field(min_length=1, max_length=100_000)]
    top_k: Annotated[int, Field(ge=1, le=200)] = 5
    filters: Annotated[dict[str, _Value | None], Field(max_length=50)] | None = None


@router.get("/health")
async def health(house: InHouse) -> Response:
    """Whether catalog and index answer; what does not says why, and the status is 503."""
    found = await house.engine.health()
    is_well = set(found.values()) == {OK}
    body = {
        "status": OK if is_well else "error",
        "sqlite": found["catalog"],
        "qdrant": found["index"],
        "embedding_model": house.options.embedder,
    }
    return reply(body, 200 if is_well else 503)


@router.post("/search")
async def search(body: SearchBody, house: InHouse, owner: Owner) -> Response:
    """The chunks that answer best, each for itself."""
    where = _where(body.filters or {})
    found = await house.engine.search(body.query, limit=body.top_k, where=where, owner=owner)
    documents = await _documents(house.engine, (one.document for one in found.hits), owner)
    hits = [one for one in found.hits if one.document in documents]
    counts = await house.tokens.of_texts([one.text for one in hits])
    scores = _falling([one.score for one in hits])
    results = [
        _result(hit, documents[hit.document], score, count)
        for hit, score, count in zip(hits, scores, counts, strict=True)
    ]
    return reply(
        {
            "query": body.query,
            "results": results,
            "total_results": len(results),
            "notes": list(found.notes),
        }
    )


@router.post("/documents", openapi_extra=_FORM)
async def upload(request: Request, house: InHouse, owner: Owner, name: RequestId) -> Response:
    """Add a file. The same bytes under the same name are left as they are, unless forced."""
    engine = house.engine
    options = house.options
    async with received(request, options.upload_folder, options.max_upload) as sent:
        attributes = _attributes(sent.fields.get("metadata_json", ""))
        force = _TRUTH.get(sent.fields.get("force_reindex", "").strip().lower())
        if force is None:
            raise InvalidInputError("force_reindex must be true or false")
        outcome = await engine.add_file(sent.path, sent.name, owner=owner, attributes=attributes)
    if outcome.result == "failed":
        message = f"{outcome.name}: {outcome.error}"
        status = {"too-big": 413, "unsupported": 415}.get(outcome.error_code, 422)
        return problem(status, outcome.error_code, message, name)
    if force and outcome.result == "unchanged":
        await engine.reindex(outcome.document, owner=owner)
    document = await engine.document(outcome.document, owner=owner)
    listed = await _listed(house, document, owner)
    body = {
        "message": _message(outcome.result, outcome.same_as, force=force),
        "document_id": document.id,
        "result": outcome.result,
        **{key: listed[key] for key in ("chunk_count", "total_tokens", "sha256")},
        "document": listed,
    }
    return reply(body, 202 if outcome.result == "waiting" else 200)


@router.get("/documents")
async def list_documents(house: InHouse, owner: Owner) -> Response:
    """The newest first."""
    found = await house.engine.documents(owner=owner)
    found.sort(key=lambda one: one.created_at, reverse=True)
    listed = [await _listed(house, one, owner) for one in found]
    return reply({"documents": listed, "total": len(listed)})


@router.get("/documents/{document}")
async def get_document(document: str, house: InHouse, owner: Owner) -> Response:
    found = await _exactly(house, document, owner)
    return reply(await _listed(house, found, owner))


@router.delete("/documents/{document}")
async def delete_document(document: str, house: InHouse, owner: Owner) -> Response:
    """Remove a document from everywhere; the receipt counts what is left of it."""
    found = await _exactly(house, document, owner)
    receipt = await house.engine.delete(found.id, owner=owner)
    return reply(
        {
            "message": "Document deleted successfully",
            "document_id": found.id,
            "receipt": {
                "clean": receipt.clean,
                "vectors": receipt.vectors,
                "blobs": receipt.blobs,
                "cached": receipt.cached,
                "catalog": receipt.catalog,
                "problem": receipt.problem,
            },
        }
    )


def _where(filters: Mapping[str, _Value | None]) -> Where:
    """Chunkenizer's names for what it knows of a document; all else was given with it."""
    native: dict[str, tuple[str, ...]] = {}
    fields = []
    for name, value in filters.items():
        if value is None:
            raise InvalidInputError(f"the filter {name[:50]!r} is null: leave it out")
        if name in _NATIVE:
            # Two names for one thing hold both, or nothing does.
            given = native.get(_NATIVE[name], (value,))
            native[_NATIVE[name]] = (str(value),) if given == (value,) else ()
        else:
            fields.append((name, value))
    return Where(
        documents=native.get("documents"),
        names=native.get("names"),
        media_types=native.get("media_types"),
        fields=tuple(fields),
    )


def _attributes(given: str) -> dict[str, object] | None:
    """None where nothing was said: what a document has stays."""
    if not given.strip():
        return None
    try:
        attributes = json.loads(given)
    except (ValueError, RecursionError):
        attributes = None
    if not isinstance(attributes, dict):
        raise InvalidInputError("metadata_json must be an object of JSON")
    return json_object(attributes, "metadata_json")


async def _exactly(house: House, document: str, owner: OwnerId) -> Document:
    """By its id alone: what is deleted should not depend on what else is there."""
    found = await house.engine.document(document, owner=owner)
    if found.id != document:
        raise NotFoundError(f"there is no document {document[:100]!r}")
    return found


async def _documents(engine: Engine, wanted: Iterable[str], owner: OwnerId) -> dict[str, Document]:
    found = {}
    for one in dict.fromkeys(wanted):
        # It may have been deleted meanwhile.
        with suppress(NotFoundError):
            found[one] = await engine.document(one, owner=owner)
    return found


async def _listed(house: House, document: Document, owner: OwnerId) -> dict[str, object]:
    live, version = document.live, document.live or document.draft
    tokens = 0
    if live is not None:
        with suppress(NotFoundError):
            tokens = await house.tokens.of_document(
                live.text_checksum, lambda: house.engine.text(document.id, owner=owner)
            )
    return {
        "id": document.id,
        "name": document.name,
        "content_type": version.media_type if version else "",
        "sha256": version.checksum if version else "",
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "status": _STATUS[document.status],
        "metadata_json": json.dumps(dict(document.attributes)) if document.attributes else None,
        "chunk_count": live.chunk_count if live else 0,
        "total_tokens": tokens,
        "state": document.status,
        "folder": document.folder,
        "title": version.title if version else "",
        "size": version.size if version else 0,
        "page_count": live.page_count if live else 0,
        "text_length": live.text_length if live else 0,
        "attributes": dict(document.attributes),
        "notes": list(version.notes) if version else [],
        "error_code": document.error_code,
        "error": document.error,
    }


def _falling(scores: Sequence[float]) -> list[float]:
    """Chunkenizer's clients sort by score: each is worth at least what follows it.

    Ours are in an order that words have a part in, too, and the score does not know of it.
    """
    return list(accumulate(reversed(scores), max))[::-1]


def _result(hit: Hit, document: Document, score: float, tokens: int) -> dict[str, object]:
    return {
        "score": score,
        "document_id": hit.document,
        "document_name": hit.name,
        "chunk_index": hit.chunk.chunk_index,
        "chunk_text": hit.text,
        "token_count": tokens,
        "metadata": dict(document.attributes),
        "similarity": hit.score,
        "folder": hit.folder,
        "content_type": document.live.media_type if document.live else "",
        "start": hit.chunk.start,
        "end": hit.chunk.end,
        "first_page": hit.chunk.first_page,
        "last_page": hit.chunk.last_page,
        "heading_path": list(hit.chunk.heading_path),
    }


def _message(result: str, same_as: str, *, force: bool) -> str:
    if result == "unchanged":
        return "Document reindexed successfully" if force else "Document already exists"
    if result == "linked":
        return f"Document already exists as {same_as}; it is there under this name, too"
    if result == "waiting":
        return "Document is kept, and is ingested as soon as what it needs answers"
    return "Document ingested successfully"
