"""The commands on a library that a running server has, and agents' tools beside it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agents.clients import over_stdio, told
from agents.clients import run as awaited
from cli.terminals import environment, on_screen
from unchunk.beside.running import FILE, find
from unchunk.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
HARBOUR = EXAMPLES / "harbour-rules.md"


@contextmanager
def server(home: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """A real one, ready to answer."""
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "unchunk",
            "serve",
            "--port",
            "0",
            "--no-sample",
            "--json",
            *options,
        ],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            assert started.stdout
            assert started.stderr
            line = started.stdout.readline()
            assert line, started.stderr.read()
            yield started
        finally:
            started.kill()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    home = tmp_path_factory.mktemp("served") / "home"
    with server(home) as started:
        yield home, started.pid


@pytest.fixture
def beside(served: tuple[Path, int], monkeypatch: pytest.MonkeyPatch) -> tuple[Path, int]:
    """In the environment of the server; each test begins without documents."""
    home, pid = served
    for name in [name for name in os.environ if name.startswith("UNCHUNK_")]:
        monkeypatch.delenv(name)
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    for one in run_json("ls")["documents"]:
        run("rm", one["id"])
    return home, pid


def run(*arguments: str | Path, status: int = 0) -> Result:
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    assert done.exit_code == status, done.output
    return done


def run_json(*arguments: str | Path, status: int = 0) -> Any:  # noqa: ANN401 - what JSON holds
    return json.loads(run(*arguments, "--json", status=status).stdout)


@pytest.mark.usefixtures("beside")
def test_documents_go_in_and_come_out_beside_a_server(tmp_path: Path) -> None:
    (tmp_path / "empty.md").write_text("")
    assert "1 file: 1 added" in run("add", HARBOUR, "--folder", "docs").output
    assert "1 file: 1 unchanged" in run("add", HARBOUR, "--folder", "docs").output
    failed = run("add", tmp_path / "empty.md", status=1).output
    assert "failed: empty.md: " in failed
    assert "harbour-rules.md" in run("ls").output
    assert "text/markdown" in run("show", "harbour-rules.md").output
    assert run("text", "harbour-rules.md").stdout_bytes == HARBOUR.read_bytes()
    assert "File: docs/harbour-rules.md" in run("search", "when is the berth free").output
    assert "Found, best first" in run("search", "berth", "--why", "--no-content").output
    assert "nothing was found" in run("search", "berth", "--folder", "elsewhere").output
    [hit] = run_json("search", "the harbour master", "--snippets", "--limit", "1")["hits"]
    assert hit["name"] == "harbour-rules.md"
    assert run("retry", status=1).output.startswith("failed: empty.md")
    assert "rewritten: 1 document" in run("reindex", "harbour-rules.md").output
    assert "0 vectors, 0 originals" in run("rm", "harbour-rules.md").output


@pytest.mark.usefixtures("beside")
def test_questions_are_answered_and_conversations_kept() -> None:
    run("add", HARBOUR)
    answered = run_json("ask", "What does a night in the harbour cost?", "--conversation", "new")
    assert answered["sources"][0]["name"] == "harbour-rules.md"
    assert answered["citations"]
    conversation = answered["conversation"]
    assert "Sources:" in run("ask", "And in winter?", "--conversation", conversation).output
    assert "And in winter?" in run("conversations", "show", conversation).output
    piped = CliRunner().invoke(main, ["chat"], input="What does a berth cost?\n")
    assert piped.exit_code == 0
    assert "Sources:" in piped.output
    run("conversations", "rm", conversation)


@pytest.mark.parametrize(
    "command",
    [
        ("reindex", "--all"),
        ("doctor",),
        ("doctor", "--fix"),
        ("export", "library.zip"),
        ("import", "library.zip"),
    ],
)
def test_what_needs_the_library_for_itself_names_the_server(
    beside: tuple[Path, int], command: tuple[str, ...]
) -> None:
    home, pid = beside
    running = find(home)
    assert running is not None
    said = run(*command, status=1).stderr
    assert f"a server is using this library ({running.url}, pid {pid}). Stop the server" in said


@pytest.mark.usefixtures("beside")
def test_errors_are_the_same_as_without_a_server() -> None:
    gone = run_json("ask", "Why?", "--conversation", "nonsense", status=1)
    assert gone["error"]["type"] == "NotFoundError"
    assert "there is no document 'nothing.md'" in run("rm", "nothing.md", status=1).stderr
    assert "there is no such file or folder" in run("add", "nothing.md", status=1).stderr


def test_progress_is_on_the_screen(beside: tuple[Path, int], tmp_path: Path) -> None:
    for at in range(3):
        (tmp_path / f"file {at}.md").write_text(f"The number of this file is {at}. " * 200)
    with on_screen("add", str(tmp_path), home=beside[0]) as screen:
        assert screen.ended() == 0, screen.said
    assert "Embedded" in screen.said
    assert "3 files: 3 added" in screen.said


def test_whose_documents_they_are_must_agree(
    beside: tuple[Path, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCHUNK_OWNER", "somebody else")
    assert run_json("ls")["documents"] == []
    said = run("search", "berth", status=1).stderr
    assert f"(pid {beside[1]}) is using this library for the owner 'local'" in said


@pytest.mark.usefixtures("beside")
def test_the_secret_is_no_document(beside: tuple[Path, int]) -> None:
    home, _ = beside
    assert (home / FILE).exists()
    names = [one["name"] for one in run_json("add", home.parent)["files"]]
    assert not any("server.json" in name for name in names)


def test_tools_of_agents_are_carried_out_by_the_server(beside: tuple[Path, int]) -> None:
    run("add", HARBOUR)
    settings = {k: v for k, v in environment(beside[0]).items() if k.startswith("UNCHUNK_")}

    async def work() -> None:
        async with over_stdio(settings) as first, over_stdio(settings, "legacy") as second:
            for client in (first, second):
                found = await told(client, "rag_search", query="what does a berth cost")
                assert "CHUNK-AWARE" in found
                said = await told(client, "ask", question="What does a night cost?")
                assert "Sources: " in said

    awaited(work)


def test_a_tool_goes_on_when_the_server_ends(tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = {k: v for k, v in environment(home).items() if k.startswith("UNCHUNK_")}

    async def work() -> None:
        async with over_stdio(settings) as client:
            with server(home) as started:
                assert find(home) is not None
                assert "0 document(s)" in await told(client, "rag_search", query="berth")
                started.send_signal(signal.SIGTERM)
                assert started.wait(60) == 0
            assert not (home / FILE).exists()
            assert "0 document(s)" in await told(client, "rag_search", query="berth")

    awaited(work)


def test_a_server_that_is_killed_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    with server(home) as started:
        run("add", HARBOUR)
        started.kill()
        started.wait(60)
    assert (home / FILE).exists()
    assert "File: harbour-rules.md" in run("search", "berth").output
    assert "healthy" in run("doctor").output


def test_where_keys_are_in_force_the_commands_need_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("UNCHUNK_REQUIRE_KEYS", "1")
    run("keys", "new", "mine")
    with server(home):
        assert "1 added" in run("add", HARBOUR).output
        assert "harbour-rules.md" in run("search", "berth").output
