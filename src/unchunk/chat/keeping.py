"""A question in its conversation: what was said before it, and what is kept of it."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, replace

from unchunk.chat.events import Answer, Warned, source
from unchunk.chat.request import INSTRUCTING, NEW, Asked, ChatRequest
from unchunk.domain import (
    Answered,
    ChatTurn,
    Conversation,
    ConversationId,
    OwnerId,
    TurnStatus,
)
from unchunk.errors import OutputError, TransientError, UnchunkError
from unchunk.ports import Conversations, Message
from unchunk.retrieval.followup import is_empty
from unchunk.retrieval.query import Turn
from unchunk.telemetry import log

# How much of a conversation is read; what is older does not help to understand a question.
_READ = 24


@dataclass(frozen=True, slots=True)
class Before:
    """A conversation with its last `turns`."""

    conversation: Conversation
    turns: tuple[ChatTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A question of a conversation that is kept; `number` is known when it is noted."""

    before: Before
    number: asyncio.Task[int]

    @property
    def conversation(self) -> Conversation:
        return self.before.conversation


async def begin(conversations: Conversations, request: ChatRequest, owner: OwnerId) -> Kept | None:
    """Have the question noted while it is answered; None where no conversation is kept.

    An unknown one is an error.
    """
    if not request.conversation:
        return None
    folders = request.where.folders or ()
    if request.conversation == NEW:
        folder = folders[0] if len(folders) == 1 else ""
        before = Before(await conversations.start(owner, folder=folder))
    else:
        before = await said_before(conversations, request.conversation, owner)
    name = before.conversation.id
    return Kept(before, asyncio.ensure_future(conversations.ask(owner, name, request.question)))


async def said_before(
    conversations: Conversations,
    conversation: ConversationId,
    owner: OwnerId,
    turn: int | None = None,
) -> Before:
    """A conversation as it is; or as it was before the turn of that number, if there was one."""
    found = await conversations.get(owner, conversation)
    if turn is None or turn >= found.turn_count:
        return Before(found, tuple(await conversations.turns(owner, conversation, _READ)))
    since = found.turn_count - turn
    read = await conversations.turns(owner, conversation, _READ + since)
    # Another turn may have come meanwhile.
    turns = [one for one in read if one.number < turn]
    return Before(replace(found, turn_count=turn), tuple(turns[-_READ:]))


def continued(
    request: ChatRequest, before: Before | None, owner: OwnerId, request_id: str = ""
) -> Asked:
    """The request with all messages that its model should see, and the history for its search.

    What else than a question came with it is dropped in a kept conversation, which knows better.
    """
    if before is None:
        return Asked(request, owner, request.history, request_id)
    said: list[Message] = []
    history: list[Turn] = []
    for one in before.turns:
        if answer := one.answered.answer:
            said.append({"role": "user", "content": one.question})
            said.append({"role": "assistant", "content": answer})
            history.append(Turn("user", one.question))
            history.append(Turn("assistant", answer, one.answered.cited))
    where = request.where
    conversation = before.conversation
    if where.folders is None and conversation.folder:
        where = replace(where, folders=(conversation.folder,))
    told = [one for one in request.messages[:-1] if one.get("role") in INSTRUCTING]
    messages = (*told, *said, request.messages[-1])
    forgotten = 2 * max(conversation.turn_count - len(before.turns), 0)
    request = replace(request, messages=messages, where=where)
    return Asked(request, owner, history, request_id, forgotten)


async def noted(kept: Kept) -> None:
    """Raises if the conversation went meanwhile; what else keeps it from being noted can wait."""
    with suppress(TransientError, OutputError):
        await asyncio.shield(kept.number)


async def end(
    conversations: Conversations, kept: Kept, asked: Asked, answer: Answer
) -> Warned | None:
    """Keep what became of the question, also if whoever asked is gone; or say why it is not."""
    status: TurnStatus = "complete"
    if answer.finish in ("stopped", "failed"):
        status = "stopped" if answer.finish == "stopped" else "failed"
    record = _record(answer) | {"asked": _asked(asked.request)}
    given = Answered(answer.answer, status, _evidence(asked.request.question, answer), record)

    async def write() -> None:
        await conversations.answer(asked.owner, kept.conversation.id, await kept.number, given)

    try:
        await asyncio.shield(write())
    except UnchunkError as error:
        log("an answer could not be kept: %s", error, level=logging.ERROR)
        return Warned("not-kept", f"this answer is not kept in its conversation: {error}")
    return None


def _evidence(question: str, answer: Answer) -> tuple[tuple[str, int], ...]:
    """What the answer cites; if it cites nothing, what it was given and was found.

    What is found for small talk ("Thanks!") is no evidence.
    """
    cited = [(one.document, one.chunk_index) for one in answer.citations if one.state != "unknown"]
    if is_empty(question):
        return tuple(dict.fromkeys(cited))
    found = [
        (one.document, hit.chunk_index) for one in answer.sources.documents for hit in one.chunks
    ]
    return tuple(dict.fromkeys(cited or found))


def _record(answer: Answer) -> dict[str, object]:
    """How the answer came about, without the texts: those are in the documents, while they are."""
    record = answer.as_dict()
    del record["answer"], record["conversation"], record["turn"]
    record["sources"] = [source(one, with_text=False) for one in answer.sources.documents]
    return record


def _asked(request: ChatRequest) -> dict[str, object]:
    """What else than the question was said, to ask it again: as it is said over HTTP."""
    where = request.where
    said = {
        "rag_enabled": request.rag_enabled,
        "mode": request.mode if request.mode != "auto" else None,
        "folders": where.folders,
        "names": where.names,
        "documents": where.documents,
        "include": [one._asdict() for one in request.include],
        "context_chunks": request.limit,
        "full_documents": request.full_documents,
        "full_document_chars": request.full_document_chars,
        "max_parts": request.max_parts,
    }
    return {name: it for name, it in said.items() if it or it is False or it == 0}
