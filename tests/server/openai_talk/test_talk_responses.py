"""Responses over the official client: asked, searched for, kept, and gone on from."""

from collections.abc import Iterator
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError
from openai.types.responses import (
    FileSearchToolParam,
    Response,
    ResponseFileSearchToolCall,
    ResponseOutputMessage,
)
from openai.types.responses.response_output_text import AnnotationFileCitation

from chat.rooms import NIGHT
from server.openai_sdk.clients import sent
from server.openai_talk.talks import MODEL, Talk, talk
from unchunk.server.openai import response_keeping


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with talk(tmp_path_factory.mktemp("responses"), "anna", "bert") as it:
        yield it


def searching(there: Talk, **more: Any) -> list[FileSearchToolParam]:  # noqa: ANN401 - as they are
    tool: Any = {"type": "file_search", "vector_store_ids": [there.store], **more}
    return [tool]


def search_in(response: Response) -> ResponseFileSearchToolCall:
    [found] = [one for one in response.output if isinstance(one, ResponseFileSearchToolCall)]
    return found


def message_in(response: Response) -> ResponseOutputMessage:
    [found] = [one for one in response.output if isinstance(one, ResponseOutputMessage)]
    return found


def test_a_response_is_the_search_and_the_message_with_its_citations(there: Talk) -> None:
    said = there.cites()
    response = there.client.responses.create(
        model="gpt-4o",
        input=NIGHT,
        instructions="Be brief.",
        tools=searching(there),
        tool_choice={"type": "file_search"},
        include=["file_search_call.results"],
        metadata={"by": "anna"},
        temperature=0.5,
        top_p=0.5,
        max_output_tokens=50,
        truncation="disabled",
        text={"format": {"type": "text"}},
    )
    assert (response.status, response.output_text, response.model) == ("completed", said, MODEL)
    search = search_in(response)
    assert (search.status, search.queries) == ("completed", [NIGHT])
    [result] = search.results or []
    assert (result.file_id, result.filename) == (there.harbour, "harbour.md")
    assert result.attributes == {"kind": "rules", "year": 2020}
    assert result.score is not None
    assert 0 < result.score <= 1
    # What the model read is what is told.
    assert result.text is not None
    assert result.text.split("\n\n")[1] in str(there.told[-1]["content"])
    [part] = message_in(response).content
    assert part.type == "output_text"
    [cited] = part.annotations
    assert isinstance(cited, AnnotationFileCitation)
    assert (cited.file_id, cited.filename) == (there.harbour, "harbour.md")
    assert said[cited.index :].startswith(there.citation())
    extra = cited.model_extra or {}
    assert extra["chunk_index"] == 0
    assert (
        "22 euros" in there.client.files.content(there.harbour).text[extra["start"] : extra["end"]]
    )
    assert there.told[0] == {"role": "system", "content": "Be brief."}
    body = there.model.asked[-1].body
    assert body["temperature"] == 0.5
    assert body.get("max_completion_tokens", body.get("max_tokens")) == 50
    assert response.usage is not None
    assert response.usage.output_tokens == 4
    assert response.metadata == {"by": "anna"}
    # What is done, not what was wished.
    assert (response.temperature, response.top_p, response.truncation) == (0.5, None, "auto")
    assert (response.model_extra or {})["unchunk"]["finish"] == "stop"


def test_what_is_not_asked_for_is_not_told(there: Talk) -> None:
    there.cites()
    response = there.client.responses.create(model="any", input=NIGHT, tools=searching(there))
    assert search_in(response).results is None


def test_our_models_search_without_a_tool_and_others_do_not(there: Talk) -> None:
    for model in ("unchunk", there.of_store):
        there.cites()
        response = there.client.responses.create(model=model, input=NIGHT)
        assert (response.model, search_in(response).queries) == (model, [NIGHT])
    for model, choice in (("any", "auto"), ("unchunk", "none")):
        there.says("Ask me.")
        response = there.client.responses.create(
            model=model, input=NIGHT, tool_choice="none" if choice == "none" else "auto"
        )
        assert [one.type for one in response.output] == ["message"]
        assert there.told == [{"role": "user", "content": NIGHT}]


PIERS = {
    "north.md": "The fee for mooring at the north pier is collected by Anna every Friday.",
    "south.md": "At the south pier, where the ferry lands, mooring has no fee in winter.",
    "east.md": "Whoever is mooring on the east side pays the fee for the pier in advance.",
    "west.md": "A pier of stone in the west; its mooring fee was abolished by the council.",
    "old.md": "Fee and mooring rights of the old pier belong to the fishermen's guild.",
}


def test_a_tool_bounds_what_is_read(there: Talk) -> None:
    files = [sent(there.client, name, text).id for name, text in PIERS.items()]
    batch = there.client.vector_stores.file_batches.create(there.store, file_ids=files)
    assert batch.file_counts.completed == len(files)

    def results(**more: object) -> list[Any]:
        there.says("So.")
        response = there.client.responses.create(
            model="any",
            input="What is the mooring fee at the pier?",
            tools=searching(there, **more),
            include=["file_search_call.results"],
        )
        found = search_in(response).results or []
        assert all(str(one.text) in str(there.told[-1]["content"]) for one in found)
        return found

    every = results()
    assert len(every) > 2
    assert len(results(max_num_results=2)) == 2
    [best] = results(max_num_results=1)
    assert best.file_id in {one.file_id for one in every}
    scores = [one.score for one in every]
    assert scores == sorted(scores, reverse=True)
    middle = (scores[0] + scores[-1]) / 2
    above = results(ranking_options={"score_threshold": middle})
    assert 0 < len(above) < len(every)
    assert all(one.score >= middle for one in above)
    assert results(ranking_options={"score_threshold": 1.0}) == []
    rules = {"type": "gte", "key": "year", "value": 2020}
    assert {one.filename for one in results(filters=rules)} <= {"harbour.md"}
    for one in files:
        there.client.files.delete(one)


def test_a_threshold_of_nothing_lets_all_through_as_it_does_in_a_search(there: Talk) -> None:
    question = "Who is it that knows where so many boats were last summer?"

    def scores(**more: object) -> list[float | None]:
        there.says("Nobody.")
        response = there.client.responses.create(
            model="any",
            input=question,
            tools=searching(there, **more),
            include=["file_search_call.results"],
        )
        return [one.score for one in search_in(response).results or []]

    assert scores() == []
    found = [one.score for one in there.client.vector_stores.search(there.store, query=question)]
    assert scores(ranking_options={"score_threshold": 0}) == pytest.approx(found)
    assert found


def test_what_is_ours_is_understood_and_checked_as_in_chat(there: Talk) -> None:
    def asked(**said: object) -> set[str]:
        there.cites()
        response = there.client.responses.create(
            model="any", input=NIGHT, extra_body={"unchunk": said}
        )
        known = (response.model_extra or {})["unchunk"]
        assert known["plan"]["rag"] is True
        return {one["name"] for one in known["sources"]}

    assert asked(vector_store_ids=[there.store]) == {"harbour.md"}
    assert asked(folder="elsewhere") == set()
    kind = {"type": "eq", "key": "kind", "value": "rules"}
    body = {"model": "any", "input": NIGHT}
    for said, param in (
        ({"nonsense": 1}, "unchunk.nonsense"),
        ({"max_parts": -1}, "unchunk.max_parts"),
        ({"filters": kind}, "unchunk.filters"),
    ):
        there.refuses("responses", {**body, "unchunk": said}, param)
    tools = [{"type": "file_search", "vector_store_ids": [there.store], "filters": kind}]
    twice = {**body, "tools": tools, "unchunk": {"filters": kind}}
    there.refuses("responses", twice, "unchunk.filters")
    there.model.script.clear()


def test_a_response_can_be_gone_on_from_also_when_those_before_are_gone(there: Talk) -> None:
    there.says("First.")
    first = there.client.responses.create(model="any", input="One?", instructions="Be brief.")
    there.says("Second.")
    second = there.client.responses.create(model="any", input="Two?", previous_response_id=first.id)
    assert second.previous_response_id == first.id
    said = [("user", "One?"), ("assistant", "First."), ("user", "Two?")]
    # Without the instructions, as OpenAI has it.
    assert [(one["role"], one["content"]) for one in there.told] == said
    there.client.responses.delete(first.id)
    with pytest.raises(NotFoundError):
        there.client.responses.retrieve(first.id)
    there.says("Third.")
    there.client.responses.create(
        model="any", input="Three?", previous_response_id=second.id, instructions="Be kind."
    )
    told = [("system", "Be kind."), *said, ("assistant", "Second."), ("user", "Three?")]
    assert [(one["role"], one["content"]) for one in there.told] == told
    with pytest.raises(NotFoundError):
        there.client.responses.create(model="any", input="?", previous_response_id=first.id)


def test_a_conversation_does_not_grow_for_ever(
    there: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_keeping, "_LONGEST", 20)
    there.says("First.")
    first = there.client.responses.create(model="any", input="One?")
    there.says("Second.")
    second = there.client.responses.create(model="any", input="Two?", previous_response_id=first.id)
    with pytest.raises(BadRequestError, match="too long") as error:
        there.client.responses.create(model="any", input="?", previous_response_id=second.id)
    assert error.value.param == "previous_response_id"


def test_a_follow_up_is_searched_for_with_what_it_is_about(there: Talk) -> None:
    there.cites()
    first = there.client.responses.create(model="unchunk", input=NIGHT)
    there.cites()
    second = there.client.responses.create(
        model="unchunk", input="And for how long is it?", previous_response_id=first.id
    )
    queries = search_in(second).queries
    assert queries[0] == "And for how long is it?"
    assert any("harbour" in one for one in queries)


def test_a_kept_response_is_told_again_without_the_texts_of_documents(there: Talk) -> None:
    there.cites()
    made = there.client.responses.create(
        model="any", input=NIGHT, tools=searching(there), include=["file_search_call.results"]
    )
    again = there.client.responses.retrieve(made.id)
    assert search_in(again).results is None
    search_in(made).results = None
    assert again.to_dict() == made.to_dict()
    there.cites()
    unkept = there.client.responses.create(model="unchunk", input=NIGHT, store=False)
    assert (unkept.model_extra or {})["store"] is False
    with pytest.raises(NotFoundError):
        there.client.responses.retrieve(unkept.id)


def test_what_was_put_in_can_be_listed(there: Talk) -> None:
    there.says("So.")
    given: list[Any] = [
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "One?"}]},
        {"role": "assistant", "content": "First."},
        {"role": "user", "content": "Two?"},
    ]
    made = there.client.responses.create(model="any", input=given)
    items = list(there.client.responses.input_items.list(made.id, order="asc", limit=3))
    roles = [getattr(one, "role", "") for one in items]
    assert roles == ["developer", "user", "assistant", "user"]
    texts = [one.content[0].text for one in items if one.type == "message"]  # type: ignore[union-attr]
    assert texts == ["Be brief.", "One?", "First.", "Two?"]
    newest = there.client.responses.input_items.list(made.id, limit=1)
    assert (newest.data[0].id, newest.has_more) == (items[-1].id, True)
    with pytest.raises(BadRequestError) as error:
        there.client.responses.input_items.list(made.id, after="msg_none")
    assert error.value.param == "after"
    assert [one["content"] for one in there.told] == ["Be brief.", "One?", "First.", "Two?"]


def test_what_came_out_can_be_put_in_again(there: Talk) -> None:
    there.cites()
    made = there.client.responses.create(model="unchunk", input=NIGHT)
    there.says("Yes.")
    again: list[Any] = [
        {"role": "user", "content": NIGHT},
        *(one.to_dict() for one in made.output),
        {"role": "user", "content": "Sure?"},
    ]
    there.client.responses.create(model="any", input=again)
    assert [one["content"] for one in there.told] == [NIGHT, made.output_text, "Sure?"]


def test_an_answer_that_was_cut_is_incomplete(there: Talk) -> None:
    there.says("Too ", "long", finish="length")
    response = there.client.responses.create(model="any", input=NIGHT)
    assert response.status == message_in(response).status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    there.says("Not ", "so", finish="content_filter")
    filtered = there.client.responses.create(model="any", input=NIGHT)
    assert filtered.incomplete_details is not None
    assert filtered.incomplete_details.reason == "content_filter"


def test_what_is_over_cannot_be_cancelled(there: Talk) -> None:
    there.says("So.")
    made = there.client.responses.create(model="any", input=NIGHT)
    with pytest.raises(BadRequestError, match="background"):
        there.client.responses.cancel(made.id)
    with pytest.raises(BadRequestError) as error:
        there.client.responses.retrieve(made.id, stream=True)
    assert error.value.param == "stream"


def test_another_owners_responses_and_stores_are_not_there(there: Talk) -> None:
    there.says("So.")
    made = there.client.responses.create(model="any", input=NIGHT)
    bert = there.place.owned("bert")
    for call in (
        lambda: bert.responses.retrieve(made.id),
        lambda: bert.responses.delete(made.id),
        lambda: bert.responses.cancel(made.id),
        lambda: bert.responses.input_items.list(made.id),
        lambda: bert.responses.create(model="any", input="?", previous_response_id=made.id),
        lambda: bert.responses.create(model="any", input="?", tools=searching(there)),
        lambda: bert.responses.create(model=there.of_store, input="?", stream=True),
    ):
        with pytest.raises(NotFoundError):
            call()
    assert there.client.responses.retrieve(made.id).id == made.id


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"background": True}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "name": "f"}]}, "tools[0].type"),
        ({"tools": [{"type": "file_search"}]}, "tools[0].vector_store_ids"),
        (
            {"tools": [{"type": "file_search", "vector_store_ids": ["a"]}] * 2},
            "tools",
        ),
        (
            {"tools": [{"type": "file_search", "vector_store_ids": ["a"], "max_num_results": 51}]},
            "tools[0].max_num_results",
        ),
        (
            {"tools": [{"type": "file_search", "vector_store_ids": ["a"], "filters": 5}]},
            "tools[0].filters",
        ),
        ({"tool_choice": {"type": "function", "name": "f"}}, "tool_choice"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"include": ["message.output_text.logprobs"]}, "include[0]"),
        ({"text": {"format": {"type": "json_schema", "name": "x", "schema": {}}}}, "text.format"),
        ({"metadata": {"a": 1}}, "metadata"),
        ({"input": []}, "input"),
        ({"input": 5}, "input"),
        ({"input": {"role": "user"}}, "input"),
        ({"input": ["x"]}, "input[0]"),
        ({"input": [{"role": "user", "content": 5}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": [{"text": "x"}]}]}, "input[0].content[0].type"),
        ({"input": [{"type": "function_call_output", "output": ""}]}, "input[0].type"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "assistant", "content": "x"}]}, None),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
            "input[0].content[0].type",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file"}]}]},
            "input[0].content[0].type",
        ),
        ({"temperature": -1}, "temperature"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
    ],
)
def test_what_is_not_done_here_is_refused_by_name(
    there: Talk, body: dict[str, object], param: str | None
) -> None:
    there.refuses("responses", {"model": "any", "input": NIGHT} | body, param)


def test_the_async_client_gets_the_same(there: Talk) -> None:
    said = there.cites()

    async def ask(client: AsyncOpenAI) -> tuple[Response, Response]:
        made = await client.responses.create(model="unchunk", input=NIGHT)
        return made, await client.responses.retrieve(made.id)

    made, again = there.alone(ask)
    assert made.output_text == again.output_text == said
