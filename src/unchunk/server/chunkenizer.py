"""Chunkenizer's search over what we search, so that its clients work here unchanged.

What they do not know stands beside what they do: each reply is theirs with fields of ours added.
Its documents are ours, at both places: see `documents`.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Annotated

from fastapi import APIRouter
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    StrictStr,
)
from starlette.responses import Response

from unchunk.domain import Document, OwnerId
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.retrieval.shelf import FoundBy, Where
from unchunk.retrieval.snippets import Hit
from unchunk.server.access import InHouse, Owner
from unchunk.server.bodies import AS_WHOLE
from unchunk.server.counting import token_counts
from unchunk.server.documented import told
from unchunk.server.rendering import reply

router = APIRouter(tags=["chunkenizer"])

# What its payloads call what a document is, and what its answers do.
_NATIVE = {
    "doc_id": "documents",
    "document_id": "documents",
    "name": "names",
    "document_name": "names",
    "content_type": "media_types",
}

_Value = StrictStr | StrictInt | StrictBool
_EXAMPLE: dict[str, JsonValue] = {
    "query": "a night in the harbour",
    "results": [
        {
            "score": 0.71,
            "document_id": "06a1v8k2m4n7p0q3",
            "document_name": "Harbour rules.md",
            "chunk_index": 2,
            "chunk_text": "A night in the harbour costs 22 euros.",
            "token_count": 9,
            "metadata": {"team": "port"},
            "similarity": 0.71,
            "found_by": "meaning",
            "checksum": "0f343b0931126a20f133d67c2b018a3b1f2d1c3e4a5b6978877665544332211f",
            "created_at": "2026-11-02T09:14:00+00:00",
            "folder": "Sample",
            "content_type": "text/markdown",
            "start": 120,
            "end": 158,
            "first_page": None,
            "last_page": None,
            "heading_path": ["Harbour rules"],
        }
    ],
    "total_results": 1,
    "notes": [],
}


class SearchBody(BaseModel):
    """`filters` are exact matches: of the document, and of what was given with it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "a night in the harbour", "top_k": 3, "filters": {"team": "port"}}
            ]
        }
    )

    query: Annotated[str, Field(min_length=1, max_length=100_000)]
    top_k: Annotated[int, Field(ge=1, le=200, strict=True), AS_WHOLE] = 5
    filters: Annotated[dict[str, _Value | None], Field(max_length=50)] | None = None


class Found(BaseModel):
    """Chunkenizer's fields, and ours.

    `score` never rises from one result to the next. `similarity` is the cosine with the question,
    null where the chunk was found by its words alone. Results from an external collection have neither
    `checksum` nor `created_at`.
    """

    score: float
    document_id: str
    document_name: str
    chunk_index: int
    chunk_text: str
    token_count: int
    metadata: dict[str, JsonValue]
    similarity: float | None
    found_by: FoundBy
    checksum: str
    created_at: str | None
    folder: str
    content_type: str
    start: int
    end: int
    first_page: int | None
    last_page: int | None
    heading_path: list[str]


class SearchReply(BaseModel):
    """`notes` say what the search had to do without."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    query: str
    results: list[Found]
    total_results: int
    notes: list[str]


@router.post("/search", responses=told(SearchReply, 400, 409))
async def search(body: SearchBody, house: InHouse, owner: Owner) -> Response:
    """The chunks that answer best, each for itself: of the library, or of its `chat_source`."""
    where = _where(body.filters or {})
    found = await house.engine.search(body.query, limit=body.top_k, where=where, owner=owner)
    hits = found.hits
    documents: dict[str, Document] = {}
    if not house.engine.searches_elsewhere:
        documents = await _documents(house.engine, (it.document for it in hits), owner)
        hits = tuple(it for it in hits if it.document in documents)
    counts = await token_counts([one.text for one in hits])
    scores = _falling([one.score for one in hits])
    results = [
        _result(hit, documents.get(hit.document), score, count)
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


async def _documents(engine: Engine, wanted: Iterable[str], owner: OwnerId) -> dict[str, Document]:
    """Those of the documents that are still there."""
    found = {}
    for one in dict.fromkeys(wanted):
        with suppress(NotFoundError):
            found[one] = await engine.exactly(one, owner=owner)
    return found


def _falling(scores: Sequence[float]) -> list[float]:
    """Chunkenizer's clients sort by score: each is worth at least what follows it.

    Ours are in an order that words have a part in, too, and the score does not know of it.
    """
    return list(accumulate(reversed(scores), max))[::-1]


def _result(hit: Hit, document: Document | None, score: float, tokens: int) -> dict[str, object]:
    live = document.live if document else None
    return {
        "score": score,
        "document_id": hit.document,
        "document_name": hit.name,
        "chunk_index": hit.chunk.chunk_index,
        "chunk_text": hit.text,
        "token_count": tokens,
        "metadata": dict(document.attributes if document else hit.metadata),
        "similarity": hit.score if hit.found_by == "meaning" else None,
        "found_by": hit.found_by,
        "checksum": live.checksum if live else "",
        "created_at": document.created_at.isoformat() if document else None,
        "folder": hit.folder,
        "content_type": hit.content_type,
        "start": hit.chunk.start,
        "end": hit.chunk.end,
        "first_page": hit.chunk.first_page,
        "last_page": hit.chunk.last_page,
        "heading_path": list(hit.chunk.heading_path),
    }
