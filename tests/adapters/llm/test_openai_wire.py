"""What leaves for a provider: where to, and with which headers."""

import asyncio

import httpx2
import pytest
from openai import AsyncAzureOpenAI
from openai.types.chat import ChatCompletionUserMessageParam

from adapters.llm.asking import ASKED, HASTY, KEY, WHOLE, model_at, read, run, text
from adapters.llm.scripted import Request, ScriptedModel, error, refuse
from servers import free_ports
from unchunk.adapters.llm.endpoints import Endpoint, azure, ollama, openai
from unchunk.adapters.llm.openai import OpenAIChatModel
from unchunk.errors import InvalidSettingError
from unchunk.ports import Sampling

OURS = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
OURS |= {"user-agent"}


def sent(server: ScriptedModel, endpoint: Endpoint, sampling: Sampling | None = None) -> Request:
    deltas = run(lambda model: read(model, sampling), OpenAIChatModel(endpoint, patience=HASTY))
    assert text(deltas)
    return server.asked[-1]


def names(request: Request) -> set[str]:
    return {name.lower() for name in request.headers}


def test_it_asks_as_openai_expects(server: ScriptedModel) -> None:
    sampling = Sampling(temperature=0.2, max_tokens=5, stop=("END", "\n\n"))
    request = sent(server, openai(f"{server.url}/v1", "m", KEY), sampling)
    assert request.path == "/v1/chat/completions"
    assert request.header("Authorization") == f"Bearer {KEY}"
    assert request.header("Content-Type") == "application/json"
    assert request.body == {
        "model": "m",
        "messages": ASKED,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.2,
        "max_tokens": 5,
        "stop": ["END", "\n\n"],
    }


def test_what_is_not_said_is_not_sent_and_another_model_may_be_named(server: ScriptedModel) -> None:
    request = sent(server, openai(f"{server.url}/v1", "m"), Sampling(model="other"))
    assert set(request.body) == {"model", "messages", "stream", "stream_options"}
    assert request.body["model"] == "other"


@pytest.mark.parametrize("end", ["", "/", "/chat/completions", "/chat/completions/"])
def test_a_url_may_be_given_with_its_end_or_without(server: ScriptedModel, end: str) -> None:
    assert sent(server, openai(f"{server.url}/v1{end}", "m")).path == "/v1/chat/completions"


def test_nothing_of_the_environment_leaves(
    server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = "sk-of-somebody-else"
    nowhere = f"http://127.0.0.1:{free_ports(1)[0]}"
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, foreign)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", foreign)
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", foreign)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: {foreign}\nX-Mine: {foreign}")
    for name in ("OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, nowhere)
    monkeypatch.setenv("http_proxy", nowhere)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    request = sent(server, openai(f"{server.url}/v1", "m"))
    assert names(request) == OURS
    assert foreign not in str(request)
    request = sent(server, openai(f"{server.url}/v1", "m", KEY))
    assert names(request) == OURS | {"authorization"}
    assert foreign not in str(request)
    for shape in ("v1", "2024-10-21"):
        request = sent(server, azure(server.url, "m", KEY, shape))
        assert names(request) == OURS | {"api-key"}
        assert foreign not in str(request)
    request = sent(server, ollama(server.url, "m"))
    assert names(request) == OURS


def test_a_proxy_is_used_for_others_only() -> None:
    assert openai("http://localhost:1/v1", "m").local
    assert openai("http://me.localhost:1/v1", "m").local
    assert openai("http://127.0.0.2/v1", "m").local
    assert openai("http://[::1]:1/v1", "m").local
    assert not openai("https://api.openai.com/v1", "m").local
    assert not openai("http://10.0.0.1/v1", "m").local


def test_a_request_id_goes_with_every_attempt(server: ScriptedModel) -> None:
    server.script.extend([refuse(500, error("oops"))] * 2)
    run(lambda model: read(model, request_id="request 7, ä"), model_at(server))
    ids = [each.header("X-Request-ID") for each in server.asked]
    assert ids == ["request 7, %C3%A4"] * 3


def test_azure_is_asked_where_the_sdk_itself_would_ask(server: ScriptedModel) -> None:
    async def by_the_sdk() -> None:
        client = AsyncAzureOpenAI(
            azure_endpoint=server.url,
            azure_deployment="my deployment",
            api_key=KEY,
            api_version="2024-10-21",
            http_client=httpx2.AsyncClient(trust_env=False),
        )
        message: ChatCompletionUserMessageParam = {"role": "user", "content": "Hello"}
        async with client:
            stream = await client.chat.completions.create(
                model="my deployment", messages=[message], stream=True
            )
            assert [chunk async for chunk in stream]

    asyncio.run(by_the_sdk())
    request = sent(server, azure(server.url + "/", "my deployment", KEY))
    other = server.asked[0]
    assert request.path == other.path
    assert request.path == (
        "/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21"
    )
    assert request.header("api-key") == other.header("api-key") == KEY


@pytest.mark.parametrize(
    ("end", "version"), [("", "v1"), ("/openai", "v1"), ("/openai/v1/", "2024-10-21"), ("", "")]
)
def test_azure_s_newer_interface_has_no_versions(
    server: ScriptedModel, end: str, version: str
) -> None:
    request = sent(server, azure(server.url + end, "mine", KEY, version))
    assert request.path == "/openai/v1/chat/completions"
    assert request.header("api-key") == KEY
    assert request.body["model"] == "mine"


def test_an_azure_that_is_too_old_for_a_parameter_gets_the_older_one(
    server: ScriptedModel,
) -> None:
    endpoint = azure(server.url, "no-max-completion-tokens", KEY)
    assert sent(server, endpoint, Sampling(max_tokens=2)).body["max_tokens"] == 2
    assert server.asked[0].body["max_completion_tokens"] == 2


def test_another_deployment_has_another_url(server: ScriptedModel) -> None:
    endpoint = azure(f"{server.url}/openai", "mine", KEY)
    request = sent(server, endpoint, Sampling(model="a/b"))
    assert request.path.startswith("/openai/deployments/a%2Fb/chat/completions?")


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
def test_ollama_is_asked_at_its_own_address(server: ScriptedModel, end: str) -> None:
    request = sent(server, ollama(server.url + end, "llama3.2", KEY))
    assert request.path == "/v1/chat/completions"
    assert request.header("Authorization") == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:1",
        "ftp://host/v1",
        "http://",
        "http://host:port/v1",
        "http://[half/v1",
        f"http://me:{KEY}@host/v1",
        f"http://host/v1?key={KEY}",
        f"http://host/v1#{KEY}",
    ],
)
def test_a_url_that_cannot_be_is_refused_without_repeating_it(url: str) -> None:
    for endpoint in (openai, ollama):
        with pytest.raises(InvalidSettingError, match="the model's URL") as raised:
            endpoint(url, "m")
        assert KEY not in str(raised.value)


@pytest.mark.parametrize("key", ["two words", "line\n", "schlüssel"])
def test_a_key_that_cannot_be_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(InvalidSettingError, match="the model's key") as raised:
        openai("http://host/v1", "m", key)
    assert key not in str(raised.value)


def test_azure_needs_a_key() -> None:
    with pytest.raises(InvalidSettingError, match="needs a key"):
        azure("https://mine.openai.azure.com", "m", "")


def test_it_can_be_used_again_after_it_was_closed(server: ScriptedModel) -> None:
    async def scene(model: OpenAIChatModel) -> list[str]:
        first = text(await read(model))
        await model.close()
        return [first, text(await read(model))]

    assert run(scene, model_at(server)) == [WHOLE, WHOLE]
