"""The tools over the standard streams of a real process."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from adapters.llm.scripted import ScriptedModel
from agents.clients import ERAS, Hearing, over_stdio, refused, run, told
from agents.shelves import fill
from cli.terminals import environment
from homes import Home
from unchunk import __version__
from unchunk.beside.running import Notice
from unchunk.engine import Engine
from unchunk.settings import load
from unchunk.wiring import open_engine

LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library whose own owner is one of two."""
    folder = tmp_path_factory.mktemp("alone")
    shelf = Home(folder)

    async def work(engine: Engine) -> None:
        await fill(engine, folder)

    shelf.run(work)
    return shelf.folder


def settings(home: Path, **more: str) -> dict[str, str]:
    chosen = environment(home) | {"UNCHUNK_OWNER": "ada", "UNCHUNK_CHUNK_SIZE": "800"} | more
    return {name: it for name, it in chosen.items() if name.startswith("UNCHUNK_")}


@contextmanager
def process(home: Path, *before: str) -> Iterator["subprocess.Popen[str]"]:
    """One to speak to by hand."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-m", "unchunk", *before, "mcp"],
        env=os.environ | settings(home),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        start_new_session=True,
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def say(started: "subprocess.Popen[str]", *messages: object) -> None:
    assert started.stdin
    for one in messages:
        started.stdin.write(one if isinstance(one, str) else f"{json.dumps(one)}\n")
    started.stdin.flush()


def hear(started: "subprocess.Popen[str]") -> dict[str, object]:
    assert started.stdout
    heard = json.loads(started.stdout.readline())
    assert isinstance(heard, dict)
    return heard


@pytest.mark.parametrize("era", ERAS)
def test_every_tool_works_in_a_process_of_its_own(home: Path, era: str) -> None:
    async def work() -> None:
        async with over_stdio(settings(home), era) as client:
            tools = [one.name for one in (await client.list_tools()).tools]
            assert tools == ["rag_search", "get_document", "list_documents", "ask"]
            listed = await told(client, "list_documents")
            assert listed.startswith("3 document(s)")
            assert "lighthouse" not in listed
            found = await told(client, "rag_search", query="what does a berth cost", limit=1)
            assert found.startswith("🔍 CHUNK-AWARE RETRIEVAL: 1 document(s) reconstructed")
            assert "lamp is lit" not in await told(client, "rag_search", query="lamp lit by Ben")
            assert "Ignore all" in await told(client, "get_document", document="harbour.md")
            assert "fourteen" in await told(client, "ask", question="What does a berth cost?")
            assert "list_documents" in await refused(client, "get_document", document="none")
            assert "Field required" in await refused(client, "ask")

    run(work)


def test_nothing_but_the_protocol_is_on_standard_output(home: Path) -> None:
    call = {"name": "rag_search", "arguments": {"query": "berth"}}
    with process(home, "--verbose") as started:
        say(started, BEGIN)
        assert hear(started)["id"] == 1
        say(started, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        say(started, {**LIST, "method": "tools/call", "params": call})
        assert "CHUNK-AWARE" in str(hear(started))
        say(started, "nonsense\n", '{"jsonrpc": "2.0"}\n', {**LIST, "id": 3})
        while (heard := hear(started)).get("id") != 3:
            assert heard["jsonrpc"] == "2.0"
        rest, log = started.communicate(timeout=60)
        assert not rest
        assert started.returncode == 0
    # What happens is told there.
    assert "the tool rag_search answered" in log
    assert "Traceback" not in log


def test_it_ends_with_its_input_and_leaves_no_process(home: Path) -> None:
    call = {"name": "rag_search", "arguments": {"query": "berth"}}
    with process(home) as started:
        say(started, BEGIN)
        hear(started)
        say(started, {**LIST, "method": "tools/call", "params": call})
        hear(started)
        said, log = started.communicate(timeout=60)
        assert (said, log, started.returncode) == ("", "", 0)
        with suppress(ProcessLookupError):
            os.killpg(started.pid, 0)
            raise AssertionError("it left a process behind")


def test_whoever_stops_reading_ends_it(home: Path) -> None:
    with process(home) as started:
        say(started, BEGIN)
        hear(started)
        assert started.stdin
        assert started.stdout
        started.stdout.close()
        with suppress(BrokenPipeError):
            say(started, LIST)
            started.stdin.close()
        assert started.wait(60) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_though_it_waits_for_a_line(home: Path, number: signal.Signals) -> None:
    call = {"name": "rag_search", "arguments": {"query": "berth"}}
    with process(home) as started:
        say(started, BEGIN)
        hear(started)
        say(started, {**LIST, "method": "tools/call", "params": call})
        hear(started)
        started.send_signal(number)
        assert started.wait(60) == 128 + number
        assert started.stderr
        assert not started.stderr.read()
        with suppress(ProcessLookupError):
            os.killpg(started.pid, 0)
            raise AssertionError("it left a process behind")


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_is_cancelled_stops_the_model(home: Path, era: str) -> None:
    async def work(url: str) -> None:
        chosen = settings(home, UNCHUNK_CHAT="openai:hang-amid", UNCHUNK_CHAT_URL=f"{url}/v1")
        heard = Hearing()

        async with over_stdio(chosen, era) as client:
            question = {"question": "What does a berth cost?"}
            call = asyncio.create_task(client.call_tool("ask", question, progress_callback=heard))
            await heard.begun.wait()
            while not model.started:  # noqa: ASYNC110 - of another thread
                await asyncio.sleep(0.01)
            call.cancel()
            with suppress(asyncio.CancelledError):
                await call
            while not model.aborted:  # noqa: ASYNC110 - of another thread
                await asyncio.sleep(0.01)
            assert "3 document(s)" in await told(client, "list_documents")

    with ScriptedModel() as model:
        run(lambda: work(model.url))


def test_a_library_that_is_in_use_says_so_and_works_when_it_is_free(home: Path) -> None:
    async def work() -> None:
        other = await open_engine(load(home, {}, embedder="hashing"))
        try:
            await other.claim()
            async with over_stdio(settings(home)) as client:
                said = await refused(client, "rag_search", query="berth")
                assert f"is open in process {os.getpid()}" in said
                # What needs no index works.
                assert "3 document(s)" in await told(client, "list_documents")
                await other.close()
                assert "CHUNK-AWARE" in await told(client, "rag_search", query="berth")
        finally:
            await other.close()

    run(work)


def test_only_searches_of_a_collection_that_the_server_does_not_search_are_refused(
    home: Path,
) -> None:
    notice = Notice(home, "ada", __version__)

    async def work() -> None:
        chosen = settings(home, UNCHUNK_CHAT_SOURCE="chunkenizer:http://127.0.0.1:1")
        async with over_stdio(chosen) as client:
            searches = {"rag_search": {"query": "berth"}, "ask": {"question": "berth?"}}
            for name, given in searches.items():
                said = await refused(client, name, **given)
                assert "searches the library, not the collection" in said
            # Nothing answers at the address of the notice.
            assert "does not answer" in await refused(client, "list_documents")
            assert "does not answer" in await refused(client, "get_document", document="a")

    notice.tell("http://127.0.0.1:1")
    try:
        run(work)
    finally:
        notice.take_back()


def test_settings_that_are_wrong_are_told_at_once(tmp_path: Path) -> None:
    wrong = os.environ | {"UNCHUNK_HOME": str(tmp_path), "UNCHUNK_NONSENSE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "unchunk", "mcp"],
        env=wrong,
        input="",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert not done.stdout
    assert "there is no setting 'nonsense'" in done.stderr


def test_other_commands_do_not_load_the_protocol() -> None:
    code = (
        "import sys, unchunk.cli, unchunk.server.app;"
        "sys.exit(int(any(one in sys.modules for one in ('mcp', 'mcp_types', 'sse_starlette'))))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
