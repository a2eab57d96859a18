"""A given client's `max_retries` and `timeout` hold for each request that is made with it."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from openai import AsyncAzureOpenAI, AsyncOpenAI, AzureOpenAI, OpenAI, Timeout

from recovery.vector_stores import Exchange, Held, VectorStores, refusing
from unchunk import (
    RAGTextRetrievalParams,
    get_all_vector_store_file_contents,
    get_vector_store_file_content,
    retrieve_and_reconstruct_files,
)
from unchunk.errors import ProviderUnavailableError

STORE = "vs_1"
CLIENTS = pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI, AzureOpenAI, AsyncAzureOpenAI])
# Far more than the tries of a test take, and far less than our own patience.
_SOON = 30.0


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def client(kind: type[Any], root: str, **options: Any) -> Any:  # noqa: ANN401 - of that kind
    azure = {"azure_endpoint": root, "api_version": "2025-04-01-preview"}
    where = (
        azure if issubclass(kind, AzureOpenAI | AsyncAzureOpenAI) else {"base_url": f"{root}/v1"}
    )
    return kind(api_key="k", **where, **options)


def retrieved(client: Any, output: Path) -> object:  # noqa: ANN401 - any of the clients
    return retrieve_and_reconstruct_files(client, RAGTextRetrievalParams(STORE, [], str(output)))


@CLIENTS
@pytest.mark.parametrize("retries", [0, 1])
def test_so_many_requests_are_made_as_the_client_allows(
    server: VectorStores, tmp_path: Path, kind: type[Any], retries: int
) -> None:
    server.put(STORE, Held("file-1", "a.md", "text"))
    server.faults.append(("/vector_stores", refusing(503, "away")))
    with pytest.raises(ProviderUnavailableError, match="answered 503: away; tried"):
        retrieved(client(kind, server.root, max_retries=retries), tmp_path / "output")
    assert len(server.seen) == retries + 1


@CLIENTS
@pytest.mark.parametrize("timeout", [0.2, Timeout(9.0, read=0.2)], ids=["seconds", "read"])
def test_an_answer_is_waited_for_as_long_as_the_client_does(
    silent: str, tmp_path: Path, kind: type[Any], timeout: object
) -> None:
    began = monotonic()
    with pytest.raises(ProviderUnavailableError, match=r"no answer from .*; tried once"):
        retrieved(client(kind, silent, max_retries=0, timeout=timeout), tmp_path / "output")
    assert monotonic() - began < _SOON


@pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI])
@pytest.mark.parametrize(
    "call",
    [
        lambda it: get_vector_store_file_content(it, STORE, "file-1"),
        lambda it: get_all_vector_store_file_contents(it, STORE),
    ],
    ids=["one file", "all files"],
)
def test_the_functions_for_chunks_keep_to_it_too(
    silent: str, kind: type[Any], call: Callable[[Any], object]
) -> None:
    with pytest.raises(ProviderUnavailableError, match="tried once"):
        call(client(kind, silent, max_retries=0, timeout=0.2))


@pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI])
def test_a_client_with_retries_gets_over_a_failure_and_a_reply_that_breaks_off(
    server: VectorStores, tmp_path: Path, kind: type[Any]
) -> None:
    server.put(STORE, Held("file-1", "a.md", "hello"))

    def break_off(exchange: Exchange) -> None:
        server.faults.pop()
        exchange.begin(200, content_type="application/json", content_length="1000")
        exchange.wfile.write(b'{"data": [')
        exchange.close_connection = True

    server.faults.append(("/content", break_off))
    assert retrieved(client(kind, server.root, max_retries=1), tmp_path)
    assert server.count("/content") == 2


def test_a_longer_wait_than_the_client_would_accept_ends_the_call(
    server: VectorStores, tmp_path: Path
) -> None:
    server.faults.append(("/vector_stores", refusing(429, "come back later", retry_after="3600")))
    with pytest.raises(ProviderUnavailableError, match="come back later; tried once") as raised:
        retrieved(client(OpenAI, server.root, max_retries=5), tmp_path / "output")
    assert raised.value.retry_after == 3600


def test_a_file_that_hangs_is_left_out_and_the_others_come_back(
    server: VectorStores, tmp_path: Path
) -> None:
    server.put(STORE, Held("file-1", "a.md", "hello"), Held("file-2", "b.md", "good bye"))
    over = threading.Event()

    def hang(exchange: Exchange) -> None:
        over.wait(_SOON)
        exchange.close_connection = True

    server.faults.append(("file-1/content", hang))
    names: list[str] = []
    params = RAGTextRetrievalParams(STORE, [], str(tmp_path))
    try:
        with client(OpenAI, server.root, max_retries=0, timeout=0.3) as given:
            # On a busy machine, what does not hang may take as long: then it is asked again.
            for _ in range(100):
                with suppress(ProviderUnavailableError):
                    done = retrieve_and_reconstruct_files(given, params)
                    names = [one.filename for one in done]
                if names:
                    break
    finally:
        over.set()
    assert names == ["b.md"]
