"""What clients send, checked. Unknown fields are errors: one that is misspelt should not be lost."""

import json
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from unchunk.chat.request import ChatRequest, question
from unchunk.ports import Message, Sampling
from unchunk.retrieval.shelf import Where

_Id = Annotated[str, Field(max_length=100)]
_Name = Annotated[str, Field(max_length=1_000)]
_Names = Annotated[list[_Name], Field(max_length=1_000)]
_Text = Annotated[str, Field(max_length=1_000_000)]


class MessageBody(BaseModel):
    """As OpenAI's chat API has it. What else it holds goes to the model as it is."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(min_length=1, max_length=50)]
    content: _Text | list[_Text | dict[str, JsonValue]] | None = None
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)


class ChatBody(BaseModel):
    """A question: `message`, or `messages` whose last one is the user's."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"message": "When does the lease end?", "conversation": "new"},
                {
                    "messages": [{"role": "user", "content": "Summarise the report."}],
                    "names": ["report.pdf"],
                    "mode": "full documents",
                },
            ]
        },
    )

    message: Annotated[str, Field(min_length=1, max_length=1_000_000)] | None = None
    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=1_000)] | None = None
    conversation: _Id = ""
    rag_enabled: bool | None = None
    mode: Literal["auto", "passages", "full documents"] = "auto"
    folder: _Name | None = None
    folders: _Names | None = None
    names: _Names | None = None
    documents: _Names | None = None
    template: _Id = ""
    strict: bool | None = None
    system_prompt: _Text | None = None
    model: _Name = ""
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000, strict=True)] | None = None
    stop: _Name | Annotated[list[_Name], Field(max_length=16)] = []

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
        )


class TitleBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, Field(min_length=1, max_length=500)]


class PromptBody(BaseModel):
    """An empty text takes a folder's prompt away; no folder is what stands in none."""

    model_config = ConfigDict(extra="forbid")

    folder: _Name = ""
    text: Annotated[str, Field(max_length=100_000)]


def _some(given: list[str] | None) -> tuple[str, ...] | None:
    return tuple(given) if given else None
