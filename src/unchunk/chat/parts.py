"""What answering needs, and how it is done where a question does not say."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from unchunk.chat.prompt import TEMPLATES, Template
from unchunk.domain import DocumentId, OwnerId
from unchunk.errors import InvalidInputError
from unchunk.ports import ChatModel, Conversations, Lexicon, Prompts, Sampling
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.shelf import Sheet, Where
from unchunk.telemetry import Telemetry

if TYPE_CHECKING:
    from unchunk.retrieval.asking import Asking
    from unchunk.retrieval.query import Mode, QueryAnalyzer, Turn
    from unchunk.retrieval.retriever import Evidence

DEFAULT_TEMPLATE = "context-first"
MAX_PARTS = 12
# What is worth less, beside the best, is left out of what a model is given: it costs attention
# and seldom answers. People who search see all.
_STOP = 0.6
# How near in meaning each text is to a question.
Similarity = Callable[[str, Sequence[str]], Awaitable[Sequence[float] | None]]


def usual_amount(limit: int, characters: int | None) -> Amount:
    """What a model is given where nothing else is said."""
    return Amount(limit, chunks_per_doc=None, budget=characters, stop=_STOP)


def chunk_amount(chunks: int, characters: int | None, *, exactly: bool) -> Amount:
    """At most so many chunks, without their neighbours.

    `exactly` asks the index for that many and sends all that it finds; otherwise it is asked for
    more, and those that are weak beside the best are left out.
    """
    return Amount(
        chunks,
        chunks_per_doc=None,
        include_adjacent=False,
        budget=characters,
        stop=0.0 if exactly else _STOP,
        hits=chunks,
        depth=chunks if exactly else None,
    )


class Retrieve(Protocol):
    """Evidence for a question: from the library, or from wherever it is kept."""

    async def __call__(
        self,
        question: str,
        *,
        history: "Sequence[Turn]",
        where: Where,
        amount: Amount,
        owner: OwnerId,
        rewritten: str,
        mode: "Mode | None",
        include: Sequence[tuple[DocumentId, int]],
    ) -> "Evidence": ...


class OpenDocument(Protocol):
    """All chunks of a document, as far as they lie within `where`; None if it is not there."""

    async def __call__(
        self, document: DocumentId, *, where: Where, owner: OwnerId
    ) -> Sheet | None: ...


class Elsewhere(Protocol):
    """What is searched instead of the library, such as a collection of somebody else's."""

    @property
    def name(self) -> str:
        """What logs call it."""
        ...

    async def asking(self) -> "Asking":
        """What answers questions to it. Raises where it cannot be opened."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ChatManner:
    """`amount` is how much evidence is enough, in characters; a model's window may hold less.

    With `rewrite`, a model completes questions that lean on the ones before. `max_parts` is how
    many parts of documents that are too long a model may read for one answer; 0 is none.
    """

    amount: Amount
    rag_enabled: bool = True
    strict: bool = False
    rewrite: bool = False
    system_prompt: str = ""
    template: str = DEFAULT_TEMPLATE
    templates: Mapping[str, Template] = field(default_factory=lambda: TEMPLATES)
    sampling: Sampling = field(default_factory=Sampling)
    max_parts: int = MAX_PARTS

    def template_of(self, name: str) -> Template:
        """The template of that name; the usual one if there is no name."""
        name = name or self.template
        if name not in self.templates:
            known = ", ".join(self.templates)
            raise InvalidInputError(f"there is no template {name!r}: use {known}")
        return self.templates[name]


@dataclass(frozen=True, slots=True)
class ChatParts:
    """Without a model, answers are quotes; without `open_document`, no document is read by parts.

    `source` is what logs call what `retrieve` asks.
    """

    retrieve: Retrieve
    analyzer: "QueryAnalyzer"
    lexicon: Lexicon
    conversations: Conversations
    prompts: Prompts
    telemetry: Telemetry
    manner: ChatManner
    model: ChatModel | None = None
    similarity: Similarity | None = None
    open_document: OpenDocument | None = None
    source: str = "Search"
