"""Too much, too often, too slowly, too many: each is told, and none is held for long."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from server.doors import (
    Door,
    asked,
    guarded,
    head,
    heard,
    one_reply,
    opened,
    status_of,
    stop_clocks,
)
from server.scripted import Scripted, Served, eventually, serving
from server.test_server_sockets import hear, say
from unchunk.domain import Conversation
from unchunk.server import receiving
from unchunk.server.addresses import neighbourhood
from unchunk.server.faults import RefusedError
from unchunk.server.limits import Buckets, Slots
from unchunk.server.options import Options

CHAT, TALKS, SESSION = "/api/chat", "/api/conversations", "/api/session"
QUESTION = {"message": "When?"}
FORM = ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="file"; ')


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def taken(buckets: Buckets, name: str) -> int | None:
    """None if it was given, else the seconds to wait."""
    try:
        buckets.take(name)
    except RefusedError as error:
        return int(error.headers["Retry-After"])
    return None


def test_a_bucket_is_emptied_and_fills_again() -> None:
    clock = Clock()
    buckets = Buckets(6, now=clock)
    assert [taken(buckets, "a") for _ in range(7)] == [None] * 6 + [10]
    clock.now += 4
    assert taken(buckets, "a") == 6
    assert taken(buckets, "b") is None
    clock.now += 6.001
    assert [taken(buckets, "a") for _ in range(2)] == [None, 10]
    clock.now += 3600
    assert [taken(buckets, "a") for _ in range(7)] == [None] * 6 + [10]
    assert [taken(Buckets(0), "a") for _ in range(1000)] == [None] * 1000


def test_who_keeps_asking_gets_no_more_than_who_waits() -> None:
    clock = Clock()
    buckets = Buckets(60, now=clock)
    given = 0
    for _ in range(3000):
        clock.now += 0.1
        given += taken(buckets, "a") is None
    assert 359 <= given <= 361


def test_what_is_remembered_of_whom_is_bounded() -> None:
    clock = Clock()
    buckets = Buckets(2, most=100, now=clock)
    for number in range(1000):
        clock.now += 0.001
        taken(buckets, f"address {number}")
        # Who is busy is not forgotten for the sake of those who come once.
        taken(buckets, "busy")
    assert len(buckets) == 100
    assert taken(buckets, "busy") is not None


def test_a_network_of_one_user_is_one_address() -> None:
    assert neighbourhood("192.0.2.7") == "192.0.2.7"
    assert neighbourhood("2001:db8:1:2:3::4") == neighbourhood("2001:db8:1:2:ffff::1")
    assert neighbourhood("2001:db8:1:2::4") != neighbourhood("2001:db8:1:3::4")
    assert neighbourhood("::ffff:192.0.2.7") == "192.0.2.7"
    assert neighbourhood("testclient") == "testclient"


def test_slots_are_freed_whatever_happens() -> None:
    async def scene() -> None:
        slots = Slots(1, 0.0)
        async with slots.one("a"):
            async with slots.one("b"):
                assert len(slots) == 2
            with pytest.raises(RefusedError, match="1 uploads are under way"):
                async with slots.one("a"):
                    pass
        assert len(slots) == 0
        with pytest.raises(ValueError, match="broken"):
            async with slots.one("a"):
                raise ValueError("broken")
        patient = Slots(1, 60.0)
        order = []

        async def work(name: str) -> None:
            async with patient.one("a"):
                order.append(name)
                await asyncio.sleep(0)

        async with patient.one("a"):
            waiting = [asyncio.create_task(work(name)) for name in "xyz"]
            await asyncio.sleep(0)
            waiting[1].cancel()
            await asyncio.sleep(0)
            assert order == []
        await asyncio.gather(*waiting, return_exceptions=True)
        assert order == ["x", "z"]
        assert len(patient) == 0

    asyncio.run(scene())


def test_an_owner_who_asks_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    with guarded(tmp_path, Options(require_keys=True, rate_limit=5)) as door:
        stop_clocks(door)
        with door.client("local") as local, door.client("other") as other:
            replies = [local.get(TALKS) for _ in range(7)]
            assert [one.status_code for one in replies] == [200] * 5 + [429] * 2
            refused = replies[-1]
            assert refused.json()["error"]["type"] == "too-many"
            assert 1 <= int(refused.headers["retry-after"]) <= 12
            # By whatever way they come.
            assert local.get("/health").status_code == 429
            assert other.get(TALKS).status_code == 200
        with door.signed_in("other") as (client, _):
            assert client.get(TALKS).status_code == 200
        with door.client() as nobody:
            # This address has signed in once; wrong keys count as none do.
            codes = [nobody.get(TALKS).status_code for _ in range(2)]
            codes += [nobody.get(TALKS, headers={"X-API-Key": "x"}).status_code for _ in range(4)]
            assert codes == [401] * 4 + [429] * 2
            assert nobody.get("/").status_code == 429


def test_the_user_of_this_machine_may_ask_as_often_as_they_like(tmp_path: Path) -> None:
    with guarded(tmp_path, Options(rate_limit=1)) as door, door.client() as client:
        assert {client.get(TALKS).status_code for _ in range(20)} == {200}


def test_attempts_to_sign_in_are_counted_by_address(tmp_path: Path) -> None:
    options = Options(behind_proxy=True, sign_in_limit=3)
    with guarded(tmp_path, options) as door:
        stop_clocks(door)

        def attempt(address: str, key: str = "x") -> int:
            with door.client(**{"X-Forwarded-For": address}) as client:
                return client.post(SESSION, json={"key": key}).status_code

        assert [attempt("192.0.2.1") for _ in range(4)] == [401, 401, 401, 429]
        # What a client says of itself before the proxy does not help it.
        assert attempt("192.0.2.9, 192.0.2.1") == 429
        assert attempt("nonsense, [192.0.2.1]:99") == 429
        assert attempt("192.0.2.1:5", door.keys["local"]) == 429
        assert attempt("192.0.2.2", door.keys["local"]) == 200
        assert [attempt(f"2001:db8::{number}") for number in range(4)] == [401, 401, 401, 429]
        # Who has a key goes on.
        with door.client("local", **{"X-Forwarded-For": "192.0.2.1"}) as client:
            assert client.get(TALKS).status_code == 200


@contextmanager
def uploading(door: Door, key: str) -> Iterator[socket.socket]:
    """An upload that has begun and does not end."""
    lines = (f"X-API-Key: {door.keys[key]}", f"Content-Type: {FORM[0]}", "Content-Length: 5000")
    with opened(door.served) as line:
        line.sendall(head(door.served, "POST", "/documents", *lines) + FORM[1])
        yield line


def slots_of(door: Door) -> Slots:
    slots = door.served.app.state.house.limits.uploads
    assert isinstance(slots, Slots)
    return slots


def test_only_so_many_uploads_of_one_owner_go_on_at_once(tmp_path: Path) -> None:
    options = Options(require_keys=True, max_uploads=2, upload_patience=0)
    with guarded(tmp_path, options) as door, door.client("local") as client:

        def under_way() -> int:
            users = slots_of(door)._slots.get("local")
            return len(users[1]) if users else 0

        with ExitStack() as stack:
            for _ in range(2):
                stack.enter_context(uploading(door, "local"))
            eventually(lambda: under_way() == 2)
            third = client.post("/documents", files={"file": ("a.txt", b"text")})
            assert (third.status_code, third.json()["error"]["type"]) == (429, "too-many")
            assert third.headers["retry-after"] == "1"
            # Other requests, and other owners, go on.
            assert client.get(TALKS).status_code == 200
            stack.enter_context(uploading(door, "other"))
            eventually(lambda: len(slots_of(door)) == 2)
        eventually(lambda: len(slots_of(door)) == 0)


def test_one_upload_more_waits_for_its_turn(tmp_path: Path) -> None:
    options = Options(require_keys=True, max_uploads=1, upload_patience=60)
    with guarded(tmp_path, options) as door:
        with uploading(door, "local"):
            eventually(lambda: len(slots_of(door)) == 1)
            replies: list[int] = []
            second = threading.Thread(target=_empty_upload, args=(door, replies))
            second.start()
            eventually(lambda: len(slots_of(door)._slots["local"][1]) == 2)
            assert not replies
        second.join(30)
        # Its turn came: now it is looked at, and is no form.
        assert replies == [415]


def _empty_upload(door: Door, replies: list[int]) -> None:
    lines = (f"X-API-Key: {door.keys['local']}", "Content-Length: 0")
    replies.append(status_of(asked(door.served, "POST", "/documents", *lines)))


def test_only_so_many_sockets_of_one_owner_are_open_at_once(tmp_path: Path) -> None:
    with guarded(tmp_path, Options(max_sockets=2)) as door:

        def open_one(key: str = "") -> ClientConnection:
            headers = {"Authorization": f"Bearer {door.keys[key]}"} if key else {}
            return connect(door.served.ws, additional_headers=headers, open_timeout=30)

        with ExitStack() as stack:
            mine = [stack.enter_context(open_one("other")) for _ in range(2)]
            with pytest.raises(InvalidStatus) as refused, open_one("other"):
                pass
            assert refused.value.response.status_code == 429
            assert refused.value.response.headers["retry-after"] == "1"
            # Neither other owners nor the user of this machine are kept out.
            for key in ("local", "", "", ""):
                stack.enter_context(open_one(key))
            mine[0].close()
            eventually(lambda: len(open_sockets(door)["other"]) == 1)
            say(stack.enter_context(open_one("other")), type="ask", message="q")
        eventually(lambda: not open_sockets(door))


def open_sockets(door: Door) -> dict[str, list[None]]:
    sockets = door.served.app.state.house.limits.sockets
    return {name: users for name, (_, users) in list(sockets._slots.items())}


def test_only_so_many_answers_are_written_for_one_owner_at_once(tmp_path: Path) -> None:
    with guarded(tmp_path, Options(max_answers=2)) as door:
        door.engine.pause_at = 1
        stream = f"{CHAT}/stream"
        with ExitStack() as stack:

            def begin(key: str = "") -> str:
                """The id of a stream that goes on."""
                client = stack.enter_context(door.client(key))
                reply = stack.enter_context(client.stream("POST", stream, json=QUESTION))
                assert reply.status_code == 200
                return reply.headers["X-Stream-ID"]

            first, _ = begin("other"), begin("other")
            with door.client("other") as other:
                for path in (CHAT, stream):
                    refused = other.post(path, json=QUESTION)
                    assert (refused.status_code, refused.json()["error"]["type"]) == (
                        429,
                        "too-many",
                    )
                    assert refused.headers["retry-after"]
                headers = {"Authorization": f"Bearer {door.keys['other']}"}
                with connect(door.served.ws, additional_headers=headers, open_timeout=30) as line:
                    say(line, type="ask", message="q")
                    assert hear(line)["code"] == "too-many"
                # To read one of them again is not to begin another.
                again = stack.enter_context(other.stream("GET", f"{stream}/{first}"))
                assert again.status_code == 200
            for key in ("local", "", "", ""):
                begin(key)
            with door.client("other") as other:
                assert other.delete(f"{stream}/{first}").status_code == 204
                begin("other")


def send_on(line: socket.socket, piece: bytes) -> None:
    for _ in range(100_000):
        line.sendall(piece)


def chunked(size: int) -> bytes:
    return b"%x\r\n%b\r\n0\r\n\r\n" % (size, b"x" * size)


@pytest.mark.parametrize("path", [CHAT, SESSION, "/documents", "/nowhere"])
@pytest.mark.parametrize("way", ["length", "pieces"])
def test_a_body_that_is_too_long_gets_its_reply_though_all_of_it_is_sent(
    tmp_path: Path, path: str, way: str
) -> None:
    """By a client that reads nothing before it has sent all, as many do."""
    size = 5_000_000
    options = Options(max_body=10_000, max_upload=20_000)
    with guarded(tmp_path, options) as door, opened(door.served) as line:
        told = f"Content-Length: {size}" if way == "length" else "Transfer-Encoding: chunked"
        body = b"x" * size if way == "length" else chunked(size)
        kind = FORM[0] if path == "/documents" else "application/json"
        line.sendall(head(door.served, "POST", path, told, f"Content-Type: {kind}") + body)
        reply = heard(line)
        assert door.engine.asked == []
    expected = {413, 404} if path == "/nowhere" else {413, 400}
    assert status_of(reply) in expected, reply
    assert path != CHAT or b'"too-big"' in reply
    assert b"connection: close" in reply.lower()


def test_who_may_not_come_in_need_not_send_what_they_have(tmp_path: Path) -> None:
    """The refusal is there before the body is, and nothing of the body is kept."""
    with guarded(tmp_path) as door, opened(door.served) as line:
        line.sendall(head(door.served, "POST", "/documents", "Content-Length: 100000000"))
        reply = one_reply(line)
        assert status_of(reply) == 401
        assert b"key-needed" in reply


def test_what_is_thrown_away_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "_THROWN_AWAY", 1_000_000)
    with guarded(tmp_path, Options(max_body=1_000)) as door, opened(door.served) as line:
        line.sendall(head(door.served, "POST", CHAT, "Transfer-Encoding: chunked"))
        with pytest.raises(OSError, match=r"reset|pipe"):
            send_on(line, b"%x\r\n%b\r\n" % (100_000, b"x" * 100_000))
        eventually(lambda: door.served.connections() == 0)


def test_who_sends_nothing_more_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "_LINGERING", 0.1)
    with guarded(tmp_path, Options(max_body=1_000)) as door, opened(door.served) as line:
        line.sendall(head(door.served, "POST", CHAT, "Content-Length: 2000") + b"x")
        assert status_of(heard(line)) == 413


def test_a_client_that_waits_to_be_told_sends_nothing(tmp_path: Path) -> None:
    with guarded(tmp_path, Options(max_body=1_000)) as door, opened(door.served) as line:
        lines = ("Content-Length: 2000", "Expect: 100-continue")
        line.sendall(head(door.served, "POST", CHAT, *lines))
        assert status_of(one_reply(line)) == 413


def test_a_reply_to_a_whole_request_keeps_the_connection() -> None:
    with serving(Scripted().engine) as served, opened(served) as line:
        for _ in range(3):
            body = b'{"message": "q"}'
            lines = (f"Content-Length: {len(body)}", "Content-Type: application/json")
            line.sendall(head(served, "POST", CHAT, *lines) + body)
            reply = one_reply(line)
            assert status_of(reply) == 200
            assert b"connection: close" not in reply.lower()


def drip(line: socket.socket, stop: threading.Event) -> threading.Thread:
    """One byte after the other, for as long as anybody takes them."""

    def send() -> None:
        while not stop.wait(0.01):
            try:
                line.sendall(b"x")
            except OSError:
                return

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.parametrize("path", [CHAT, "/documents"])
@pytest.mark.parametrize("way", ["stops", "drips"])
def test_a_body_that_comes_too_slowly_is_not_waited_for(path: str, way: str) -> None:
    engine = Scripted()
    options = Options(body_seconds=0.3, slowest_body=1_000_000)
    with serving(engine.engine, options) as served, opened(served) as line:
        kind = FORM[0] if path == "/documents" else "application/json"
        lines = ("Content-Length: 3000000", f"Content-Type: {kind}")
        begun = FORM[1] if path == "/documents" else b'{"message": "'
        line.sendall(head(served, "POST", path, *lines) + begun)
        stop = threading.Event()
        dripping = drip(line, stop) if way == "drips" else None
        reply = heard(line)
        stop.set()
        if dripping is not None:
            dripping.join(30)
        assert status_of(reply) == 408
        assert b'"too-slow"' in reply
        eventually(lambda: served.connections() == 0)
        assert not engine.asked


def test_a_body_that_comes_fast_enough_may_take_longer_than_it_may_stop() -> None:
    options = Options(body_seconds=5.0, slowest_body=10)
    with serving(Scripted().engine, options) as served, opened(served) as line:
        body = b'{"message": "q"}'
        lines = (f"Content-Length: {len(body)}", "Content-Type: application/json")
        line.sendall(head(served, "POST", CHAT, *lines))
        for at in range(len(body)):
            line.sendall(body[at : at + 1])
            time.sleep(0.01)
        assert status_of(one_reply(line)) == 200


@pytest.mark.parametrize(
    "begin",
    [
        lambda _: b"G",
        lambda served: head(served, "GET", TALKS)[:-2],
        lambda served: head(served, "GET", TALKS)[:-4] + b"\r\nX-Slow: ",
    ],
)
def test_a_head_that_does_not_end_is_not_waited_for(begin: Callable[[Served], bytes]) -> None:
    with serving(Scripted().engine, Options(head_seconds=1.5)) as served, opened(served) as line:
        line.sendall(begin(served))
        reply = heard(line)
        assert status_of(reply) == 408
        assert b'"too-slow"' in reply
        assert b"X-Content-Type-Options: nosniff" in reply
        eventually(lambda: served.connections() == 0)


def test_a_head_that_comes_in_drops_is_not_waited_for_either() -> None:
    with serving(Scripted().engine, Options(head_seconds=0.5)) as served, opened(served) as line:
        line.sendall(head(served, "GET", TALKS)[:-4] + b"\r\nX-Slow: ")
        stop = threading.Event()
        dripping = drip(line, stop)
        reply = heard(line)
        stop.set()
        dripping.join(30)
        # The line may break before the reply is read: more of the head is on its way.
        assert reply == b"" or status_of(reply) == 408
        eventually(lambda: served.connections() == 0)


def test_a_connection_that_is_not_used_is_closed_without_a_word() -> None:
    with serving(Scripted().engine, Options(head_seconds=0.2)) as served, opened(served) as line:
        assert heard(line) == b""


def test_the_second_request_on_a_connection_is_not_waited_for_either() -> None:
    with serving(Scripted().engine, Options(head_seconds=2.0)) as served, opened(served) as line:
        line.sendall(head(served, "GET", TALKS))
        assert status_of(one_reply(line)) == 200
        line.sendall(b"GET /api")
        assert status_of(heard(line)) == 408


def test_a_long_answer_is_not_taken_for_a_slow_head() -> None:
    engine = Scripted(pause_at=2)
    with serving(engine.engine, Options(head_seconds=1.0)) as served:
        url = f"{served.url}/api/chat/stream"
        with httpx2.stream("POST", url, json=QUESTION, timeout=30) as reply:
            pieces = reply.iter_text()
            assert "plan" in next(pieces)
            time.sleep(1.2)
            engine.gate.set()
            assert "event: done" in "".join(pieces)


def test_a_head_that_is_too_long_is_refused() -> None:
    with serving(Scripted().engine) as served, opened(served) as line:
        line.sendall(head(served, "GET", TALKS)[:-4])
        with pytest.raises(OSError, match=r"reset|pipe"):
            send_on(line, b"\r\nX-Long: " + b"x" * 1_000)
        eventually(lambda: served.connections() == 0)


def test_of_too_many_connections_the_last_is_told_so() -> None:
    with serving(Scripted().engine, Options(max_connections=3)) as served:
        with ExitStack() as stack:
            lines = [stack.enter_context(opened(served)) for _ in range(3)]
            eventually(lambda: served.connections() == 3)
            with opened(served) as line:
                reply = heard(line)
                assert status_of(reply) == 503
                assert b'"busy"' in reply
            lines[0].sendall(head(served, "GET", TALKS))
            assert status_of(one_reply(lines[0])) == 200
        eventually(lambda: served.connections() == 0)
        assert status_of(asked(served, "GET", TALKS)) == 200


class Long(Scripted):
    """Has a conversation with a title that no buffer holds."""

    async def conversations(
        self, limit: int = 50, before: str | None = None, *, owner: str | None = None
    ) -> list[Conversation]:
        [one] = await super().conversations(limit, before, owner=owner)
        return [Conversation(one.id, one.owner, "x" * 30_000_000, "", 1, *[one.created_at] * 2)]


@pytest.mark.parametrize("lines", [(), ("Connection: close",)])
def test_a_reply_that_nobody_reads_is_broken_off(lines: tuple[str, ...]) -> None:
    with serving(Long().engine, Options(stall_seconds=0.4)) as served, opened(served) as line:
        line.sendall(head(served, "GET", TALKS, *lines))
        eventually(lambda: served.connections() == 1)
        eventually(lambda: served.connections() == 0)


def test_a_reply_that_is_read_slowly_is_not_broken_off() -> None:
    with serving(Long().engine, Options(stall_seconds=5.0)) as served, opened(served) as line:
        line.sendall(head(served, "GET", TALKS, "Connection: close"))
        said = b""
        while piece := line.recv(3_000_000):
            said += piece
            time.sleep(0.05)
        assert len(said) > 30_000_000
