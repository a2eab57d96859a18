"""Responses as they come about: OpenAI's events in their order, and how they end."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from openai import APIError, AsyncOpenAI, InternalServerError, NotFoundError
from openai.types.responses import ResponseStreamEvent

from adapters.llm.scripted import Behaviour, cut, fail_amid, hang_amid, refuse
from adapters.llm.scripted import error as provider_error
from chat.rooms import NIGHT
from server.openai_talk.talks import Talk, talk
from server.scripted import eventually

BEGINNING = ["response.created", "response.in_progress"]
SEARCH = [
    "response.output_item.added",
    "response.file_search_call.in_progress",
    "response.file_search_call.searching",
    "response.file_search_call.completed",
    "response.output_item.done",
]
MESSAGE = ["response.output_item.added", "response.content_part.added"]
END = ["response.output_text.done", "response.content_part.done", "response.output_item.done"]
DELTA: Final = "response.output_text.delta"
ANNOTATION: Final = "response.output_text.annotation.added"


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with talk(tmp_path_factory.mktemp("events"), "anna") as it:
        yield it


def asked(there: Talk, model: str = "unchunk", **more: Any) -> list[ResponseStreamEvent]:  # noqa: ANN401
    with there.client.responses.create(model=model, input=NIGHT, stream=True, **more) as stream:
        return list(stream)


def test_events_come_in_openais_order_and_are_numbered(there: Talk) -> None:
    said = there.cites()
    events = asked(there, include=["file_search_call.results"])
    expected = [*BEGINNING, *SEARCH, *MESSAGE, DELTA, DELTA, DELTA, ANNOTATION, DELTA, *END]
    assert [one.type for one in events] == [*expected, "response.completed"]
    numbers = [one.sequence_number for one in events]
    assert numbers == list(range(len(events)))
    deltas = [one.delta for one in events if one.type == DELTA]
    assert "".join(deltas) == said
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == said
    # What was told item by item is what is there in the end, and what is kept.
    items = [one.item for one in events if one.type == "response.output_item.done"]
    assert [one.to_dict() for one in items] == [one.to_dict() for one in last.response.output]
    kept = there.client.responses.retrieve(last.response.id)
    assert kept.output_text == said
    assert kept.output[-1].to_dict() == last.response.output[-1].to_dict()


def test_without_a_search_the_message_is_the_first_item(there: Talk) -> None:
    there.says("Ask ", "me.")
    events = asked(there, "any")
    assert [one.type for one in events] == [
        *BEGINNING,
        *MESSAGE,
        DELTA,
        DELTA,
        *END,
        "response.completed",
    ]
    assert {one.output_index for one in events if one.type == DELTA} == {0}


def test_each_event_is_named_on_the_line(there: Talk) -> None:
    there.says("Yes.")
    reply = there.post("responses", {"model": "any", "input": NIGHT, "stream": True})
    blocks = reply.text.strip().split("\n\n")
    names = [one.split("\n")[0] for one in blocks]
    assert names[0] == "event: response.created"
    assert names[-1] == "event: response.completed"


def test_the_clients_own_helper_puts_a_response_together(there: Talk) -> None:
    said = there.cites()
    with there.client.responses.stream(model=there.of_store, input=NIGHT) as stream:
        snapshots = [one.snapshot for one in stream if one.type == DELTA]
        whole = stream.get_final_response()
    assert snapshots[-1] == whole.output_text == said

    async def ask(client: AsyncOpenAI) -> str:
        async with client.responses.stream(model="unchunk", input=NIGHT) as stream:
            return (await stream.get_final_response()).output_text

    said = there.cites()
    assert there.alone(ask) == said


def test_an_answer_that_was_cut_ends_as_incomplete(there: Talk) -> None:
    there.says("Too ", "long", finish="length")
    last = asked(there, "any")[-1]
    assert last.type == "response.incomplete"
    assert last.response.status == "incomplete"
    assert there.client.responses.retrieve(last.response.id).status == "incomplete"


@pytest.mark.parametrize("behaviour", [cut, fail_amid])
@pytest.mark.parametrize("model", ["unchunk", "any"])
def test_an_answer_that_breaks_off_ends_as_failed_with_what_was_said(
    there: Talk,
    behaviour: Behaviour,
    model: str,
) -> None:
    there.behaves(behaviour)
    events = asked(there, model)
    last = events[-1]
    assert last.type == "response.failed"
    assert last.response.status == "failed"
    assert last.response.error is not None
    assert last.response.error.message
    deltas = "".join(one.delta for one in events if one.type == DELTA)
    assert last.response.output_text == deltas != ""
    # It is not kept, since nothing can be gone on from.
    with pytest.raises(NotFoundError):
        there.client.responses.retrieve(last.response.id)
    # The helper does not take it for a whole one.
    there.behaves(behaviour)
    with (
        pytest.raises(RuntimeError, match=r"response\.completed"),
        there.client.responses.stream(model=model, input=NIGHT) as stream,
    ):
        stream.get_final_response()
    there.behaves(behaviour)
    with pytest.raises(InternalServerError):
        there.client.responses.create(model=model, input=NIGHT)


def test_a_model_that_says_nothing_at_all_fails_the_response(there: Talk) -> None:
    there.behaves(refuse(401, provider_error("no such key")))
    last = asked(there, "any")[-1]
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert "no such key" in last.response.error.message
    assert last.response.output == []


def test_whoever_goes_away_stops_the_model_and_nothing_is_kept(there: Talk) -> None:
    before = there.model.aborted
    there.behaves(hang_amid)
    name = ""
    with there.client.responses.create(model="unchunk", input=NIGHT, stream=True) as stream:
        for event in stream:
            if event.type == "response.created":
                name = event.response.id
            if event.type == DELTA:
                break
    assert there.model.settled(lambda: there.model.aborted == before + 1)
    eventually(there.is_quiet)
    with pytest.raises(NotFoundError):
        there.client.responses.retrieve(name)


def test_what_is_wrong_with_a_question_is_no_stream_but_an_error(there: Talk) -> None:
    with pytest.raises(NotFoundError):
        asked(there, "unchunk/vs_none")
    with pytest.raises(APIError):
        asked(there, previous_response_id="resp_none")
