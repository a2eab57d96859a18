"""The remote embedder against a provider that misbehaves on demand, over real HTTP."""

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import numpy as np
import pytest

from adapters.embed.provider import (
    DIMENSIONS,
    KEY,
    Answer,
    Handler,
    Provider,
    cut,
    only_floats,
    provider,
    refuse,
    reply,
    right,
    vectors,
)
from gates import until
from unchunk.adapters.embed.attempts import Patience
from unchunk.adapters.embed.endpoints import Endpoint, azure, ollama, openai
from unchunk.adapters.embed.providers import RemoteModel
from unchunk.adapters.embed.remote import Load, RemoteEmbedder, learn
from unchunk.errors import (
    InvalidSettingError,
    ProviderRefusedError,
    ProviderUnavailableError,
    UnchunkError,
)
from unchunk.ports import Embedder, Vectors
from unchunk.testing.embedders import EmbedderContract

MODEL = RemoteModel("some-model", DIMENSIONS)
HASTY = Patience(attempts=4, timeout=60, deadline=120, first_wait=0.01, longest_wait=0.2)


@pytest.fixture
def fake() -> Iterator[Provider]:
    with provider() as running:
        yield running


def at(fake: Provider) -> Endpoint:
    return openai(f"{fake.url}/v1", MODEL.name, KEY)


def embed(
    fake: Provider,
    texts: list[str],
    *,
    model: RemoteModel = MODEL,
    load: Load | None = None,
    patience: Patience = HASTY,
) -> Vectors:
    async def ask() -> Vectors:
        embedder = RemoteEmbedder(at(fake), model, load=load, patience=patience)
        try:
            return await embedder.embed(texts, "document")
        finally:
            await embedder.close()

    return asyncio.run(ask())


def hang(fake: Provider) -> Answer:
    def answer(_: Handler, __: dict[str, Any]) -> None:
        fake.released.wait()

    return answer


def send(content: object) -> Answer:
    return lambda handler, _: reply(handler, 200, content)


class _OverHttp(EmbedderContract):
    answer: Answer = staticmethod(right)

    def endpoint(self, fake: Provider) -> Endpoint:
        return at(fake)

    def opened(self) -> AbstractAsyncContextManager[Embedder]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Embedder]:
        with provider() as fake:
            fake.plan.extend([type(self).answer] * 500)
            embedder = RemoteEmbedder(self.endpoint(fake), MODEL, patience=HASTY)
            try:
                yield embedder
            finally:
                await embedder.close()


class TestOpenAI(_OverHttp):
    pass


class TestServerWithoutBase64(_OverHttp):
    answer = staticmethod(only_floats)


class TestAzure(_OverHttp):
    def endpoint(self, fake: Provider) -> Endpoint:
        return azure(fake.url, "my deployment", KEY)


class TestOllama(_OverHttp):
    def endpoint(self, fake: Provider) -> Endpoint:
        return ollama(fake.url, MODEL.name, MODEL.max_tokens)


def test_vectors_come_as_the_provider_made_them_but_of_length_one(fake: Provider) -> None:
    texts = [f"text {number}" for number in range(20)]
    assert np.allclose(embed(fake, texts), vectors(texts), atol=1e-6)


def test_each_dialect_asks_as_its_server_expects(fake: Provider) -> None:
    async def ask(endpoint: Endpoint) -> None:
        embedder = RemoteEmbedder(endpoint, MODEL, patience=HASTY)
        await embedder.embed(["text"], "query")
        await embedder.close()

    asyncio.run(ask(openai(f"{fake.url}/v1/", "m", KEY, dimensions=DIMENSIONS)))
    asyncio.run(ask(azure(fake.url, "a/b", KEY, "2024-10-21", dimensions=DIMENSIONS)))
    asyncio.run(ask(ollama(fake.url, "m", 512)))
    asyncio.run(ask(openai(f"{fake.url}/v1", "m")))
    first, second, third, fourth = fake.requests
    assert first.path == "/v1/embeddings"
    assert first.headers["Authorization"] == f"Bearer {KEY}"
    assert first.body == {
        "model": "m",
        "input": ["text"],
        "encoding_format": "base64",
        "dimensions": DIMENSIONS,
    }
    assert second.path == "/openai/deployments/a%2Fb/embeddings?api-version=2024-10-21"
    assert second.headers["api-key"] == KEY
    assert "model" not in second.body
    assert third.path == "/api/embed"
    assert third.body == {
        "model": "m",
        "input": ["text"],
        "truncate": False,
        "options": {"num_ctx": 512},
    }
    assert "Authorization" not in third.headers
    assert "Authorization" not in fourth.headers


def test_a_server_that_knows_no_base64_is_asked_for_it_once(fake: Provider) -> None:
    fake.plan.extend([only_floats] * 10)
    rows = embed(fake, ["a", "b", "c"], load=Load(texts=1, requests=1))
    assert np.allclose(rows, vectors(["a", "b", "c"]), atol=1e-6)
    asked = ["encoding_format" in request.body for request in fake.requests]
    assert asked == [True, False, False, False]


def test_prefixes_go_before_texts_according_to_their_role(fake: Provider) -> None:
    model = RemoteModel("m", DIMENSIONS, document_prefix="doc: ", query_prefix="ask: ")

    async def ask() -> None:
        embedder = RemoteEmbedder(at(fake), model)
        await embedder.embed(["one"], "document")
        await embedder.embed(["two"], "query")
        await embedder.close()

    asyncio.run(ask())
    assert [request.body["input"] for request in fake.requests] == [["doc: one"], ["ask: two"]]


def test_requests_carry_no_more_texts_than_they_may(fake: Provider) -> None:
    embed(fake, [f"{number}" for number in range(10)], load=Load(texts=4, requests=1))
    assert fake.sizes == [4, 4, 2]


def test_requests_carry_no_more_tokens_than_they_may(fake: Provider) -> None:
    texts = ["x" * 40, "x" * 40, "x" * 500, "x"]
    embed(fake, texts, load=Load(tokens=100, requests=1))
    assert fake.sizes == [2, 1, 1]


def test_only_so_many_requests_run_side_by_side(fake: Provider) -> None:
    three = threading.Barrier(3, timeout=60)

    def slow(handler: Handler, body: dict[str, Any]) -> None:
        three.wait()
        fake.released.wait(0.05)
        right(handler, body)

    fake.plan.extend([slow] * 12)
    embed(fake, [f"{number}" for number in range(12)], load=Load(texts=1, requests=3))
    assert fake.most_running == 3


def test_trouble_that_passes_is_waited_out(fake: Provider) -> None:
    trouble = [refuse(500, {"error": "oops"}), refuse(503, b"<html>busy</html>"), cut]
    fake.plan.extend(trouble)
    assert np.allclose(embed(fake, ["text"]), vectors(["text"]), atol=1e-6)
    assert len(fake.requests) == 4


def test_a_wait_that_is_asked_for_is_kept(fake: Provider) -> None:
    fake.plan.append(refuse(429, {"error": {"message": "slow down"}}, Retry_After="0.15"))
    fake.plan.append(refuse(429, {"error": {"message": "slow down"}}, retry_after_ms="100"))
    begin = time.monotonic()
    embed(fake, ["text"])
    assert time.monotonic() - begin >= 0.25


def test_a_wait_that_is_too_long_is_reported_and_not_waited_for(fake: Provider) -> None:
    fake.plan.append(refuse(429, {"error": {"message": "come back"}}, Retry_After="3600"))
    with pytest.raises(ProviderUnavailableError, match="429: come back") as caught:
        embed(fake, ["text"])
    assert caught.value.retry_after == 3600
    assert len(fake.requests) == 1


def test_trouble_that_does_not_pass_is_reported_after_all_attempts(fake: Provider) -> None:
    fake.plan.extend([refuse(502, {"message": "no upstream"})] * 9)
    with pytest.raises(ProviderUnavailableError, match="502: no upstream"):
        embed(fake, ["text"])
    assert len(fake.requests) == HASTY.attempts


def test_all_attempts_together_end_at_the_deadline(fake: Provider) -> None:
    fake.plan.extend([refuse(503, {})] * 1000)
    patience = Patience(attempts=1000, deadline=2, first_wait=0.02, longest_wait=0.05)
    with pytest.raises(ProviderUnavailableError):
        embed(fake, ["text"], patience=patience)
    assert 2 <= len(fake.requests) < 500


def test_a_provider_that_hangs_is_given_up(fake: Provider) -> None:
    fake.plan.extend([hang(fake)] * 9)
    patience = Patience(attempts=2, timeout=1.5, deadline=60, first_wait=0.01)
    with pytest.raises(ProviderUnavailableError, match=r"did not answer within 1\.5 s"):
        embed(fake, ["text"], patience=patience)
    assert len(fake.requests) == 2


def test_a_provider_that_drips_is_given_up(fake: Provider) -> None:
    def drip(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not fake.released.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    fake.plan.extend([drip] * 9)
    patience = Patience(attempts=1, timeout=0.2, deadline=5)
    with pytest.raises(ProviderUnavailableError, match="did not answer"):
        embed(fake, ["text"], patience=patience)


def test_nobody_at_the_address_is_trouble_that_may_pass() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    embedder = RemoteEmbedder(openai(f"http://127.0.0.1:{port}/v1", "m"), MODEL, patience=HASTY)
    with pytest.raises(ProviderUnavailableError, match=f"127.0.0.1:{port}"):
        asyncio.run(embedder.embed(["text"], "query"))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "400: bad"),
        (401, "401: bad; check the key"),
        (403, "403: bad; check what the key may do"),
        (404, "404: bad; check the URL and the name of the model"),
        (301, "301: bad"),
    ],
)
def test_a_refusal_is_final_and_says_what_the_provider_said(
    fake: Provider, status: int, said: str
) -> None:
    fake.plan.extend([refuse(status, {"error": {"message": "bad"}})] * 9)
    with pytest.raises(ProviderRefusedError, match=said):
        embed(fake, ["text"])
    # Twice where it might have been base64 that was not understood.
    assert len(fake.requests) == (2 if status == 400 else 1)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_provider_that_takes_fewer_texts_at_once_is_sent_fewer(
    fake: Provider, status: int
) -> None:
    def at_most_ten(handler: Handler, body: dict[str, Any]) -> None:
        too_many = refuse(status, {"error": {"message": "at most 10 inputs"}})
        (right if len(body["input"]) <= 10 else too_many)(handler, body)

    fake.plan.extend([at_most_ten] * 99)
    texts = [f"text {number}" for number in range(48)]

    async def ask() -> list[Vectors]:
        embedder = RemoteEmbedder(at(fake), MODEL, patience=HASTY)
        try:
            first = await embedder.embed(texts, "document")
            known = len(fake.requests)
            again = await embedder.embed(texts, "document")
        finally:
            await embedder.close()
        assert max(fake.sizes[known:]) <= 10
        return [first, again]

    for rows in asyncio.run(ask()):
        np.testing.assert_allclose(rows, vectors(texts), atol=1e-5)


def test_what_is_wrong_with_any_text_is_not_asked_again_for_each(fake: Provider) -> None:
    """The name of a model, say: some providers answer that with 400."""
    fake.plan.extend([refuse(400, {"error": {"message": "no such model"}})] * 999)
    with pytest.raises(ProviderRefusedError, match="no such model"):
        embed(fake, [f"text {number}" for number in range(128)])
    # Each size is tried with and without base64.
    assert fake.sizes[::2] == [128, 64, 32, 16, 8, 4, 2, 1]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_is_no_matter_of_texts_is_refused_at_once(fake: Provider, status: int) -> None:
    fake.plan.extend([refuse(status, {"error": {"message": "no"}})] * 9)
    with pytest.raises(ProviderRefusedError, match=f"answered {status}"):
        embed(fake, ["one", "two", "three"])
    assert fake.sizes == [3]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"error": "model not found"}, "model not found"),
        ({"detail": "field required"}, "field required"),
        (b"<h1>Forbidden</h1>", "<h1>Forbidden</h1>"),
        (b"", "Forbidden"),
        (["odd"], "['odd']"),
        ({"error": {"message": "x" * 5000}}, "x" * 300 + "…"),
    ],
)
def test_the_provider_s_words_are_found_in_every_usual_place(
    fake: Provider, content: object, said: str
) -> None:
    fake.plan.append(refuse(403, content))
    with pytest.raises(ProviderRefusedError) as caught:
        embed(fake, ["text"])
    assert f"403: {said};" in str(caught.value)


def test_a_budget_that_is_used_up_is_no_rush(fake: Provider) -> None:
    error = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    fake.plan.extend([refuse(429, error)] * 9)
    with pytest.raises(ProviderRefusedError, match="exceeded your quota"):
        embed(fake, ["text"])
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<html>welcome</html>", "cannot be read"),
        (["nothing"], "there are no vectors in it"),
        ({"data": "nothing"}, "there are no vectors in it"),
        ({"data": [{"index": 5, "embedding": [1.0]}]}, "not where or what"),
        ({"data": [{"index": 0}]}, "not where or what"),
        ({"data": ["row"]}, "not where or what"),
        ({"data": [{"embedding": "no base64!"}]}, "not where or what"),
        ({"embeddings": [["a"]]}, "not where or what"),
        ({"embeddings": [[[1.0]]]}, "not where or what"),
        ({"embeddings": [[1.0], [1.0, 2.0]]}, "differ in length"),
        ({"embeddings": []}, "gave 0 vectors for 1 texts"),
        ({"embeddings": [[1.0] * DIMENSIONS] * 2}, "gave 2 vectors for 1 texts"),
        ({"embeddings": [[1.0, 2.0]]}, f"of 2 dimensions.*have {DIMENSIONS}"),
        ({"embeddings": [[0.0] * DIMENSIONS]}, "without a length"),
        (b'{"embeddings": [[NaN' + b", 1" * (DIMENSIONS - 1) + b"]]}", "without a length"),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused(
    fake: Provider, content: object, said: str
) -> None:
    fake.plan.append(send(content))
    with pytest.raises(ProviderRefusedError, match=said):
        embed(fake, ["text"])


def test_one_failed_request_stops_the_others(fake: Provider) -> None:
    fake.plan.append(refuse(401, {"error": {"message": "who?"}}))
    fake.plan.extend([hang(fake)] * 3)
    begin = time.monotonic()
    with pytest.raises(ProviderRefusedError, match="who"):
        embed(fake, [f"{number}" for number in range(50)], load=Load(texts=1, requests=4))
    assert time.monotonic() - begin < HASTY.timeout
    assert len(fake.requests) <= 8


def test_no_key_is_ever_shown(fake: Provider, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    spoken = {"error": {"message": f"Incorrect key: {KEY}, or sk-proj-****************1234"}}
    fake.plan.append(refuse(401, spoken))
    with pytest.raises(ProviderRefusedError) as caught:
        embed(fake, ["text"])
    assert "Incorrect key: ***, or ***" in str(caught.value)
    endpoint = openai(f"http://user:{KEY}@127.0.0.1/v1?k={KEY}", "m", KEY)
    embedder = RemoteEmbedder(endpoint, MODEL)
    shown = (str(caught.value), caplog.text, repr(endpoint), repr(embedder), endpoint.where)
    assert not [text for text in shown if KEY in text]
    assert not [text for text in shown if "1234" in text]


def test_dimensions_that_are_not_known_are_learned(fake: Provider) -> None:
    unknown = RemoteModel("m")
    with pytest.raises(InvalidSettingError, match="dimensions of 'm' are not known"):
        RemoteEmbedder(at(fake), unknown)

    async def ask() -> tuple[int, Vectors]:
        embedder = await learn(at(fake), unknown, patience=HASTY)
        try:
            return embedder.identity.dimensions, await embedder.embed(["text"], "query")
        finally:
            await embedder.close()

    dimensions, rows = asyncio.run(ask())
    assert dimensions == DIMENSIONS
    assert rows.shape == (1, DIMENSIONS)
    fake.plan.append(send({"embeddings": []}))
    with pytest.raises(ProviderRefusedError, match="0 vectors for one text"):
        asyncio.run(ask())


def test_a_text_beyond_the_limit_is_cut_where_its_tokens_can_be_told(fake: Provider) -> None:
    model = RemoteModel("m", DIMENSIONS, max_tokens=50, encoding="cl100k_base")
    embed(fake, ["word " * 500, "short"], model=model)
    long, short = fake.requests[0].body["input"]
    embedder = RemoteEmbedder(at(fake), model)
    assert 30 < embedder.count_tokens([long])[0] <= 50
    assert short == "short"


def test_tokens_are_exact_for_a_known_encoding_and_never_too_few_for_others() -> None:
    endpoint = openai("http://127.0.0.1/v1", "m")
    exact = RemoteEmbedder(endpoint, RemoteModel("m", 8, encoding="cl100k_base"))
    assert exact.count_tokens(["hello world", "tokenization is fun"]) == [2, 4]
    bound = RemoteEmbedder(endpoint, RemoteModel("m", 8, document_prefix="doc: "))
    # U+FDFA is three bytes, and eighteen characters to a tokenizer that normalises.
    assert bound.count_tokens(["abc", "日本", "\ufdfa"])[:2] == [12, 15]
    assert bound.count_tokens(["\ufdfa"])[0] > 33


def test_an_embedder_can_be_cancelled_while_it_waits(fake: Provider) -> None:
    fake.plan.extend([refuse(503, {}, Retry_After="30")] * 5)

    async def scene() -> None:
        patience = Patience(longest_wait=60, deadline=100)
        embedder = RemoteEmbedder(at(fake), MODEL, patience=patience)
        asking = asyncio.create_task(embedder.embed(["text"], "query"))
        await until(lambda: bool(fake.requests) and not fake.running)
        await asyncio.sleep(0.1)  # the answer is on its way, and then it waits
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await embedder.close()

    asyncio.run(scene())
    assert len(fake.requests) == 1


def test_errors_are_ours_whatever_the_provider_sends(fake: Provider) -> None:
    junk = [b"", b"null", b"\xff\xfe", b"[" * 5000, json.dumps({"data": None}).encode(), b"1e999"]
    for content in junk:
        fake.plan.append(send(content))
        with pytest.raises(UnchunkError):
            embed(fake, ["text"])
