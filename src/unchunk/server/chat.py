"""Answers over HTTP: whole, or as they are written."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Request
from starlette.responses import Response

from unchunk.chat.events import Answer, gathered
from unchunk.domain import OwnerId
from unchunk.errors import InvalidInputError, MissingPartError
from unchunk.server.access import House, InHouse, Owner, RequestId, limited_of
from unchunk.server.answers import EVENTS, AnswerReply
from unchunk.server.bodies import ChatBody
from unchunk.server.documented import told
from unchunk.server.rendering import reply
from unchunk.server.streaming import NOBODY, EventStream, done_for, reply_of
from unchunk.server.tracing import request_id

router = APIRouter(prefix="/api/chat", tags=["chat"])

_OVER = {"description": "Nothing is left of the stream: do not come again."}
_SSE: dict[int | str, dict[str, Any]] = {200: EVENTS, 204: _OVER}
_Place = Annotated[str | None, Header(max_length=200, description="The last event that came")]


@router.post("", responses=told(AnswerReply, 400, 404, 409, 501, 502, 507))
async def chat(
    request: Request, body: ChatBody, house: InHouse, owner: Owner, name: RequestId
) -> Response:
    """The whole answer, with its sources. Whoever goes away stops it."""
    house.streams.check(limited_of(request))
    events = house.engine.chat(body.request(), owner=owner, request_id=name)
    answer = await done_for(request.receive, house.streams, owner, gathered(events))
    return Response(status_code=NOBODY) if answer is None else _told(answer, name)


@router.post(
    "/stream",
    response_class=Response,
    responses=told(None, 400, 404, 409, 410, 501, 502, 507) | _SSE,
)
async def chat_stream(
    request: Request,
    house: InHouse,
    owner: Owner,
    body: Annotated[ChatBody | None, Body()] = None,
    last_event_id: _Place = None,
) -> Response:
    """The answer as it is written, as server-sent events.

    With `Last-Event-ID` nothing is asked: the stream of that event goes on behind it.
    """
    if last_event_id:
        return await _resumed(house, owner, last_event_id)
    if body is None:
        raise InvalidInputError("nothing is asked: send a body with `message` or `messages`")
    events = house.engine.chat(body.request(), owner=owner, request_id=request_id(request))
    stream = house.streams.begin(owner, events, limited_of(request))
    return await reply_of(house.streams, stream, house.options)


@router.get("/stream/{stream}", response_class=Response, responses=told(None, 400, 404, 410) | _SSE)
async def join_stream(
    stream: str, house: InHouse, owner: Owner, last_event_id: _Place = None
) -> Response:
    """A stream again, behind `Last-Event-ID` or from its beginning. 204: nothing is left of it."""
    if last_event_id is not None and last_event_id.rpartition(":")[0] != stream:
        raise InvalidInputError("`Last-Event-ID` is of another stream")
    return await _resumed(house, owner, last_event_id or f"{stream}:0")


@router.delete("/stream/{stream}", status_code=204, responses=told(None, 404, 410))
async def stop_stream(stream: str, house: InHouse, owner: Owner) -> None:
    """Stop an answer. It is not kept for reading again."""
    await house.streams.leave(owner, stream)


async def _resumed(house: House, owner: OwnerId, event_id: str) -> Response:
    place = await house.streams.place(owner, event_id)
    if place is None:
        # What tells an `EventSource` not to come again.
        return Response(status_code=204)
    stream, after = place
    return EventStream(house.streams, stream, house.options, after)


def _told(answer: Answer, name: str) -> Response:
    """An answer that failed altogether is an error, with all that is known of it."""
    body = answer.as_dict() | {"request_id": name}
    if answer.error is None or answer.finish != "failed":
        return reply(body)
    body["error"] = answer.error.as_dict() | {"type": answer.error.code, "request_id": name}
    body["detail"] = answer.error.message
    if answer.error.code == MissingPartError.code:
        return reply(body, 409)
    return reply(body, 503 if answer.error.transient else 502)
