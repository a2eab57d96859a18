"""The shape of an answer on the wire, for the description of the API."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter

from unchunk.chat.events import CitationState, Finish, Kind
from unchunk.server.examples import ID, PLAN, SOURCE, TEXT, USAGE
from unchunk.server.replies import (
    OmittedReply,
    PlanReply,
    RelatedReply,
    SourceReply,
    UsageReply,
    WarningReply,
)

_CITED: dict[str, JsonValue] = {
    "text": f"[{ID}:2]",
    "at": 39,
    "end": 59,
    "state": "cited",
    "document": ID,
    "chunk_index": 2,
    "name": "Harbour rules.md",
    "start": 120,
    "text_end": 158,
    "first_page": None,
    "last_page": None,
    "heading_path": ["Harbour rules"],
}
_EXAMPLE: dict[str, JsonValue] = {
    "answer": f"{TEXT} [{ID}:2]",
    "finish": "extractive",
    "model": "extractive",
    "plan": {"rag": True, "conversation": "", **PLAN},
    "sources": [SOURCE],
    "omitted": [],
    "also_see": [],
    "citations": [_CITED],
    "warnings": [],
    "usage": USAGE,
    "error": None,
    "conversation": "",
    "turn": None,
    "request_id": "5f0c",
}


class NotAsked(BaseModel):
    """No documents are asked."""

    rag: Literal[False]
    conversation: str


class PlannedReply(PlanReply):
    """`conversation` is where the answer is kept, if it is."""

    rag: Literal[True]
    conversation: str


class CitedReply(BaseModel):
    """The citation `answer[at:end]`, and the characters `[start, text_end)` that it means.

    `unknown` is one of nothing that was sent: it is not to be trusted.
    """

    text: str
    at: int
    end: int
    state: CitationState
    document: str
    chunk_index: int
    name: str
    start: int | None
    text_end: int | None
    first_page: int | None
    last_page: int | None
    heading_path: list[str]


class FailureReply(BaseModel):
    """Why the answer is not what it should be; if `transient`, asking again may help."""

    code: str
    message: str
    transient: bool


class AnswerReply(BaseModel):
    """`finish` tells how it ended: `extractive` are quotes, since no model wrote it."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    answer: str
    finish: Finish
    model: str
    plan: PlannedReply | NotAsked | None
    sources: list[SourceReply]
    omitted: list[OmittedReply]
    also_see: list[RelatedReply]
    citations: list[CitedReply]
    warnings: list[WarningReply]
    usage: UsageReply | None
    error: FailureReply | None
    conversation: str
    turn: int | None
    request_id: str


class ReadingReply(BaseModel):
    """The model begins to read a part of a document that is too long to be sent at once."""

    part: int
    parts: int
    document: str
    name: str
    first_chunk: int
    last_chunk: int


class TokenReply(BaseModel):
    """The next piece of the answer."""

    text: str


class SourcesReply(BaseModel):
    """All evidence, before the first token."""

    sources: list[SourceReply]
    omitted: list[OmittedReply]
    also_see: list[RelatedReply]


class DoneReply(BaseModel):
    """The whole answer, and where it is kept, if it is."""

    answer: str
    finish: Finish
    model: str
    conversation: str
    turn: int | None


_REFERENCE = "#/components/schemas/{model}"
_EVENTS: tuple[tuple[Kind, Any], ...] = (
    ("plan", PlannedReply | NotAsked),
    ("sources", SourcesReply),
    ("reading", ReadingReply),
    ("token", TokenReply),
    ("citation", CitedReply),
    ("warning", WarningReply),
    ("usage", UsageReply),
    ("done", DoneReply),
    ("error", FailureReply),
)


def _event(kind: Kind, model: Any) -> dict[str, Any]:  # noqa: ANN401 - a type, or several
    schema = TypeAdapter(model).json_schema(mode="serialization", ref_template=_REFERENCE)
    # They stand among the others, as parts of an answer.
    schema.pop("$defs", None)
    return {
        "type": "object",
        "required": ["event", "data", "id"],
        "properties": {
            "event": {"const": kind},
            "data": {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": schema,
            },
            "id": {"type": "string", "description": "`STREAM:NUMBER`, from 1"},
        },
    }


_LINES = (
    "event: plan",
    'data: {"rag":false,"conversation":""}',
    "id: q1f7ZkXwAbCd0123:1",
    "",
    "event: token",
    'data: {"text":"At noon."}',
    "id: q1f7ZkXwAbCd0123:2",
    "",
    "event: done",
    'data: {"answer":"At noon.","finish":"stop","model":"m","conversation":"","turn":null}',
    "id: q1f7ZkXwAbCd0123:3",
    "",
    "",
)
EVENTS: dict[str, Any] = {
    "description": (
        "The events of the answer: `plan`, `sources`, `reading` where documents are read part by"
        " part, then `token` with `citation` among them, `warning` anywhere, `usage`, `done`. An"
        " `error` ends a stream that has no answer, and stands before `done` where there is one in"
        " spite of it."
    ),
    "content": {
        "text/event-stream": {
            "itemSchema": {"oneOf": [_event(kind, model) for kind, model in _EVENTS]},
            "example": "\n".join(_LINES),
        }
    },
    "headers": {
        "X-Stream-ID": {
            "description": "The stream, to join or to stop it.",
            "schema": {"type": "string"},
        }
    },
}
