"""Responses that can be asked for again, and gone on from.

What is kept is what was asked and answered, without the texts of sources: those are in the
documents, while they are.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from logging import ERROR

from unchunk.chat.events import Done, Event, Warned, gather
from unchunk.chat.request import words
from unchunk.domain import OwnerId
from unchunk.errors import UnchunkError
from unchunk.ports import Message
from unchunk.server.openai.faults import refuse
from unchunk.server.openai.response_items import input_items
from unchunk.server.openai.response_shapes import ResponseFrame, whole
from unchunk.server.openai.shapes import Shape
from unchunk.stores import VectorStores
from unchunk.telemetry import log

# A response holds all that was said before it: those before may be deleted.
_MOST, _LONGEST = 1_000, 2_000_000


async def said_before(stores: VectorStores, name: str | None, owner: OwnerId) -> list[Message]:
    """The conversation that a response ended, without what its model was instructed."""
    if not name:
        return []
    kept = (await stores.response(name, owner=owner)).body["said"]
    assert isinstance(kept, list), "it was kept here"
    said: list[Message] = [{"role": role, "content": text} for role, text in kept]
    if len(said) > _MOST or sum(len(words(one)) for one in said) > _LONGEST:
        raise refuse(
            "the conversation has become too long: begin another", param="previous_response_id"
        )
    return said


async def keeping(
    events: AsyncGenerator[Event, None],
    stores: VectorStores,
    owner: OwnerId,
    frame: ResponseFrame,
    messages: tuple[Sequence[Message], Sequence[Message]],
) -> AsyncGenerator[Event, None]:
    """The same events; a whole answer is kept before its end is told.

    `messages` are those of before, and those of this request.
    """
    seen: list[Event] = []
    async with aclosing(events):
        async for event in events:
            seen.append(event)
            if isinstance(event, Done) and event.finish != "failed":
                try:
                    body = _body(whole(frame, gather(seen)), event.answer, *messages)
                    await stores.keep_response(frame.id, body, owner=owner)
                except UnchunkError as error:
                    log("a response could not be kept: %s", error, level=ERROR)
                    yield Warned("not-kept", f"this response is not kept: {error}")
            yield event


def _body(
    response: Shape, answer: str, before: Sequence[Message], messages: Sequence[Message]
) -> Shape:
    output = response["output"]
    assert isinstance(output, list)
    bare = [one | {"results": None} if "results" in one else one for one in output]
    said = [[one["role"], words(one)] for one in (*before, *messages)]
    return {
        "response": response | {"output": bare},
        "input": input_items(messages),
        "said": [*said, ["assistant", answer]],
    }
