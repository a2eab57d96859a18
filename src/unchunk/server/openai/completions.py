"""Answers to a conversation that its client keeps: from documents, or from the model alone."""

import time
from functools import partial
from uuid import uuid4

from fastapi import APIRouter, Request
from starlette.responses import Response

from unchunk.chat.events import gathered
from unchunk.server.access import InHouse, Owner, RequestId, limited_of
from unchunk.server.openai.asking import answering, answers_as, question
from unchunk.server.openai.azure import deployment_of
from unchunk.server.openai.completion_bodies import CompletionBody
from unchunk.server.openai.completion_shapes import Chunks, Frame, completion
from unchunk.server.openai.faults import refuse
from unchunk.server.openai.telling import Told, check_whole
from unchunk.server.rendering import reply
from unchunk.server.streaming import NOBODY, done_for, reply_of

router = APIRouter(prefix="/chat/completions")


@router.post("")
async def create_completion(
    request: Request, body: CompletionBody, house: InHouse, owner: Owner, name: RequestId
) -> Response:
    """Whoever goes away stops it."""
    house.streams.check(limited_of(request))
    body.check()
    model = deployment_of(request) or body.model
    if not model:
        raise refuse("no model is named: GET /v1/models lists them", param="model")
    asked = await question(
        house, owner, model, body.said(), sampling=body.sampling(), search=body.search(model)
    )
    options = body.stream_options
    frame = Frame(
        f"chatcmpl-{uuid4().hex}",
        int(time.time()),
        answers_as(house, model),
        str(request.base_url),
        bool(options and options.include_usage),
    )
    events = answering(house, owner, asked, name)
    if body.stream:
        make = partial(Told, writer=Chunks(frame))
        stream = house.streams.begin(owner, events, limited_of(request), make)
        return await reply_of(house.streams, stream, house.options)
    answer = await done_for(request.receive, house.streams, owner, gathered(events))
    if answer is None:
        return Response(status_code=NOBODY)
    check_whole(answer)
    return reply(completion(frame, answer))
