"""Conversations that are kept, and what a model is told in each folder."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, JsonValue
from starlette.responses import Response

from unchunk.domain import ChatTurn, Conversation, TurnStatus
from unchunk.server.access import InHouse, Owner
from unchunk.server.bodies import PromptBody, TitleBody
from unchunk.server.documented import told
from unchunk.server.rendering import reply

router = APIRouter(prefix="/api", tags=["conversations"])

_EXAMPLE: dict[str, JsonValue] = {
    "id": "01j8x0m3r5t7",
    "title": "What does a night in the harbour cost?",
    "folder": "",
    "turn_count": 1,
    "created_at": "2026-01-02T03:04:05+00:00",
    "updated_at": "2026-01-02T03:04:07+00:00",
}
_TURN: dict[str, JsonValue] = {
    "number": 0,
    "question": "What does a night in the harbour cost?",
    "asked_at": "2026-01-02T03:04:05+00:00",
    "answer": "A night in the harbour costs 22 euros. [06a1v8k2m4n7p0q3:2]",
    "status": "complete",
    "cited": [["06a1v8k2m4n7p0q3", 2]],
    "record": {"model": "extractive"},
}
_PROMPT: dict[str, JsonValue] = {"folder": "Sample", "text": "Answer in one sentence."}


class ConversationReply(BaseModel):
    """`folder` is where its answers come from, if not from all."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str
    title: str
    folder: str
    turn_count: int
    created_at: datetime
    updated_at: datetime


class TurnReply(BaseModel):
    """A question and its answer; `record` tells how that came about, as `POST /api/chat` does."""

    number: int
    question: str
    asked_at: datetime
    answer: str
    status: TurnStatus
    cited: list[tuple[str, int]]
    record: dict[str, JsonValue]


class WholeConversation(ConversationReply):
    """The oldest turn first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**_EXAMPLE, "turns": [_TURN]}]})

    turns: list[TurnReply]


class ConversationsReply(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"conversations": [_EXAMPLE]}]})

    conversations: list[ConversationReply]


class FolderPrompt(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_PROMPT]})

    folder: str
    text: str


class FolderPrompts(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"prompts": {"Sample": "Answer in one sentence."}}]}
    )

    prompts: dict[str, str]


@router.get("/conversations", responses=told(ConversationsReply, 404))
async def list_conversations(
    house: InHouse,
    owner: Owner,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """The newest first; those behind the conversation `before`, to go on."""
    found = await house.engine.conversations(limit, before, owner=owner)
    return reply({"conversations": [_conversation(one) for one in found]})


@router.get("/conversations/{conversation}", responses=told(WholeConversation, 404))
async def get_conversation(conversation: str, house: InHouse, owner: Owner) -> Response:
    """One conversation, with all that was said in it."""
    found, turns = await house.engine.conversation(conversation, owner=owner)
    return reply(_conversation(found) | {"turns": [_turn(one) for one in turns]})


@router.patch("/conversations/{conversation}", responses=told(ConversationReply, 404, 507))
async def rename_conversation(
    conversation: str, body: TitleBody, house: InHouse, owner: Owner
) -> Response:
    """Give a conversation another title."""
    renamed = await house.engine.rename_conversation(conversation, body.title, owner=owner)
    return reply(_conversation(renamed))


@router.delete("/conversations/{conversation}", status_code=204, responses=told(None, 404, 507))
async def delete_conversation(conversation: str, house: InHouse, owner: Owner) -> None:
    """Remove a conversation with all that was said in it."""
    await house.engine.delete_conversation(conversation, owner=owner)


@router.get("/prompts", responses=told(FolderPrompts))
async def list_prompts(house: InHouse, owner: Owner) -> Response:
    """What a model is told of questions about each folder."""
    return reply({"prompts": await house.engine.prompts(owner=owner)})


@router.put("/prompts", responses=told(FolderPrompt, 400, 507))
async def set_prompt(body: PromptBody, house: InHouse, owner: Owner) -> Response:
    """Say what a model is told of questions about a folder; an empty text takes it away."""
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
