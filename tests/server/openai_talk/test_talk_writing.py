"""How a stream ends, whatever came before: pure, without a server."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast

import pytest
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from unchunk.chat.events import Cited, Done, Event, Failed, Planned, Token, Warned, gathered
from unchunk.errors import OutputError
from unchunk.server.openai.citing import url_citation
from unchunk.server.openai.completion_shapes import Chunks, CompletionFrame
from unchunk.server.openai.response_bodies import ResponseBody
from unchunk.server.openai.response_events import ResponseEvents
from unchunk.server.openai.response_keeping import keeping
from unchunk.server.openai.response_shapes import ResponseFrame
from unchunk.server.openai.telling import Told, Writer
from unchunk.stores import VectorStores

PLAN = Planned(rag=False)
DONE = Done("Yes.", "stop", "m")
DOWN = Failed("model", "the model is down", transient=True)
EVENTS = TypeAdapter[ResponseStreamEvent](ResponseStreamEvent)
FRAME = ResponseFrame("resp_1", 1, "m", ResponseBody(input="?"), "fs_1", "msg_1")


def chat() -> Chunks:
    return Chunks(CompletionFrame("chatcmpl-1", 1, "m", "http://here/"))


def told(writer: Writer, *events: Event) -> list[dict[str, Any]]:
    """What is on the line when the stream is over; its end is `{}`."""

    async def read() -> bytes:
        stream = Told("name", "anna", writer)
        for event in events:
            stream.add(event)
        stream.end()
        gone = asyncio.get_running_loop().create_future()
        return b"".join([it async for it in stream.pieces(0, 5.0, gone)])

    text = asyncio.run(read()).decode()
    lines = [one.rpartition("data: ")[2] for one in text.strip().split("\n\n")]
    return [{} if one == "[DONE]" else json.loads(one) for one in lines]


def test_an_answer_in_spite_of_an_error_is_whole() -> None:
    *_, last, end = told(chat(), PLAN, DOWN, Token("Yes."), DONE)
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["unchunk"]["error"]["message"] == "the model is down"
    assert end == {}


@pytest.mark.parametrize(
    "events",
    [
        (PLAN, Token("Y"), DOWN, Done("Y", "failed", "m")),
        (PLAN, Token("Y"), DOWN),
        (PLAN, DOWN),
        (DOWN,),
    ],
)
def test_without_a_whole_answer_the_error_is_the_end(events: tuple[Event, ...]) -> None:
    error = told(chat(), *events)[-1]["error"]
    assert (error["message"], error["code"]) == ("the model is down", "model")
    every = told(ResponseEvents(FRAME), *events)
    for one in every:
        EVENTS.validate_python(one)
    last = every[-1]
    if PLAN in events:
        assert last["type"] == "response.failed"
        assert last["response"]["error"]["message"] == "the model is down"
    else:
        # There is no response yet that could have failed.
        assert (last["type"], last["message"]) == ("error", "the model is down")


def test_a_stream_that_just_stops_is_an_error_too() -> None:
    assert told(chat(), PLAN, Token("Y"))[-1]["error"]["code"] == "cut_off"
    assert told(ResponseEvents(FRAME), PLAN, Token("Y"))[-1]["type"] == "response.failed"


def test_an_answer_of_nothing_is_a_message_all_the_same() -> None:
    events = told(ResponseEvents(FRAME), PLAN, Done("", "stop", "m"))
    kinds = [one["type"] for one in events]
    assert kinds.index("response.content_part.added") < kinds.index("response.output_text.done")
    assert events[-1]["type"] == "response.completed"


def test_an_id_that_is_anything_is_safe_in_an_address() -> None:
    cited = Cited("[x:1]", 0, 5, "cited", "a/b?c#d é", 1, "n")
    shape = cast("dict[str, str]", url_citation(cited, "http://here/")["url_citation"])
    assert shape["url"] == "http://here/#/read/a%2Fb%3Fc%23d%20%C3%A9"


def test_a_response_that_cannot_be_kept_is_told_with_a_warning() -> None:
    class Full:
        async def keep_response(self, name: str, body: Mapping[str, object], *, owner: str) -> None:
            raise OutputError(f"no space for {name} of {owner}: {len(body)}")

    async def events() -> AsyncGenerator[Event, None]:
        for one in (PLAN, Token("Yes."), DONE):
            yield one

    stores = cast("VectorStores", Full())
    answer = asyncio.run(gathered(keeping(events(), stores, "anna", FRAME, ((), ()))))
    assert answer.answer == "Yes."
    [warning] = answer.warnings
    assert isinstance(warning, Warned)
    assert (warning.code, "no space" in warning.message) == ("not-kept", True)
