"""Chat as it is written: chunk by chunk, broken off, left, and with other clients' helpers."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import (
    APIError,
    APITimeoutError,
    AsyncOpenAI,
    InternalServerError,
    NotFoundError,
    RateLimitError,
)
from openai.types.chat import ChatCompletionChunk

from adapters.llm.scripted import Behaviour, cut, fail_amid, hang, hang_amid, refuse
from adapters.llm.scripted import error as provider_error
from server.openai_talk.talks import ASKED, MODEL, Talk, talk
from server.scripted import eventually
from unchunk.server.options import Options


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with talk(tmp_path_factory.mktemp("streams"), "anna") as it:
        yield it


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)


def annotations_of(chunks: list[ChatCompletionChunk]) -> list[dict[str, Any]]:
    deltas = [one.choices[0].delta.model_extra or {} for one in chunks if one.choices]
    return [it for one in deltas for it in one.get("annotations", [])]


def test_an_answer_comes_in_chunks_and_its_citations_among_them(there: Talk) -> None:
    said = there.cites()
    with there.client.chat.completions.create(
        model="unchunk", messages=ASKED, stream=True
    ) as stream:
        chunks = list(stream)
    assert text_of(chunks) == said
    assert chunks[0].choices[0].delta.role == "assistant"
    assert len({one.id for one in chunks}) == 1
    assert [one.choices[0].finish_reason for one in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    [annotation] = annotations_of(chunks)
    cited = annotation["url_citation"]
    assert said[cited["start_index"] : cited["end_index"]] == there.citation()
    # It follows the text that it is about.
    at = next(at for at, one in enumerate(chunks) if annotations_of([one]))
    assert text_of(chunks[:at]).endswith(there.citation())
    extra = (chunks[-1].model_extra or {})["unchunk"]
    assert (extra["finish"], extra["model"]) == ("stop", MODEL)
    assert [one["name"] for one in extra["sources"]] == ["harbour.md"]
    assert all(one.usage is None for one in chunks)


def test_usage_comes_in_a_chunk_of_its_own_for_who_wants_it(there: Talk) -> None:
    there.cites()
    options: Any = {"include_usage": True}
    with there.client.chat.completions.create(
        model="unchunk", messages=ASKED, stream=True, stream_options=options
    ) as stream:
        *others, last = stream
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.completion_tokens == 4
    assert all(one.usage is None for one in others)


def test_the_line_is_as_openai_writes_it(there: Talk) -> None:
    there.says("Yes.")
    reply = there.post("chat/completions", {"model": "any", "messages": ASKED, "stream": True})
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["x-request-id"]
    assert "x-stream-id" not in reply.headers
    lines = [one for one in reply.text.split("\n") if one]
    assert all(one.startswith("data: ") for one in lines)
    assert lines[-1] == "data: [DONE]"


def test_the_clients_own_helper_puts_an_answer_together(there: Talk) -> None:
    there.says("One ", there.citation(), " two ", there.citation(), ".")
    with there.client.chat.completions.stream(model=there.of_store, messages=ASKED) as stream:
        kinds = {event.type for event in stream}
        whole = stream.get_final_completion()
    assert kinds == {"chunk", "content.delta", "content.done"}
    message = whole.choices[0].message
    assert message.content == f"One {there.citation()} two {there.citation()}."
    indices = [
        (one.url_citation.start_index, one.url_citation.end_index)
        for one in message.annotations or []
    ]
    assert [message.content[a:b] for a, b in indices] == [there.citation(), there.citation()]

    async def ask(client: AsyncOpenAI) -> str | None:
        async with client.chat.completions.stream(model="any", messages=ASKED) as stream:
            return (await stream.get_final_completion()).choices[0].message.content

    said = there.says("So ", "it is.")
    assert there.alone(ask) == said


def test_what_is_wrong_with_a_question_is_no_stream_but_an_error(there: Talk) -> None:
    with pytest.raises(NotFoundError):
        there.client.chat.completions.create(model="unchunk/vs_none", messages=ASKED, stream=True)


@pytest.mark.parametrize("behaviour", [cut, fail_amid])
@pytest.mark.parametrize("model", ["unchunk", "any"])
def test_an_answer_that_breaks_off_raises_and_never_ends_as_if_whole(
    there: Talk,
    behaviour: Behaviour,
    model: str,
) -> None:
    there.behaves(behaviour)
    chunks: list[ChatCompletionChunk] = []
    with (
        there.client.chat.completions.create(model=model, messages=ASKED, stream=True) as stream,
        pytest.raises(APIError) as error,
    ):
        chunks.extend(stream)
    assert text_of(chunks)
    assert all(one.choices[0].finish_reason is None for one in chunks)
    assert error.value.message
    assert isinstance(error.value.body, dict)
    assert error.value.body["type"] == "server_error"
    # Not as a stream, it is one error.
    there.behaves(behaviour)
    with pytest.raises(InternalServerError):
        there.client.chat.completions.create(model=model, messages=ASKED)
    eventually(there.is_quiet)


def test_a_model_that_refuses_is_an_error_where_no_document_can_answer(there: Talk) -> None:
    there.behaves(refuse(401, provider_error("no such key")))
    with (
        pytest.raises(APIError, match="no such key"),
        there.client.chat.completions.create(model="any", messages=ASKED, stream=True) as stream,
    ):
        list(stream)
    # Where one can, it does.
    there.behaves(refuse(401, provider_error("no such key")))
    with there.client.chat.completions.create(
        model="unchunk", messages=ASKED, stream=True
    ) as stream:
        chunks = list(stream)
    assert "22 euros" in text_of(chunks)
    extra = (chunks[-1].model_extra or {})["unchunk"]
    assert "no such key" in extra["error"]["message"]


def test_whoever_goes_away_stops_the_model(there: Talk) -> None:
    before = there.model.aborted
    there.behaves(hang_amid)
    with there.client.chat.completions.create(
        model="unchunk", messages=ASKED, stream=True
    ) as stream:
        for chunk in stream:
            if text_of([chunk]):
                break
    assert there.model.settled(lambda: there.model.aborted == before + 1)
    eventually(there.is_quiet)
    there.behaves(hang)
    with pytest.raises(APITimeoutError):
        there.client.with_options(timeout=3).chat.completions.create(model="any", messages=ASKED)
    assert there.model.settled(lambda: there.model.aborted == before + 2)
    eventually(there.is_quiet)
    # Nothing of it can be read again.
    assert there.place.house.served.streams.kept == 0


def test_a_server_that_ends_says_so_and_begins_nothing(tmp_path: Path) -> None:
    with talk(tmp_path) as there:
        there.behaves(hang_amid)
        closing = threading.Thread(
            target=there.place.house.served.inside, args=(there.place.house.served.streams.close,)
        )
        with there.client.chat.completions.create(
            model="unchunk", messages=ASKED, stream=True
        ) as stream:
            assert any(text_of([chunk]) for chunk in stream)
            closing.start()
            with pytest.raises(APIError, match="shutting down"):
                list(stream)
        closing.join(30)
        for stream_wanted in (True, False):
            with pytest.raises(InternalServerError, match="shutting down") as error:
                there.client.chat.completions.create(
                    model="unchunk", messages=ASKED, stream=stream_wanted
                )
            assert error.value.status_code == 503


def test_nobody_has_more_answers_written_at_once_than_the_limit(tmp_path: Path) -> None:
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    options = Options(require_keys=True, upload_folder=uploads, max_answers=1)
    with talk(tmp_path, "anna", options=options) as there:
        there.behaves(hang_amid)
        with there.client.chat.completions.create(
            model="unchunk", messages=ASKED, stream=True
        ) as stream:
            next(stream)
            for call in (
                lambda: there.client.chat.completions.create(model="any", messages=ASKED),
                lambda: there.client.responses.create(model="any", input="When?", stream=True),
                lambda: there.client.embeddings.create(model="any", input="x"),
            ):
                with pytest.raises(RateLimitError):
                    call()
        eventually(there.is_quiet)
        there.says("Now.")
        assert there.client.chat.completions.create(model="any", messages=ASKED).choices
