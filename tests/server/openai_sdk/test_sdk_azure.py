"""Azure's clients, under their own paths and with their own header for a key."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from openai import AsyncAzureOpenAI, AuthenticationError, AzureOpenAI, NotFoundError, OpenAI
from starlette.requests import HTTPConnection
from starlette.types import Message, Scope

from server.openai_sdk.clients import PATIENCE, Place, placed, prose, sent
from unchunk.server.openai.azure import Azure, deployment_of

VERSION = "2024-10-21"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("azure"), "anna") as place:
        yield place


def manner(place: Place) -> dict[str, Any]:
    shown = place.house["anna"].headers["Authorization"].removeprefix("Bearer ")
    return {
        "api_key": shown,
        "max_retries": 0,
        "timeout": PATIENCE,
        "_strict_response_validation": True,
    }


def endpoints(place: Place) -> list[dict[str, Any]]:
    url = place.house.served.url
    return [
        {"azure_endpoint": url},
        {"azure_endpoint": f"{url}/", "azure_deployment": "gpt-of-mine"},
        {"base_url": f"{url}/openai"},
        {"base_url": f"{url}/openai/v1/"},
        {"base_url": f"{url}/openai/deployments/gpt-of-mine"},
    ]


def test_azures_client_works_under_all_of_its_paths(place: Place) -> None:
    with place.owned("anna") as anna:
        file = sent(anna, "azure.md", prose(100, "azure")).id
    for endpoint in endpoints(place):
        with AzureOpenAI(api_version=VERSION, **manner(place), **endpoint) as client:
            store = client.vector_stores.create(name="Azure")
            lots = client.vector_stores.file_batches
            assert lots.create_and_poll(store.id, file_ids=[file]).status == "completed"
            [member] = client.vector_stores.files.list(store.id)
            text = client.vector_stores.files.content(member.id, vector_store_id=store.id)
            assert text.data[0].text == prose(100, "azure")
            hits = client.vector_stores.search(store.id, query="azure")
            assert {it.file_id for it in hits} == {file}
            other = client.files.create(file=("other.md", b"Other."), purpose="assistants")
            assert client.files.content(other.id).text == "Other."
            names = [it.filename for it in client.files.list(limit=1, order="asc")]
            assert names == ["azure.md", "other.md"]
            assert client.files.delete(other.id).deleted
            assert client.vector_stores.delete(store.id).deleted


def test_azures_async_client_works_too(place: Place) -> None:
    async def work() -> str:
        async with AsyncAzureOpenAI(
            azure_endpoint=place.house.served.url, api_version=VERSION, **manner(place)
        ) as client:
            store = await client.vector_stores.create()
            file = await client.vector_stores.files.upload_and_poll(
                vector_store_id=store.id, file=("async.md", b"Async on Azure.")
            )
            listed = [it.id async for it in client.vector_stores.files.list(store.id, limit=1)]
            assert listed == [file.id]
            await client.files.delete(file.id)
            return (await client.vector_stores.delete(store.id)).id

    assert asyncio.run(work()).startswith("vs_")


def test_openais_client_works_under_azures_newer_path(place: Place) -> None:
    url = f"{place.house.served.url}/openai/v1/"
    with OpenAI(base_url=url, **manner(place)) as client:
        assert client.vector_stores.create(name="Newer").name == "Newer"


def test_errors_are_openais_under_azures_paths(place: Place) -> None:
    url = place.house.served.url
    with AzureOpenAI(azure_endpoint=url, api_version=VERSION, **manner(place)) as client:
        with pytest.raises(NotFoundError) as caught:
            client.vector_stores.retrieve("vs_never")
        assert caught.value.type == "invalid_request_error"
        with pytest.raises(NotFoundError):
            client.get("/images/variations", cast_to=object)
    stranger = {**manner(place), "api_key": "wrong"}
    with (
        AzureOpenAI(azure_endpoint=url, api_version=VERSION, **stranger) as client,
        pytest.raises(AuthenticationError) as refused,
    ):
        client.files.list()
    assert refused.value.type == "authentication_error"


def test_a_key_is_shown_once(place: Place) -> None:
    """Whoever shows two keys is not told which of them was right."""
    shown = place.house["anna"].headers["Authorization"].removeprefix("Bearer ")
    url = f"{place.house.served.url}/openai/files"
    assert httpx2.get(url, headers={"api-key": shown}).status_code == 200
    both = {"api-key": shown, "Authorization": f"Bearer {shown}"}
    assert httpx2.get(url, headers=both).status_code == 401
    assert httpx2.get(url, headers={"api-key": shown, "X-API-Key": "x"}).status_code == 401


@pytest.mark.parametrize(
    ("path", "behind", "model"),
    [
        ("/openai/files", "/v1/files", ""),
        ("/openai/v1/files", "/v1/files", ""),
        ("/openai/v1/v1/files", "/v1/v1/files", ""),
        ("/openai/deployments/m/chat/completions", "/v1/chat/completions", "m"),
        (
            "/openai/deployments/unchunk/vs_1/chat/completions",
            "/v1/chat/completions",
            "unchunk/vs_1",
        ),
        ("/openai/deployments/m/embeddings", "/v1/embeddings", "m"),
        ("/openai/deployments/m/files/file-1", "/v1/files/file-1", "m"),
        ("/openai/deployments/a/b/completions", "/v1/b/completions", "a"),
        ("/openai/deployments/m", "/v1/deployments/m", ""),
        ("/openai/", "/v1/", ""),
        ("/openai", "/openai", ""),
        ("/openais/files", "/openais/files", ""),
        ("/v1/files", "/v1/files", ""),
        ("/api/openai/files", "/api/openai/files", ""),
    ],
)
def test_azures_paths_lead_to_the_same_routes(path: str, behind: str, model: str) -> None:
    seen: list[tuple[str, str]] = []

    async def inner(scope: Scope, _: object, __: object) -> None:
        seen.append((scope["path"], deployment_of(HTTPConnection(scope))))

    async def nothing() -> Message:
        return {"type": "http.disconnect"}

    async def nowhere(_: Message) -> None: ...

    scope = {"type": "http", "path": path, "headers": [], "state": {}}
    asyncio.run(Azure(inner)(scope, nothing, nowhere))
    assert seen == [(behind, model)]
    assert scope["path"] == path
