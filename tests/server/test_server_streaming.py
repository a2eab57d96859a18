"""Answers as server-sent events: as they come, again after a broken line, and stopped."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx2
import pytest

from server.scripted import Scripted, Served, Step, answer, eventually, parsed, serving
from unchunk.chat.events import Token
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.server.options import Options

QUESTION = {"message": "When?"}
QUICK = Options(resume_seconds=0.3, kept_seconds=2.0, heartbeat_seconds=5.0)


@contextmanager
def asking(served: Served, **headers: str) -> Iterator[httpx2.Response]:
    with httpx2.stream(
        "POST", f"{served.url}/api/chat/stream", json=QUESTION, headers=headers
    ) as reply:
        yield reply


def some(reply: httpx2.Response, count: int) -> str:
    """The beginning of a stream, until it has so many events."""
    text = ""
    for piece in reply.iter_text():
        text += piece
        if text.count("\n\n") >= count:
            break
    return text


def test_a_stream_has_every_event_in_order_each_with_its_id() -> None:
    engine = Scripted(answer("At ", "noon.\n", "é😀"))
    with serving(engine.engine) as served, asking(served) as reply:
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.headers["x-accel-buffering"] == "no"
        assert reply.headers["cache-control"] == "no-store"
        stream = reply.headers["x-stream-id"]
        events = parsed("".join(reply.iter_text()))
    kinds = ["plan", "sources", "token", "token", "token", "usage", "done"]
    assert [one.kind for one in events] == kinds
    assert [one.data["text"] for one in events[2:5]] == ["At ", "noon.\n", "é😀"]
    assert [one.id for one in events] == [f"{stream}:{at}" for at in range(1, 8)]
    assert events[-1].data["answer"] == "At noon.\né😀"
    assert engine.asked[0][2] == reply.headers["x-request-id"]


def test_events_come_as_they_are_made() -> None:
    engine = Scripted(pause_at=3)
    with serving(engine.engine) as served, asking(served) as reply:
        text = some(reply, 3)
        assert [one.kind for one in parsed(text)] == ["plan", "sources", "token"]
        assert engine.open == 1
        engine.gate.set()
        # The rest is read below, when the reply is closed.
    assert engine.opened == 1


def test_a_question_that_cannot_be_asked_is_no_stream() -> None:
    for error, status in ((InvalidInputError("no"), 400), (NotFoundError("no"), 404)):
        with serving(Scripted([error]).engine) as served:
            reply = httpx2.post(f"{served.url}/api/chat/stream", json=QUESTION)
            assert reply.status_code == status
            assert reply.json()["error"]["message"] == "no"
            assert (served.streams.running, served.streams.kept) == (0, 0)
    with serving(Scripted().engine) as served:
        assert httpx2.post(f"{served.url}/api/chat/stream").status_code == 400
        assert httpx2.post(f"{served.url}/api/chat/stream", json={}).status_code == 422


def test_what_goes_wrong_later_ends_the_stream_with_an_error() -> None:
    events: list[Step] = [Token("Half"), NotFoundError("it is gone")]
    with serving(Scripted(events).engine) as served, asking(served) as reply:
        last = parsed("".join(reply.iter_text()))[-1]
    assert (last.kind, last.data["code"], last.data["message"]) == (
        "error",
        "not-found",
        "it is gone",
    )
    with serving(Scripted([Token("Half"), RuntimeError("secret")]).engine) as served:
        with asking(served) as reply:
            text = "".join(reply.iter_text())
        assert parsed(text)[-1].data["code"] == "internal"
        assert "secret" not in text


def test_a_heartbeat_comes_while_nothing_else_does() -> None:
    engine = Scripted(pause_at=0)
    options = Options(heartbeat_seconds=0.1)
    with serving(engine.engine, options) as served, asking(served) as reply:
        # Also before the first event.
        assert some(reply, 3) == ": ping\n\n" * 3
        engine.gate.set()


def test_a_reader_that_comes_back_gets_what_it_missed_and_the_rest() -> None:
    engine = Scripted(answer("a", "b", "c", "d"), pause_at=4)
    with serving(engine.engine) as served:
        with asking(served) as reply:
            seen = parsed(some(reply, 3))[:3]
        eventually(lambda: not any("EventStream" in one for one in served.tasks()))
        headers = {"Last-Event-ID": seen[-1].id}
        with httpx2.stream(
            "GET", f"{served.url}/api/chat/stream/{seen[0].id.split(':')[0]}", headers=headers
        ) as again:
            assert again.status_code == 200
            engine.gate.set()
            rest = parsed("".join(again.iter_text()))
    assert [one.id.split(":")[1] for one in seen + rest] == [str(at) for at in range(1, 9)]
    assert rest[-1].data["answer"] == "abcd"
    assert (engine.opened, engine.stopped) == (1, 0)


def test_the_same_question_sent_again_with_the_last_id_is_not_asked_again() -> None:
    engine = Scripted(answer("a", "b"))
    with serving(engine.engine) as served:
        with asking(served) as reply:
            whole = parsed("".join(reply.iter_text()))
        with asking(served, **{"Last-Event-ID": whole[2].id}) as again:
            assert parsed("".join(again.iter_text())) == whole[3:]
        # All of it, for who has nothing.
        stream = whole[0].id.split(":")[0]
        text = httpx2.get(f"{served.url}/api/chat/stream/{stream}").text
        assert parsed(text) == whole
        # Nothing is left: a browser that gets this does not come again.
        done = httpx2.get(
            f"{served.url}/api/chat/stream/{stream}", headers={"Last-Event-ID": whole[-1].id}
        )
        assert (done.status_code, done.content) == (204, b"")
    assert engine.opened == 1


def test_two_may_read_one_stream() -> None:
    engine = Scripted(answer("a", "b"), pause_at=3)
    with serving(engine.engine) as served, asking(served) as first:
        stream = first.headers["x-stream-id"]
        with httpx2.stream("GET", f"{served.url}/api/chat/stream/{stream}") as second:
            engine.gate.set()
            texts = ["".join(one.iter_text()) for one in (second, first)]
    assert texts[0] == texts[1]
    assert parsed(texts[0])[-1].kind == "done"


def test_a_stream_that_is_no_longer_kept_is_gone_and_one_that_never_was_is_not_found() -> None:
    engine = Scripted()
    with serving(engine.engine, QUICK) as served:
        with asking(served) as reply:
            "".join(reply.iter_text())
        stream = reply.headers["x-stream-id"]
        assert served.streams.kept == 1
        eventually(lambda: served.streams.kept == 0)
        for call in (httpx2.get, httpx2.delete):
            gone = call(f"{served.url}/api/chat/stream/{stream}")
            assert (gone.status_code, gone.json()["error"]["type"]) == (410, "gone")
            assert "ask again" in gone.json()["detail"]
        again = httpx2.post(
            f"{served.url}/api/chat/stream",
            json=QUESTION,
            headers={"Last-Event-ID": f"{stream}:2"},
        )
        # It does not ask a second time by itself.
        assert again.status_code == 410
        for unknown in ("x", stream[:-1], stream[::-1], "%00", "é" * 30):
            assert httpx2.get(f"{served.url}/api/chat/stream/{unknown}").status_code == 404
    assert engine.opened == 1


def test_another_owners_stream_is_as_one_that_never_was() -> None:
    engine = Scripted(pause_at=1)
    with serving(engine.engine) as served, asking(served) as reply:
        stream = reply.headers["x-stream-id"]
        found = served.streams.find("local", stream)
        assert not found.is_over
        with pytest.raises(NotFoundError) as others:
            served.streams.find("other", stream)
        assert type(others.value) is NotFoundError
        # And so it stays when it is gone.
        assert httpx2.delete(f"{served.url}/api/chat/stream/{stream}").status_code == 204
        with pytest.raises(NotFoundError) as others:
            served.streams.find("other", stream)
        assert type(others.value) is NotFoundError
        assert httpx2.get(f"{served.url}/api/chat/stream/{stream}").status_code == 410


@pytest.mark.parametrize("number", ["", "x", "-1", "²", "99", "9" * 50])
def test_a_place_that_is_none_is_refused(number: str) -> None:
    engine = Scripted()
    with serving(engine.engine) as served:
        with asking(served) as reply:
            "".join(reply.iter_text())
        stream = reply.headers["x-stream-id"]
        url = f"{served.url}/api/chat/stream/{stream}"
        headers = {b"Last-Event-ID": f"{stream}:{number}".encode("latin-1")}
        assert httpx2.get(url, headers=headers).status_code == 400
        other = {"Last-Event-ID": "other:1"}
        assert httpx2.get(url, headers=other).status_code == 400


def test_stopping_a_stream_stops_the_model_and_tells_its_readers() -> None:
    engine = Scripted(pause_at=3)
    with serving(engine.engine) as served, asking(served) as reply:
        text = some(reply, 3)
        stream = reply.headers["x-stream-id"]
        assert httpx2.delete(f"{served.url}/api/chat/stream/{stream}").status_code == 204
        assert (engine.open, engine.stopped) == (0, 1)
        eventually(lambda: served.streams.running == 0)
        assert served.streams.kept == 0
    assert len(parsed(text)) == 3
    # Its other reader hears of it.
    engine = Scripted(pause_at=1)
    with serving(engine.engine) as served, asking(served) as reply:
        stream = reply.headers["x-stream-id"]
        assert httpx2.delete(f"{served.url}/api/chat/stream/{stream}").status_code == 204
        last = parsed("".join(reply.iter_text()))[-1]
    assert (last.kind, last.data["code"]) == ("error", "stopped")


def test_an_answer_that_nobody_reads_any_more_stops_but_not_at_once() -> None:
    engine = Scripted(pause_at=3)
    with serving(engine.engine, QUICK) as served:
        with asking(served) as reply:
            some(reply, 2)
            began = time.monotonic()
        eventually(lambda: engine.open == 0)
        assert time.monotonic() - began > 0.2
        assert engine.stopped == 1
        stream = reply.headers["x-stream-id"]
        assert httpx2.get(f"{served.url}/api/chat/stream/{stream}").status_code == 410


def test_two_hundred_aborted_streams_leave_nothing() -> None:
    engine = Scripted(answer(*["word "] * 200), delay=0.01)
    with serving(engine.engine, QUICK) as served:
        before = served.tasks()

        async def abort(client: httpx2.AsyncClient, at: int) -> None:
            async with client.stream(
                "POST", f"{served.url}/api/chat/stream", json=QUESTION
            ) as reply:
                assert reply.status_code == 200
                async for _ in reply.aiter_raw():
                    await asyncio.sleep(at % 5 / 100)
                    break

        async def abort_all() -> None:
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
            async with httpx2.AsyncClient(limits=limits, timeout=60) as client:
                await asyncio.gather(*(abort(client, at) for at in range(200)))

        asyncio.run(abort_all())
        assert engine.opened == 200
        eventually(lambda: engine.open == 0 and served.streams.running == 0)
        eventually(lambda: served.tasks() <= before)
        eventually(lambda: served.streams.kept == 0)
        assert engine.stopped == 200
        assert served.connections() == 0


def test_streams_that_are_over_are_kept_in_bounded_number_and_size() -> None:
    engine = Scripted()
    with serving(engine.engine, Options(kept_streams=3)) as served:
        for _ in range(5):
            httpx2.post(f"{served.url}/api/chat/stream", json=QUESTION)
        assert served.streams.kept == 3
    engine = Scripted(answer("x" * 10_000))
    with serving(engine.engine, Options(kept_bytes=50_000)) as served:
        for _ in range(5):
            httpx2.post(f"{served.url}/api/chat/stream", json=QUESTION)
        # Each holds its text twice: in a token, and whole.
        assert served.streams.kept == 2


def test_a_slow_reader_loses_nothing_and_holds_no_more_than_the_answer() -> None:
    words = [f"{at} " * 200 for at in range(3_000)]
    engine = Scripted([Token(one) for one in words])
    with serving(engine.engine) as served, asking(served) as reply:
        stream = served.streams.find("local", reply.headers["x-stream-id"])
        # It is written to its end, though nearly nothing was read.
        eventually(lambda: stream.is_over)
        assert engine.open == 0
        size = stream.size
        pieces = []
        for piece in reply.iter_raw(65_536):
            pieces.append(piece)
            if len(pieces) < 20:
                time.sleep(0.01)
        text = b"".join(pieces).decode()
    assert [one.data["text"] for one in parsed(text)] == words
    assert size == len(text.encode())


def test_an_answer_without_end_is_cut_off() -> None:
    engine = Scripted([Token("x" * 1_000)] * 1_000)
    options = Options(max_stream_bytes=100_000)
    with serving(engine.engine, options) as served, asking(served) as reply:
        text = "".join(reply.iter_text())
    assert len(text) < 110_000
    assert parsed(text)[-1].data["code"] == "too-long"
    assert (engine.open, engine.stopped) == (0, 1)


def test_a_reader_that_takes_nothing_is_left() -> None:
    engine = Scripted([Token("x" * 50_000)] * 150)
    with serving(engine.engine, Options(stall_seconds=0.3, kept_seconds=0.3)) as served:
        before = served.tasks()
        host, port = served.url.removeprefix("http://").split(":")
        body = json.dumps(QUESTION)
        with socket.socket() as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect((host, int(port)))
            line.sendall(
                f"POST /api/chat/stream HTTP/1.1\r\nHost: {host}:{port}\r\n"
                "Content-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            eventually(lambda: engine.opened == 1)
            eventually(lambda: served.tasks() <= before)
            eventually(lambda: served.streams.kept == 0)


def test_a_server_that_ends_tells_its_readers() -> None:
    engine = Scripted(pause_at=3)
    with ExitStack() as reading:
        with serving(engine.engine) as served:
            pieces = reading.enter_context(asking(served)).iter_text()
            text = next(pieces)
        text += "".join(pieces)
    last = parsed(text)[-1]
    assert (last.kind, last.data["code"]) == ("error", "shutting-down")
    assert last.data["transient"] is True
    assert (engine.open, engine.stopped) == (0, 1)


def test_nothing_is_begun_while_the_server_ends() -> None:
    engine = Scripted()
    with serving(engine.engine) as served:
        served.inside(served.streams.close)
        reply = httpx2.post(f"{served.url}/api/chat/stream", json=QUESTION)
        assert (reply.status_code, reply.json()["error"]["type"]) == (503, "unavailable")
    assert not engine.asked
