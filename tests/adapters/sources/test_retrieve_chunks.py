"""Document 002's adapter: chunks where there are some, and a chat that goes on where there are none."""

import asyncio
import json
import logging
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import servers
from adapters.sources import stores
from unchunk.wiring.chunkenizer import retrieve_chunks

RESULTS: list[stores.Payload] = [
    {
        "document_id": "550e8400-e29b-41d4-a716-446655440000",
        "document_name": "tides.txt",
        "chunk_index": index,
        "chunk_text": text,
        "token_count": 4,
        "metadata": {"team": "blue"},
    }
    for index, text in enumerate(("the tide comes in", "the lamp is lit", "a rope and a sail"))
]
UNAVAILABLE = "Chunkenizer API unavailable, skipping RAG"
INVALID = "Invalid response from Chunkenizer"


@pytest.fixture(autouse=True)
def _informed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "unchunk")


@pytest.fixture
def kept() -> stores.Chunkenizer:
    return stores.Chunkenizer(RESULTS)


@pytest.fixture
def url(kept: stores.Chunkenizer) -> Iterator[str]:
    with stores.chunkenizer(kept) as address:
        yield address


def retrieved(url: str | None, query: str = "the tide", **more: Any) -> list[dict[str, object]]:  # noqa: ANN401 passed on
    return asyncio.run(retrieve_chunks(query, base_url=url, **more))


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    return [(one.levelno, one.getMessage()) for one in caplog.records]


def test_retrieve_chunks_returns_the_format_of_document_002(
    kept: stores.Chunkenizer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = retrieved(f"{url}/", top_k=2)
    assert kept.asked == [{"query": "the tide", "top_k": 2, "filters": None}]
    assert len(found) == 2
    assert found[0] == {
        "chunk_text": "the tide comes in",
        "document_id": "550e8400-e29b-41d4-a716-446655440000",
        "chunk_index": 0,
        "score": found[0]["score"],
        "metadata": {"team": "blue"},
    }
    assert isinstance(found[0]["score"], float)
    [(level, said)] = logged(caplog)
    assert level == logging.INFO
    assert "top_k=2 retrieval_time_ms=" in said
    assert said.endswith("chunks=2")


def test_that_the_server_refuses_so_many_is_logged(
    kept: stores.Chunkenizer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept.most = 20
    assert len(retrieved(url, top_k=30)) == 3
    said = "Chunkenizer refuses large searches: it was asked for 20 chunks instead of 30"
    assert (logging.WARNING, said) in logged(caplog)


def test_five_are_asked_for_where_nothing_is_said(kept: stores.Chunkenizer, url: str) -> None:
    assert len(retrieved(url)) == 3
    assert kept.asked[0]["top_k"] == 5


def test_the_address_comes_from_the_environment(
    kept: stores.Chunkenizer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHUNKENIZER_API_URL", url)
    assert retrieved(None)
    (port,) = servers.free_ports(1)
    assert not retrieved(f"http://127.0.0.1:{port}")
    assert len(kept.asked) == 1


def test_without_any_address_it_is_the_usual_one(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHUNKENIZER_API_URL", "")
    retrieved(None, within=0.5)
    [(_, said), *_] = logged(caplog)
    # Unless somebody listens there.
    assert "http://localhost:8000" in said or "unks" in said


def test_a_server_that_is_down_is_unavailable(caplog: pytest.LogCaptureFixture) -> None:
    (port,) = servers.free_ports(1)
    assert retrieved(f"http://127.0.0.1:{port}") == []
    [(level, said)] = logged(caplog)
    assert level == logging.WARNING
    assert said.startswith(UNAVAILABLE)


def test_a_server_that_is_slow_is_unavailable(
    kept: stores.Chunkenizer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept.delay.clear()
    assert retrieved(url, within=0.2) == []
    kept.delay.set()
    [(level, said)] = logged(caplog)
    assert level == logging.WARNING
    assert said.startswith(UNAVAILABLE)
    assert "did not answer within 0.2 s" in said


@contextmanager
def saying(data: bytes) -> Iterator[str]:
    """The address of somebody who says this to the first who calls, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            caller, _ = server.accept()
            with caller:
                caller.recv(65536)
                caller.sendall(data)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"results": [',
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
    ],
)
def test_what_does_not_speak_http_to_its_end_is_unavailable(
    data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with saying(data) as url:
        assert retrieved(url, within=5) == []
    assert logged(caplog)[0][1].startswith(UNAVAILABLE)


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_server_in_trouble_is_unavailable(
    kept: stores.Chunkenizer, url: str, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    kept.trick = status, b'{"detail": "no index"}'
    assert retrieved(url) == []
    [(level, said)] = logged(caplog)
    assert level == logging.WARNING
    assert said.startswith(UNAVAILABLE)
    assert str(status) in said


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html><body>Welcome</body></html>"),
        (200, b"\xff\xfe"),
        (200, b"[" * 100_000),
        (200, b"[]"),
        (200, b"null"),
        (200, b'{"results": "none"}'),
        (200, b'{"results": [1, 2]}'),
        (200, b'{"detail": "ok"}'),
        (404, b'{"detail":"Not Found"}'),
        (422, b'{"detail":[]}'),
        (301, b""),
    ],
)
def test_an_answer_that_is_none_is_an_error_with_its_details(
    kept: stores.Chunkenizer, url: str, caplog: pytest.LogCaptureFixture, answer: tuple[int, bytes]
) -> None:
    kept.trick = answer
    assert retrieved(url) == []
    [(level, said)] = logged(caplog)
    assert level == logging.ERROR
    assert said.startswith(f"{INVALID}, skipping RAG: ")
    assert "check the URL" in said


def test_odd_results_are_left_out_and_said(
    kept: stores.Chunkenizer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    good = {"score": 1} | RESULTS[0]
    odd: list[stores.Payload] = [
        good | {"score": None},
        good | {"score": float("nan")},
        good | {"score": 10**400},
        good | {"score": True},
        good | {"chunk_text": 7},
        good | {"chunk_index": "3"},
        good | {"chunk_index": True},
        good | {"document_id": ""},
        good | {"document_id": None},
        {},
    ]
    answer = {"results": [*odd, good | {"metadata": None}]}
    kept.trick = 200, json.dumps(answer).encode()
    [only] = retrieved(url)
    assert only["score"] == 1.0
    assert only["metadata"] == {}
    assert logged(caplog)[0][0] == logging.ERROR
    assert f"{INVALID}: 10 of 11 results" in logged(caplog)[0][1]
    kept.trick = 200, json.dumps({"results": odd}).encode()
    assert retrieved(url) == []


def test_nothing_found_is_said(
    kept: stores.Chunkenizer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept.trick = 200, b'{"query": "q", "results": [], "total_results": 0}'
    assert retrieved(url) == []
    assert logged(caplog)[0] == (logging.INFO, "No chunks found for query")


def test_a_server_that_gives_too_many_is_cut(kept: stores.Chunkenizer, url: str) -> None:
    kept.trick = 200, json.dumps({"results": [{"score": 1} | one for one in RESULTS]}).encode()
    assert [one["chunk_index"] for one in retrieved(url, top_k=2)] == [0, 1]


def test_nothing_is_asked_where_nothing_is_wanted(kept: stores.Chunkenizer, url: str) -> None:
    assert retrieved(url, " \n") == retrieved(url, top_k=0) == retrieved(url, top_k=-1) == []
    assert kept.asked == []


def test_words_that_cannot_be_written_are_replaced(kept: stores.Chunkenizer, url: str) -> None:
    assert retrieved(url, "the \ud800 tide")
    assert kept.asked[0]["query"] == "the ? tide"


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", "http://[::1", "x y"])
def test_what_is_no_address_is_an_error_in_the_log_and_gives_nothing(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert retrieved(url) == []
    [record] = caplog.records
    assert record.levelname == "ERROR"
    assert re.search(r"is not a (server )?URL", record.getMessage())


def test_many_at_once_get_each_their_own(url: str) -> None:
    async def scene() -> None:
        words = [str(one["chunk_text"]) for one in RESULTS] * 10
        found = await asyncio.gather(*(retrieve_chunks(it, 1, url) for it in words))
        assert [one["chunk_text"] for [one] in found] == words

    asyncio.run(scene())


def test_no_client_is_imported_before_it_is_needed() -> None:
    code = "import sys, unchunk.wiring.chunkenizer as it; print('httpx2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
