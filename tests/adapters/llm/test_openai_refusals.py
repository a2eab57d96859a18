"""What a refusal says, and what it does not."""

import logging

import pytest

from adapters.llm.asking import KEY, ask, read, run
from adapters.llm.scripted import ScriptedModel, error, events, refuse
from unchunk.adapters.llm.endpoints import openai
from unchunk.adapters.llm.openai import OpenAIChatModel
from unchunk.adapters.llm.patience import Patience
from unchunk.errors import ProviderRefusedError, ProviderUnavailableError


@pytest.mark.parametrize(
    ("status", "content", "told", "about_text"),
    [
        (401, error("Incorrect API key provided: " + KEY), "401: .*check the key", False),
        (403, error("not yours"), "403: not yours; check what the key may do", False),
        (404, error("no model"), "404: no model; check the URL and the name of the model", False),
        (404, b"<h1>Not Found</h1>", "404: <h1>Not Found</h1>; check the URL", False),
        (400, error("maximum context length is 8 tokens"), "too long for this model", True),
        (400, error("no", code="context_length_exceeded"), "too long for this model", True),
        (400, error("no", type="exceed_context_size_error"), "too long for this model", True),
        (413, b"", "413: Scripted; the prompt is too long", True),
        (400, error("no", code="content_filter"), "filter refused", True),
        (429, error("pay first", code="insufficient_quota"), "429: pay first", False),
        (307, b"", "307: .*check the URL", False),
        (418, {"detail": "teapot"}, "418: teapot", False),
    ],
)
def test_a_refusal_says_what_to_do(
    server: ScriptedModel, status: int, content: object, told: str, about_text: bool
) -> None:
    with pytest.raises(ProviderRefusedError, match=told) as raised:
        ask(server, refuse(status, content, location="/elsewhere"))
    assert raised.value.about_text is about_text
    assert len(server.asked) == 1


def test_statuses_that_nobody_knows_are_the_server_s_trouble(server: ScriptedModel) -> None:
    with pytest.raises(ProviderUnavailableError, match="answered 599"):
        ask(server, *[refuse(599, b"")] * 4)


@pytest.mark.parametrize("key", [KEY, "0f1e2d3c4b5a69788796a5b4c3d2e1f0"])
def test_a_key_is_in_no_error_no_log_and_no_repr(
    server: ScriptedModel, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint = openai(f"{server.url}/v1", "m", key)
    model = OpenAIChatModel(endpoint, patience=Patience(retries=0))
    echoes = [
        refuse(401, error(f"wrong key {key}")),
        refuse(500, f"Bearer {key}".encode()),
        events(error(f"no {key}", code=400)),
        events(f'"{key}"', connection="close"),
        refuse(200, f"what is {key}?\n".encode(), content_type="text/plain"),
    ]

    async def scene(model: OpenAIChatModel) -> None:
        for behaviour in echoes:
            server.script.append(behaviour)
            with pytest.raises((ProviderRefusedError, ProviderUnavailableError)) as raised:
                await read(model)
            logging.getLogger("test").error("failed", exc_info=raised.value)
            assert key not in str(raised.value)

    run(scene, model)
    assert len(server.asked) == len(echoes)
    assert key not in caplog.text
    assert key not in repr(model) + repr(vars(model)) + repr(endpoint)
