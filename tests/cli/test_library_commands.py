"""The commands on a library, run as a user runs them."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import towns
from adapters.embed.provider import provider, right
from cli.terminals import interrupted
from unchunk.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
HARBOUR = (EXAMPLES / "harbour-rules.md").read_bytes()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("UNCHUNK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("UNCHUNK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UNCHUNK_EMBEDDER", "hashing")
    return towns.settle(tmp_path / "home")


def run(*arguments: str | Path, status: int = 0) -> Result:
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    assert done.exit_code == status, done.output
    return done


def run_json(*arguments: str | Path, status: int = 0) -> Any:  # noqa: ANN401 - what JSON holds
    return json.loads(run(*arguments, "--json", status=status).stdout)


@pytest.mark.usefixtures("home")
def test_documents_go_in_and_come_out(tmp_path: Path) -> None:
    done = run("add", EXAMPLES / "harbour-rules.md", EXAMPLES / "haiku.md", "--folder", "docs")
    assert "2 files: 2 added" in done.output
    listed = run("ls").output
    assert "harbour-rules.md" in listed
    assert "live" in listed
    assert "text/markdown" in run("show", "haiku.md").output
    assert run("text", "harbour-rules.md").stdout_bytes == HARBOUR
    assert "File: docs/harbour-rules.md" in run("search", "when is the berth free").output
    assert "nothing was found" in run("search", "berth", "--folder", "elsewhere").output
    assert "2 documents" in run("doctor").output
    archive = tmp_path / "library.zip"
    assert "2 documents" in run("export", archive).output
    assert "0 vectors, 0 originals" in run("rm", "haiku.md").output
    assert "imported: 1 document; 1 already there" in run("import", archive).output
    assert "rewritten: 2 documents" in run("reindex", "--all").output
    assert "rewritten: 1 document" in run("reindex", "haiku.md").output
    assert "nothing to do" in run("retry").output


@pytest.mark.usefixtures("home")
def test_every_command_speaks_json(tmp_path: Path) -> None:
    archive = tmp_path / "library.zip"
    added = run_json("add", EXAMPLES)
    assert {one["result"] for one in added["files"]} == {"added"}
    assert added["counters"]["embedding_calls"] >= 1
    documents = run_json("ls")["documents"]
    assert {one["name"] for one in documents} >= {"haiku.md", "harbour-rules.md"}
    shown = run_json("show", "harbour-rules.md")
    assert shown["live"]["chunking"]["strategy"]["unit"] == "chars"
    assert run_json("text", "harbour-rules.md")["text"].encode() == HARBOUR
    [hit] = run_json("search", "the harbour master", "--snippets", "--limit", "1")["hits"]
    assert hit["chunk"]["chunk_index"] >= 0
    assert run_json("doctor")["findings"] == []
    assert run_json("export", archive)["documents"] == len(documents)
    assert run_json("import", archive)["unchanged"] == len(documents)
    assert run_json("reindex", "--all")["documents"] == len(documents)
    assert run_json("retry")["files"] == []
    [receipt] = run_json("rm", "haiku.md")["receipts"]
    assert (receipt["vectors"], receipt["blobs"], receipt["cached"]) == (0, 0, 0)
    assert run_json("models", "ls")["models"][0]["name"] == "granite-embedding-30m-english"
    error = run_json("show", "haiku.md", status=1)["error"]
    assert error["type"] == "NotFoundError"


@pytest.mark.usefixtures("home")
def test_a_file_that_fails_is_told_kept_and_listed_and_the_status_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty.md").touch()
    shutil.copy(EXAMPLES / "haiku.md", tmp_path / "haiku.md")
    done = run("add", tmp_path / "empty.md", tmp_path / "haiku.md", status=1)
    assert "failed: empty.md: it has no bytes" in done.output
    assert "1 failed, 1 added" in done.output
    assert "empty: it has no bytes" in run("ls").output
    assert "failed    empty" in run("show", "empty.md").output
    assert "failed: empty.md" in run("retry", status=1).output


def test_a_damaged_document_is_named_and_the_rest_is_exported(home: Path, tmp_path: Path) -> None:
    run("add", EXAMPLES / "harbour-rules.md", EXAMPLES / "haiku.md")
    database = sqlite3.connect(home / "catalog.sqlite")
    with database:
        [haiku] = database.execute("SELECT id FROM documents WHERE name = 'haiku.md'")
        database.execute("UPDATE texts SET content = x'00' WHERE document = ?", haiku)
    database.close()
    told = run("export", tmp_path / "library.zip", status=1).output
    assert "1 document ->" in told
    assert "haiku.md was left out: its text is damaged; `unchunk doctor --fix`" in told
    assert run_json("export", tmp_path / "library.zip", status=1)["damaged"] == ["haiku.md"]
    assert "fixed: haiku.md" in run("doctor", "--fix").output
    assert "2 documents" in run("export", tmp_path / "library.zip").output


@pytest.mark.usefixtures("home")
def test_the_same_content_twice_is_told() -> None:
    run("add", EXAMPLES / "haiku.md")
    assert "1 unchanged" in run("add", EXAMPLES / "haiku.md").output
    assert (
        "linked: haiku.md has the content of haiku.md"
        in run("add", EXAMPLES / "haiku.md", "--folder", "other").output
    )


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("add", "/no/such/file"), 1, "there is no such file"),
        (("text", "nothing"), 1, "there is no document 'nothing'"),
        (("reindex",), 2, "name documents, or say --all"),
        (("import", "/no/such/archive"), 1, "is not a library archive"),
        (("search", " "), 1, "nothing to search for"),
        (("models", "use", "nonsense"), 1, "is not here"),
        (("models", "get", "nonsense"), 1, "nonsense"),
    ],
)
@pytest.mark.usefixtures("home")
def test_what_cannot_be_done_is_said_in_a_line(
    arguments: tuple[str, ...], status: int, says: str
) -> None:
    done = run(*arguments, status=status)
    assert says in done.output
    assert "Traceback" not in done.output


def test_a_changed_setting_names_the_command_that_migrates(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("add", EXAMPLES / "haiku.md")
    (home / "unchunk.toml").write_text("chunk_size = 300\nchunk_overlap = 50\n")
    assert "`unchunk reindex --all`" in run("add", EXAMPLES, status=1).output
    run("reindex", "--all")
    run("add", EXAMPLES / "harbour-rules.md")
    monkeypatch.setenv("UNCHUNK_CHUNK_SIZ", "300")
    assert "did you mean chunk_size?" in run("ls", status=1).output


def test_a_model_that_is_here_can_be_used(home: Path) -> None:
    run("models", "use", "granite-embedding-30m-english")
    assert 'embedder = "local:granite-embedding-30m-english"' in (home / "unchunk.toml").read_text()


def test_an_interrupt_keeps_what_came_in_and_says_how_to_go_on(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for number in range(40):
        (files / f"{number}.md").write_text(f"# {number}\n\n" + f"Word {number}. " * 200)
    command = [sys.executable, "-m", "unchunk", "add", str(files)]
    with provider() as server:
        environment = {
            **os.environ,
            "PYTHONFAULTHANDLER": "1",
            "UNCHUNK_EMBEDDER": "openai:m",
            "UNCHUNK_EMBEDDER_URL": f"{server.url}/v1",
            "UNCHUNK_HOME": str(tmp_path / "home"),
        }
        stuck = threading.Event()

        def hang(*_: object) -> None:
            stuck.set()
            server.released.wait()

        server.plan.extend([right] * 8 + [hang] * 100)
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as process:
            assert stuck.wait(120)
            errors = interrupted(process)
        assert process.returncode == 130, errors.decode()
        assert b"the same command goes on" in errors
        server.plan.clear()
        again = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert "40 files" in again.stdout
        healthy = subprocess.run(
            [*command[:3], "doctor"], env=environment, capture_output=True, text=True, check=True
        )
        assert "40 documents" in healthy.stdout
