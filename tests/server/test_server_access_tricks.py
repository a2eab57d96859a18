"""Requests that are made to be misread: paths, headers, and names that come back in headers."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.doors import Door, asked, head, heard, opened, status_of, with_library
from server.scripted import Scripted, serving
from unchunk.server.options import Options
from unchunk.server.shielding import HEADERS

TALKS = "/api/conversations"
# What a header would be made of, if somebody could add one.
ADDED = "X-Added: yes"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    options = Options(require_keys=True, rate_limit=0, sign_in_limit=0)
    with with_library(tmp_path_factory.mktemp("door"), options) as door:
        with door.client("local") as client:
            sent = client.post("/documents", files={"file": ("Tides.md", b"Tides come and go.")})
            assert sent.status_code == 200
            question = {"message": "Do Tides go?", "conversation": "new"}
            assert client.post("/api/chat", json=question).status_code == 200
            assert "Tides" in client.get(TALKS).text
        yield door


PATHS = [
    "/%61pi/conversations",
    "/api/conversations/",
    "/api//conversations",
    "//api/conversations",
    "/api/./conversations",
    "/./api/conversations",
    "/x/../api/conversations",
    "/page/../api/conversations",
    "/page/%2e%2e/api/conversations",
    "/page/..%2fapi%2fconversations",
    "/page/..%5c..%5cserver%5caccess.py",
    "/page/..%2faccess.py",
    "/page/%2fetc%2fpasswd",
    "/page//etc/passwd",
    "/page/....//access.py",
    "/page/app.js%00.html",
    "/page/%00",
    "/health/../api/conversations",
    "/health%2f..%2fapi%2fconversations",
    "/api/session/../conversations",
    "/api/session%2f..%2fconversations",
    "/api/session/",
    "/api/conversations%00",
    "/api/conversations%0d%0aX-Added:%20yes",
    "/api/conversations;/api/session",
    "/api/conversations?/page/",
    "/api/conversations#/page/",
    "/API/conversations",
    "/api/conversations%3f",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/../../../etc/passwd",
    "/documents/..%2f..%2fetc%2fpasswd",
    "/documents/%00",
    "/api/documents/..",
    "/api/documents/%2e%2e/text",
    "http://127.0.0.1/api/conversations",
    "http://evil.example/page/app.js",
    "/%ff%fe/%c0%ae%c0%ae/",
    "/" + "a/" * 3_000,
    "*",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_way_of_writing_a_path_leads_past_the_entrance(door: Door, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        reply = asked(door.served, method, path, "Content-Length: 0")
        assert status_of(reply) in (400, 401, 404, 405), reply
        assert b"Tides" not in reply
        assert ADDED.lower().encode() not in reply.lower()


@pytest.mark.parametrize("path", PATHS)
def test_who_has_a_key_gets_no_further_by_it_either(door: Door, path: str) -> None:
    reply = asked(door.served, "GET", path, f"X-API-Key: {door.keys['other']}")
    # The list of a user who has none, or nothing at all.
    assert status_of(reply) in (200, 307, 400, 401, 404, 405), reply
    assert b"Tides" not in reply
    assert b"root:" not in reply
    assert b"unchunk.server" not in reply


INJECTIONS = [
    "a\r\nX-Added: yes",
    "a\nX-Added: yes",
    "a\rX-Added: yes",
    "a%0d%0aX-Added: yes",
    "a\x00b",
    "a\x85X-Added: yes",
    "a\u2028X-Added: yes",
    'a"; filename="b.exe',
    "a; b=c",
]


def headers_of(reply: bytes) -> list[tuple[str, str]]:
    lines = reply.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
    assert all("\n" not in line and "\r" not in line for line in lines)
    return [(name.lower(), value) for name, _, value in (line.partition(": ") for line in lines)]


@pytest.mark.parametrize(
    "name", ["X-Request-ID", "Last-Event-ID", "Cookie", "Origin", "X-CSRF-Token"]
)
@pytest.mark.parametrize("value", INJECTIONS)
def test_nothing_that_is_sent_becomes_a_header_of_the_reply(
    door: Door, name: str, value: str
) -> None:
    raw = value.encode("utf-8")
    lines = [f"X-API-Key: {door.keys['local']}", "Connection: close"]
    for path in (TALKS, "/api/session", "/api/chat/stream/x", "/nowhere"):
        with opened(door.served) as line:
            begun = head(door.served, "GET", path, *lines)[:-2]
            line.sendall(begun + name.encode() + b": " + raw + b"\r\n\r\n")
            reply = heard(line)
        assert "x-added" not in dict(headers_of(reply)), reply
        told = dict(headers_of(reply)).get("x-request-id", "")
        assert re.fullmatch(r"[A-Za-z0-9._:-]{0,64}", told)


@pytest.mark.parametrize("value", INJECTIONS)
def test_what_is_sent_in_a_path_or_a_body_becomes_no_header(door: Door, value: str) -> None:
    with door.client("local") as client:
        for reply in (
            client.get("/api/chat/stream/" + quoted(value)),
            client.get("/documents/" + quoted(value)),
            client.get("/page/" + quoted(value)),
            client.post("/api/session", json={"key": value}),
        ):
            assert "x-added" not in reply.headers
            assert "set-cookie" not in reply.headers
            assert reply.status_code < 500


def quoted(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def test_the_name_of_a_file_becomes_no_header(tmp_path: Path) -> None:
    with with_library(tmp_path, Options()) as door:
        served, kept = door.served, 0
        for name in (*INJECTIONS, "<script>alert(1)</script>.md", "\u202egpj.exe", "x" * 300):
            form = (
                f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}.md"\r\n\r\n'
            )
            body = (form + "Some text.\r\n--b--\r\n").encode()
            lines = (
                "Content-Type: multipart/form-data; boundary=b",
                f"Content-Length: {len(body)}",
            )
            reply = asked(served, "POST", "/api/documents", *lines, body=body)
            assert "x-added" not in dict(headers_of(reply))
            if status_of(reply) != 200:
                assert status_of(reply) in (400, 422), reply
                continue
            kept += 1
            found = re.search(rb'"document_id":"(\w+)"', reply)
            assert found is not None
            path = f"/api/documents/{found[1].decode()}"
            for part in (f"{path}/original", f"{path}/text?format=plain", path):
                got = asked(served, "GET", part)
                assert status_of(got) == 200
                told = headers_of(got)
                assert "x-added" not in dict(told)
                if part != path:
                    [shown] = [value for name, value in told if name == "content-disposition"]
                    assert shown.startswith('attachment; filename="')
                    assert shown.count('"') == 2
                    assert all(" " <= sign <= "~" for sign in shown)
                    assert dict(told)["x-content-type-options"] == "nosniff"
        assert kept >= 5


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET /api/conversations HTTP/1.1\r\n\r\n",
        b"GET /api/conversations HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET /api/conversations HTTP/1.1\r\nHost: 127.0.0.1\r\n X: folded\r\n\r\n",
        b"GET /api/conversations HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n",
        b"GET /api/conversations HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET  /api/conversations HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /api/conv\x00ersations HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_no_http_is_told_so_and_shielded(request_line: bytes) -> None:
    engine = Scripted()
    with serving(engine.engine) as served, opened(served) as line:
        line.sendall(request_line)
        line.shutdown(1)
        reply = heard(line)
    assert reply == b"" or status_of(reply) in (400, 401, 421, 501), reply
    if reply:
        assert {name.lower() for name in HEADERS} <= {name for name, _ in headers_of(reply)}
    assert not engine.asked


def test_a_second_request_hidden_in_a_body_is_none() -> None:
    """Where two readers of one connection disagree on lengths, one smuggles past the other."""
    engine = Scripted()
    hidden = b"DELETE /api/conversations/c1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    begun = b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with serving(engine.engine) as served:
        for lengths in (
            b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
            b"Content-Length: 1000000000\r\n\r\n",
        ):
            with opened(served) as line:
                line.sendall(begun + lengths + hidden)
                line.shutdown(1)
                reply = heard(line)
            assert reply.count(b"HTTP/1.1") <= 1, reply
    assert engine.titles == {}
