"""A vector store keeps to the contract of lost files, asked by either kind of client."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import pytest
from openai import AsyncOpenAI, OpenAI

from recovery.vector_stores import Held, VectorStores
from servers import free_ports
from unchunk.adapters.sources.bounds import Bounds
from unchunk.adapters.sources.openai_clients import client_from
from unchunk.adapters.sources.openai_files import OpenAIFiles
from unchunk.errors import InvalidInputError, InvalidSettingError
from unchunk.ports import LostFiles
from unchunk.testing.lostfiles import Kept, LostFilesContract


class TestByAnAsynchronousClient(LostFilesContract):
    @pytest.fixture(autouse=True)
    def _server(self, server: VectorStores) -> None:
        self.server = server

    @asynccontextmanager
    async def opened(self, kept: Sequence[Kept]) -> AsyncIterator[LostFiles]:
        self.server.stores["vs_1"] = [
            Held(f"file-{at}", one.name, "".join(one.texts), None, chunks=list(one.texts))
            for at, one in enumerate(kept)
        ]
        store = self.store(self.server.url)
        try:
            yield store
        finally:
            await store.close()

    def nowhere(self) -> LostFiles:
        return self.store(self.server.url, "vs_nowhere")

    def gone(self) -> LostFiles:
        return self.store(f"http://127.0.0.1:{free_ports(1)[0]}/v1", patience=0.5)

    def store(self, url: str, name: str = "vs_1", patience: float = 60.0) -> LostFiles:
        client = client_from({"OPENAI_API_KEY": "k"}, url)
        return OpenAIFiles(client, name, bounds=Bounds(patience=patience), own=True)


class TestByASynchronousClient(TestByAnAsynchronousClient):
    @pytest.fixture(autouse=True)
    def _clients(self) -> Iterator[None]:
        self.made: list[OpenAI] = []
        yield
        for client in self.made:
            client.close()

    def store(self, url: str, name: str = "vs_1", patience: float = 60.0) -> LostFiles:
        self.made.append(OpenAI(api_key="k", base_url=url))
        return OpenAIFiles(self.made[-1], name, bounds=Bounds(patience=patience))


@pytest.mark.parametrize("store", ["", " ", "..", ".", "vs_\udcff"])
def test_what_is_no_id_of_a_store_is_refused(store: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a vector store id"):
        OpenAIFiles(AsyncOpenAI(api_key="k"), store)


AZURE = {
    "AZURE_OPENAI_ENDPOINT": "https://example.openai.azure.com",
    "AZURE_OPENAI_API_KEY": "k",
    "OPENAI_API_VERSION": "2025-04-01-preview",
}


@pytest.mark.parametrize(
    ("environment", "url", "azure", "base"),
    [
        ({"OPENAI_API_KEY": "k"}, None, False, "https://api.openai.com/v1/"),
        (
            {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://host:1/v1"},
            None,
            False,
            "http://host:1/v1/",
        ),
        ({"OPENAI_BASE_URL": "http://host:1/v1"}, "http://here:2/v1", False, "http://here:2/v1/"),
        (AZURE, None, True, "https://example.openai.azure.com/openai/"),
        (AZURE, "https://new.azure.com/openai/v1", True, "https://new.azure.com/openai/v1/"),
    ],
)
def test_the_usual_variables_say_where_a_store_is(
    environment: dict[str, str],
    url: str | None,
    base: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    azure: bool,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", *AZURE):
        monkeypatch.delenv(name, raising=False)
    assert str(client_from(environment, url, azure=azure).base_url) == base


@pytest.mark.parametrize(
    ("environment", "url", "azure", "says"),
    [
        ({}, None, False, "there is no key: set OPENAI_API_KEY"),
        ({}, "ftp://u:secret@host", False, "--base-url is not a server URL"),
        ({}, "http://[bad", False, "--base-url is not a server URL"),
        ({}, "http://h:999999", False, "--base-url is not a server URL"),
        ({}, "http://h:abc", False, "--base-url is not a server URL"),
        ({}, "http://", False, "--base-url is not a server URL"),
        ({"OPENAI_BASE_URL": "http://h:abc"}, None, False, "OPENAI_BASE_URL is not a server URL"),
        (
            {"AZURE_OPENAI_ENDPOINT": "http:/x"},
            None,
            True,
            "AZURE_OPENAI_ENDPOINT is not a server URL",
        ),
        ({}, None, True, "set AZURE_OPENAI_ENDPOINT"),
        ({"AZURE_OPENAI_ENDPOINT": "https://x.azure.com"}, None, True, "set OPENAI_API_VERSION"),
        ({**AZURE, "AZURE_OPENAI_API_KEY": ""}, None, True, "set AZURE_OPENAI_API_KEY"),
    ],
)
def test_what_is_missing_in_the_environment_is_named(
    environment: dict[str, str],
    url: str | None,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    azure: bool,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_AD_TOKEN", *AZURE):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InvalidSettingError, match=says) as raised:
        client_from(environment, url, azure=azure)
    assert "secret" not in str(raised.value)
