"""Azure's clients ask under their own paths, with the model in them."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from openai import AsyncAzureOpenAI, AzureOpenAI

from server.openai_talk.talks import ASKED, Talk, talk

VERSION = "2024-10-21"


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    with talk(tmp_path_factory.mktemp("azure"), "anna") as it:
        yield it


def manner(there: Talk, **more: str) -> dict[str, Any]:
    return {
        "azure_endpoint": there.place.house.served.url,
        "api_key": there.client.api_key,
        "api_version": VERSION,
        "max_retries": 0,
        **more,
    }


@pytest.mark.parametrize("deployment", ["unchunk", ""])
def test_a_model_is_named_by_the_path_or_with_the_question(there: Talk, deployment: str) -> None:
    more = {"azure_deployment": deployment} if deployment else {}
    with AzureOpenAI(**manner(there, **more)) as client:
        for model in ("unchunk", there.of_store):
            said = there.cites()
            answer = client.chat.completions.create(model=model, messages=ASKED)
            assert answer.choices[0].message.content == said
            assert answer.model == (deployment or model)
            assert answer.choices[0].message.annotations
        there.cites()
        with client.chat.completions.create(model="unchunk", messages=ASKED, stream=True) as stream:
            assert len(list(stream)) > 3
        assert client.embeddings.create(model="unchunk", input="x").data[0].embedding
        assert client.models.retrieve("unchunk").id == "unchunk"
        there.cites()
        response = client.responses.create(model="unchunk", input="When?")
        assert client.responses.retrieve(response.id).id == response.id


def test_the_async_client_too(there: Talk) -> None:
    async def ask() -> str | None:
        async with AsyncAzureOpenAI(**manner(there)) as client:
            answer = await client.chat.completions.create(model=there.of_store, messages=ASKED)
            return answer.choices[0].message.content

    said = there.cites()
    assert asyncio.run(ask()) == said
