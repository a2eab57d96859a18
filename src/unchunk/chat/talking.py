"""Questions to a library, and the conversations that they make."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from unchunk.domain import ChatTurn, Conversation, ConversationId, OwnerId
from unchunk.ports import ChatModel, Conversations, Prompts
from unchunk.retrieval.amount import Amount

# Most libraries are opened to be searched: what answers is loaded with the first question.
if TYPE_CHECKING:
    from unchunk.chat.calling import Names
    from unchunk.chat.events import Answer, Event
    from unchunk.chat.explaining import Explanation
    from unchunk.chat.parts import ChatManner, ChatParts, Elsewhere
    from unchunk.chat.request import ChatRequest


@dataclass(frozen=True, slots=True)
class Talk:
    """What a library talks with: `elsewhere` is where its evidence is, if not in itself."""

    conversations: Conversations
    prompts: Prompts
    manner: "ChatManner"
    model: ChatModel | None = None
    elsewhere: "Elsewhere | None" = None

    async def close(self) -> None:
        for part in (self.model, self.elsewhere):
            if part is not None:
                await part.close()


class Talking:
    """The part of an engine that answers. `owner` is whose question it is; others' are not there.

    `answering` is called when that is first needed.
    """

    def __init__(self, talk: Talk, answering: "Callable[[], ChatParts]", owner: OwnerId) -> None:
        self._talk, self._make_parts = talk, answering
        self._owner = owner

    @cached_property
    def _answering(self) -> "ChatParts":
        return self._make_parts()

    def chat(
        self,
        request: "ChatRequest",
        *,
        owner: OwnerId | None = None,
        request_id: str = "",
        names: "Names | None" = None,
    ) -> "AsyncGenerator[Event, None]":
        """Answer a question, as a stream of events; closing the stream stops the model.

        Raises before the first event for what cannot be asked; all else is an event. `names` tells
        what documents are called in the answer, where that is not what the library calls them.
        """
        from unchunk.chat.calling import called  # noqa: PLC0415
        from unchunk.chat.turn import turn  # noqa: PLC0415

        parts = self._answering
        if names is not None:
            parts = replace(parts, retrieve=called(parts.retrieve, names))
        return turn(parts, request, self._whose(owner), request_id)

    async def ask(
        self,
        question: "str | ChatRequest",
        *,
        owner: OwnerId | None = None,
        request_id: str = "",
    ) -> "Answer":
        """Answer a question, all at once."""
        from unchunk.chat.events import gathered  # noqa: PLC0415
        from unchunk.chat.request import ChatRequest  # noqa: PLC0415
        from unchunk.chat.request import question as messages_of  # noqa: PLC0415

        request = question
        if isinstance(request, str):
            request = ChatRequest(messages_of(request))
        return await gathered(self.chat(request, owner=owner, request_id=request_id))

    async def explain(
        self,
        request: "ChatRequest",
        *,
        owner: OwnerId | None = None,
        request_id: str = "",
        before_turn: int | None = None,
    ) -> "Explanation":
        """How a question would be answered: evidence, reasons, and the prompt. Nothing is kept.

        `before_turn` is the number of a turn of its conversation: as it was answered then.
        """
        from unchunk.chat.explaining import explain  # noqa: PLC0415

        whose = self._whose(owner)
        return await explain(self._answering, request, whose, request_id, before_turn)

    @property
    def chat_model(self) -> str:
        """Which model answers; empty where none is set up, and answers are quotes."""
        model = self._talk.model
        return model.name if model else ""

    async def conversations(
        self,
        limit: int = 50,
        before: ConversationId | None = None,
        *,
        owner: OwnerId | None = None,
    ) -> list[Conversation]:
        """The latest first; those behind `before`, to go on."""
        return await self._talk.conversations.recent(self._whose(owner), limit, before)

    async def conversation(
        self, conversation: ConversationId, *, owner: OwnerId | None = None
    ) -> tuple[Conversation, list[ChatTurn]]:
        whose, kept = self._whose(owner), self._talk.conversations
        return await kept.get(whose, conversation), await kept.turns(whose, conversation)

    async def rename_conversation(
        self, conversation: ConversationId, title: str, *, owner: OwnerId | None = None
    ) -> Conversation:
        return await self._talk.conversations.rename(self._whose(owner), conversation, title)

    async def delete_conversation(
        self, conversation: ConversationId, *, owner: OwnerId | None = None
    ) -> None:
        await self._talk.conversations.delete(self._whose(owner), conversation)

    async def abandon(self) -> int:
        """Give up questions, all owners', that a process has left in the midst of its answer."""
        return await self._talk.conversations.abandon()

    async def prompts(self, *, owner: OwnerId | None = None) -> dict[str, str]:
        """What the model is told of questions about a folder, by folder."""
        return await self._talk.prompts.prompts(self._whose(owner))

    async def set_prompt(self, folder: str, text: str, *, owner: OwnerId | None = None) -> None:
        """An empty text takes it away."""
        await self._talk.prompts.set_prompt(self._whose(owner), folder, text)

    async def _usual_amount(self, question: str) -> Amount:
        """As much evidence as goes to the model beside a question."""
        from unchunk.chat.budget import room, within  # noqa: PLC0415
        from unchunk.chat.request import question as messages_of  # noqa: PLC0415

        manner, model = self._talk.manner, self._talk.model
        space = await room(model, messages_of(question), manner.sampling, manner.amount.budget)
        return within(manner.amount, space, model)

    def _whose(self, owner: OwnerId | None) -> OwnerId:
        return self._owner if owner is None else owner
