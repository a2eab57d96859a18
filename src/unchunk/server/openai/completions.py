"""Answers to a conversation that its client keeps: from documents, or from the model alone."""

import time
from functools import partial
from uuid import uuid4

from fastapi import APIRouter, Request
from starlette.responses import Response

from unchunk.server.access import InHouse, Owner, RequestId
from unchunk.server.openai.asking import answering, answers_as, begun, question
from unchunk.server.openai.completion_bodies import CompletionBody
from unchunk.server.openai.completion_shapes import Chunks, CompletionFrame, completion
from unchunk.server.openai.faults import refuse
from unchunk.server.openai.telling import told

router = APIRouter(prefix="/chat/completions")


@router.post("")
async def create_completion(
    request: Request, body: CompletionBody, house: InHouse, owner: Owner, name: RequestId
) -> Response:
    model = begun(request, house, body)
    if not model:
        raise refuse("no model is named: GET /v1/models lists them", param="model")
    asked = await question(
        house, owner, model, body.said(), sampling=body.sampling(), search=body.search(model)
    )
    options = body.stream_options
    frame = CompletionFrame(
        f"chatcmpl-{uuid4().hex}",
        int(time.time()),
        answers_as(house, model),
        str(request.base_url),
        bool(options and options.include_usage),
    )
    events = answering(house, owner, asked, name)
    shape = Chunks(frame) if body.stream else partial(completion, frame)
    return await told(request, house, owner, events, shape)
