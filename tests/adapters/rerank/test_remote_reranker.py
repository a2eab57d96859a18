"""The remote reranker against a server that misbehaves on demand, over real HTTP."""

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from adapters.rerank.rerank_server import (
    CUT,
    KEY,
    Answer,
    Handler,
    Server,
    cut,
    refuse,
    reply,
    running,
    score,
)
from unchunk.adapters.rerank.remote import Patience, RemoteReranker
from unchunk.errors import (
    InvalidSettingError,
    InvalidTextError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.ports import Reranker
from unchunk.testing.rerankers import RerankerContract

HASTY = Patience(attempts=4, timeout=5, deadline=20, first_wait=0.01)
QUESTION = "Where does the pilot board?"
TEXTS = ["The pilot will board at the buoy.", "Bread rises.", "The pilot sleeps."]


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as started:
        yield started


def rerank(
    server: Server, texts: list[str], *, patience: Patience = HASTY, max_characters: int = CUT
) -> list[float]:
    async def ask() -> list[float]:
        reranker = RemoteReranker(
            f"{server.url}/v1", "some-model", KEY, patience=patience, max_characters=max_characters
        )
        try:
            return await reranker.rerank(QUESTION, texts)
        finally:
            await reranker.close()

    return asyncio.run(ask())


def send(*scores: object) -> Answer:
    rows = [{"index": at, "relevance_score": each} for at, each in enumerate(scores)]
    return lambda handler, _: reply(handler, 200, {"results": rows})


class TestOverHttp(RerankerContract):
    def opened(self) -> AbstractAsyncContextManager[Reranker]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Reranker]:
        with running() as server:
            reranker = RemoteReranker(server.url, "some-model", patience=HASTY)
            try:
                yield reranker
            finally:
                await reranker.close()


def test_scores_are_the_server_s_in_the_order_of_the_texts(server: Server) -> None:
    assert rerank(server, TEXTS) == [score(QUESTION, text) for text in TEXTS]


def test_it_asks_as_cohere_and_jina_expect(server: Server) -> None:
    rerank(server, TEXTS)
    (request,) = server.requests
    assert request.path == "/v1/rerank"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "some-model",
        "query": QUESTION,
        "documents": TEXTS,
        "top_n": 3,
    }


@pytest.mark.parametrize("end", ["", "/", "/rerank", "/rerank/"])
def test_a_url_may_be_given_with_its_end_or_without_and_a_key_need_not_be(
    server: Server, end: str
) -> None:
    reranker = RemoteReranker(f"{server.url}/v2{end}", "m", patience=HASTY)

    async def ask() -> None:
        await reranker.rerank(QUESTION, TEXTS)
        await reranker.close()

    asyncio.run(ask())
    assert server.requests[0].path == "/v2/rerank"
    assert "Authorization" not in server.requests[0].headers


def test_scores_without_bounds_are_brought_between_0_and_1(server: Server) -> None:
    server.plan.append(send(-2.0, 0.5, 3.0, -10_000, 10_000))
    scores = rerank(server, ["a", "b", "c", "d", "e"])
    assert [round(each, 4) for each in scores] == [0.1192, 0.6225, 0.9526, 0.0, 1.0]


def test_a_text_that_is_too_long_goes_in_parts_and_counts_as_its_best(server: Server) -> None:
    filling = "Bread rises. " * 1000
    long = filling + TEXTS[0] + filling
    scores = rerank(server, [TEXTS[2], long, TEXTS[1]])
    assert scores == [score(QUESTION, text) for text in (TEXTS[2], TEXTS[0], TEXTS[1])]
    (request,) = server.requests
    first, *parts, last = request.body["documents"]
    assert (first, last) == (TEXTS[2], TEXTS[1])
    assert all(len(part) <= CUT and part in long for part in parts)
    assert request.body["top_n"] == len(parts) + 2


def test_how_long_is_too_long_can_be_told(server: Server) -> None:
    rerank(server, ["x" * 250], max_characters=100)
    assert [len(part) for part in server.requests[0].body["documents"]] == [100, 100, 70]


def test_nothing_is_asked_about_blank_texts(server: Server) -> None:
    assert rerank(server, ["", " \n"]) == [0.0, 0.0]
    assert not server.requests
    assert rerank(server, ["", TEXTS[0]])[0] == 0
    assert server.requests[0].body["documents"] == [TEXTS[0]]


def test_what_is_no_text_is_refused(server: Server) -> None:
    with pytest.raises(InvalidTextError):
        rerank(server, [b"bytes"])  # type: ignore[list-item]  # the mistake on trial
    assert not server.requests


def test_trouble_that_passes_is_waited_out(server: Server) -> None:
    server.plan.extend([refuse(500, {"error": "oops"}), refuse(503, b"<html>busy</html>"), cut])
    assert rerank(server, TEXTS) == [score(QUESTION, text) for text in TEXTS]
    assert len(server.requests) == 4


def test_a_wait_that_is_asked_for_is_kept(server: Server) -> None:
    server.plan.append(refuse(429, {"message": "slow down"}, Retry_After="1"))
    begin = time.monotonic()
    rerank(server, TEXTS)
    assert time.monotonic() - begin >= 1


def test_a_wait_that_is_too_long_is_reported_and_not_waited_for(server: Server) -> None:
    server.plan.append(refuse(429, {"message": "come back"}, Retry_After="3600"))
    with pytest.raises(ProviderUnavailableError, match="429: come back") as caught:
        rerank(server, TEXTS)
    assert caught.value.retry_after == 3600
    assert len(server.requests) == 1


def test_a_wait_that_is_not_clear_is_ours_to_choose(server: Server) -> None:
    server.plan.append(refuse(429, {}, Retry_After="tomorrow"))
    assert len(rerank(server, TEXTS)) == 3


def test_trouble_that_does_not_pass_is_reported_after_all_attempts(server: Server) -> None:
    server.plan.extend([refuse(502, {"message": "no upstream"})] * 9)
    with pytest.raises(ProviderUnavailableError, match="502: no upstream"):
        rerank(server, TEXTS)
    assert len(server.requests) == HASTY.attempts


def test_all_attempts_together_end_at_the_deadline(server: Server) -> None:
    server.plan.extend([refuse(503, {})] * 1000)
    begin = time.monotonic()
    with pytest.raises(ProviderUnavailableError):
        rerank(server, TEXTS, patience=Patience(attempts=1000, deadline=0.5, first_wait=0.05))
    assert time.monotonic() - begin < 30


def test_a_server_that_hangs_is_given_up(server: Server) -> None:
    def hang(_: Handler, __: dict[str, Any]) -> None:
        server.released.wait(30)

    server.plan.extend([hang] * 9)
    patience = Patience(attempts=2, timeout=0.5, deadline=30, first_wait=0.01)
    with pytest.raises(ProviderUnavailableError, match=r"did not answer within 0\.5 s"):
        rerank(server, TEXTS, patience=patience)
    assert len(server.requests) == 2


def test_nobody_at_the_address_is_trouble_that_may_pass() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    reranker = RemoteReranker(f"http://127.0.0.1:{port}", "m", patience=HASTY)
    with pytest.raises(ProviderUnavailableError, match=f"127.0.0.1:{port}"):
        asyncio.run(reranker.rerank(QUESTION, TEXTS))


@pytest.mark.parametrize(
    ("status", "said", "about_text"),
    [
        (400, "400: bad", True),
        (413, "413: bad", True),
        (422, "422: bad", True),
        (401, "401: bad; check the key", False),
        (403, "403: bad; check what the key may do", False),
        (404, "404: bad; check the URL and the name of the model", False),
        (301, "301: bad", False),
    ],
)
def test_a_refusal_is_final_and_says_what_the_server_said(
    server: Server, status: int, said: str, about_text: bool
) -> None:
    server.plan.extend([refuse(status, {"message": "bad"})] * 9)
    with pytest.raises(ProviderRefusedError, match=said) as caught:
        rerank(server, TEXTS)
    assert caught.value.about_text is about_text
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"error": "model not found"}, "model not found"),
        ({"error": {"message": "no such model"}}, "no such model"),
        ({"detail": "field required"}, "field required"),
        (b"<h1>Forbidden</h1>", "<h1>Forbidden</h1>"),
        (b"", "Forbidden"),
        (["odd"], "['odd']"),
        ({"message": "x" * 5000}, "x" * 300 + "…"),
    ],
)
def test_the_server_s_words_are_found_in_every_usual_place(
    server: Server, content: object, said: str
) -> None:
    server.plan.append(refuse(403, content))
    with pytest.raises(ProviderRefusedError) as caught:
        rerank(server, TEXTS)
    assert f"403: {said};" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"<html>welcome</html>",
        ["nothing"],
        {"data": []},
        {"results": None},
        {"results": []},
        {"results": ["row"]},
        {"results": [{"index": 0}]},
        {"results": [{"index": 0, "relevance_score": "much"}]},
        {"results": [{"index": 0, "relevance_score": None}]},
        {"results": [{"index": 1, "relevance_score": 0.5}]},
        {"results": [{"index": 0, "relevance_score": 0.5}] * 2},
        b'{"results": [{"index": 0, "relevance_score": NaN}]}',
    ],
)
def test_an_answer_that_makes_no_sense_is_refused(server: Server, content: object) -> None:
    server.plan.append(lambda handler, _: reply(handler, 200, content))
    with pytest.raises(ProviderRefusedError, match="cannot be read"):
        rerank(server, TEXTS[:1])


def test_no_key_is_ever_shown(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.plan.append(refuse(401, {"message": f"Wrong key: {KEY}, or sk-proj-********1234"}))
    with pytest.raises(ProviderRefusedError, match=r"Wrong key: \*\*\*, or \*\*\*") as caught:
        rerank(server, TEXTS)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"http://user:{KEY}@127.0.0.1:{port}/v1?k={KEY}"
    reranker = RemoteReranker(url, "m", KEY, patience=HASTY)
    with pytest.raises(ProviderUnavailableError) as unreachable:
        asyncio.run(reranker.rerank(QUESTION, TEXTS))
    shown = (str(caught.value), str(unreachable.value), caplog.text, repr(reranker))
    assert not [text for text in shown if "1234" in text]


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1", "ftp://host", "http://", "http://[", "http://a:b"]
)
def test_a_url_that_is_none_is_an_error_of_the_settings(url: str) -> None:
    with pytest.raises(InvalidSettingError, match="the reranker's URL"):
        RemoteReranker(url, "m")


@pytest.mark.parametrize("key", ["se cret", "secret\n", "geheimer-schlüssel"])
def test_a_key_that_can_be_none_is_an_error_of_the_settings(key: str) -> None:
    with pytest.raises(InvalidSettingError, match="the reranker's key") as caught:
        RemoteReranker("http://127.0.0.1", "m", key)
    assert key not in str(caught.value)
