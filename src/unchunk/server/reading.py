"""What a document says: its text, its chunks, how it is laid out, and the file that it was.

All offsets count characters of the canonical text, as Unicode code points.
"""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from unchunk.domain import Chunk
from unchunk.errors import InvalidInputError
from unchunk.server.access import InHouse, Owner
from unchunk.server.attachments import Original, PlainText
from unchunk.server.documented import told
from unchunk.server.rendering import reply

router = APIRouter(prefix="/api/documents/{document}", tags=["reading"])

_MOST_CHARACTERS, _MOST_CHUNKS = 1_000_000, 200
_ID = "06a1v8k2m4n7p0q3"
_Place = Annotated[int, Query(ge=0, le=10_000_000_000)]


class HeadingReply(BaseModel):
    at: int
    level: int
    title: str


class OutlineReply(BaseModel):
    """`pages` are where the pages begin in the text; empty for a document without pages."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "document_id": _ID,
                    "name": "Visitors.pdf",
                    "text_length": 5_120,
                    "chunk_count": 7,
                    "page_count": 2,
                    "pages": [0, 2_480],
                    "headings": [{"at": 0, "level": 1, "title": "Arriving"}],
                    "has_pages_to_see": True,
                }
            ]
        }
    )

    document_id: str
    name: str
    text_length: int
    chunk_count: int
    page_count: int
    pages: list[int]
    headings: list[HeadingReply]
    has_pages_to_see: bool


class TextReply(BaseModel):
    """The characters `[start, end)`, which may be fewer than were asked for."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "document_id": _ID,
                    "name": "Harbour rules.md",
                    "start": 0,
                    "end": 15,
                    "text_length": 9_085,
                    "text": "# Harbour rules",
                }
            ]
        }
    )

    document_id: str
    name: str
    start: int
    end: int
    text_length: int
    text: str


class ChunkText(BaseModel):
    chunk_index: int
    start: int
    end: int
    first_page: int | None
    last_page: int | None
    heading_path: list[str]
    text: str


class ChunksReply(BaseModel):
    """`chunk_count` is how many there are in all."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "document_id": _ID,
                    "chunk_count": 12,
                    "chunks": [
                        {
                            "chunk_index": 0,
                            "start": 0,
                            "end": 15,
                            "first_page": None,
                            "last_page": None,
                            "heading_path": ["Harbour rules"],
                            "text": "# Harbour rules",
                        }
                    ],
                }
            ]
        }
    )

    document_id: str
    chunk_count: int
    chunks: list[ChunkText]


_BYTES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        "description": "The bytes of the file",
    }
}
_TEXT: dict[int | str, dict[str, Any]] = {
    200: {
        "model": TextReply,
        "content": {"text/plain": {"schema": {"type": "string"}}},
        "description": "Some or all of it",
    }
}


@router.get("/outline", responses=told(OutlineReply, 404))
async def get_outline(document: str, house: InHouse, owner: Owner) -> Response:
    """Where pages and headings begin."""
    found = await house.engine.exactly(document, owner=owner)
    outline = await house.engine.outline(found.id, owner=owner)
    body = {
        "document_id": found.id,
        "name": found.name,
        "text_length": outline.version.text_length,
        "chunk_count": outline.version.chunk_count,
        "page_count": len(outline.pages),
        "pages": list(outline.pages),
        "headings": [one._asdict() for one in outline.headings],
        "has_pages_to_see": house.engine.can_draw(found),
    }
    return reply(body)


@router.get("/text", responses=told(None, 400, 404) | _TEXT, response_class=Response)
async def get_text(  # noqa: PLR0917 - named by the query
    document: str,
    house: InHouse,
    owner: Owner,
    start: _Place = 0,
    end: _Place | None = None,
    format: Annotated[Literal["json", "plain"], Query()] = "json",  # noqa: A002 - its name there
) -> Response:
    """A part of the text, a million characters at most; or all of it, to be saved, as `plain`."""
    found = await house.engine.exactly(document, owner=owner)
    if format == "plain":
        return PlainText(house.engine, owner, found.id, f"{found.name}.txt")

    def bounds(length: int) -> tuple[int, int]:
        begin, stop = min(start, length), length if end is None else min(end, length)
        if stop < begin:
            raise InvalidInputError(f"the end, {stop}, is before the start, {begin}")
        return begin, min(stop, begin + _MOST_CHARACTERS)

    found, begin, text = await house.engine.cut(found.id, bounds, owner=owner)
    body = {
        "document_id": found.id,
        "name": found.name,
        "start": begin,
        "end": begin + len(text),
        "text_length": found.live.text_length if found.live else 0,
        "text": text,
    }
    return reply(body)


@router.get("/chunks", responses=told(ChunksReply, 400, 404))
async def get_chunks(
    document: str, house: InHouse, owner: Owner, first: _Place = 0, last: _Place | None = None
) -> Response:
    """The chunks from `first` to `last`, both included; 200 at most."""
    if last is not None and last < first:
        raise InvalidInputError(f"the last, {last}, is before the first, {first}")
    found = await house.engine.exactly(document, owner=owner)
    most = first + _MOST_CHUNKS - 1
    last = most if last is None else min(last, most)
    opened = await house.engine.opened(found.id, first, last, owner=owner)
    body = {
        "document_id": found.id,
        "chunk_count": opened.version.chunk_count,
        "chunks": [_chunk(*opened.chunks[at]) for at in sorted(opened.chunks)],
    }
    return reply(body)


@router.get("/original", responses=told(None, 404) | _BYTES, response_class=Response)
async def get_original(document: str, house: InHouse, owner: Owner) -> Response:
    """The file as it came in, to be saved."""
    found = await house.engine.exactly(document, owner=owner)
    return Original(house.engine, owner, found.id, found.name)


def _chunk(chunk: Chunk, text: str) -> dict[str, object]:
    return {**chunk._asdict(), "heading_path": list(chunk.heading_path), "text": text}
