"""Our things as OpenAI's API shows them. Times are whole seconds since 1970."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from starlette.responses import Response

from unchunk.domain import ChunkingStrategy, Document
from unchunk.ports import Batch, FileNote, Member, MemberCounts, VectorStore
from unchunk.server.openai.ids import file_id
from unchunk.server.rendering import reply
from unchunk.stores import StoreHit

Shape = dict[str, object]

_FILE_STATUS = {"live": "processed", "failed": "error", "pending": "uploaded"}
# Why a file gives no text, in OpenAI's three words; what is not here is the server's fault.
_ERRORS = {"unsupported": "unsupported_file"} | dict.fromkeys(
    (
        "unreadable",
        "mismatch",
        "empty",
        "encrypted",
        "image-only",
        "damaged",
        "too-big",
        "too-many-pages",
        "expands-too-far",
    ),
    "invalid_file",
)
# How soon to ask again for what is on its way: small files are there at once.
_POLL = {"openai-poll-after-ms": "200"}


def pollable(shape: Shape) -> Response:
    """The reply for what clients ask for until it is ready."""
    return reply(shape, headers=_POLL)


def file_shape(document: Document, note: FileNote) -> Shape:
    version = document.live or document.draft
    return {
        "id": file_id(document.id),
        "object": "file",
        "bytes": version.size if version else 0,
        "created_at": _seconds(document.created_at),
        "expires_at": _seconds(note.expires_at),
        "filename": note.filename,
        "purpose": note.purpose,
        "status": _FILE_STATUS[document.status],
        "status_details": document.error if document.status == "failed" else None,
    }


def store_shape(store: VectorStore, counts: MemberCounts, now: datetime) -> Shape:
    lasts = store.expires_after
    if store.is_expired(now):
        status = "expired"
    else:
        status = "in_progress" if counts.in_progress else "completed"
    return {
        "id": store.id,
        "object": "vector_store",
        "created_at": _seconds(store.created_at),
        "name": store.name,
        "description": store.description,
        "usage_bytes": counts.size,
        "file_counts": _counts(counts),
        "status": status,
        "expires_after": {"anchor": "last_active_at", "days": lasts.days} if lasts else None,
        "expires_at": _seconds(store.expires_at),
        "last_active_at": _seconds(store.last_active_at),
        "metadata": dict(store.metadata),
    }


def member_shape(member: Member) -> Shape:
    file, document, status = member.file, member.document, member.status
    error = {"code": _ERRORS.get(document.error_code, "server_error"), "message": document.error}
    return {
        "id": file_id(file.document),
        "object": "vector_store.file",
        "usage_bytes": document.live.size if document.live else 0,
        "created_at": _seconds(file.created_at),
        "vector_store_id": file.store,
        "status": status,
        "last_error": error if status == "failed" else None,
        "chunking_strategy": _strategy(file.strategy),
        "attributes": dict(file.attributes),
    }


def batch_shape(batch: Batch, counts: MemberCounts) -> Shape:
    if counts.in_progress:
        status = "in_progress"
    elif batch.is_cancelled:
        status = "cancelled"
    else:
        status = "failed" if counts.failed and counts.failed == counts.total else "completed"
    return {
        "id": batch.id,
        "object": "vector_store.files_batch",
        "created_at": _seconds(batch.created_at),
        "vector_store_id": batch.store,
        "status": status,
        "file_counts": _counts(counts),
    }


def content_shape(windows: Sequence[str]) -> Shape:
    data = [{"type": "text", "text": one} for one in windows]
    return _whole_page("vector_store.file_content.page", data)


def search_shape(queries: Sequence[str], hits: Sequence[StoreHit]) -> Shape:
    data = [
        {
            "file_id": file_id(one.document),
            "filename": one.filename,
            "score": one.score,
            "attributes": dict(one.attributes),
            "content": [{"type": "text", "text": one.text}],
        }
        for one in hits
    ]
    page = _whole_page("vector_store.search_results.page", data)
    return {**page, "search_query": list(queries)}


def deleted_shape(name: str, kind: str) -> Shape:
    return {"id": name, "object": kind, "deleted": True}


def _whole_page(kind: str, data: Sequence[Mapping[str, object]]) -> Shape:
    return {"object": kind, "data": data, "has_more": False, "next_page": None}


def _strategy(strategy: ChunkingStrategy) -> Shape:
    static = {
        "max_chunk_size_tokens": strategy.size,
        "chunk_overlap_tokens": strategy.overlap,
    }
    return {"type": "static", "static": static}


def _counts(counts: MemberCounts) -> Shape:
    return {
        "in_progress": counts.in_progress,
        "completed": counts.completed,
        "failed": counts.failed,
        "cancelled": counts.cancelled,
        "total": counts.total,
    }


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())
