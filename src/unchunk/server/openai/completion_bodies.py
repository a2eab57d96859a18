"""What is sent to be completed. What is not done here, and would be missed, is refused by name.

How a model samples beyond temperature, length and stops is its provider's choice: that is let be.
"""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, TypeAdapter

from unchunk.chat.request import Mode
from unchunk.ports import Message, Sampling
from unchunk.server.bodies import AS_WHOLE, Characters, Chunks, Documents, Parts
from unchunk.server.openai.asking import Search, search_of
from unchunk.server.openai.faults import WrongFieldError, refuse
from unchunk.server.openai.fields import AS_LIST, Id, Name, Text, text_or

Count = Annotated[int, Field(ge=1, le=10_000_000, strict=True), AS_WHOLE]
Temperature = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False, strict=True)]
StoreIds = Annotated[list[Id], Field(min_length=1, max_length=50)]
# What an answer has of these is not what was asked for.
_NOT_DONE = (
    "tools",
    "functions",
    "logprobs",
    "top_logprobs",
    "audio",
    "web_search_options",
    "moderation",
    "store",
)
_PARTS = ("text", "refusal", "image_url")


class ImageBody(BaseModel):
    url: Annotated[str, Field(max_length=4_000_000)]
    detail: Name | None = None


class PartBody(BaseModel):
    type: Name
    text: Text | None = None
    refusal: Text | None = None
    image_url: ImageBody | None = None

    def as_part(self) -> dict[str, object]:
        if self.type == "image_url" and self.image_url is not None:
            image = self.image_url.model_dump(exclude_none=True)
            return {"type": "image_url", "image_url": image}
        return {"type": "text", "text": self.text or self.refusal or ""}


_Said = Annotated[
    str | list[PartBody],
    text_or(TypeAdapter(Annotated[list[PartBody], Field(max_length=1_000)])),
]


class MessageBody(BaseModel):
    """What else clients send back with an answer, such as its annotations, is not said again."""

    role: Literal["developer", "system", "user", "assistant"]
    content: _Said | None = None
    name: Name | None = None
    tool_calls: JsonValue = None
    function_call: JsonValue = None

    def as_message(self, at: int) -> Message:
        for name in ("tool_calls", "function_call"):
            if getattr(self, name):
                raise not_done(f"messages[{at}].{name}")
        said: dict[str, object] = {"role": self.role}
        if isinstance(self.content, list):
            for place, part in enumerate(self.content):
                if part.type not in _PARTS:
                    raise not_done(f"messages[{at}].content[{place}].type", part.type)
            said["content"] = [one.as_part() for one in self.content]
        else:
            said["content"] = self.content or ""
        return said | ({"name": self.name} if self.name else {})


class ExtensionBody(BaseModel):
    """Ours: where to look for an answer, and how."""

    model_config = ConfigDict(extra="forbid")

    vector_store_ids: StoreIds | None = None
    filters: JsonValue = None
    folder: Name | None = None
    strict: StrictBool | None = None
    mode: Mode = "auto"
    context_chunks: Chunks | None = None
    full_documents: Documents | None = None
    full_document_chars: Characters | None = None
    max_parts: Parts | None = None

    def over(self, search: Search) -> Search:
        """The search with what is said here, which goes before what it had."""
        search = replace(
            search,
            stores=tuple(dict.fromkeys((*search.stores, *(self.vector_store_ids or ())))),
            folder=self.folder,
            mode=self.mode,
            strict=self.strict,
            limit=search.limit if self.context_chunks is None else self.context_chunks,
            full_documents=self.full_documents,
            full_document_chars=self.full_document_chars,
            max_parts=self.max_parts,
        )
        if self.filters is None:
            return search
        if search.filters is not None:
            raise refuse("filters are given twice: send one of them", param="unchunk.filters")
        return replace(search, filters=self.filters, place="unchunk.filters")


class StreamOptionsBody(BaseModel):
    include_usage: StrictBool | None = None


class CompletionBody(BaseModel):
    model: Name = ""
    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=1_000)]
    stream: StrictBool | None = None
    stream_options: StreamOptionsBody | None = None
    temperature: Temperature | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    stop: Annotated[list[Name], Field(max_length=16), AS_LIST] | None = None
    vector_store_ids: StoreIds | None = None
    unchunk: ExtensionBody | None = None
    n: JsonValue = None
    tools: JsonValue = None
    tool_choice: JsonValue = None
    functions: JsonValue = None
    logprobs: JsonValue = None
    top_logprobs: JsonValue = None
    response_format: JsonValue = None
    audio: JsonValue = None
    modalities: JsonValue = None
    web_search_options: JsonValue = None
    moderation: JsonValue = None
    store: JsonValue = None

    def check(self) -> None:
        """Raises for what is not done here."""
        if self.n not in (None, 1):
            raise refuse("one answer is written at a time: leave `n` out", param="n")
        for name in _NOT_DONE:
            if getattr(self, name):
                raise not_done(name)
        if self.tool_choice not in (None, "none", "auto"):
            raise not_done("tool_choice")
        if self.modalities not in (None, ["text"]):
            raise not_done("modalities")
        check_format(self.response_format, "response_format")

    def said(self) -> tuple[Message, ...]:
        return tuple(one.as_message(at) for at, one in enumerate(self.messages))

    def sampling(self) -> Sampling:
        """Without the model's name: whatever that is, what is set up answers."""
        most = self.max_completion_tokens or self.max_tokens
        return Sampling("", self.temperature, most, tuple(self.stop or ()))

    def search(self, model: str) -> Search | None:
        """Where to look; None where the model is asked alone."""
        if self.unchunk is None and self.vector_store_ids is None:
            return search_of(model)
        more = self.unchunk or ExtensionBody()
        search = Search(tuple(self.vector_store_ids or ()))
        if not (search.stores or more.vector_store_ids):
            search = search_of(model) or search
        return more.over(search)


def not_done(param: str, what: str = "") -> WrongFieldError:
    name = what or param.rpartition(".")[2]
    return refuse(
        f"{name!r} is not done here: leave it out", param=param, code="unsupported_parameter"
    )


def check_format(given: JsonValue, param: str) -> None:
    """Only text is written."""
    if given is not None and not (isinstance(given, dict) and given.get("type") == "text"):
        raise not_done(param)
