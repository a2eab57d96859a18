"""Chat over the official client: what is asked of whom, and how the answer comes."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError
from openai.types.chat import ChatCompletion

from adapters.llm.scripted import error as provider_error
from adapters.llm.scripted import events, piece, refuse
from chat.rooms import NIGHT
from server.openai_sdk.clients import sent
from server.openai_talk.talks import ASKED, MODEL, Talk, talk
from unchunk.retrieval.shelf import Where
from unchunk.server.openai.asking import question
from unchunk.server.openai.completion_bodies import CompletionBody
from unchunk.server.openai.response_bodies import ResponseBody


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with talk(tmp_path_factory.mktemp("completions"), "anna", "bert") as it:
        yield it


def more(answer: ChatCompletion) -> dict[str, Any]:
    """What ours has beyond OpenAI's."""
    found: dict[str, Any] = answer.model_extra["unchunk"] if answer.model_extra else {}
    return found


def names(answer: ChatCompletion) -> set[str]:
    return {one["name"] for one in more(answer)["sources"]}


def test_an_answer_from_the_library_cites_in_its_text_and_as_annotations(there: Talk) -> None:
    said = there.cites()
    answer = there.client.chat.completions.create(model="unchunk", messages=ASKED)
    [choice] = answer.choices
    assert (choice.message.content, choice.finish_reason) == (said, "stop")
    assert (answer.model, more(answer)["model"]) == ("unchunk", MODEL)
    [annotation] = choice.message.annotations or []
    cited = annotation.url_citation
    assert said[cited.start_index : cited.end_index] == there.citation()
    extra = cited.model_extra or {}
    assert (extra["file_id"], extra["filename"]) == (there.harbour, "harbour.md")
    assert (extra["chunk_index"], extra["state"]) == (0, "cited")
    text = there.client.files.content(there.harbour).text[extra["start"] : extra["end"]]
    assert "costs 22 euros" in text
    # Where the page's reader opens at the place.
    document = there.harbour.removeprefix("file-")
    place = f"range={extra['start']}-{extra['end']}"
    assert cited.url == f"{there.place.house.served.url}/#/read/{document}?{place}"
    usage = answer.usage
    assert usage is not None
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.completion_tokens == 4
    assert more(answer)["finish"] == "stop"
    assert all("text" not in it for one in more(answer)["sources"] for it in one["passages"])


def test_a_model_named_after_a_store_knows_that_store_alone(there: Talk) -> None:
    question: list[Any] = [{"role": "user", "content": "Who kept the lighthouse?"}]
    there.says("Marta.")
    assert "lighthouse.md" in names(
        there.client.chat.completions.create(model="unchunk", messages=question)
    )
    assert any("Marta Reyes" in str(one["content"]) for one in there.told)
    there.says("Nobody.")
    assert "lighthouse.md" not in names(
        there.client.chat.completions.create(model=there.of_store, messages=question)
    )
    assert not any("Marta Reyes" in str(one["content"]) for one in there.told)


def test_any_other_name_is_the_chat_model_alone(there: Talk) -> None:
    said = there.says("Ask ", "me.")
    answer = there.client.chat.completions.create(model="gpt-4o", messages=ASKED)
    assert answer.choices[0].message.content == said
    assert (answer.model, more(answer)["plan"]) == (MODEL, {"rag": False, "conversation": ""})
    assert there.told == ASKED
    assert there.model.asked[-1].body["model"] == MODEL


def test_stores_may_be_named_beside_the_model(there: Talk) -> None:
    for body in (
        {"vector_store_ids": [there.store]},
        {"unchunk": {"vector_store_ids": [there.store]}},
    ):
        there.cites()
        answer = there.client.chat.completions.create(
            model="gpt-4o", messages=ASKED, extra_body=body
        )
        assert names(answer) == {"harbour.md"}
        assert len(answer.choices[0].message.annotations or []) == 1
    there.cites()
    answer = there.client.chat.completions.create(
        model="gpt-4o", messages=ASKED, extra_body={"unchunk": {}}
    )
    assert more(answer)["plan"]["rag"] is True


def test_how_much_is_read_can_be_asked_for_in_both_kinds_of_requests() -> None:
    said: dict[str, object] = {
        "context_chunks": 3,
        "full_documents": 2,
        "full_document_chars": 900,
        "max_parts": 0,
        "strict": True,
        "mode": "passages",
        "folder": "Contracts",
    }
    for body in (
        CompletionBody.model_validate({"messages": ASKED, "unchunk": said}),
        ResponseBody.model_validate({"input": NIGHT, "unchunk": said}),
    ):
        # Without stores, nobody is asked what is in them.
        request = asyncio.run(
            question(
                cast("Any", None),
                "local",
                "any",
                ASKED,
                sampling=body.sampling(),
                search=body.search("any"),
            )
        )
        assert (request.limit, request.full_documents, request.full_document_chars) == (3, 2, 900)
        assert (request.max_parts, request.strict, request.mode) == (0, True, "passages")
        assert request.where == Where(folders=("Contracts",))


def test_filters_folder_mode_and_strictness_can_be_asked_for(there: Talk) -> None:
    def asked(**said: object) -> ChatCompletion:
        body = {"unchunk": said}
        return there.client.chat.completions.create(
            model=there.of_store, messages=ASKED, extra_body=body
        )

    kind = {"type": "eq", "key": "kind", "value": "rules"}
    there.cites()
    assert names(asked(filters=kind)) == {"harbour.md"}
    before = len(there.model.asked)
    nothing = asked(filters=kind | {"value": "tales"}, strict=True)
    assert (nothing.choices[0].finish_reason, more(nothing)["finish"]) == ("stop", "refused")
    assert names(asked(folder="elsewhere", strict=True)) == set()
    assert len(there.model.asked) == before
    there.cites()
    whole = asked(mode="full documents")
    assert {one["kind"] for one in more(whole)["sources"]} == {"full document"}
    with pytest.raises(BadRequestError) as error:
        asked(filters={"type": "like", "key": "kind", "value": "r"})
    assert error.value.param == "unchunk.filters"
    with pytest.raises(BadRequestError) as error:
        asked(filter=kind)
    assert error.value.param == "unchunk.filter"
    with pytest.raises(BadRequestError, match="say of which") as error:
        there.client.chat.completions.create(
            model="unchunk", messages=ASKED, extra_body={"unchunk": {"filters": kind}}
        )
    assert error.value.param == "unchunk.filters"


def test_what_the_model_may_know_of_sampling_reaches_it(there: Talk) -> None:
    there.says("Yes.")
    there.client.chat.completions.create(
        model="any",
        messages=ASKED,
        temperature=0.5,
        max_completion_tokens=7,
        max_tokens=9,
        stop=["END"],
        top_p=0.5,
        seed=1,
        presence_penalty=1,
        tools=[],
        tool_choice="auto",
        response_format={"type": "text"},
        modalities=["text"],
        n=1,
        user="somebody",
    )
    body = there.model.asked[-1].body
    assert (body["temperature"], body["stop"]) == (0.5, ["END"])
    assert body.get("max_completion_tokens", body.get("max_tokens")) == 7
    assert not {"top_p", "seed", "presence_penalty"} & body.keys()


def test_a_conversation_goes_to_the_model_as_it_was_said(there: Talk) -> None:
    there.says("First.")
    first = there.client.chat.completions.create(model="any", messages=ASKED)
    messages: list[Any] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "system", "content": [{"type": "text", "text": "And kind."}]},
        *ASKED,
        # As clients send it back, with all that it had.
        first.choices[0].message.model_dump(),
        {
            "role": "user",
            "name": "anna",
            "content": [
                {"type": "text", "text": "And this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            ],
        },
    ]
    there.says("Second.")
    there.client.chat.completions.create(model="any", messages=messages)
    assert there.told == [*messages[:3], {"role": "assistant", "content": "First."}, messages[4]]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"n": 2}, "n"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"logprobs": True}, "logprobs"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"audio": {"voice": "alloy", "format": "mp3"}}, "audio"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"web_search_options": {"search_context_size": "low"}}, "web_search_options"),
        ({"temperature": 3}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, None),
        (
            {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
            "messages[0].content[0].type",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "1"}]}, *ASKED]},
            "messages[0].tool_calls",
        ),
        ({"model": ""}, "model"),
        ({"store": True}, "store"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": {"type": "text"}}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": "x" * 1_000_001}]}, "messages[0].content"),
        (
            {"messages": [{"role": "user", "content": [{"text": "x"}]}]},
            "messages[0].content[0].type",
        ),
        ({"stop": 5}, "stop"),
        ({"stop": ["x", 5]}, "stop[1]"),
        ({"unchunk": {"vector_store_ids": "vs_1"}}, "unchunk.vector_store_ids"),
        ({"unchunk": {"max_parts": -1}}, "unchunk.max_parts"),
    ],
)
def test_what_is_not_done_here_is_refused_by_name(
    there: Talk, body: dict[str, object], param: str | None
) -> None:
    there.refuses("chat/completions", {"model": "any", "messages": ASKED} | body, param)


def test_how_an_answer_ended_is_told_in_openais_words(there: Talk) -> None:
    there.says("Too ", "long", finish="length")
    cut = there.client.chat.completions.create(model="any", messages=ASKED)
    assert cut.choices[0].finish_reason == "length"
    there.says("Not ", "so", finish="content_filter")
    filtered = there.client.chat.completions.create(model="unchunk", messages=ASKED)
    assert filtered.choices[0].finish_reason == "content_filter"
    assert "filtered" in [one["code"] for one in more(filtered)["warnings"]]


def test_tokens_are_counted_where_the_provider_does_not(there: Talk) -> None:
    there.behaves(events(piece("Twenty-two euros."), piece(finish="stop")))
    usage = there.client.chat.completions.create(model="any", messages=ASKED).usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (9, 4)
    there.behaves(events(piece("Twenty-two euros."), piece(finish="stop")))
    usage = there.client.chat.completions.create(model="unchunk", messages=ASKED).usage
    assert usage is not None
    # With what it was given to read.
    assert usage.prompt_tokens > 40


def test_where_the_model_is_away_the_documents_answer_and_it_is_said(there: Talk) -> None:
    there.behaves(refuse(401, provider_error("no such key")))
    answer = there.client.chat.completions.create(model="unchunk", messages=ASKED)
    assert "22 euros" in str(answer.choices[0].message.content)
    assert answer.choices[0].message.annotations
    assert (more(answer)["finish"], more(answer)["model"]) == ("extractive", "extractive")
    assert "no such key" in more(answer)["error"]["message"]


def test_a_file_is_cited_by_the_name_that_its_sender_gave_it(there: Talk) -> None:
    text = "The anchorage beyond the pier is free of charge for three days.\n"
    other = sent(there.client, "harbour.md", text)
    document = other.id.removeprefix("file-")
    there.says("It is free ", f"[{document}:0]", ".")
    question: list[Any] = [{"role": "user", "content": "Is the anchorage free of charge?"}]
    answer = there.client.chat.completions.create(model="unchunk", messages=question)
    [annotation] = answer.choices[0].message.annotations or []
    assert annotation.url_citation.title == "harbour.md"
    assert (annotation.url_citation.model_extra or {})["file_id"] == other.id
    assert (
        there.place.house["anna"].get(f"/api/documents/{document}").json()["name"] != "harbour.md"
    )
    there.client.files.delete(other.id)


def test_what_was_never_sent_is_not_an_annotation(there: Talk) -> None:
    there.says("So it is ", "[06a1v8k2m4n7p0q3:7]", ".")
    answer = there.client.chat.completions.create(model="unchunk", messages=ASKED)
    assert answer.choices[0].message.annotations == []
    assert "citation" in [one["code"] for one in more(answer)["warnings"]]


def test_another_owners_store_is_not_there_and_neither_are_documents(there: Talk) -> None:
    bert = there.place.owned("bert")
    before = len(there.model.asked)
    with pytest.raises(NotFoundError):
        bert.chat.completions.create(model=there.of_store, messages=ASKED)
    with pytest.raises(NotFoundError):
        bert.chat.completions.create(
            model="unchunk", messages=ASKED, extra_body={"vector_store_ids": [there.store]}
        )
    answer = bert.chat.completions.create(
        model="unchunk", messages=ASKED, extra_body={"unchunk": {"strict": True}}
    )
    assert more(answer)["finish"] == "refused"
    assert len(there.model.asked) == before


def test_the_async_client_gets_the_same(there: Talk) -> None:
    said = there.cites()

    async def ask(client: AsyncOpenAI) -> ChatCompletion:
        return await client.chat.completions.create(model=there.of_store, messages=ASKED)

    assert there.alone(ask).choices[0].message.content == said


def test_the_example_of_the_docs_runs(there: Talk, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "openai.md").read_text("utf-8")
    [block] = re.findall(r"```python\n(.*?)```", page.partition("## Answers")[2], re.DOTALL)
    block = block.replace("http://127.0.0.1:8000/v1", there.place.url)
    said = there.cites()
    there.cites()
    exec(block.replace('"any"', repr(there.client.api_key)), {})  # noqa: S102 - our own
    url = f"{there.place.house.served.url}/#/read/"
    told = capsys.readouterr().out.splitlines()
    assert (told[0], told[2]) == (said, said)
    assert told[1].startswith(f"harbour.md {url}")


@pytest.fixture(scope="module")
def quoting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """Without a model."""
    with talk(tmp_path_factory.mktemp("quotes"), with_model=False) as it:
        yield it


def test_without_a_model_documents_answer_and_plain_chat_says_what_to_do(quoting: Talk) -> None:
    client = quoting.client
    answer = client.chat.completions.create(model=quoting.of_store, messages=ASKED)
    [choice] = answer.choices
    assert choice.finish_reason == "stop"
    assert "costs 22 euros" in str(choice.message.content)
    assert choice.message.annotations
    assert more(answer)["finish"] == "extractive"
    for stream in (False, True):
        with pytest.raises(NotFoundError, match="set `chat`") as error:
            client.chat.completions.create(model="gpt-4o", messages=ASKED, stream=stream)
        assert error.value.code == "model_not_found"
    with pytest.raises(NotFoundError, match="set `chat`") as error:
        client.responses.create(model="unchunk", input=NIGHT, tool_choice="none")
    assert "tool_choice" in error.value.message
    assert "ask 'unchunk'" not in error.value.message
    response = client.responses.create(model="unchunk", input=NIGHT)
    assert "costs 22 euros" in response.output_text
    known = [one.id for one in client.models.list()]
    assert "unchunk" in known
    assert MODEL not in known


def test_one_file_has_one_name_within_an_answer(quoting: Talk) -> None:
    client = quoting.client
    texts = ("The anchorage is free for three days.", "An anchorage has no toilets.")
    files = [sent(client, "dup.txt", text).id for text in texts]
    store = client.vector_stores.create(file_ids=files).id
    answer = client.responses.create(
        model=f"unchunk/{store}",
        input="What of the anchorage?",
        include=["file_search_call.results"],
    )
    assert answer.output_text.count("\ndup.txt\n") == 2
    assert "(2)" not in answer.output_text
    whole: dict[str, Any] = answer.to_dict()
    search, message = whole["output"]
    sources = (answer.model_extra or {})["unchunk"]["sources"]
    assert [one["name"] for one in sources] == ["dup.txt"] * 2
    for told in (search["results"], message["content"][0]["annotations"]):
        assert [one["filename"] for one in told] == ["dup.txt"] * 2
        assert {one["file_id"] for one in told} == set(files)
