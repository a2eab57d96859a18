"""What clients send, checked. Unknown fields are errors, so that a misspelt one is not lost."""

import json
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    model_validator,
)

from unchunk.chat.request import ChatRequest, Stretch, question
from unchunk.ports import Message, Sampling
from unchunk.retrieval.amount import MOST
from unchunk.retrieval.shelf import Where

_Id = Annotated[str, Field(max_length=100)]
_Name = Annotated[str, Field(max_length=1_000)]
_Names = Annotated[list[_Name], Field(max_length=1_000)]
_Text = Annotated[str, Field(max_length=1_000_000)]
# In JSON, 1.0 is as whole as 1; a text or a truth is no number.
AS_WHOLE = BeforeValidator(lambda it: int(it) if isinstance(it, float) and it.is_integer() else it)
_MOST_CHARACTERS = 1_000_000_000
Chunks = Annotated[int, Field(ge=1, le=MOST, strict=True), AS_WHOLE]
Documents = Annotated[int, Field(ge=0, le=MOST, strict=True), AS_WHOLE]
Characters = Annotated[int, Field(ge=0, le=_MOST_CHARACTERS, strict=True), AS_WHOLE]
Parts = Annotated[int, Field(ge=0, le=1_000, strict=True), AS_WHOLE]
_Place = Annotated[int, Field(ge=0, le=10_000_000, strict=True), AS_WHOLE]
_ASKS_ONCE: dict[str, JsonValue] = {
    "oneOf": [
        {
            "required": ["message"],
            "properties": {"message": {"type": "string"}, "messages": {"type": "null"}},
        },
        {
            "required": ["messages"],
            "properties": {"message": {"type": "null"}, "messages": {"type": "array"}},
        },
    ],
}


class MessageBody(BaseModel):
    """As OpenAI's chat API has it. What else it holds goes to the model as it is."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(min_length=1, max_length=50)]
    content: _Text | list[_Text | dict[str, JsonValue]] | None = None
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)


class StretchBody(BaseModel):
    """Chunks of a document, both ends included."""

    model_config = ConfigDict(extra="forbid")

    document: _Id
    first_chunk: _Place
    last_chunk: _Place


class ChatBody(BaseModel):
    """A question: `message`, or `messages` whose last one is the user's."""

    model_config = ConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_extra={
            **_ASKS_ONCE,
            "examples": [
                {"message": "When does the lease end?", "conversation": "new"},
                {
                    "messages": [{"role": "user", "content": "Summarise the report."}],
                    "names": ["report.pdf"],
                    "mode": "full documents",
                },
            ],
        },
    )

    message: Annotated[str, Field(min_length=1, max_length=1_000_000)] | None = None
    """The question."""
    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=1_000)] | None = None
    """Instead: what was said before it, too, as OpenAI's chat API has it."""
    conversation: _Id = ""
    """Where it belongs: an id, or `new`; nothing is kept without."""
    rag_enabled: StrictBool | None = None
    """Overrides the setting; false sends the messages to the model as they are."""
    mode: Literal["auto", "passages", "full documents"] = "auto"
    """How much of the documents is wanted; `auto` chooses by the question."""
    folder: _Name | None = None
    """Look only there."""
    folders: _Names | None = None
    """Look only in any of these."""
    names: _Names | None = None
    """Look only in documents of these names."""
    documents: _Names | None = None
    """Look only in the documents of these ids."""
    include: Annotated[list[StretchBody], Field(max_length=200)] = []
    """Chunks that belong to the evidence whether they are found or not."""
    context_chunks: Chunks | None = None
    """Maximum number of chunks to retrieve; overrides the setting."""
    full_documents: Documents | None = None
    """Maximum number of whole documents when the question names none; overrides the setting."""
    full_document_chars: Characters | None = None
    """Maximum characters per whole document; overrides the setting.
    0: whatever the budget allows."""
    max_parts: Parts | None = None
    """Maximum number of parts of over-long documents that the model reads; overrides the setting.
    0 disables reading in parts."""
    template: _Id = ""
    """The template of the prompt; overrides the setting."""
    strict: StrictBool | None = None
    """Overrides the setting; true refuses to answer without evidence."""
    system_prompt: _Text | None = None
    """What the model is told first; overrides the setting."""
    model: _Name = ""
    """Another model of the same provider."""
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False, strict=True)] | None = None
    """For the model."""
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000, strict=True), AS_WHOLE] | None = None
    """The longest answer."""
    stop: _Name | Annotated[list[_Name], Field(max_length=16)] = []
    """What ends the answer."""

    @model_validator(mode="after")
    def _asks_once(self) -> Self:
        if (self.message is None) == (self.messages is None):
            raise ValueError("give either `message` or `messages`")
        try:
            json.dumps(
                [one.model_dump() for one in self.messages or ()], ensure_ascii=False
            ).encode()
        except UnicodeEncodeError:
            raise ValueError("`messages` hold half a character") from None
        return self

    def request(self) -> ChatRequest:
        """Raises `InvalidInputError` where the last message is no question."""
        messages: tuple[Message, ...] = (
            question(self.message)
            if self.message is not None
            # As they came: nothing is added that was not there.
            else tuple(one.model_dump(exclude_unset=True) for one in self.messages or ())
        )
        folders = [*([] if self.folder is None else [self.folder]), *(self.folders or [])]
        where = Where(
            documents=_some(self.documents), folders=_some(folders), names=_some(self.names)
        )
        stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)
        return ChatRequest(
            messages,
            self.conversation,
            self.rag_enabled,
            self.mode,
            where,
            self.template,
            self.strict,
            self.system_prompt,
            Sampling(self.model, self.temperature, self.max_tokens, stop),
            tuple(Stretch(it.document, it.first_chunk, it.last_chunk) for it in self.include),
            limit=self.context_chunks,
            full_documents=self.full_documents,
            full_document_chars=self.full_document_chars,
            max_parts=self.max_parts,
        )


class RetrieveBody(ChatBody):
    """A question; or, with `before_turn`, one as it was asked in its conversation."""

    model_config = ConfigDict(
        json_schema_extra={
            **_ASKS_ONCE,
            "examples": [
                {"message": "When does the lease end?"},
                {"message": "And the notice?", "conversation": "01j8x0m3r5t7", "before_turn": 1},
            ],
        },
    )

    before_turn: Annotated[int, Field(ge=0, le=1_000_000_000, strict=True), AS_WHOLE] | None = None
    """Of the `conversation`, only what was said before the turn of this number counts."""


class TitleBody(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"title": "Mooring fees"}]}
    )

    title: Annotated[str, Field(min_length=1, max_length=500)]


class PromptBody(BaseModel):
    """An empty text takes a folder's prompt away; no folder is what stands in none."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"folder": "Sample", "text": "Answer in one sentence."}]},
    )

    folder: _Name = ""
    text: Annotated[str, Field(max_length=100_000)]


def _some(given: list[str] | None) -> tuple[str, ...] | None:
    return tuple(given) if given else None
