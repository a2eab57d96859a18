"""Models that answer, and conversations that are kept."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from unchunk.domain import Answered, ChatTurn, Conversation, ConversationId, OwnerId

Message = Mapping[str, object]
"""As OpenAI's chat API has it: a `role`, a `content` that is a text or a list of parts, and more."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is asked of a model beside its messages. What is not said is the provider's choice."""

    model: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


class TokenUsage(NamedTuple):
    prompt_tokens: int
    completion_tokens: int


class Delta(NamedTuple):
    """The next piece of an answer; `finish` says why it ended: `stop`, `length` or what else."""

    text: str = ""
    finish: str = ""
    usage: TokenUsage | None = None


class ChatModel(Protocol):
    """Messages into an answer."""

    @property
    def name(self) -> str:
        """Which model answers where none is named."""
        ...

    async def window(self, model: str = "") -> int | None:
        """How many tokens a prompt and its answer may have together; None if that is not known.

        A provider that does not answer is one that does not tell: nothing is raised.
        """
        ...

    def count_tokens(self, text: str, model: str = "") -> int:
        """Never too few; too many where the provider's tokenizer is not known."""
        ...

    def stream(
        self, messages: Sequence[Message], sampling: Sampling, *, request_id: str = ""
    ) -> AbstractAsyncContextManager[AsyncIterator[Delta]]:
        """The answer as it comes. Leaving the context ends it at the provider, too.

        Entering waits for the provider to begin, with retries; from then on nothing is tried
        again. An answer that is cut off or cannot be understood raises, and never ends as if it
        were whole. `request_id` goes to the provider with the call.
        """
        ...

    async def close(self) -> None: ...


class Conversations(Protocol):
    """What was asked and answered. Another owner's conversation is not there: `NotFoundError`.

    Every method is one transaction, durable when it returns.
    """

    async def start(self, owner: OwnerId, *, title: str = "", folder: str = "") -> Conversation: ...

    async def recent(
        self, owner: OwnerId, limit: int = 50, before: ConversationId | None = None
    ) -> list[Conversation]:
        """The newest first, by when something was last said; those behind `before`, to go on."""
        ...

    async def get(self, owner: OwnerId, conversation: ConversationId) -> Conversation: ...

    async def turns(
        self, owner: OwnerId, conversation: ConversationId, last: int | None = None
    ) -> list[ChatTurn]:
        """What was said, in order; only the last ones, if so many are enough."""
        ...

    async def ask(self, owner: OwnerId, conversation: ConversationId, question: str) -> int:
        """Note a question before it is answered; its number is returned."""
        ...

    async def answer(
        self, owner: OwnerId, conversation: ConversationId, number: int, given: Answered
    ) -> None:
        """Note what became of a question; nothing happens if the conversation is gone."""
        ...

    async def abandon(self) -> int:
        """Call every question that is pending interrupted; for who knows that nobody answers it.

        How many there were is returned.
        """
        ...

    async def rename(
        self, owner: OwnerId, conversation: ConversationId, title: str
    ) -> Conversation: ...

    async def delete(self, owner: OwnerId, conversation: ConversationId) -> None: ...


class Prompts(Protocol):
    """What a model is told beside the question, for each owner's folder."""

    async def prompt(self, owner: OwnerId, folder: str) -> str:
        """Empty if there is none."""
        ...

    async def prompts(self, owner: OwnerId) -> dict[str, str]:
        """All of them, by folder."""
        ...

    async def set_prompt(self, owner: OwnerId, folder: str, text: str) -> None:
        """An empty text takes it away."""
        ...
