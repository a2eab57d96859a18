"""What happens while a question is answered, as one stream of typed events.

Every edge renders these and nothing else. They come in this order: plan, sources, reading where
documents are read part by part, then tokens with citations among them, usage, done; warnings
anywhere. An error ends a stream that has no
answer, and stands before `done` where there is one in spite of it.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import ClassVar, Literal

from unchunk.domain import ConversationId, DocumentId
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.query import QueryPlan

Kind = Literal[
    "plan", "sources", "reading", "token", "citation", "warning", "usage", "done", "error"
]
# cited: a chunk that was found. context: one that was sent because it stands beside such a one.
# unknown: nothing that was sent; it is never linked.
CitationState = Literal["cited", "context", "unknown"]
# How an answer ended. extractive: no model wrote it. refused: nothing was found, and strictly.
Finish = Literal["stop", "length", "filtered", "extractive", "refused", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Planned:
    """How the question is answered, and why. `rag` tells whether documents are asked at all.

    `conversation` is where it is kept, told at once: an answer may be stopped.
    """

    kind: ClassVar[Kind] = "plan"
    rag: bool
    plan: QueryPlan | None = None
    conversation: ConversationId = ""

    def as_dict(self) -> dict[str, object]:
        known = {"rag": self.rag, "conversation": self.conversation}
        return known | (asdict(self.plan) if self.plan else {})


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """The evidence, before the first token. `omitted` and `also_see` are for people, as JSON."""

    kind: ClassVar[Kind] = "sources"
    documents: tuple[ReconstructedDocument, ...]
    omitted: tuple[Mapping[str, object], ...] = ()
    also_see: tuple[Mapping[str, object], ...] = ()

    def as_dict(self) -> dict[str, object]:
        return {
            "sources": [source(one) for one in self.documents],
            "omitted": list(self.omitted),
            "also_see": list(self.also_see),
        }


@dataclass(frozen=True, slots=True)
class ReadingPart:
    """The model begins to read part `part` of `parts`, counted from 1: chunks of that document."""

    kind: ClassVar[Kind] = "reading"
    part: int
    parts: int
    document: DocumentId
    name: str
    first_chunk: int
    last_chunk: int

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Token:
    """The next piece of the answer."""

    kind: ClassVar[Kind] = "token"
    text: str

    def as_dict(self) -> dict[str, object]:
        return {"text": self.text}


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation that the tokens so far have ended with: `answer[at:end]`.

    Where it is known, `[start, text_end)` is its range in its document's text, with pages from 1
    and what it stands under.
    """

    kind: ClassVar[Kind] = "citation"
    text: str
    at: int
    end: int
    state: CitationState
    document: DocumentId
    chunk_index: int
    name: str = ""
    start: int | None = None
    text_end: int | None = None
    first_page: int | None = None
    last_page: int | None = None
    heading_path: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Warned:
    """The answer is less than it should be; `code` is for programs, `message` for people."""

    kind: ClassVar[Kind] = "warning"
    code: str
    message: str

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Used:
    """What went to the model: `context_size` of `context_budget` in `unit`s.

    Tokens are as the provider counted them, None where it did not tell.
    """

    kind: ClassVar[Kind] = "usage"
    context_size: int
    context_budget: int | None
    unit: Literal["characters", "tokens"]
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Done:
    """The whole answer, and where it is kept, if it is."""

    kind: ClassVar[Kind] = "done"
    answer: str
    finish: Finish
    model: str
    conversation: ConversationId = ""
    turn: int | None = None

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Failed:
    """What went wrong; `transient` tells that asking again may help."""

    kind: ClassVar[Kind] = "error"
    code: str
    message: str
    transient: bool = False

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


Event = Planned | SourcesFound | ReadingPart | Token | Cited | Warned | Used | Done | Failed


@dataclass(frozen=True, slots=True)
class Answer:
    """All events of an answer as one value."""

    answer: str
    finish: Finish
    model: str
    plan: Planned | None = None
    sources: SourcesFound = field(default_factory=lambda: SourcesFound(()))
    citations: tuple[Cited, ...] = ()
    warnings: tuple[Warned, ...] = ()
    usage: Used | None = None
    error: Failed | None = None
    conversation: ConversationId = ""
    turn: int | None = None

    def as_dict(self) -> dict[str, object]:
        return {
            "answer": self.answer,
            "finish": self.finish,
            "model": self.model,
            "plan": self.plan and self.plan.as_dict(),
            **self.sources.as_dict(),
            "citations": [one.as_dict() for one in self.citations],
            "warnings": [one.as_dict() for one in self.warnings],
            "usage": self.usage and self.usage.as_dict(),
            "error": self.error and self.error.as_dict(),
            "conversation": self.conversation,
            "turn": self.turn,
        }


def gather(events: Iterable[Event], unfinished: Finish = "failed") -> Answer:
    """What a stream of events amounts to; `unfinished` is how one without `done` ended."""
    plan, usage, error, done = None, None, None, None
    sources = SourcesFound(())
    citations: list[Cited] = []
    warnings: list[Warned] = []
    text: list[str] = []
    for event in events:
        match event:
            case Planned():
                plan = event
            case SourcesFound():
                sources = event
            case Token():
                text.append(event.text)
            case Cited():
                citations.append(event)
            case Warned():
                warnings.append(event)
            case Used():
                usage = event
            case Failed():
                error = event
            case Done():
                done = event
    done = done or Done("".join(text), unfinished, "")
    return Answer(
        done.answer,
        done.finish,
        done.model,
        plan,
        sources,
        tuple(citations),
        tuple(warnings),
        usage,
        error,
        done.conversation or (plan.conversation if plan else ""),
        done.turn,
    )


async def gathered(events: AsyncGenerator[Event, None]) -> Answer:
    """The same of a stream that is still to come, which is closed in any case."""
    async with aclosing(events):
        return gather([event async for event in events])


def source(document: ReconstructedDocument, *, with_text: bool = True) -> dict[str, object]:
    """Where an answer comes from, as programs and pages show it."""
    pages = [
        page
        for one in document.passages
        for page in (one.first_page, one.last_page)
        if page is not None
    ]
    passages = [one.as_dict() for one in document.passages]
    if not with_text:
        for one in passages:
            del one["text"]
    return {
        "document": document.document,
        "name": document.name,
        "folder": document.folder,
        "title": document.title,
        "content_type": document.content_type,
        "checksum": document.metadata.get("checksum"),
        "kind": document.kind,
        "coverage": document.chunk_coverage,
        "chunk_count": document.chunk_count,
        "chunks": [
            {"chunk_index": one.chunk_index, "score": one.score, "found_by": one.found_by}
            for one in document.chunks
        ],
        "max_score": document.max_score,
        "avg_score": document.avg_score,
        "found_by": document.found_by,
        "pages": [min(pages), max(pages)] if pages else None,
        "heading_paths": [
            list(it) for it in dict.fromkeys(p.heading_path for p in document.passages)
        ],
        "passages": passages,
    }
