"""Stores that are broken, or mean harm: a clear error, within bounds of time and memory."""

import asyncio
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from unchunk.adapters.sources.bounds import Bounds
from unchunk.adapters.sources.chroma_files import ChromaFiles
from unchunk.adapters.sources.fields import PAGES
from unchunk.adapters.sources.qdrant_files import QdrantFiles
from unchunk.errors import (
    IntegrityError,
    InvalidInputError,
    InvalidSettingError,
    NotFoundError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.ports import LostChunks, LostFile, LostFiles
from unchunk.wiring.rescue import collections

Reply = tuple[int, dict[str, str], bytes | Iterator[bytes]]


class Asked(NamedTuple):
    path: str
    body: dict[str, Any]

    @property
    def is_scroll(self) -> bool:
        return self.path.endswith("scroll")


Answer = Callable[[Asked], Reply]
SMALL = Bounds(reply=100_000, pages=50, patience=20.0)
HASTY = Bounds(reply=100_000, pages=50, patience=1.0, idle=0.2)


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are part of the tests."""


@contextmanager
def server(answer: Answer) -> Iterator[str]:
    """Answers each request with what `answer` makes of it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, data = answer(Asked(self.path, json.loads(body or b"{}")))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            pieces = iter([data]) if isinstance(data, bytes) else data
            length = len(data) if isinstance(data, bytes) else 1_000_000
            self.send_header("Content-Length", str(length))
            self.end_headers()
            for piece in pieces:
                self.wfile.write(piece)

        do_GET = do_POST = _reply  # noqa: N815 -- the base's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base's name
            pass

    with _Quiet(("127.0.0.1", 0), Handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{serving.server_address[1]}"
        finally:
            serving.shutdown()
            thread.join()


def always(reply: Reply) -> Answer:
    return lambda _: reply


def said(body: object) -> Reply:
    return 200, {}, json.dumps(body).encode()


def point(number: int, content: str = "x") -> dict[str, object]:
    return {"id": number, "payload": {"parent_id": "d", "chunk_index": number, "content": content}}


def scrolled(points: list[dict[str, object]], behind: object = None) -> Reply:
    return said({"result": {"points": points, "next_page_offset": behind}})


async def everything(store: LostFiles) -> list[tuple[LostFile, LostChunks]]:
    try:
        files = [file async for file in store.files()]
        return [(file, await store.chunks(file)) for file in files]
    finally:
        await store.close()


def read(url: str, bounds: Bounds = SMALL) -> list[tuple[LostFile, LostChunks]]:
    return asyncio.run(everything(QdrantFiles(url, "c", PAGES, bounds=bounds)))


def test_pages_without_end_are_left() -> None:
    def endless(asked: Asked) -> Reply:
        begin = asked.body.get("offset", 0)
        return scrolled([point(begin + at) for at in range(3)], begin + 3)

    with server(endless) as url, pytest.raises(IntegrityError, match="sends pages without end"):
        read(url)


@pytest.mark.parametrize("behind", [1, "again"])
def test_a_page_that_comes_again_and_again_is_left(behind: object) -> None:
    calls = []

    def again(asked: Asked) -> Reply:
        calls.append(asked)
        return scrolled([point(1)], behind)

    with server(again) as url, pytest.raises(IntegrityError, match="sends pages without end"):
        read(url)
    assert len(calls) == 2


def test_of_pages_that_are_too_long_less_is_asked_for() -> None:
    points = [point(at, "x" * 20_000) for at in range(40)]
    limits = []

    def long(asked: Asked) -> Reply:
        if asked.is_scroll:
            limits.append(asked.body["limit"])
            begin = asked.body.get("offset", 0)
            end = begin + asked.body["limit"]
            return scrolled(points[begin:end], end if end < len(points) else None)
        return said({"result": [points[at] for at in asked.body["ids"]]})

    with server(long) as url:
        ((_, chunks),) = read(url)
    assert chunks.texts == ("x" * 20_000,) * 40
    assert limits[:4] == [1_000, 100, 10, 1]


def test_a_chunk_that_is_longer_than_is_taken_is_an_error() -> None:
    huge = scrolled([point(0, "x" * 200_000)])
    with (
        server(always(huge)) as url,
        pytest.raises(IntegrityError, match="longer than 100,000 bytes"),
    ):
        read(url)


def test_a_reply_that_is_packed_is_unpacked_no_further_than_it_may_be() -> None:
    bomb = 200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * 50_000_000)
    with (
        server(always(bomb)) as url,
        pytest.raises(IntegrityError, match="longer than 100,000 bytes"),
    ):
        read(url)


@pytest.mark.parametrize(
    "reply",
    [
        b"<!doctype html><p>Hello",
        b"",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"result": {"points": 7}}',
        b'{"result": {"points": [7]}}',
        b'{"result": {"points": [{"id": null}]}}',
    ],
)
def test_what_is_no_reply_is_an_error(reply: bytes) -> None:
    with (
        server(always((200, {}, reply))) as url,
        pytest.raises(IntegrityError, match="check the URL"),
    ):
        read(url)


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_is_always_busy_is_left_in_time(status: int) -> None:
    calls = []

    def busy(asked: Asked) -> Reply:
        calls.append(asked)
        return status, {"Retry-After": "0.1"}, b"later"

    with (
        server(busy) as url,
        pytest.raises(ProviderUnavailableError, match=f"answered {status}: later; tried"),
    ):
        read(url, HASTY)
    assert len(calls) > 1


def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    with (
        server(always((429, {"Retry-After": "3600"}, b""))) as url,
        pytest.raises(ProviderUnavailableError) as raised,
    ):
        read(url)
    assert raised.value.retry_after == 3600


def test_a_server_that_says_nothing_is_left_in_time() -> None:
    hold = threading.Event()

    def silent(_: Asked) -> Reply:
        hold.wait(10)
        return scrolled([])

    with server(silent) as url:
        try:
            with pytest.raises(ProviderUnavailableError, match="tried"):
                read(url, HASTY)
        finally:
            hold.set()


def test_a_server_that_never_comes_to_an_end_is_left_in_time() -> None:
    hold = threading.Event()

    def dripping(_: Asked) -> Reply:
        return 200, {}, iter(lambda: b"" if hold.wait(0.05) else b" ", b"")

    with server(dripping) as url:
        try:
            with pytest.raises(ProviderUnavailableError, match="did not answer within"):
                read(url, HASTY)
        finally:
            hold.set()


def test_a_long_refusal_is_told_in_short() -> None:
    with (
        server(always((400, {}, b"no " * 30_000))) as url,
        pytest.raises(ProviderRefusedError) as raised,
    ):
        read(url)
    assert len(str(raised.value)) < 1_000


def test_chunks_may_be_asked_for_without_a_list() -> None:
    def one(asked: Asked) -> Reply:
        return scrolled([point(0)]) if asked.is_scroll else said({"result": [point(0)]})

    async def scene(url: str) -> LostChunks:
        store = QdrantFiles(url, "c", PAGES, bounds=SMALL)
        try:
            return await store.chunks(LostFile("d", "d"))
        finally:
            await store.close()

    with server(one) as url:
        assert asyncio.run(scene(url)).texts == ("x",)


def test_what_was_busy_at_first_is_asked_again() -> None:
    calls = []

    def shy(asked: Asked) -> Reply:
        calls.append(asked)
        if len(calls) == 1:
            return 503, {"Retry-After": "0"}, b""
        return scrolled([point(0)]) if asked.is_scroll else said({"result": [point(0)]})

    with server(shy) as url:
        assert read(url)[0][1].texts == ("x",)


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (401, ProviderRefusedError, "check the key"),
        (302, ProviderRefusedError, "check the URL"),
        (400, ProviderRefusedError, r"answered 400: no \?\[31m; check the URL"),
        (404, NotFoundError, "answered 404"),
    ],
)
def test_a_refusal_is_told(status: int, error: type[Exception], message: str) -> None:
    body = b"no\n\x1b[31m"
    with (
        server(always((status, {"Location": "http://127.0.0.1:1/"}, body))) as url,
        pytest.raises(error, match=message),
    ):
        read(url)


def test_chunks_that_are_gone_since_they_were_listed_are_missing() -> None:
    def forgetful(asked: Asked) -> Reply:
        points = [point(at) for at in range(3)]
        return scrolled(points) if asked.is_scroll else said({"result": points[:2]})

    with server(forgetful) as url:
        ((_, chunks),) = read(url)
    assert chunks.texts == ("x", "x")
    assert chunks.complete is False
    assert chunks.notes == ("chunks deleted since they were listed: 1",)


def test_a_file_longer_than_any_is_not_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unchunk.adapters.sources.collected._LONGEST_FILE", 1_000)
    points = [point(at, "x" * 100) for at in range(20)]

    def long(asked: Asked) -> Reply:
        return scrolled(points) if asked.is_scroll else said({"result": points})

    with server(long) as url, pytest.raises(IntegrityError, match="more than 1,000 characters"):
        read(url)


@pytest.mark.parametrize(
    "reply",
    [{"id": 7}, {"id": "c", "ids": "x"}, {"id": "c", "ids": ["a"], "metadatas": []}],
)
def test_what_is_no_reply_of_chroma_is_an_error(reply: object) -> None:
    with (
        server(always(said(reply))) as url,
        pytest.raises(IntegrityError, match="none of Chroma; check the URL"),
    ):
        asyncio.run(everything(ChromaFiles(url, "c", PAGES, bounds=SMALL)))


def test_a_password_in_the_address_is_not_told() -> None:
    store = QdrantFiles("http://user:secret@127.0.0.1:1/", "c")
    assert store.name == "the Qdrant collection 'c' at http://127.0.0.1:1"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://u:secret@x",
        "http://[::1",
        "x",
        "http://h:999999",
        "http://h:abc",
        "http://",
        "http://a b",
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidSettingError, match="--url is not a server URL") as raised:
        QdrantFiles(url, "c")
    assert "secret" not in str(raised.value)
    with pytest.raises(InvalidSettingError, match="--url is not a server URL"):
        collections("chroma", "ftp://u:secret@x", ["c"], timeout=1.0)


@pytest.mark.parametrize("name", ["", ".", "..", "c\udcff"])
@pytest.mark.parametrize("kind", [QdrantFiles, ChromaFiles])
def test_what_is_no_name_of_a_collection_is_refused(kind: type[QdrantFiles], name: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a collection name"):
        kind("http://127.0.0.1:1", name)


def test_no_proxy_is_asked_for_what_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with server(always(scrolled([]))) as url:
        assert read(url) == []


def test_an_id_that_is_half_a_character_is_refused_with_who_sent_it() -> None:
    odd: dict[str, object] = {
        "id": "\ud800",
        "payload": {"parent_id": "d", "content": "x", "chunk_index": 0},
    }
    with (
        server(always(scrolled([odd]))) as url,
        pytest.raises(IntegrityError, match=r"'c' at http.* has a chunk whose id is '\\ud800'"),
    ):
        read(url)
    with (
        server(always(said({"id": "\ud800"}))) as url,
        pytest.raises(IntegrityError, match="none of Chroma; check the URL"),
    ):
        asyncio.run(everything(ChromaFiles(url, "c", PAGES, bounds=SMALL)))


def test_names_are_made_safe_and_offsets_are_sent_as_they_came() -> None:
    asked: list[Asked] = []
    odd = {"parent_id": "\ud800", "title": "a\ud800.md", "content": "x", "chunk_index": 0}

    def answer(given: Asked) -> Reply:
        asked.append(given)
        if not given.is_scroll:
            return said({"result": [{"id": 1, "payload": odd}]})
        return scrolled([{"id": len(asked), "payload": odd}], None if len(asked) > 1 else "\udfff")

    with server(answer) as url:
        ((file, _),) = read(url)
    assert file.name == "a?.md"
    assert asked[1].body["offset"] == "\udfff"


def test_small_things_without_number_do_not_fill_the_memory() -> None:
    reply = b'{"result": {"points": [' + b"{}," * 8_000_000 + b"{}]}}"
    with (
        server(always((200, {}, reply))) as url,
        pytest.raises(IntegrityError, match="it holds more things than any list of chunks does"),
    ):
        read(url, Bounds(patience=60))


def test_a_list_that_is_slow_page_by_page_is_left() -> None:
    def slow(asked: Asked) -> Reply:
        begin = asked.body.get("offset", 0)
        threading.Event().wait(0.05)
        return scrolled([point(begin)], begin + 1)

    with (
        server(slow) as url,
        pytest.raises(ProviderUnavailableError, match=r"the list of .* takes longer than 0\.2 s"),
    ):
        read(url, Bounds(whole=0.2))
