"""Calls that are cancelled, fail, or whose caller goes away: nothing of them stays."""

import asyncio
import json
import logging
import socket
from contextlib import suppress
from typing import cast

import httpx2
import pytest

from agents.clients import ERAS, Hearing, over_http, refused, run, told
from server.scripted import Scripted, Served, Step, answer, eventually, serving
from unchunk.chat.events import Done, Failed, Planned, ReadingPart, SourcesFound, Token
from unchunk.errors import NotFoundError, TransientError
from unchunk.mcp.protocol import Context, reporting
from unchunk.server.options import Options

QUESTION = {"question": "When?"}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "ask",
        "arguments": QUESTION,
        "_meta": {
            "progressToken": 7,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}
VERSIONS = ("2025-06-18", "2026-07-28")


def begun(served: Served, version: str) -> socket.socket:
    """A connection over which an answer was asked for that has begun to come."""
    host, port = served.url.removeprefix("http://").split(":")
    body = json.dumps(CALL).encode()
    head = [
        "POST /mcp HTTP/1.1",
        f"Host: {host}:{port}",
        "Accept: application/json, text/event-stream",
        "Content-Type: application/json",
        f"MCP-Protocol-Version: {version}",
        "Mcp-Method: tools/call",
        "Mcp-Name: ask",
        f"Content-Length: {len(body)}",
    ]
    line = socket.create_connection((host, int(port)), timeout=60)
    line.sendall("\r\n".join([*head, "", ""]).encode() + body)
    said = b""
    while b"documents found" not in said:
        piece = line.recv(4096)
        assert piece, said
        said += piece
    return line


def idle(served: Served) -> set[str]:
    """What runs in a server whose agents' part was loaded, and where nobody asks."""
    for version in VERSIONS:
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": version,
        }
        httpx2.post(f"{served.url}/mcp", json={}, headers=headers)
    return {one.partition(" ")[2].partition(" at ")[0] for one in served.tasks()}


def now(served: Served) -> set[str]:
    return {one.partition(" ")[2].partition(" at ")[0] for one in served.tasks()}


def test_a_call_that_is_cancelled_stops_the_answer() -> None:
    engine = Scripted(pause_at=2)

    async def work(url: str) -> None:
        heard = Hearing()

        async with over_http(url) as client:
            call = asyncio.create_task(client.call_tool("ask", QUESTION, progress_callback=heard))
            await heard.begun.wait()
            call.cancel()
            with suppress(asyncio.CancelledError):
                await call
            # The line is as good as before.
            assert (await client.list_tools()).tools

    with serving(engine.engine) as served:
        run(lambda: work(served.url))
        eventually(lambda: engine.open == 0)
        assert engine.stopped == 1
        eventually(lambda: served.streams.running == 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_whoever_goes_away_leaves_nothing_behind(version: str) -> None:
    engine = Scripted(pause_at=2)
    with serving(engine.engine) as served:
        before = idle(served)
        lines = [begun(served, version) for _ in range(5)]
        assert engine.open == 5
        assert served.streams.running == 5
        for line in lines:
            line.close()
        eventually(lambda: engine.open == 0)
        assert engine.stopped == 5
        eventually(lambda: served.streams.running == 0 and served.connections() == 0)
        eventually(lambda: now(served) - {"<coroutine object _shutdown_watcher"} <= before)


def test_a_stopped_answer_has_time_to_put_things_down() -> None:
    engine = Scripted(pause_at=2, linger=0.3)
    with serving(engine.engine) as served:
        begun(served, "2026-07-28").close()
        eventually(lambda: engine.open == 0)
        assert engine.stopped == 1


@pytest.mark.parametrize("era", ERAS)
def test_answers_for_agents_count_among_all_others(era: str) -> None:
    engine = Scripted(pause_at=2)

    async def work(url: str) -> str:
        async with over_http(url, era=era) as client:
            return await refused(client, "ask", **QUESTION)

    with serving(engine.engine, Options(max_streams=1)) as served:
        line = begun(served, "2026-07-28")
        assert "1 answers are being written: try again later" in run(lambda: work(served.url))
        line.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_that_ends_does_not_wait_for_answers(version: str) -> None:
    engine = Scripted(pause_at=2)
    with serving(engine.engine) as served:
        line = begun(served, version)
        assert served.server is not None
        served.server.should_exit = True
        said = b""
        while piece := line.recv(4096):
            said += piece
        assert b"as the server shuts down: call again" in said
        line.close()
    assert (engine.open, engine.stopped) == (0, 1)


@pytest.mark.parametrize("era", ERAS)
def test_what_nobody_foresaw_is_told_in_the_log_alone(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="unchunk")
    engine = Scripted([RuntimeError("the inside of it")])

    async def work(url: str) -> str:
        async with over_http(url, era=era) as client:
            return await refused(client, "ask", **QUESTION)

    with serving(engine.engine) as served:
        said = run(lambda: work(served.url))
    assert said.startswith("something went wrong inside; the log tells what, as request ")
    [record] = [one for one in caplog.records if "the inside of it" in one.getMessage()]
    assert vars(record)["job"] == said.rpartition(" ")[2]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([NotFoundError("there is no conversation 'x'")], "there is no conversation 'x'"),
        ([TransientError("a\nwicked \x1b[2J message")], "a wicked ␛[2J message"),
        (
            [Planned(rag=True), Failed("unavailable", "the model is down", True)],
            "the model is down",
        ),
    ],
)
def test_an_answer_that_failed_is_an_error_in_words(events: list[Step], said: str) -> None:
    engine = Scripted(events)

    async def work(url: str) -> str:
        async with over_http(url) as client:
            return await refused(client, "ask", **QUESTION)

    with serving(engine.engine) as served:
        assert run(lambda: work(served.url)) == said


def test_an_answer_in_spite_of_an_error_tells_both() -> None:
    events: list[Step] = [
        Planned(rag=True),
        SourcesFound(()),
        Token("A quote.\n[1] PAGE: Forged"),
        Failed("unavailable", "the model is down", True),
        Done("A quote.\n[1] PAGE: Forged", "extractive", "extractive"),
    ]
    engine = Scripted(events)

    async def work(url: str) -> str:
        async with over_http(url) as client:
            return await told(client, "ask", **QUESTION)

    with serving(engine.engine) as served:
        assert run(lambda: work(served.url)) == (
            "Answer:\n    A quote.\n    [1] PAGE: Forged\n\nSources: 0 document(s)\n\n"
            "Note: the model is down\n"
        )


def test_progress_is_told_now_and_then_and_not_with_every_word() -> None:
    engine = Scripted(answer(*["word "] * 200))
    heard = Hearing()

    async def work(url: str) -> None:
        async with over_http(url) as client:
            await client.call_tool("ask", QUESTION, progress_callback=heard)

    with serving(engine.engine) as served:
        run(lambda: work(served.url))
    assert [done for done, _ in heard.told] == [1, 201, 401, 601, 801, 1001]


def test_progress_tells_of_each_part_that_is_read_and_always_grows() -> None:
    parts = [ReadingPart(at, 2, "id", "a.md", 0, 9) for at in (1, 2)]
    plan, sources, *others = answer(*["word "] * 80)
    engine = Scripted([plan, sources, *parts, *others])
    heard = Hearing()

    async def work(url: str) -> None:
        async with over_http(url) as client:
            await client.call_tool("ask", QUESTION, progress_callback=heard)

    with serving(engine.engine) as served:
        run(lambda: work(served.url))
    done = [number for number, _ in heard.told]
    assert done == sorted(set(done))
    assert [said for _, said in heard.told][1:3] == [
        "reading part 1 of 2: a.md",
        "reading part 2 of 2: a.md",
    ]


def test_the_request_is_traced_to_the_engine() -> None:
    engine = Scripted()
    with serving(engine.engine) as served:
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
            "X-Request-ID": "mine",
        }
        reply = httpx2.post(f"{served.url}/mcp", json=CALL, headers=headers)
        assert reply.headers["X-Request-ID"] == "mine"
    [(_, owner, name)] = engine.asked
    assert (owner, name) == ("local", "mine")


def test_a_server_that_was_never_asked_never_loads_the_protocol() -> None:
    with serving(Scripted().engine) as served:
        assert not any("Agents" in one for one in served.tasks())


def test_whoever_takes_nothing_is_left() -> None:
    class Stuck:
        async def report_progress(self, *_: object) -> None:
            await asyncio.Event().wait()

    class Calling:
        session = Stuck()

    report = reporting(cast("Context", Calling()), patience=0.01)
    with pytest.raises(TransientError, match="takes nothing"):
        run(lambda: report(1, "so far"))
