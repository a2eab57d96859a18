"""Servers that are broken or mean harm: a clear error, in bounded time and memory."""

import asyncio
import gzip
import json
import threading
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import pytest
from openai import AsyncOpenAI, OpenAI

from recovery.vector_stores import Exchange, Fault, Held, VectorStores, refusing
from unchunk.adapters.sources.bounds import Bounds
from unchunk.adapters.sources.openai_files import OpenAIFiles
from unchunk.errors import (
    IntegrityError,
    NotFoundError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.ports import LostChunks, LostFile

T = TypeVar("T")
FILE = LostFile("file-1", "a.md")
SMALL = Bounds(pages=20, reply=1 << 20)
IMPATIENT = Bounds(patience=0.8, idle=0.6)
KINDS = pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI], ids=["sync", "async"])


class Asked:
    """One store, asked by a client of a kind."""

    def __init__(self, server: VectorStores | str, kind: type[Any], bounds: Bounds = SMALL) -> None:
        self._url = server if isinstance(server, str) else server.url
        self._kind, self._bounds = kind, bounds

    def files(self) -> list[LostFile]:
        async def listed(store: OpenAIFiles) -> list[LostFile]:
            return [file async for file in store.files()]

        return self._run(listed)

    def chunks(self) -> LostChunks:
        return self._run(lambda store: store.chunks(FILE))

    def _run(self, work: Callable[[OpenAIFiles], Awaitable[T]]) -> T:
        async def run() -> T:
            store = OpenAIFiles(client, "vs_1", bounds=self._bounds)
            try:
                return await work(store)
            finally:
                await store.close()

        client = self._kind(api_key="sk-secret-1234", base_url=self._url)
        try:
            return asyncio.run(run())
        finally:
            if isinstance(client, OpenAI):
                client.close()


def flooding(status: int, *pieces: bytes, **headers: str) -> tuple[Fault, list[int]]:
    """A reply that goes on until nobody listens, and how many bytes of it were sent."""
    sent = [0]

    def flood(exchange: Exchange) -> None:
        exchange.begin(status, content_type="application/json", connection="close", **headers)
        with suppress(OSError):
            exchange.wfile.write(pieces[0])
            # 200 MB, and none of it is ever whole in memory.
            while sent[0] < 200_000_000:
                sent[0] += exchange.wfile.write(pieces[1])
        exchange.close_connection = True

    return flood, sent


@KINDS
def test_a_chunk_of_200_megabytes_is_refused_before_it_is_held(
    server: VectorStores, kind: type[Any]
) -> None:
    flood, sent = flooding(200, b'{"data": [{"type": "text", "text": "', b"x" * 65536)
    server.faults.append(("/content", flood))
    tracemalloc.start()
    try:
        with pytest.raises(IntegrityError, match="it is longer than 1,048,576 bytes"):
            Asked(server, kind).chunks()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert sent[0] < 100_000_000


@KINDS
def test_a_small_reply_that_unpacks_to_a_large_one_is_refused(
    server: VectorStores, kind: type[Any]
) -> None:
    packed = gzip.compress(b'{"data": [{"text": "' + b"x" * 50_000_000 + b'"}]}', 1)
    server.faults.append(
        ("/content", lambda exchange: exchange.reply(200, packed, content_encoding="gzip"))
    )
    tracemalloc.start()
    try:
        with pytest.raises(IntegrityError, match="it is longer than 1,048,576 bytes"):
            Asked(server, kind).chunks()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize(
    "part", [b"[],", b"{},", b'"ab",', b"12,"], ids=["lists", "objects", "texts", "numbers"]
)
def test_small_things_without_number_do_not_fill_the_memory(
    server: VectorStores, part: bytes
) -> None:
    reply = b'{"data": [' + part * (24_000_000 // len(part)) + b'"end"]}'
    server.faults.append(("/content", lambda exchange: exchange.reply(200, reply)))
    with pytest.raises(IntegrityError, match="it holds more things than any list of chunks does"):
        Asked(server, AsyncOpenAI, Bounds()).chunks()


def test_texts_full_of_braces_and_quotes_are_texts(server: VectorStores) -> None:
    text = '{"a": [1, "b\\\\"], },' * 300_000
    server.put("vs_1", Held("file-1", "a.json", text, None, chunks=[text, text + "{"]))
    assert Asked(server, AsyncOpenAI, Bounds()).chunks().texts == (text, text + "{")


@KINDS
def test_of_an_endless_error_only_the_beginning_is_read(
    server: VectorStores, kind: type[Any]
) -> None:
    flood, sent = flooding(400, b"no: ", b"because " * 8192)
    server.faults.append(("/content", flood))
    with pytest.raises(ProviderRefusedError, match="answered 400: no: because because") as raised:
        Asked(server, kind).chunks()
    assert len(str(raised.value)) < 600
    assert sent[0] < 100_000_000


def test_what_is_packed_is_unpacked_and_strange_packing_is_refused(server: VectorStores) -> None:
    page = gzip.compress(json.dumps({"data": [{"type": "text", "text": "hello"}]}).encode())
    ways = iter(["gzip", "br", "gzip"])
    pages = iter([page, page, page[:20]])
    server.faults.append(
        (
            "/content",
            lambda exchange: exchange.reply(200, next(pages), content_encoding=next(ways)),
        )
    )
    store = Asked(server, AsyncOpenAI)
    assert store.chunks().texts == ("hello",)
    with pytest.raises(IntegrityError, match="it is packed as 'br', which was not asked for"):
        store.chunks()
    with pytest.raises(IntegrityError, match="it ends before it is whole"):
        store.chunks()


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "it is a web page, not JSON"),
        (b'{"data": [{"type": "te', "it is not JSON"),
        (b"", "it is not JSON"),
        (b"[" * 200_000, "it is not JSON"),
        (b'{"data": ' + b"9" * 5000 + b"}", "it is not JSON"),
        (b"\xff\xfe\x00", "it is not JSON"),
        (b"[1, 2]", r"is not a list: \[1, 2\]"),
        (b'"a text"', "is not a list: 'a text'"),
        (b'{"object": "list"}', "is not a list: an object with 'object'"),
        (b'{"data": null}', "is not a list"),
        (b'{"data": {"a": 1}}', "is not a list"),
        (b'{"data": ["a"]}', "holds 'a', which is not an object"),
    ],
)
def test_what_is_no_list_of_openai_is_named(server: VectorStores, reply: bytes, says: str) -> None:
    server.faults.append(("/vector_stores/", lambda exchange: exchange.reply(200, reply)))
    store = Asked(server, AsyncOpenAI)
    with pytest.raises(IntegrityError, match=says):
        store.files()
    with pytest.raises(IntegrityError, match=says):
        store.chunks()
    assert server.count("/vector_stores/") == 2


@pytest.mark.parametrize("identity", [None, 7, "", ".", "..", "x" * 600, "file-\ud800"])
def test_an_id_that_cannot_be_one_is_refused(server: VectorStores, identity: object) -> None:
    page = {"data": [{"id": identity, "status": "completed"}], "has_more": False}
    server.faults.append(("/vector_stores/", lambda exchange: exchange.reply(200, page)))
    with pytest.raises(IntegrityError, match="holds a file whose id is"):
        Asked(server, AsyncOpenAI).files()


def test_an_id_cannot_lead_to_another_path(server: VectorStores) -> None:
    hostile = "../../admin?x=1#y"
    server.put("vs_1", Held(hostile, "a.md", "text"))
    [file] = Asked(server, AsyncOpenAI).files()
    assert file.id == hostile
    assert server.seen[-1] == "/v1/files/..%2F..%2Fadmin%3Fx%3D1%23y"


def test_a_list_that_repeats_itself_ends(server: VectorStores) -> None:
    page = {"data": [{"id": "file-1", "status": "completed"}], "has_more": True}
    server.faults.append(("/vector_stores/", lambda exchange: exchange.reply(200, page)))
    with pytest.raises(IntegrityError, match="does not end: the same page came twice"):
        Asked(server, AsyncOpenAI).files()
    assert server.count("/vector_stores/") == 2


def test_a_list_that_has_always_more_ends(server: VectorStores) -> None:
    def another(exchange: Exchange) -> None:
        rows = [{"id": f"file-{len(server.seen)}-{at}", "status": "completed"} for at in range(3)]
        exchange.reply(200, {"data": rows, "has_more": True})

    server.faults.append(("/vector_stores/", another))
    with pytest.raises(IntegrityError, match="does not end: 20 pages were enough"):
        Asked(server, AsyncOpenAI).files()
    assert server.count("/vector_stores/") == 20


def test_a_server_that_does_not_say_whether_there_is_more_is_asked_until_nothing_is_new(
    server: VectorStores,
) -> None:
    page = {"data": [{"id": "file-1", "status": "completed"}]}
    server.faults.append(("/vector_stores/", lambda exchange: exchange.reply(200, page)))
    assert [file.id for file in Asked(server, AsyncOpenAI).files()] == ["file-1"]


@pytest.mark.parametrize(
    ("pages", "says"),
    [
        (lambda _: {"data": [{"text": "a"}], "has_more": True, "next_page": "2"}, "nothing new"),
        (lambda at: {"data": [], "has_more": True, "next_page": str(at)}, "nothing new"),
        (
            lambda at: {"data": [{"text": "a"}], "has_more": True, "next_page": str(at)},
            "20 pages were enough",
        ),
        (
            lambda at: {"data": [{"text": "x" * 99_999}], "has_more": True, "next_page": str(at)},
            "it is longer than",
        ),
        (
            lambda at: {"data": [{"text": ""}] * 9_000, "has_more": True, "next_page": str(at)},
            "it is longer than",
        ),
        (
            lambda _: {"data": [{"text": "a"}], "has_more": True, "next_page": "\ud800"},
            r"the content of file-1 at http.* goes on at '\\ud800'",
        ),
    ],
    ids=[
        "a cursor twice",
        "an empty page",
        "always more",
        "more than a file may be",
        "empty texts",
        "a cursor that cannot be sent",
    ],
)
def test_content_that_does_not_end_ends(
    server: VectorStores, pages: Callable[[int], object], says: str
) -> None:
    server.faults.append(
        ("/content", lambda exchange: exchange.reply(200, pages(len(server.seen))))
    )
    with pytest.raises(IntegrityError, match=says):
        Asked(server, AsyncOpenAI).chunks()
    assert server.count("/content") <= 20


def test_chunks_that_are_not_there_are_said(server: VectorStores) -> None:
    rows = [{"type": "text", "text": "a"}, {"type": "image"}, {"text": None}, {"text": "b"}]
    page = {"data": rows, "has_more": True, "next_page": None}
    server.faults.append(("/content", lambda exchange: exchange.reply(200, page)))
    found = Asked(server, AsyncOpenAI).chunks()
    assert found.texts == ("a", "b")
    assert found.complete is False
    assert found.notes == (
        "the store says that there are more chunks, and not how to get them",
        "2 of its parts are not text and are left out",
    )


@KINDS
@pytest.mark.parametrize("status", [429, 503])
def test_who_is_busy_for_ever_is_not_waited_for_that_long(
    server: VectorStores, kind: type[Any], status: int
) -> None:
    server.faults.append(("/content", refusing(status, "slow down")))
    with pytest.raises(ProviderUnavailableError, match=r"; tried \d+ times, for at most 0\.8 s"):
        Asked(server, kind, IMPATIENT).chunks()
    assert 1 <= server.count("/content") < 10


@KINDS
def test_who_asks_for_a_little_time_gets_it(server: VectorStores, kind: type[Any]) -> None:
    server.put("vs_1", Held("file-1", "a.md", "hello"))
    busy = [("retry_after_ms", "20"), ("retry_after", "0.05"), ("retry_after", "soon")]

    def rush(exchange: Exchange) -> None:
        name, value = busy.pop(0)
        if not busy:
            server.faults.clear()
        exchange.reply(429, {"error": {"message": "rate limit"}}, **{name: value})

    server.faults.append(("/content", rush))
    assert Asked(server, kind, SMALL).chunks().texts == ("hello",)
    assert server.count("/content") == 4


def test_who_asks_for_more_time_than_there_is_gets_none(server: VectorStores) -> None:
    server.faults.append(("/content", refusing(429, "come back later", retry_after="3600")))
    with pytest.raises(ProviderUnavailableError, match="come back later") as raised:
        Asked(server, AsyncOpenAI).chunks()
    assert raised.value.retry_after == 3600
    assert server.count("/content") == 1


def test_a_budget_that_is_used_up_is_not_waited_for(server: VectorStores) -> None:
    error = {"message": "You exceeded your quota", "code": "insufficient_quota"}
    server.faults.append(("/content", lambda exchange: exchange.reply(429, {"error": error})))
    with pytest.raises(ProviderRefusedError, match="You exceeded your quota"):
        Asked(server, AsyncOpenAI).chunks()
    assert server.count("/content") == 1


@KINDS
@pytest.mark.parametrize("how", ["silent", "in the head", "in the body"])
def test_a_server_that_hangs_is_left(server: VectorStores, kind: type[Any], how: str) -> None:
    over = threading.Event()

    def hang(exchange: Exchange) -> None:
        if how == "in the body":
            exchange.begin(200, content_type="application/json", content_length="1000")
        while how != "silent" and not over.is_set():
            # A byte now and then: no single read is ever long.
            with suppress(OSError):
                exchange.wfile.write(b" " if how == "in the body" else b"H")
                exchange.wfile.flush()
            time.sleep(0.02)
        over.wait(20)
        exchange.close_connection = True

    server.faults.append(("/content", hang))
    try:
        with pytest.raises(ProviderUnavailableError, match="tried"):
            Asked(server, kind, IMPATIENT).chunks()
    finally:
        over.set()


@KINDS
def test_a_reply_that_breaks_off_is_tried_again(server: VectorStores, kind: type[Any]) -> None:
    server.put("vs_1", Held("file-1", "a.md", "hello"))

    def break_off(exchange: Exchange) -> None:
        server.faults.clear()
        exchange.begin(200, content_type="application/json", content_length="1000")
        exchange.wfile.write(b'{"data": [')
        exchange.close_connection = True

    server.faults.append(("/content", break_off))
    assert Asked(server, kind, SMALL).chunks().texts == ("hello",)
    assert server.count("/content") == 2


@KINDS
def test_nobody_is_followed_elsewhere(server: VectorStores, kind: type[Any]) -> None:
    with VectorStores() as elsewhere:
        elsewhere.put("vs_1", Held("file-1", "a.md", "hello"))

        def redirect(exchange: Exchange) -> None:
            exchange.reply(302, b"", location=f"{elsewhere.url}/vector_stores/vs_1/files")

        server.faults.append(("/vector_stores", redirect))
        with pytest.raises(ProviderRefusedError, match=f"it sends us to {elsewhere.url}"):
            Asked(server, kind).files()
        assert elsewhere.seen == []


@KINDS
@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_said_with_what_to_set_and_without_the_key(
    server: VectorStores, kind: type[Any], status: int
) -> None:
    said = "Incorrect API key provided: sk-secret-1234\x1b[31m"
    server.faults.append(("/vector_stores", refusing(status, said)))
    with pytest.raises(ProviderRefusedError, match="set OPENAI_API_KEY to a key") as raised:
        Asked(server, kind).files()
    assert "secret" not in str(raised.value)
    assert "\x1b" not in str(raised.value)
    assert server.count("/vector_stores") == 1


def test_a_server_that_gives_no_content_is_said_to_be_so(server: VectorStores) -> None:
    server.faults.append(("/content", refusing(404, "Resource not found")))
    with pytest.raises(NotFoundError, match="Azure has no such call in some versions"):
        Asked(server, AsyncOpenAI).chunks()


def test_other_refusals_are_final(server: VectorStores) -> None:
    server.faults.append(("/content", refusing(422, "unprocessable")))
    with pytest.raises(ProviderRefusedError, match="answered 422: unprocessable; check"):
        Asked(server, AsyncOpenAI).chunks()
    assert server.count("/content") == 1


def test_where_nobody_listens_is_said() -> None:
    with pytest.raises(ProviderUnavailableError, match=r"no answer from http://127\.0\.0\.1:9/v1"):
        Asked("http://127.0.0.1:9/v1", AsyncOpenAI, IMPATIENT).files()


@pytest.mark.parametrize("status", [403, 404, 200])
def test_a_name_that_cannot_be_had_is_the_id(server: VectorStores, status: int) -> None:
    server.put("vs_1", Held("file-1", "a.md", "text"))
    server.put("vs_1", Held("file-2", "b.md", "text", attributes={"filename": "c.md"}))
    server.faults.append(("/v1/files/", lambda exchange: exchange.reply(status, b"<html>no")))
    assert [file.name for file in Asked(server, AsyncOpenAI).files()] == ["file-1", "c.md"]


def test_a_name_is_made_safe(server: VectorStores) -> None:
    server.put("vs_1", Held("file-1", "a\ud800.md", "text"))
    assert [file.name for file in Asked(server, AsyncOpenAI).files()] == ["a?.md"]


def test_names_that_nobody_answers_for_stop_no_file(server: VectorStores) -> None:
    server.put("vs_1", *(Held(f"file-{at}", f"{at}.md", "text") for at in range(60)))
    server.faults.append(("/v1/files/", refusing(500, "oops", retry_after="3600")))
    store = Asked(server, AsyncOpenAI, Bounds(patience=0.8, names=2))
    assert [file.name for file in store.files()] == [f"file-{at}" for at in range(60)]
    # Those that were tried at all were few.
    assert server.count("/v1/files/") <= 31


def test_one_name_that_cannot_be_had_is_noted(server: VectorStores) -> None:
    server.put("vs_1", Held("file-1", "a.md", "text"), Held("file-2", "b.md", "text"))
    server.faults.append(("/v1/files/file-1", refusing(500, "oops", retry_after="3600")))

    async def scene() -> dict[str, LostChunks]:
        client = AsyncOpenAI(api_key="k", base_url=server.url)
        store = OpenAIFiles(client, "vs_1", bounds=SMALL)
        try:
            return {file.name: await store.chunks(file) async for file in store.files()}
        finally:
            await store.close()

    found = asyncio.run(scene())
    note = "the server does not tell what it is called: this is its id"
    assert {name: chunks.notes for name, chunks in found.items()} == {
        "file-1": (note,),
        "b.md": (),
    }
    assert found["file-1"].complete is None


def test_who_asks_for_no_wait_at_all_is_not_asked_at_once_again(server: VectorStores) -> None:
    server.faults.append(("/content", refusing(429, "slow down", retry_after="0")))
    with pytest.raises(ProviderUnavailableError, match="answered 429: slow down; tried"):
        Asked(server, AsyncOpenAI, IMPATIENT).chunks()
    assert server.count("/content") <= 4


def test_what_told_of_a_rush_is_said_though_the_last_attempt_was_cut_short(
    server: VectorStores,
) -> None:
    over = threading.Event()

    def busy_then_silent(exchange: Exchange) -> None:
        if server.count("/content") > 1:
            over.wait(20)
            exchange.close_connection = True
        else:
            exchange.reply(429, {"error": {"message": "slow down"}})

    server.faults.append(("/content", busy_then_silent))
    try:
        with pytest.raises(ProviderUnavailableError, match="answered 429: slow down; tried 2"):
            Asked(server, AsyncOpenAI, Bounds(patience=3.0)).chunks()
    finally:
        over.set()


@pytest.mark.parametrize("what", ["the list", "the content"])
def test_what_is_slow_page_by_page_is_left_too(server: VectorStores, what: str) -> None:
    def slow(exchange: Exchange) -> None:
        time.sleep(0.05)
        rows = [{"id": f"file-{len(server.seen)}", "status": "completed", "text": "a"}]
        page = {"data": rows, "has_more": True, "next_page": str(len(server.seen))}
        exchange.reply(200, page)

    server.faults.append(("/vector_stores/", slow))
    store = Asked(server, AsyncOpenAI, Bounds(whole=0.2))
    with pytest.raises(ProviderUnavailableError, match=f"{what} of .* takes longer than 0.2 s"):
        store.files() if what == "the list" else store.chunks()


def test_a_long_reply_is_read_while_others_go_on(server: VectorStores) -> None:
    text = "x" * 3_000_000
    server.put("vs_1", Held("file-1", "a.md", "", None, chunks=[text]))
    seen: set[str] = set()
    loads = json.loads

    def watched(given: bytes) -> object:
        seen.add(threading.current_thread().name)
        return loads(given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unchunk.adapters.sources.bounds.json.loads", watched)
        assert Asked(server, AsyncOpenAI, Bounds()).chunks().texts == (text,)
    assert threading.current_thread().name not in seen


def test_what_is_said_of_a_file_is_taken_as_far_as_it_makes_sense(server: VectorStores) -> None:
    def strategy(**static: object) -> dict[str, object]:
        return {"type": "static", "static": static}

    given = [
        strategy(max_chunk_size_tokens=800, chunk_overlap_tokens=400),
        {"type": "auto"},
        {"type": "other"},
        strategy(max_chunk_size_tokens=100, chunk_overlap_tokens=100),
        strategy(max_chunk_size_tokens="800", chunk_overlap_tokens=400),
        {"type": "static"},
        "static",
        None,
    ]
    attributes = {"a": "b", "n": 1.5, "yes": True, "nested": {"a": 1}, "nan": float("nan")}
    rows = [
        {"id": f"file-{at}", "status": "completed", "chunking_strategy": one,
         "attributes": attributes if at else ["a"]}
        for at, one in enumerate(given)
    ]  # fmt: skip
    page = {"data": rows, "has_more": False}
    server.faults.append(("/vector_stores/", lambda exchange: exchange.reply(200, page)))
    files = Asked(server, AsyncOpenAI).files()
    assert [str(file.strategy) for file in files[:3]] == ["800/400 tokens"] * 2 + ["None"]
    assert [file.strategy for file in files[3:]] == [None] * 5
    assert files[0].attributes == {}
    assert files[1].attributes == {"a": "b", "n": 1.5, "yes": True}
