"""Responses: an answer to what is sent and what was said before, kept to be gone on from."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import cast
from uuid import uuid4

from fastapi import APIRouter, Request
from starlette.responses import Response

from unchunk.chat.events import Event, SourcesFound
from unchunk.domain import OwnerId
from unchunk.ports import Message, Page
from unchunk.server.access import House, InHouse, Owner, RequestId
from unchunk.server.openai.asking import Search, answering, answers_as, begun, question
from unchunk.server.openai.faults import refuse
from unchunk.server.openai.models import LIBRARY
from unchunk.server.openai.paging import PartOfList, listed
from unchunk.server.openai.response_bodies import ResponseBody
from unchunk.server.openai.response_events import ResponseEvents
from unchunk.server.openai.response_items import messages_of
from unchunk.server.openai.response_keeping import keeping, said_before
from unchunk.server.openai.response_shapes import ResponseFrame, whole
from unchunk.server.openai.shapes import Shape, deleted_shape
from unchunk.server.openai.telling import told
from unchunk.server.rendering import reply

router = APIRouter(prefix="/responses")


@router.post("")
async def create_response(
    request: Request, body: ResponseBody, house: InHouse, owner: Owner, name: RequestId
) -> Response:
    model = begun(request, house, body) or LIBRARY
    frame = ResponseFrame(
        f"resp_{uuid4().hex}",
        int(time.time()),
        answers_as(house, model),
        body,
        f"fs_{uuid4().hex}",
        f"msg_{uuid4().hex}",
    )
    events = await _answering(house, owner, frame, model, name)
    shape = ResponseEvents(frame) if body.stream else partial(whole, frame)
    return await told(request, house, owner, events, shape)


@router.get("/{response}")
async def retrieve_response(
    response: str, house: InHouse, owner: Owner, stream: bool = False
) -> Response:
    """As it was told, but without the texts that it was found from."""
    if stream:
        raise refuse("a response is not told twice as it was written", param="stream")
    kept = await house.engine.stores.response(response, owner=owner)
    return reply(kept.body["response"])


@router.delete("/{response}")
async def delete_response(response: str, house: InHouse, owner: Owner) -> Response:
    await house.engine.stores.delete_response(response, owner=owner)
    return reply(deleted_shape(response, "response"))


@router.post("/{response}/cancel")
async def cancel_response(response: str, house: InHouse, owner: Owner) -> Response:
    await house.engine.stores.response(response, owner=owner)
    raise refuse("only a response in the background can be cancelled, and this one is over")


@router.get("/{response}/input_items")
async def list_input_items(
    response: str, part: PartOfList, house: InHouse, owner: Owner
) -> Response:
    kept = await house.engine.stores.response(response, owner=owner)
    items = cast("list[Shape]", kept.body["input"])
    some, has_more = _part(items, part)
    return reply(listed(some, has_more=has_more))


async def _answering(
    house: House, owner: OwnerId, frame: ResponseFrame, model: str, request_id: str
) -> AsyncGenerator[Event, None]:
    body, stores = frame.body, house.engine.stores
    given = messages_of(body.input)
    before = await said_before(stores, body.previous_response_id, owner)
    told: list[Message] = []
    if body.instructions:
        told.append({"role": "system", "content": body.instructions})
    search = body.search(model)
    asked = await question(
        house, owner, model, (*told, *before, *given), sampling=body.sampling(), search=search
    )
    events = answering(house, owner, asked, request_id)
    if search is not None and search.stores and frame.with_results:
        events = _described(events, house, owner, frame, search)
    if body.store is False:
        return events
    return keeping(events, stores, owner, frame, (before, given))


async def _described(
    events: AsyncGenerator[Event, None],
    house: House,
    owner: OwnerId,
    frame: ResponseFrame,
    search: Search,
) -> AsyncGenerator[Event, None]:
    """The same events; when files are found, their attributes are, too."""
    filters = search.parsed()
    async with aclosing(events):
        async for event in events:
            if isinstance(event, SourcesFound) and event.documents:
                found = [one.document for one in event.documents]
                frame.attributes.update(
                    await house.engine.stores.attributes(search.stores, found, filters, owner=owner)
                )
            yield event


def _part(items: list[Shape], part: Page) -> tuple[list[Shape], bool]:
    ordered = items if part.order == "asc" else items[::-1]
    ids = [one["id"] for one in ordered]
    if part.after and part.after not in ids:
        raise refuse("`after` is not an id of this list", param="after")
    rest = ordered[ids.index(part.after) + 1 if part.after else 0 :]
    return rest[: part.limit], len(rest) > part.limit
