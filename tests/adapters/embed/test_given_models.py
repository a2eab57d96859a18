"""Embedding models that a caller brings: what they may return, and how they fail."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest
from qdrant_client import QdrantClient, models

import unchunk
from unchunk.adapters.embed.given import embedder_over, sparse_query
from unchunk.domain import Terms
from unchunk.errors import InvalidInputError, ProviderUnavailableError
from unchunk.ports import Vectors

Model = Callable[[list[str]], Any]
ROWS = [[1.0, 2.0], [3.0, 4.0]]


def embedded(model: object, after: list[str] | None = None) -> Vectors:
    async def work() -> Vectors:
        embedder = await embedder_over(model, 0.5)
        return await embedder.embed(after or ["a", "b"], "document")

    return asyncio.run(work())


def generator(texts: list[str]) -> Iterator[list[float]]:
    yield from ROWS[: len(texts)]


async def asynchronous_generator(texts: list[str]) -> AsyncIterator[list[float]]:
    for row in ROWS[: len(texts)]:
        yield row


async def asynchronous_map(texts: list[str]) -> Iterator[Any]:
    return map(np.asarray, ROWS[: len(texts)])


class Embeds:
    """As fastembed has it, but asynchronous."""

    def embed(self, texts: list[str]) -> AsyncIterator[list[float]]:
        return asynchronous_generator(texts)


@pytest.mark.parametrize(
    "model",
    [
        lambda texts: ROWS[: len(texts)],
        lambda texts: tuple(np.asarray(row) for row in ROWS[: len(texts)]),
        lambda texts: np.asarray(ROWS[: len(texts)]),
        lambda texts: map(tuple, ROWS[: len(texts)]),
        lambda texts: iter(ROWS[: len(texts)]),
        generator,
        asynchronous_generator,
        asynchronous_map,
        Embeds(),
    ],
)
def test_vectors_may_come_in_a_list_an_array_or_one_by_one(model: object) -> None:
    assert embedded(model).tolist() == ROWS


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ([[1.0, 2.0], [3.0]], "cannot be read as vectors"),
        ("no", "returned str that cannot be read"),
        ([{"embedding": [1.0]}] * 2, "one vector of numbers for each text"),
        ({"embedding": [1.0]}, "returned dict that cannot be read"),
        ([["x", "y"]] * 2, "cannot be read as vectors"),
        (None, "has to return one vector for each text"),
        (np.zeros((3, 2)), r"shape \(3, 2\) for a list of 2 texts"),
        ([[float("nan"), 1.0]] * 2, "not finite"),
        ([[1.0, float("inf")]] * 2, "not finite"),
    ],
)
def test_what_is_no_vectors_is_refused_with_what_has_to_be_returned(
    returned: object, says: str
) -> None:
    def model(texts: list[str]) -> object:
        return ROWS[:1] if len(texts) == 1 else returned

    with pytest.raises(InvalidInputError, match=rf"embedding model 'model'.*{says}"):
        embedded(model)


def test_a_sparse_model_may_yield_and_is_refused_what_is_no_sparse_vector() -> None:
    class Sparse:
        indices, values = np.asarray([7, 3]), np.asarray([0.5, 1.0])

    def yields(_: list[str]) -> Iterator[Sparse]:
        yield Sparse()

    class Uneven(Sparse):
        values = np.asarray([0.5])

    asked = asyncio.run(sparse_query(yields, "question"))
    assert asked == Terms((3, 7), (1.0, 0.5))
    for wrong in ([], None, "no", [{"indices": [1]}], Uneven(), [[0.1, 0.2]]):
        with pytest.raises(InvalidInputError, match="one vector with indices and values"):
            asyncio.run(sparse_query(lambda _, found=wrong: found, "question"))


@pytest.fixture
def nobody() -> Iterator[str]:
    """The address of a port that refuses all connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def by_httpx(url: str) -> Model:
    return lambda texts: httpx.post(url, json=texts, trust_env=False).json()


def by_openai(url: str) -> Model:
    def embed(texts: list[str]) -> list[list[float]]:
        with openai.OpenAI(api_key="k", base_url=url, max_retries=0) as client:
            return [it.embedding for it in client.embeddings.create(model="m", input=texts).data]

    return embed


def by_asynchronous_openai(url: str) -> Model:
    async def embed(texts: list[str]) -> list[list[float]]:
        async with openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0) as client:
            found = await client.embeddings.create(model="m", input=texts)
        return [it.embedding for it in found.data]

    return embed


def overloaded(_: str) -> Model:
    def embed(_: list[str]) -> None:
        request = httpx.Request("POST", "http://embedder")
        httpx.Response(429, request=request).raise_for_status()

    return embed


@pytest.mark.parametrize("client", [by_httpx, by_openai, by_asynchronous_openai, overloaded])
def test_a_model_whose_provider_is_away_leaves_the_search_by_words(
    client: Callable[[str], Model], nobody: str
) -> None:
    away = client(nobody)
    is_away = False

    def model(texts: list[str]) -> object:
        return away(texts) if is_away else [[1.0, 0.0] for _ in texts]

    store = QdrantClient(":memory:")
    size = models.VectorParams(size=2, distance=models.Distance.COSINE)
    store.create_collection("c", size)
    payload = {"mongo_id": "m", "chunk_index": 0, "chunk_count": 1, "content": "the lamp is lit"}
    store.upsert("c", [models.PointStruct(id=1, vector=[1.0, 0.0], payload=payload)])
    retriever = unchunk.ChunkAwareRetriever(store, model)
    assert asyncio.run(retriever.search_with_context("lamp"))
    is_away = True
    [found] = asyncio.run(retriever.search_with_context("a lamp"))
    [note] = [one for one in found.notes if one.startswith("searched by words only")]
    assert "the embedding model 'model' does not answer: " in note
    with pytest.raises(ProviderUnavailableError):
        asyncio.run(unchunk.ChunkAwareRetriever(store, model).search_with_context("lamp"))


def test_a_mistake_in_a_model_is_raised_as_it_is(tmp_path: Path) -> None:
    def model(_: list[str]) -> object:
        return 1 / 0

    def behind_a_missing_file(texts: list[str]) -> object:
        try:
            return (tmp_path / "cache").read_text()
        except FileNotFoundError:
            return model(texts)

    for one in (model, behind_a_missing_file):
        with pytest.raises(ZeroDivisionError):
            embedded(one)
