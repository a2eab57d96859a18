"""A question in its conversation: what was said before it, and what is kept of it."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from unchunk.chat.events import Answer, Warned, source
from unchunk.chat.request import INSTRUCTING, NEW, ChatRequest
from unchunk.domain import Answered, ChatTurn, Conversation, OwnerId, TurnStatus
from unchunk.errors import OutputError, TransientError, UnchunkError
from unchunk.ports import Conversations, Message
from unchunk.retrieval.query import Turn
from unchunk.telemetry import log

# How much of a conversation is read; what is older does not help to understand a question.
_READ = 24


@dataclass(frozen=True, slots=True)
class Kept:
    """A question of a conversation that is kept; `number` is known when it is noted.

    `before` are the last turns, `forgotten` is how many there are before those.
    """

    conversation: Conversation
    before: tuple[ChatTurn, ...]
    number: asyncio.Task[int]

    @property
    def forgotten(self) -> int:
        return max(self.conversation.turn_count - len(self.before), 0)


async def begin(conversations: Conversations, request: ChatRequest, owner: OwnerId) -> Kept | None:
    """Have the question noted while it is answered; None where no conversation is kept.

    An unknown one is an error.
    """
    if not request.conversation:
        return None
    folders = request.where.folders or ()
    if request.conversation == NEW:
        folder = folders[0] if len(folders) == 1 else ""
        conversation = await conversations.start(owner, folder=folder)
        before: Sequence[ChatTurn] = ()
    else:
        conversation = await conversations.get(owner, request.conversation)
        before = await conversations.turns(owner, conversation.id, _READ)
    noting = asyncio.ensure_future(conversations.ask(owner, conversation.id, request.question))
    return Kept(conversation, tuple(before), noting)


def continued(request: ChatRequest, kept: Kept | None) -> tuple[ChatRequest, list[Turn]]:
    """The request with all messages that its model should see, and the history for its search.

    What else than a question came with it is dropped in a kept conversation, which knows better.
    """
    if kept is None:
        return request, request.history
    said: list[Message] = []
    history: list[Turn] = []
    for one in kept.before:
        if answer := one.answered.answer:
            said.append({"role": "user", "content": one.question})
            said.append({"role": "assistant", "content": answer})
            history.append(Turn("user", one.question))
            history.append(Turn("assistant", answer, one.answered.cited))
    where = request.where
    if where.folders is None and kept.conversation.folder:
        where = replace(where, folders=(kept.conversation.folder,))
    told = [one for one in request.messages[:-1] if one.get("role") in INSTRUCTING]
    messages = (*told, *said, request.messages[-1])
    return replace(request, messages=messages, where=where), history


async def noted(kept: Kept) -> None:
    """Raises if the conversation went meanwhile; what else keeps it from being noted can wait."""
    with suppress(TransientError, OutputError):
        await asyncio.shield(kept.number)


async def end(
    conversations: Conversations, kept: Kept, owner: OwnerId, answer: Answer
) -> Warned | None:
    """Keep what became of the question, also if whoever asked is gone; or say why it is not."""
    status: TurnStatus = "complete"
    if answer.finish in ("stopped", "failed"):
        status = "stopped" if answer.finish == "stopped" else "failed"
    given = Answered(answer.answer, status, _evidence(answer), _record(answer))

    async def write() -> None:
        await conversations.answer(owner, kept.conversation.id, await kept.number, given)

    try:
        await asyncio.shield(write())
    except UnchunkError as error:
        log("an answer could not be kept: %s", error, level=logging.ERROR)
        return Warned("not-kept", f"this answer is not kept in its conversation: {error}")
    return None


def _evidence(answer: Answer) -> tuple[tuple[str, int], ...]:
    """What the answer cites; if it cites nothing, what it was given and was found."""
    cited = [(one.document, one.chunk_index) for one in answer.citations if one.state != "unknown"]
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
