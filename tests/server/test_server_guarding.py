"""Who may speak to the server, how much, and under which request id."""

import asyncio
import logging
import socket
from pathlib import Path

import httpx2
import pytest

from server.doors import keyring_in
from server.scripted import Scripted, serving
from unchunk.errors import (
    ExtractionError,
    IndexUnavailableError,
    IntegrityError,
    MigrationNeededError,
    MissingPartError,
    OutputError,
    ProviderRefusedError,
    ProviderUnavailableError,
    UnchunkError,
)
from unchunk.server.options import Options

QUESTION = {"message": "q"}


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:80", "", "[::1", "a:b:c"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_name_that_is_not_ours_is_not_answered(host: str, method: str) -> None:
    """As when the name of somebody's page is made to point here."""
    with serving(Scripted().engine) as served:
        reply = httpx2.request(method, f"{served.url}/api/conversations", headers={"Host": host})
        assert reply.status_code in (400, 421)
        assert reply.status_code == 400 or reply.json()["error"]["type"] == "wrong-host"


def test_the_names_of_this_machine_are_answered() -> None:
    with serving(Scripted().engine) as served:
        for host in ("127.0.0.1", "localhost:99", "LOCALHOST", "[::1]:80"):
            reply = httpx2.get(f"{served.url}/api/conversations", headers={"Host": host})
            assert reply.status_code == 200, host


@pytest.mark.parametrize(
    ("host", "asked", "status"),
    [
        ("Box.Example", "box.example:8000", 401),
        ("box.example", "other.example", 421),
        ("192.168.1.5", "192.168.1.5:8000", 401),
        ("0.0.0.0", "0.0.0.0:8000", 421),  # noqa: S104 - what is tried
        ("::", "[::]:8000", 421),
    ],
)
def test_the_name_that_is_listened_on_is_answered(
    tmp_path: Path, host: str, asked: str, status: int
) -> None:
    with keyring_in(tmp_path) as keyring:
        asyncio.run(keyring.new("a key", "local"))
        with serving(Scripted(keyring=keyring).engine, Options(host=host)) as served:
            reply = httpx2.get(f"{served.url}/api/conversations", headers={"Host": asked})
            assert reply.status_code == status


def test_the_names_of_the_options_are_answered_and_then_everybody_needs_a_key() -> None:
    with serving(Scripted().engine, Options(hosts=("Notes.Example",))) as served:
        for host in ("notes.example", "NOTES.example:443", "127.0.0.1"):
            reply = httpx2.get(f"{served.url}/api/conversations", headers={"Host": host})
            assert (reply.status_code, reply.json()["error"]["type"]) == (401, "key-needed"), host
        reply = httpx2.get(f"{served.url}/health", headers={"Host": "notes.example.org"})
        assert reply.status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost"},
        {"Origin": "file://127.0.0.1"},
        {"Origin": "http://[::1"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_page_of_another_site_cannot_change_or_ask_anything(headers: dict[str, str]) -> None:
    engine = Scripted()
    with serving(engine.engine) as served, httpx2.Client(base_url=served.url) as client:
        for method, path in (
            ("POST", "/api/chat"),
            ("POST", "/api/chat/stream"),
            ("DELETE", "/api/conversations/c1"),
            ("PUT", "/api/prompts"),
            ("POST", "/documents"),
        ):
            reply = client.request(method, path, json=QUESTION, headers=headers)
            assert reply.status_code == 403, (method, path)
            assert reply.json()["error"]["type"] == "wrong-origin"
            assert "access-control-allow-origin" not in reply.headers
    assert not engine.asked


def test_our_own_page_may_and_so_may_one_that_the_options_name() -> None:
    engine = Scripted()
    with serving(engine.engine, Options(origins=("https://notes.example",))) as served:
        for origin in (served.url, "https://notes.example"):
            reply = httpx2.post(f"{served.url}/api/chat", json=QUESTION, headers={"Origin": origin})
            assert reply.status_code == 200
        # On the usual port neither names it.
        headers = {"Host": "localhost", "Origin": "http://localhost"}
        assert httpx2.post(f"{served.url}/api/chat", json=QUESTION, headers=headers).is_success
    assert engine.opened == 3


def test_a_body_that_is_too_long_is_refused_before_it_is_read() -> None:
    engine = Scripted()
    with serving(engine.engine, Options(max_body=10_000)) as served:
        long = {"message": "x" * 20_000}
        reply = httpx2.post(f"{served.url}/api/chat", json=long)
        assert (reply.status_code, reply.json()["error"]["type"]) == (413, "too-big")
        # Also where it does not say how long it is.
        pieces = (b"x" * 1_000 for _ in range(20))
        headers = {"Content-Type": "application/json"}
        reply = httpx2.post(f"{served.url}/api/chat", content=pieces, headers=headers)
        assert (reply.status_code, reply.json()["error"]["type"]) == (413, "too-big")
        host, port = served.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as line:
            head = f"POST /api/chat HTTP/1.1\r\nHost: {host}:{port}\r\n"
            line.sendall(f"{head}Content-Length: {'9' * 19}\r\n\r\n".encode())
            assert line.recv(100).startswith((b"HTTP/1.1 413", b"HTTP/1.1 400"))
    assert not engine.asked


def test_a_request_id_goes_in_and_out_and_through_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = Scripted()
    caplog.set_level(logging.INFO, logger="unchunk")
    with serving(engine.engine) as served:
        url = f"{served.url}/api/chat"
        reply = httpx2.post(url, json=QUESTION, headers={"X-Request-ID": "trace-7"})
        assert reply.headers["x-request-id"] == reply.json()["request_id"] == "trace-7"
        odd = httpx2.post(url, json=QUESTION, headers={"X-Request-ID": "a b\t<c>%0a" + "d" * 200})
        assert odd.headers["x-request-id"] == "abc0a" + "d" * 59
        none = [httpx2.post(url, json=QUESTION).headers["x-request-id"] for _ in range(2)]
        assert none[0] != none[1]
        missing = httpx2.get(f"{served.url}/nowhere?q=private", headers={"X-Request-ID": "x"})
        assert missing.status_code == 404
        assert missing.headers["x-request-id"] == missing.json()["error"]["request_id"] == "x"
    assert [name for *_, name in engine.asked] == ["trace-7", odd.headers["x-request-id"], *none]
    lines = [(one.job, one.getMessage()) for one in caplog.records]  # type: ignore[attr-defined]  # ours
    [(_, line)] = [one for one in lines if one[0] == "trace-7"]
    assert line.startswith("POST /api/chat 200 in ")
    assert not any("private" in line for _, line in lines)


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (ExtractionError("encrypted", "m"), 422, "encrypted"),
        (ExtractionError("too-big", "m"), 413, "too-big"),
        (MigrationNeededError("m"), 409, "migration-needed"),
        (MissingPartError("m"), 501, "missing-part"),
        (ProviderRefusedError("m"), 502, "provider-refused"),
        (IntegrityError("m"), 500, "damaged"),
        (OutputError("m"), 507, "not-written"),
        (IndexUnavailableError("m"), 503, "unavailable"),
        (ProviderUnavailableError("m", 1.2), 503, "unavailable"),
        (UnchunkError("m"), 500, "failed"),
    ],
)
def test_each_error_has_its_status(error: Exception, status: int, kind: str) -> None:
    with serving(Scripted([error]).engine) as served:
        reply = httpx2.post(f"{served.url}/api/chat", json=QUESTION)
    assert (reply.status_code, reply.json()["error"]["type"]) == (status, kind)
    assert reply.json()["detail"] == "m"
    known = isinstance(error, ProviderUnavailableError)
    assert reply.headers.get("retry-after") == ("2" if known else None)


def test_a_route_that_is_not_there_says_so_as_all_errors_do() -> None:
    with serving(Scripted().engine) as served:
        reply = httpx2.put(f"{served.url}/api/chat", json={})
        assert (reply.status_code, reply.json()["error"]["type"]) == (405, "not-allowed")
