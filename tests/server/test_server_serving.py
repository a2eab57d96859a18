"""A server from its start to its end."""

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from websockets.sync.client import connect

from server.scripted import Scripted, parsed, serving
from unchunk.engine import Engine
from unchunk.errors import InvalidSettingError
from unchunk.server import serving as serving_module
from unchunk.server.app import create_app
from unchunk.server.options import Options
from unchunk.server.serving import listening, serve
from unchunk.settings import load
from unchunk.wiring import open_engine

TESTS = Path(__file__).parents[1]
QUESTION = {"message": "When?"}


@contextmanager
def process() -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server in a process of its own, and its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "server.process"],
        cwd=TESTS,
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            assert started.stdout is not None
            yield started, started.stdout.readline().strip()
        finally:
            started.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_soon_and_cleanly_though_answers_are_being_written(
    number: signal.Signals,
) -> None:
    with process() as (started, url):
        with (
            httpx2.Client() as client,
            client.stream("POST", f"{url}/api/chat/stream", json=QUESTION) as reply,
            connect(url.replace("http", "ws") + "/api/chat/ws") as idle,
        ):
            pieces = reply.iter_text()
            text = next(pieces)
            # One that is kept open for nothing.
            assert client.get(f"{url}/api/conversations").status_code == 200
            started.send_signal(number)
            text += "".join(pieces)
            said, errors = started.communicate(timeout=20)
            assert idle.close_code is None or idle.close_code == 1012
        assert parsed(text)[-1].data["code"] == "shutting-down"
        assert started.returncode == 0
        assert said == "closed open=0 stopped=1\nended\n"
        assert not errors


def test_the_address_is_free_and_told_when_it_answers() -> None:
    with process() as (_, url):
        assert url.startswith("http://127.0.0.1:")
        assert httpx2.get(f"{url}/health").json()["status"] == "ok"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104
def test_an_address_that_others_can_reach_is_refused_until_there_is_a_key(
    tmp_path: Path, host: str
) -> None:
    closed = []

    async def opening() -> Engine:
        engine = await open_engine(load(tmp_path / "home", {}, embedder="hashing"))
        # One that opens no documents lets nobody in.
        await engine.keyring.new("prometheus", "me", "metrics")
        close = engine.close

        async def noted() -> None:
            closed.append(host)
            await close()

        engine.close = noted  # type: ignore[method-assign]  # to see that it is called
        return engine

    said = r"no keys yet.*`unchunk keys new NAME`.*127\.0\.0\.1"
    with pytest.raises(InvalidSettingError, match=said):
        serve(create_app(opening, Options(host=host)), port=0)
    assert closed == [host]


def test_an_address_that_is_none_of_this_machine_says_so() -> None:
    for host in ("192.0.2.1", "no such name.invalid"):
        with pytest.raises(InvalidSettingError, match="cannot be used"):
            serve(create_app(Scripted().engine, Options(host=host)), port=0)
    with pytest.raises(InvalidSettingError, match="no address to listen on"):
        serve(create_app(Scripted().engine, Options(host="")), port=0)


def test_without_a_port_it_is_the_usual_one_or_a_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        usual = taken.getsockname()[1]
        monkeypatch.setattr(serving_module, "USUAL", usual)
        with listening("127.0.0.1", None) as (_, url):
            assert not url.endswith(f":{usual}")
    with listening("127.0.0.1", None) as (_, url):
        assert url == f"http://127.0.0.1:{usual}"


def test_a_port_that_is_taken_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidSettingError, match=f"port {port} of 127.0.0.1 cannot be used"):
            serve(create_app(Scripted().engine), port=port)
    with pytest.raises(InvalidSettingError, match="no port 70000"):
        serve(create_app(Scripted().engine), port=70_000)


def test_the_parts_of_a_reply_are_sent_at_once() -> None:
    with serving(Scripted().engine) as served, httpx2.Client() as client:
        assert client.get(f"{served.url}/health").status_code == 200
        assert served.server is not None
        [connection] = served.server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_other_names_of_this_machine_can_be_listened_on() -> None:
    with listening("localhost", 0) as (_, url):
        assert url.startswith("http://localhost:")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with listening("::1", 0) as (_, url):
        assert url.startswith("http://[::1]:")


def test_a_library_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    async def opening() -> Engine:
        return await open_engine(load(tmp_path / "home", {}, embedder="nonsense"))

    with pytest.raises(InvalidSettingError, match="nonsense"):
        serve(create_app(opening), port=0)


def test_a_bug_at_the_start_is_no_clean_end() -> None:
    async def opening() -> Engine:
        raise RuntimeError("a bug")

    with pytest.raises(SystemExit):
        serve(create_app(opening), port=0)


def test_what_the_web_server_has_to_say_is_in_our_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="unchunk")
    with serving(Scripted().engine) as served:
        host, port = served.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as line:
            line.sendall(b"nonsense\r\n\r\n")
            assert line.recv(100).startswith(b"HTTP/1.1 400")
    assert any("Invalid HTTP request" in one.getMessage() for one in caplog.records)


def test_a_real_library_answers_without_a_model(tmp_path: Path) -> None:
    text = "The tide comes in twice a day. " + "Sand is dry above the line of weed. " * 60

    async def opening() -> Engine:
        return await open_engine(load(tmp_path / "home", {}, embedder="hashing"))

    with serving(opening) as served, httpx2.Client(base_url=served.url, timeout=60) as client:
        sent = client.post("/documents", files={"file": ("tides.txt", text.encode())})
        assert sent.status_code == 200
        question = {"message": "How often does the tide come in?", "conversation": "new"}
        whole = client.post("/api/chat", json=question)
        assert whole.status_code == 200, whole.text
        body = whole.json()
        assert "twice a day" in body["answer"]
        assert body["finish"] == "extractive"
        assert body["sources"][0]["name"] == "tides.txt"
        assert body["citations"][0]["state"] == "cited"
        [kept] = client.get("/api/conversations").json()["conversations"]
        assert kept["id"] == body["conversation"]
        turns = client.get(f"/api/conversations/{kept['id']}").json()["turns"]
        assert turns[0]["answer"] == body["answer"]
        streamed = parsed(client.post("/api/chat/stream", json=question).text)
        assert streamed[-1].data["answer"] == body["answer"]
        missing = client.post("/api/chat/stream", json=question | {"conversation": "none"})
        assert missing.status_code == 404
