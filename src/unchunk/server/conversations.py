"""Conversations that are kept, and what a model is told in each folder."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from unchunk.domain import ChatTurn, Conversation
from unchunk.server.access import InHouse, Owner
from unchunk.server.bodies import PromptBody, TitleBody
from unchunk.server.rendering import reply

router = APIRouter(prefix="/api", tags=["conversations"])


@router.get("/conversations")
async def list_conversations(
    house: InHouse,
    owner: Owner,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """The newest first; those behind the conversation `before`, to go on."""
    found = await house.engine.conversations(limit, before, owner=owner)
    return reply({"conversations": [_conversation(one) for one in found]})


@router.get("/conversations/{conversation}")
async def get_conversation(conversation: str, house: InHouse, owner: Owner) -> Response:
    found, turns = await house.engine.conversation(conversation, owner=owner)
    return reply(_conversation(found) | {"turns": [_turn(one) for one in turns]})


@router.patch("/conversations/{conversation}")
async def rename_conversation(
    conversation: str, body: TitleBody, house: InHouse, owner: Owner
) -> Response:
    renamed = await house.engine.rename_conversation(conversation, body.title, owner=owner)
    return reply(_conversation(renamed))


@router.delete("/conversations/{conversation}", status_code=204)
async def delete_conversation(conversation: str, house: InHouse, owner: Owner) -> None:
    await house.engine.delete_conversation(conversation, owner=owner)


@router.get("/prompts")
async def list_prompts(house: InHouse, owner: Owner) -> Response:
    """By folder."""
    return reply({"prompts": await house.engine.prompts(owner=owner)})


@router.put("/prompts")
async def set_prompt(body: PromptBody, house: InHouse, owner: Owner) -> Response:
    await house.engine.set_prompt(body.folder, body.text, owner=owner)
    return reply({"folder": body.folder, "text": body.text})


def _conversation(one: Conversation) -> dict[str, object]:
    return {
        "id": one.id,
        "title": one.title,
        "folder": one.folder,
        "turn_count": one.turn_count,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
    }


def _turn(one: ChatTurn) -> dict[str, object]:
    return {
        "number": one.number,
        "question": one.question,
        "asked_at": one.asked_at,
        "answer": one.answered.answer,
        "status": one.answered.status,
        "cited": [list(it) for it in one.answered.cited],
        "record": dict(one.answered.record),
    }
