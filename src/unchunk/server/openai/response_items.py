"""What goes into a response and comes out of it, item by item."""

from collections.abc import Sequence
from typing import Annotated
from uuid import uuid4

from pydantic import BaseModel, Field, TypeAdapter

from unchunk.chat.request import words
from unchunk.ports import Message
from unchunk.server.openai.completion_bodies import not_done
from unchunk.server.openai.faults import refuse
from unchunk.server.openai.fields import Name, Text, text_or
from unchunk.server.openai.shapes import Shape

_ROLES = ("user", "assistant", "system", "developer")
_PARTS = ("input_text", "output_text", "text", "refusal")
# What our own responses hold beside messages, and clients send back with them.
_SEARCHES = "file_search_call"


class ItemPartBody(BaseModel):
    type: Name
    text: Text | None = None
    refusal: Text | None = None


_Said = Annotated[
    str | list[ItemPartBody],
    text_or(TypeAdapter(Annotated[list[ItemPartBody], Field(max_length=1_000)])),
]


class ItemBody(BaseModel):
    type: Name = "message"
    role: Name | None = None
    content: _Said | None = None

    def as_message(self, at: int) -> Message | None:
        """None for what says nothing to a model."""
        if self.type == _SEARCHES:
            return None
        if self.type != "message":
            raise not_done(f"input[{at}].type", self.type)
        if self.role not in _ROLES:
            raise refuse(f"the role must be one of {', '.join(_ROLES)}", param=f"input[{at}].role")
        if not isinstance(self.content, list):
            return {"role": self.role, "content": self.content or ""}
        for place, part in enumerate(self.content):
            if part.type not in _PARTS:
                raise not_done(f"input[{at}].content[{place}].type", part.type)
        said = "\n".join(part.text or part.refusal or "" for part in self.content)
        return {"role": self.role, "content": said}


Input = Annotated[
    str | list[ItemBody],
    text_or(TypeAdapter(Annotated[list[ItemBody], Field(min_length=1, max_length=1_000)])),
]


def messages_of(given: str | Sequence[ItemBody]) -> list[Message]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    found = (one.as_message(at) for at, one in enumerate(given))
    return [one for one in found if one is not None]


def input_items(messages: Sequence[Message]) -> list[Shape]:
    """Messages as they are listed again, each with an id."""
    return [
        {
            "id": f"msg_{uuid4().hex}",
            "type": "message",
            "role": one["role"],
            "status": "completed",
            "content": [_said(words(one), by_model=one["role"] == "assistant")],
        }
        for one in messages
    ]


def output_text(text: str, annotations: Sequence[Shape] = ()) -> Shape:
    return {
        "type": "output_text",
        "text": text,
        "annotations": list(annotations),
        "logprobs": [],
    }


def _said(text: str, *, by_model: bool) -> Shape:
    return output_text(text) if by_model else {"type": "input_text", "text": text}
