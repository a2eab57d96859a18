"""A request through everything: one trace, from the client to every provider; and one log line."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from adapters.embed.provider import provider
from adapters.llm.scripted import ScriptedModel
from adapters.tracing.collector import collector
from server.scripted import serving
from unchunk.engine import Engine
from unchunk.server.options import Options
from unchunk.settings import load
from unchunk.wiring import open_engine

TRACE = "0af7651916cd43dd8448eb211c80319c"
ASKED = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "X-Request-ID": "req-1"}
QUESTION = "Where does the kraken sleep?"


def test_one_trace_goes_from_the_client_to_every_provider(tmp_path: Path) -> None:
    with provider() as vectors, ScriptedModel() as model, collector() as remote:

        async def opening() -> Engine:
            settings = load(
                tmp_path / "home",
                {},
                embedder="openai:text-embedding-3-small",
                embedder_url=f"{vectors.url}/v1",
                embedder_dimensions=512,
                chat="openai:echo",
                chat_url=f"{model.url}/v1",
                chat_window=8_000,
                trace_url=remote.url,
            )
            return await open_engine(settings)

        with (
            serving(opening, Options()) as served,
            httpx2.Client(base_url=served.url, timeout=60) as client,
        ):
            file = {"file": ("kraken.txt", b"The kraken sleeps below the harbour.")}
            assert client.post("/api/documents", files=file).is_success
            vectors.requests.clear()
            reply = client.post("/api/chat", json={"message": QUESTION}, headers=ASKED)
            assert reply.is_success
            with client.stream("POST", "/api/chat/stream", json={"message": "and why?"}) as stream:
                stream.read()
            client.get("/nowhere?q=kraken")
        # It is closed: all of it has been sent.
        spans = remote.spans
        asked = spans["POST /api/chat"]
        assert asked.trace_id.hex() == TRACE
        assert asked.parent_span_id.hex() == "b7ad6b7169203331"
        facts = {one.key: one.value for one in asked.attributes}
        assert facts["http.route"].string_value == "/api/chat"
        assert facts["http.response.status_code"].int_value == 200
        every = [
            span
            for request in remote.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        mine = {span.name: span for span in every if span.trace_id.hex() == TRACE}
        assert {"search", "embedder", "dense", "lexical", "open", "chat"} < set(mine)
        assert mine["search"].parent_span_id == mine["chat"].parent_span_id == asked.span_id
        assert mine["dense"].parent_span_id == mine["search"].span_id
        [call] = vectors.requests[:1]
        told = {name.lower(): it for name, it in call.headers.items()}
        assert told["traceparent"] == f"00-{TRACE}-{mine['embedder'].span_id.hex()}-01"
        assert told["x-request-id"] == "req-1"
        chat = model.asked[0]
        assert chat.header("traceparent") == f"00-{TRACE}-{mine['chat'].span_id.hex()}-01"
        assert chat.header("x-request-id") == "req-1"
        names = {span.name for span in every}
        assert {"POST /api/documents", "ingest", "read", "extract", "index", "GET"} <= names
        [streamed] = [one for one in every if one.name == "POST /api/chat/stream"]
        [answer] = [
            one for one in every if one.name == "chat" and one.trace_id == streamed.trace_id
        ]
        assert answer.parent_span_id == streamed.span_id
        whole = b"".join(request.SerializeToString() for request in remote.requests)
        assert b"kraken" not in whole


@dataclass
class Started:
    """`unchunk serve` as a process of its own; what it printed is there when it has ended."""

    url: str = ""
    output: str = ""
    log: list[str] = field(default_factory=list)


@contextmanager
def command(home: Path, *options: str, **settings: str) -> Iterator[Started]:
    kept = {name: it for name, it in os.environ.items() if not name.startswith("UNCHUNK_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "unchunk", "--home", str(home), *options, "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=kept | {"UNCHUNK_EMBEDDER": "hashing", "PYTHONUNBUFFERED": "1"} | settings,
    )
    started = Started()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            started.output += line
            if " at http://" in line:
                started.url = line.partition(" at ")[2].partition(";")[0]
                break
        assert started.url, process.communicate(timeout=30)
        yield started
    finally:
        process.send_signal(signal.SIGTERM)
        rest, log = process.communicate(timeout=60)
        started.output += rest
        started.log = log.splitlines()
    assert process.returncode == 0


def ask(url: str) -> None:
    secret = {"Authorization": "Bearer hidden-key", "Cookie": "session=hidden-cookie"}
    headers = secret | {"X-Request-ID": "req-1"}
    with httpx2.Client(base_url=url, headers=headers, timeout=60) as client:
        assert client.get("/api/conversations?before=hidden-words").status_code in (200, 404)
        assert client.post("/api/search", json={"query": "hidden words"}).is_success
        assert client.post("/api/chat", json={"message": "hidden words"}).is_success
        assert client.get("/health/ready").is_success
        assert client.get("/api/documents/no-such-document").status_code == 404


def test_a_server_on_a_terminal_tells_its_address_and_one_line_for_each_question(
    tmp_path: Path,
) -> None:
    with command(tmp_path / "home") as server:
        ask(server.url)
    assert server.url in server.output
    [line] = server.log
    assert " INFO [req-1] RAG retrieval request_id=req-1 rag_enabled=True " in line


def test_with_v_it_also_tells_its_requests(tmp_path: Path) -> None:
    with command(tmp_path / "home", "-v") as server:
        ask(server.url)
    assert any("[req-1] POST /api/search 200 in " in line for line in server.log)
    assert not any("hidden" in line for line in server.log)


def test_a_log_for_programs_tells_each_request_and_no_secret(tmp_path: Path) -> None:
    with command(tmp_path / "home", UNCHUNK_LOG_FORMAT="json") as server:
        ask(server.url)
    records: list[dict[str, Any]] = [json.loads(line) for line in server.log]
    [search] = [one for one in records if one.get("route") == "/api/search"]
    assert search.pop("seconds") > 0
    assert search.pop("time")
    assert search.pop("message").startswith("POST /api/search 200 in ")
    assert search == {
        "level": "info",
        "job": "req-1",
        "method": "POST",
        "route": "/api/search",
        "status": 200,
    }
    [missing] = [one for one in records if one.get("status") == 404 and "documents" in one["route"]]
    assert missing["route"] == "/api/documents/{document}"
    # Probes come every few seconds.
    assert not any("/health" in line for line in server.log)
    assert not any("hidden" in line for line in server.log)


def test_a_format_that_is_none_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "unchunk", "--home", str(tmp_path / "home"), "serve"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"UNCHUNK_LOG_FORMAT": "xml"},
    )
    assert done.returncode == 1
    assert "log_format 'xml' is neither text nor json" in done.stderr
