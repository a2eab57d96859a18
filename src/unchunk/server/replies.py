"""The shapes of evidence on the wire, for the description of the API."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from unchunk.retrieval.shelf import FoundBy
from unchunk.server.examples import DROPPED, FOUND, PLAN, SHOWN, USAGE

_Mode = Literal["sources", "full documents", "passages"]
_EXAMPLE: dict[str, JsonValue] = {
    "plan": PLAN,
    "sources": [SHOWN],
    "also_see": [],
    "omitted": [],
    "notes": [],
    "warnings": [],
    "found": [FOUND],
    "dropped": [DROPPED],
    "prompt": {
        "messages": [{"role": "user", "content": "What does a night in the harbour cost?"}],
        "template": "context-first",
    },
    "usage": USAGE,
    "took_ms": 12.5,
}


class ChunkReply(BaseModel):
    """The characters `[start, end)` of a text; pages count from 1."""

    chunk_index: int
    start: int
    end: int
    first_page: int | None
    last_page: int | None
    heading_path: list[str]


class ScoreReply(BaseModel):
    """A chunk that was found; `score` is a cosine, or what its words are worth."""

    chunk_index: int
    score: float
    found_by: FoundBy


class PassageReply(BaseModel):
    """Chunks `first_chunk` to `last_chunk` as one text, `[start, end)` of its document."""

    first_chunk: int
    last_chunk: int
    start: int
    end: int
    text: str
    first_page: int | None
    last_page: int | None
    heading_path: list[str]
    chunks: list[ChunkReply]


class SourceReply(BaseModel):
    """A document that answers: where in it, how much of it, and how well."""

    document: str
    name: str
    folder: str
    title: str
    content_type: str
    checksum: JsonValue
    kind: Literal["passages", "full document", "excerpt"]
    coverage: str
    chunk_count: int | None
    chunks: list[ScoreReply]
    max_score: float
    avg_score: float
    found_by: FoundBy
    pages: list[int] | None
    heading_paths: list[list[str]]
    passages: list[PassageReply]


class GapReply(BaseModel):
    """A run of chunks that were left out; its mark is `full_content[at:end]`.

    In an excerpt it names `headings` that stand there, and counts the others.
    """

    first_chunk: int
    last_chunk: int
    at: int
    end: int
    headings: list[str]
    more_headings: int


class ShownReply(SourceReply):
    """A source as it is shown to a model, each gap marked."""

    full_content: str
    gaps: list[GapReply]


class PlanReply(BaseModel):
    """What was made of a question, and why; `carried` is evidence of the answer before."""

    question: str
    mode: _Mode
    reasons: list[str]
    search_text: str
    sources: list[str]
    follow_up: bool
    carried: list[tuple[str, int]]


class OmittedReply(BaseModel):
    """Runs of chunks that there was no room for, both ends included."""

    document: str
    name: str
    chunks: list[tuple[int, int]]
    score: float | None
    reason: str


class RelatedReply(BaseModel):
    document: str
    name: str
    score: float
    reason: str
    found_by: FoundBy


class WayReply(BaseModel):
    """How a chunk was found: at which rank of which search, with what score."""

    name: str
    rank: int
    score: float


class CandidateReply(BaseModel):
    """A chunk that was found; they are ordered by `rank_score`."""

    document: str
    name: str
    chunk_index: int
    score: float
    found_by: FoundBy
    rank_score: float
    ways: list[WayReply]


class DroppedReply(BaseModel):
    document: str
    name: str
    chunk_index: int
    score: float
    reason: str


class WarningReply(BaseModel):
    code: str
    message: str


class UsageReply(BaseModel):
    """What goes to a model beside the question: `context_size` of `context_budget` in `unit`s."""

    context_size: int
    context_budget: int | None
    unit: Literal["characters", "tokens"]
    prompt_tokens: int | None
    completion_tokens: int | None


class PromptReply(BaseModel):
    """What a model would be sent, exactly."""

    messages: list[dict[str, JsonValue]]
    template: str


class RetrieveReply(BaseModel):
    """`plan` is null where no documents are asked."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    plan: PlanReply | None
    sources: list[ShownReply]
    also_see: list[RelatedReply]
    omitted: list[OmittedReply]
    notes: list[str]
    warnings: list[WarningReply]
    found: list[CandidateReply]
    dropped: list[DroppedReply]
    prompt: PromptReply
    usage: UsageReply
    took_ms: float = Field(ge=0)
