"""What is asked: messages, where to look for an answer, and how to write it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from unchunk.domain import ConversationId, DocumentId, OwnerId
from unchunk.errors import InvalidInputError
from unchunk.ports import Message, Sampling
from unchunk.retrieval.names import with_quoted_tags
from unchunk.retrieval.query import Turn
from unchunk.retrieval.shelf import Where
from unchunk.retrieval.tags import take_tags

INSTRUCTING = ("system", "developer")
"""The roles of messages that tell a model how to answer."""

NEW = "new"
"""Instead of a conversation's id: begin one."""

MOST_INCLUDED = 200

Mode = Literal["auto", "passages", "full documents"]


class Stretch(NamedTuple):
    """Chunks `first_chunk` to `last_chunk` of a document, both ends included."""

    document: DocumentId
    first_chunk: int
    last_chunk: int


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question with what was said before it; what is None or empty is as the settings say.

    The last of the user's `messages` is the question. In a kept `conversation` that one is all
    that is needed: what was said before is known. With `rag_enabled` False the messages go to the
    model as they are. `strict` refuses to answer without evidence. What is to `include` is part of
    the evidence whether a search finds it or not, as far as it is there and there is room. The
    search finds at most `limit` chunks for it, none of them below `min_score`. At most
    `full_documents` are sent whole where the question does not name them, each with at most
    `full_document_chars`; 0 is as the budget allows. `max_parts` is how many parts of documents
    that are too long a model may read for it; 0 is none.
    """

    messages: tuple[Message, ...]
    conversation: ConversationId = ""
    rag_enabled: bool | None = None
    mode: Mode = "auto"
    where: Where = field(default_factory=Where)
    template: str = ""
    strict: bool | None = None
    system_prompt: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    include: tuple[Stretch, ...] = ()
    limit: int | None = None
    min_score: float | None = None
    full_documents: int | None = None
    full_document_chars: int | None = None
    max_parts: int | None = None

    def __post_init__(self) -> None:
        """Lists are taken, too, such as come out of JSON."""
        object.__setattr__(self, "messages", tuple(self.messages))
        if not self.messages or self.messages[-1].get("role") != "user":
            raise InvalidInputError("the last message must be the user's: it is the question")
        for message in self.messages:
            if not isinstance(message.get("role"), str):
                raise InvalidInputError("a message has no role")
        if self.max_parts is not None and self.max_parts < 0:
            raise InvalidInputError(f"max_parts is {self.max_parts}: use 0 or more")
        if (
            sum(max(one.last_chunk - one.first_chunk + 1, 0) for one in self.include)
            > MOST_INCLUDED
        ):
            raise InvalidInputError(f"at most {MOST_INCLUDED} chunks can be included: choose some")

    @property
    def question(self) -> str:
        return words(self.messages[-1])

    @property
    def included(self) -> tuple[tuple[DocumentId, int], ...]:
        """Chunk by chunk."""
        return tuple(
            (one.document, index)
            for one in self.include
            for index in range(one.first_chunk, one.last_chunk + 1)
        )

    @property
    def history(self) -> list[Turn]:
        """What was said before the question, as far as it was said in words."""
        turns: list[Turn] = []
        for message in self.messages[:-1]:
            role = message["role"]
            if role in ("user", "assistant") and (said := words(message)):
                turns.append(Turn("user" if role == "user" else "assistant", said))
        return turns


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, whose it is, what was said before it, and the id that it is traced by.

    `forgotten` is how many messages of its conversation are older than what is read of it.
    """

    request: ChatRequest
    owner: OwnerId
    history: Sequence[Turn]
    request_id: str = ""
    forgotten: int = 0


def question(text: str) -> tuple[Message, ...]:
    """The messages of somebody who has only a question."""
    return ({"role": "user", "content": text},)


def words(message: Message) -> str:
    """What a message says; of a list of parts, those that are text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = (one.get("text") if isinstance(one, dict) else one for one in content)
    return "\n".join(one for one in parts if isinstance(one, str))


def has_more_than_words(message: Message) -> bool:
    """Whether a message has parts that are no text, such as a picture."""
    content = message.get("content")
    if isinstance(content, str) or not isinstance(content, Sequence):
        return False
    return any(isinstance(one, dict) and "text" not in one for one in content)


def untagged(messages: Sequence[Message], sources: Sequence[str] = ()) -> list[Message]:
    """The messages, the last one without `source:` tags: those were for the search.

    `sources` are the names that were found in the tags.
    """
    *before, last = messages
    content = last.get("content")
    if isinstance(content, str):
        content = _bare(content, sources)
    elif isinstance(content, Sequence):
        content = [_bare_part(one, sources) for one in content]
    return [*before, {**last, "content": content}]


def _bare_part(part: object, sources: Sequence[str]) -> object:
    if isinstance(part, str):
        return _bare(part, sources)
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return {**part, "text": _bare(part["text"], sources)}
    return part


def _bare(text: str, sources: Sequence[str]) -> str:
    said, names = take_tags(with_quoted_tags(text, sources))
    # Tags alone ask for their documents, and are all that there is to say.
    return said if names and said else text
