"""A document as it is listed. Chunkenizer's clients know some of it, and find it in their words:
their `status` is "ingested" where ours, in `state`, is "live".
"""

import json
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from unchunk.domain import Document

_STATUS = {"live": "ingested", "pending": "processing", "failed": "error"}
EXAMPLE: dict[str, JsonValue] = {
    "id": "06a1v8k2m4n7p0q3",
    "name": "Harbour rules.md",
    "content_type": "text/markdown",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "created_at": "2026-01-02T03:04:05+00:00",
    "updated_at": "2026-01-02T03:04:07+00:00",
    "status": "ingested",
    "metadata_json": '{"team": "port"}',
    "chunk_count": 12,
    "total_tokens": 2104,
    "state": "live",
    "folder": "Sample",
    "title": "Harbour rules",
    "size": 9120,
    "page_count": 0,
    "text_length": 9085,
    "attributes": {"team": "port"},
    "notes": [],
    "error_code": "",
    "error": "",
}


class Listed(BaseModel):
    """`error` is why a version failed: the only one, or one that was to replace what is live.

    `total_tokens` is 0 for a text from an older version of unchunk until it was counted.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    id: str
    name: str
    content_type: str
    sha256: str
    created_at: datetime
    updated_at: datetime
    status: Literal["ingested", "processing", "error"]
    metadata_json: str | None
    chunk_count: int
    total_tokens: int
    state: Literal["live", "pending", "failed"]
    folder: str
    title: str
    size: int
    page_count: int
    text_length: int
    attributes: dict[str, JsonValue]
    notes: list[str]
    error_code: str
    error: str


def listed(document: Document) -> dict[str, object]:
    """Of what is live; of a document that is not, as much as is known."""
    live, version = document.live, document.live or document.draft
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
        "total_tokens": (live.tokens if live else 0) or 0,
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
