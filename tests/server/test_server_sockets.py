"""Answers over a WebSocket: one after the other, cancelled, refused, and left."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from server.scripted import Scripted, Served, answer, eventually, serving
from unchunk.chat.events import Token
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.server.options import Options

Said = dict[str, Any]


@contextmanager
def talking(served: Served, **headers: str) -> Iterator[ClientConnection]:
    with connect(served.ws, additional_headers=headers, open_timeout=10) as socket:
        yield socket


def say(socket: ClientConnection, **message: object) -> None:
    socket.send(json.dumps(message))


def hear(socket: ClientConnection) -> Said:
    heard = json.loads(socket.recv(20))
    assert isinstance(heard, dict)
    return heard


def hear_all(socket: ClientConnection) -> list[Said]:
    heard = [hear(socket)]
    while heard[-1]["type"] not in ("done", "error"):
        heard.append(hear(socket))
    return heard


def test_questions_are_answered_one_after_the_other() -> None:
    engine = Scripted(answer("At ", "noon."))
    with serving(engine.engine) as served, talking(served, **{"X-Request-ID": "r1"}) as socket:
        assert socket.response is not None
        assert socket.response.headers["X-Request-ID"] == "r1"
        say(socket, type="ask", id="one", message="When?", mode="passages")
        first = hear_all(socket)
        say(socket, type="ask", messages=[{"role": "user", "content": "Where?"}])
        second = hear_all(socket)
    kinds = ["plan", "sources", "token", "token", "usage", "done"]
    assert [one["type"] for one in first] == kinds
    assert {one["id"] for one in first} == {"one"}
    assert "".join(one["text"] for one in first if one["type"] == "token") == "At noon."
    # Without an id of its own, a question is called by its request id.
    assert {one["id"] for one in second} == {"r1.2"}
    assert [(it.question, owner, name) for it, owner, name in engine.asked] == [
        ("When?", "local", "r1.1"),
        ("Where?", "local", "r1.2"),
    ]


def test_cancelling_stops_the_model_and_the_socket_goes_on() -> None:
    engine = Scripted(pause_at=3)
    with serving(engine.engine) as served, talking(served) as socket:
        say(socket, type="ask", id="a", message="q")
        assert [hear(socket)["type"] for _ in range(3)] == ["plan", "sources", "token"]
        say(socket, type="cancel", id="b")
        assert hear(socket)["code"] == "not-found"
        assert engine.open == 1
        say(socket, type="cancel", id="a")
        last = hear(socket)
        assert (last["type"], last["id"], last["code"]) == ("error", "a", "stopped")
        assert (engine.open, engine.stopped) == (0, 1)
        say(socket, type="cancel")
        assert hear(socket)["code"] == "not-found"
        engine.gate.set()
        say(socket, type="ask", message="again")
        assert hear_all(socket)[-1]["type"] == "done"


def test_cancelling_at_once_is_told_too() -> None:
    engine = Scripted(pause_at=0)
    with serving(engine.engine) as served, talking(served) as socket:
        for number in range(20):
            say(socket, type="ask", message="When?", id=f"q{number}")
            say(socket, type="cancel")
            last = hear(socket)
            while last["type"] != "error":
                last = hear(socket)
            assert (last["id"], last["code"]) == (f"q{number}", "stopped")


def test_a_second_question_while_one_is_answered_is_refused() -> None:
    engine = Scripted(pause_at=1)
    with serving(engine.engine) as served, talking(served) as socket:
        say(socket, type="ask", id="a", message="q")
        assert hear(socket)["type"] == "plan"
        say(socket, type="ask", id="b", message="q")
        refused = hear(socket)
        assert (refused["type"], refused["id"], refused["code"]) == ("error", "b", "busy")
        engine.gate.set()
        assert hear_all(socket)[-1]["type"] == "done"
    assert engine.opened == 1


def test_the_next_question_may_come_while_the_last_answer_is_being_kept() -> None:
    engine = Scripted(linger=0.2)
    with serving(engine.engine) as served, talking(served) as socket:
        for _ in range(3):
            say(socket, type="ask", message="q")
            assert hear_all(socket)[-1]["type"] == "done"
    assert (engine.opened, engine.stopped) == (3, 0)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("", "malformed"),
        ("no JSON", "malformed"),
        ("[" * 50_000, "malformed"),
        ("[]", "malformed"),
        (b"\x00\x01", "malformed"),
        ('{"type": "sing"}', "malformed"),
        ('{"message": "q"}', "malformed"),
        ('{"type": "ask"}', "malformed"),
        ('{"type": "ask", "message": "q", "odd": 1}', "malformed"),
        ('{"type": "ask", "message": "q", "id": 5}', "malformed"),
        ('{"type": "ask", "messages": [{"role": "assistant", "content": "x"}]}', "invalid"),
    ],
)
def test_what_is_no_question_is_told_and_the_socket_goes_on(
    message: str | bytes, code: str
) -> None:
    engine = Scripted()
    with serving(engine.engine) as served, talking(served) as socket:
        socket.send(message)
        heard = hear(socket)
        assert (heard["type"], heard["code"]) == ("error", code)
        assert not engine.asked
        say(socket, type="ask", message="q")
        assert hear_all(socket)[-1]["type"] == "done"


def test_what_goes_wrong_is_an_event() -> None:
    for error, code in (
        (InvalidInputError("no"), "invalid"),
        (NotFoundError("no"), "not-found"),
        (RuntimeError("secret"), "internal"),
    ):
        engine = Scripted([error])
        with serving(engine.engine) as served, talking(served) as socket:
            say(socket, type="ask", message="q")
            last = hear(socket)
            assert (last["type"], last["code"]) == ("error", code)
            assert "secret" not in last["message"]
    with serving(Scripted().engine, Options(max_streams=0)) as served, talking(served) as socket:
        say(socket, type="ask", message="q")
        assert hear(socket)["code"] == "unavailable"


def test_closing_the_socket_stops_the_answer() -> None:
    engine = Scripted(pause_at=2)
    with serving(engine.engine) as served:
        before = served.tasks()
        for _ in range(20):
            with talking(served) as socket:
                say(socket, type="ask", message="q")
                assert hear(socket)["type"] == "plan"
        eventually(lambda: engine.open == 0 and served.streams.running == 0)
        assert (engine.opened, engine.stopped) == (20, 20)
        eventually(lambda: served.tasks() <= before)
        eventually(lambda: served.connections() == 0)


def test_a_line_that_breaks_stops_the_answer() -> None:
    engine = Scripted([Token("x")] * 1_000, delay=0.01)
    with serving(engine.engine) as served, talking(served) as socket:
        say(socket, type="ask", message="q")
        assert hear(socket)["type"] == "token"
        socket.socket.shutdown(2)
        eventually(lambda: engine.open == 0 and served.streams.running == 0)
        assert engine.stopped == 1


def test_a_slow_reader_slows_the_answer_down() -> None:
    """Nothing is kept for a socket: the model waits until it is read."""
    engine = Scripted([Token("x" * 100_000)] * 300)
    with serving(engine.engine) as served, talking(served) as socket:
        say(socket, type="ask", message="q")
        for _ in range(300):
            assert len(hear(socket)["text"]) == 100_000
        eventually(lambda: engine.open == 0)
        assert engine.stopped == 0


def test_a_message_that_is_too_long_closes_the_socket() -> None:
    engine = Scripted()
    with serving(engine.engine) as served, talking(served) as socket:
        with suppress(ConnectionClosed):
            socket.send(json.dumps({"type": "ask", "message": "x" * 5_000_000}))
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(20)
        # The line may break before the reason has come.
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1009
        eventually(lambda: served.connections() == 0)
    assert not engine.asked


def test_a_reader_that_takes_nothing_is_left() -> None:
    engine = Scripted([Token("x" * 500_000)] * 100)
    with serving(engine.engine, Options(stall_seconds=0.3)) as served:
        before = served.tasks()
        with connect(served.ws, close_timeout=0.1) as socket:
            say(socket, type="ask", message="q")
            eventually(lambda: engine.opened == 1)
            eventually(lambda: engine.open == 0)
            eventually(lambda: served.tasks() <= before)
        assert engine.stopped == 1
        assert served.streams.running == 0


def test_a_socket_over_which_nothing_is_asked_is_closed() -> None:
    with serving(Scripted().engine, Options(socket_seconds=1.5)) as served:
        before = served.tasks()
        with talking(served) as socket:
            say(socket, type="ask", message="q")
            assert hear_all(socket)[-1]["type"] == "done"
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(20)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001
        eventually(lambda: served.tasks() <= before)
        eventually(lambda: served.connections() == 0)


def test_a_socket_is_not_closed_while_an_answer_is_being_written() -> None:
    engine = Scripted(pause_at=1)
    with serving(engine.engine, Options(socket_seconds=1.0)) as served, talking(served) as socket:
        say(socket, type="ask", message="q")
        assert hear(socket)["type"] == "plan"
        # However often that is longer than nothing may be asked.
        with pytest.raises(TimeoutError):
            socket.recv(2.5)
        engine.gate.set()
        assert hear_all(socket)[-1]["type"] == "done"
        with pytest.raises(ConnectionClosed):
            socket.recv(20)


def test_a_page_of_another_site_cannot_open_a_socket() -> None:
    engine = Scripted()
    with serving(engine.engine) as served:
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://127.0.0.1:1"},
        ):
            with (
                pytest.raises(InvalidStatus) as refused,
                connect(served.ws, additional_headers=headers),
            ):
                pass
            assert refused.value.response.status_code == 403
            assert refused.value.response.headers["X-Request-ID"]
        with talking(served, Origin=served.url) as socket:
            say(socket, type="ask", message="q")
            assert hear_all(socket)[-1]["type"] == "done"


def test_a_server_that_ends_tells_who_waits() -> None:
    engine = Scripted(pause_at=1)
    with ExitStack() as open_longer:
        with serving(engine.engine) as served:
            socket = open_longer.enter_context(talking(served))
            say(socket, type="ask", message="q")
            assert hear(socket)["type"] == "plan"
        last = hear(socket)
        assert (last["type"], last["code"]) == ("error", "shutting-down")
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(20)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012
    assert (engine.open, engine.stopped) == (0, 1)
