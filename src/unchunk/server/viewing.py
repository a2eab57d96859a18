"""The pages of a PDF as they look, and where on them a passage stands."""

import asyncio
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from unchunk.errors import InvalidInputError
from unchunk.server.access import InHouse, Owner
from unchunk.server.documented import told
from unchunk.server.rendering import reply
from unchunk.server.streaming import NOBODY, attended

router = APIRouter(prefix="/api/documents/{document}/pages/{page}", tags=["reading"])

_Page = Annotated[int, Path(ge=1, le=1_000_000, description="Counted from 1")]
_Place = Annotated[int, Query(ge=0, le=10_000_000_000)]
_PNG: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"image/png": {"schema": {"type": "string", "format": "binary"}}},
        "description": "The page as a picture",
    },
    304: {"description": "It is as it was"},
}


class MarkReply(BaseModel):
    """A rectangle, in fractions of the page's width and height from its upper left corner."""

    x: Annotated[float, Field(ge=0, le=1)]
    y: Annotated[float, Field(ge=0, le=1)]
    width: Annotated[float, Field(ge=0, le=1)]
    height: Annotated[float, Field(ge=0, le=1)]


class MarksReply(BaseModel):
    """One rectangle for each line, or part of a line, that the passage takes on this page."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"page": 2, "marks": [{"x": 0.12, "y": 0.31, "width": 0.54, "height": 0.02}]}
            ]
        }
    )

    page: int
    marks: list[MarkReply]


@router.get("", responses=told(None, 404) | _PNG, response_class=Response)
async def get_page(  # noqa: PLR0917 - named by the query
    request: Request,
    document: str,
    page: _Page,
    house: InHouse,
    owner: Owner,
    width: Annotated[int, Query(ge=200, le=2_000)] = 900,
    if_none_match: Annotated[str | None, Header(max_length=1_000)] = None,
) -> Response:
    """A PNG, so many pixels wide; of a page that is very tall, narrower."""
    found = await house.engine.exactly(document, owner=owner)
    generation = found.live.generation if found.live else 0
    name = sha256(f"{found.id} {generation} {page} {width}".encode()).hexdigest()[:32]
    headers = {"ETag": f'"{name}"', "Cache-Control": "private, no-cache"}
    if if_none_match is not None and name in if_none_match:
        return Response(status_code=304, headers=headers)
    drawing = asyncio.create_task(house.pictures.of(found, page, width))
    await attended(request.receive, drawing)
    if not drawing.done() or drawing.cancelled():
        return Response(status_code=NOBODY)
    return Response(drawing.result(), 200, headers, "image/png")


@router.get("/marks", responses=told(MarksReply, 400, 404))
async def get_marks(  # noqa: PLR0917 - named by the query
    request: Request,
    document: str,
    page: _Page,
    house: InHouse,
    owner: Owner,
    start: _Place,
    end: _Place,
) -> Response:
    """Where the characters `[start, end)` of the document's text stand, as far as on this page."""
    if end < start:
        raise InvalidInputError(f"the end, {end}, is before the start, {start}")
    found = await house.engine.exactly(document, owner=owner)
    marking = asyncio.create_task(house.pictures.marks(found, page, start, end))
    await attended(request.receive, marking)
    if not marking.done() or marking.cancelled():
        return Response(status_code=NOBODY)
    return reply({"page": page, "marks": [one._asdict() for one in marking.result()]})
