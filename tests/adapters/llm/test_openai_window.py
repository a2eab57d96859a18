"""How large a window is, and who says so."""

import asyncio

import pytest

from adapters.llm.asking import run
from adapters.llm.scripted import Behaviour, ScriptedModel, cut, error, hang, page, refuse
from unchunk.adapters.llm.endpoints import Endpoint, azure, ollama, openai
from unchunk.adapters.llm.openai import OpenAIChatModel
from unchunk.adapters.llm.windows import KNOWN, known


def window(endpoint: Endpoint, model: str = "", given: int | None = None) -> int | None:
    async def scene(chat: OpenAIChatModel) -> int | None:
        return await chat.window(model)

    found: int | None = run(scene, OpenAIChatModel(endpoint, window=given))
    return found


def listing(*rows: object) -> Behaviour:
    return refuse(200, {"object": "list", "data": list(rows)})


@pytest.mark.parametrize(
    ("row", "size"),
    [
        ({"id": "m", "max_model_len": 4096}, 4096),
        ({"id": "m", "meta": {"n_ctx": 1024, "n_ctx_train": 8192}}, 1024),
        ({"id": "m", "meta": {"n_ctx_train": 8192}}, None),
        ({"id": "m", "context_length": 9, "top_provider": {"context_length": 7}}, 7),
        ({"id": "m", "context_window": 131_072}, 131_072),
        ({"id": "m", "max_context_length": 32_768}, 32_768),
        ({"id": "m", "context_length": 0, "max_model_len": True}, None),
        ({"id": "m", "context_length": "many", "meta": [], "top_provider": None}, None),
        ({"id": "m"}, None),
        ("m", None),
    ],
)
def test_a_server_tells_it_in_its_list_of_models(
    server: ScriptedModel,
    row: object,
    size: int | None,
) -> None:
    server.listed = listing({"id": "other", "max_model_len": 1}, row)
    assert window(openai(f"{server.url}/v1", "m", "sk-some")) == size
    (request,) = server.requests
    assert (request.method, request.path) == ("GET", "/v1/models")
    assert request.header("Authorization") == "Bearer sk-some"


def test_a_server_with_one_model_means_that_one(server: ScriptedModel) -> None:
    server.listed = listing({"id": "file.gguf", "meta": {"n_ctx": 2048}})
    assert window(openai(f"{server.url}/v1", "anything")) == 2048


@pytest.mark.parametrize(
    "behaviour",
    [
        refuse(500, error("oops")),
        refuse(401, error("no")),
        refuse(200, b"{", content_type="application/json"),
        refuse(200, b"[" * 100_000, content_type="application/json"),
        refuse(200, [1]),
        refuse(200, {"data": None}),
        page(),
        cut,
        hang,
    ],
)
def test_a_server_that_does_not_tell_is_no_error(
    server: ScriptedModel, behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unchunk.adapters.llm.openai._ASKING", 0.5)
    server.listed = behaviour
    assert window(openai(f"{server.url}/v1", "m")) is None
    assert window(openai(f"{server.url}/v1", "gpt-4o-2024-11-20")) == 128_000


def test_it_is_asked_once_by_all_who_want_to_know(server: ScriptedModel) -> None:
    async def scene(chat: OpenAIChatModel) -> list[int | None]:
        return await asyncio.gather(*(chat.window() for _ in range(20)))

    server.listed = listing({"id": "m", "max_model_len": 4096})
    assert run(scene, OpenAIChatModel(openai(f"{server.url}/v1", "m"))) == [4096] * 20
    assert len(server.requests) == 1


def test_it_is_asked_again_some_time_after_it_was_not_told(
    server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unchunk.adapters.llm.openai._ASK_AGAIN", 1.0)

    async def scene(chat: OpenAIChatModel) -> list[int | None]:
        found = [await chat.window(), await chat.window()]
        server.listed = listing({"id": "m", "max_model_len": 4096})
        await asyncio.sleep(1.1)
        return [*found, await chat.window()]

    assert run(scene, OpenAIChatModel(openai(f"{server.url}/v1", "m"))) == [None, None, 4096]
    assert len(server.requests) == 2


def test_what_is_given_is_not_asked_for(server: ScriptedModel) -> None:
    assert window(openai(f"{server.url}/v1", "m"), given=777) == 777
    assert window(openai(f"{server.url}/v1", "m"), "m", given=777) == 777
    assert not server.requests
    server.listed = listing({"id": "other", "max_model_len": 4096})
    assert window(openai(f"{server.url}/v1", "m"), "other", given=777) == 4096


def test_openai_and_azure_are_not_asked(server: ScriptedModel) -> None:
    assert window(azure(server.url, "gpt-4.1-mini", "key")) == 1_047_576
    assert window(azure(server.url, "mine", "key")) is None
    assert window(openai("https://api.openai.com/v1", "o3-mini")) == 200_000
    assert not server.requests


@pytest.mark.parametrize(
    ("shown", "running", "size"),
    [
        ({"parameters": 'stop "x"\nnum_ctx      16384'}, [], 16_384),
        ({"parameters": "num_ctx 16384"}, [{"name": "m:latest", "context_length": 4096}], 16_384),
        ({"model_info": {"llama.context_length": 131_072}}, [], None),
        ({}, [{"name": "m:latest", "context_length": 4096}], 4096),
        ({}, [{"model": "m", "context_length": 4096}], 4096),
        ({}, [{"name": "other", "context_length": 1}, "odd", {"name": "m"}], None),
        ({"parameters": "num_ctx many"}, None, None),
    ],
)
def test_ollama_tells_what_it_gives_a_model_and_not_what_the_model_could(
    server: ScriptedModel, shown: object, running: object, size: int | None
) -> None:
    server.shown, server.running = refuse(200, shown), refuse(200, {"models": running})
    assert window(ollama(server.url, "m")) == size
    assert [each.path for each in server.requests] == ["/api/show", "/api/ps"]
    assert server.requests[0].body == {"model": "m"}


def test_an_ollama_that_does_not_tell_is_not_guessed(server: ScriptedModel) -> None:
    server.shown = refuse(404, error("not found"))
    assert window(ollama(server.url, "gpt-4o")) is None


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("gpt-4o", 128_000),
        ("openai/gpt-4o-mini", 128_000),
        ("gpt-4", 8_192),
        ("gpt-4-0613", 8_192),
        ("gpt-4-turbo-2024-04-09", 128_000),
        ("gpt-4.1-nano", 1_047_576),
        ("gpt-4.5-preview", None),
        ("gpt-5-mini", 400_000),
        ("gpt-5-chat-latest", 128_000),
        ("gpt-5.9", None),
        ("o1", 200_000),
        ("o1-mini-2024-09-12", 128_000),
        ("anthropic/claude-3-5-sonnet", 200_000),
        ("llama3.1", None),
        ("gpt-4ominous", None),
        ("", None),
    ],
)
def test_well_known_models_are_known_by_their_whole_name(model: str, size: int | None) -> None:
    assert known(model) == size


def test_every_known_model_is_found_by_its_own_name() -> None:
    assert {name: known(name) for name in KNOWN} == KNOWN
