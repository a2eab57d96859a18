"""`unchunk recover`, as people and scripts run it."""

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adapters.embed.provider import provider, right
from cli.terminals import environment, interrupted, shown
from recovery.vector_stores import Held, VectorStores, prose, refusing
from servers import free_ports
from unchunk.cli import main


@pytest.fixture(autouse=True)
def _hashing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNCHUNK_EMBEDDER", "hashing")
    monkeypatch.setenv("UNCHUNK_HOME", str(tmp_path / "home"))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["recover", *arguments])


def args(server: VectorStores, output: Path, *more: str) -> list[str]:
    return ["--vector-store", "vs_1", "--base-url", server.url, "-o", str(output), *more]


def fill(server: VectorStores) -> None:
    server.put("vs_1", Held("file-1", "a.md", prose(900, 1), attributes={"year": 2024}))
    server.put("vs_1", Held("file-2", "b.pdf", "What a page says.\n"))


def test_files_come_back_and_the_summary_tells_how_sure_they_are(
    server: VectorStores, tmp_path: Path
) -> None:
    fill(server)
    output = tmp_path / "output"
    done = run(*args(server, output, "--verify"))
    assert done.exit_code == 0, done.output
    assert (output / "a.md.reconstructed.md").read_text() == prose(900, 1)
    lines = done.stdout.splitlines()
    assert lines[0].endswith("START: Retrieve and reconstruct files from vector store...")
    assert f"    [ 2 / 2 ] b.pdf: 1 chunks -> 18 bytes -> {output}/b.pdf.reconstructed.md" in lines
    assert lines[-4:] == [
        "  Summary: 2 files, 7 chunks, 8,935 bytes reconstructed",
        "  Verdicts: 1 verified, 1 exact",
        "  Verify: 2 same",
        f"  Report: {output}/recovery.json",
    ]
    assert done.stderr == ""


def test_what_did_not_come_back_is_counted_and_the_status_is_1(
    server: VectorStores, tmp_path: Path
) -> None:
    fill(server)
    server.put("vs_1", Held("file-3", "c.md", status="in_progress"), Held("file-4", "d.md", ""))
    done = run(*args(server, tmp_path / "output"))
    assert done.exit_code == 1
    assert "  Not back: 1 in progress\n" in done.stdout
    assert run(*args(server, tmp_path / "output", "--only", "a.md")).exit_code == 0
    missed = run(*args(server, tmp_path / "output", "--only", "a.md", "--only", "z.md"))
    assert missed.exit_code == 1
    assert "there is no file 'z.md'" in missed.stdout


def test_a_store_whose_only_file_has_no_chunks_is_no_error(
    server: VectorStores, tmp_path: Path
) -> None:
    server.put("vs_1", Held("file-1", "empty.md", "", length=1_200))
    done = run(*args(server, tmp_path / "output", "--verify"))
    assert done.exit_code == 0, done.output
    told = "there are no chunks; the store says that the file had 1,200 bytes"
    assert f"      Warning: none; {told}" in done.stdout
    assert "  Empty: 1 of the files, because their store has no chunks of them" in done.stdout
    assert "Not back" not in done.stdout
    assert (tmp_path / "output" / "empty.md.reconstructed.md").read_bytes() == b""


def test_chunks_that_do_not_make_a_file_again_fail_the_verification(
    server: VectorStores, tmp_path: Path
) -> None:
    # Overlap 0 parts a character here, and no chunk holds it whole.
    server.put("vs_1", Held("file-1", "a.md", "🙂👍🏽 " * 200, 50, 0))
    done = run(*args(server, tmp_path / "output", "--verify"))
    assert done.exit_code == 1
    assert "      Warning: lossy" in done.stdout
    assert "      Warning: verify: differs at chunk" in done.stdout
    assert run(*args(server, tmp_path / "output")).exit_code == 0


def test_nothing_is_said_where_that_is_wanted_but_errors(
    server: VectorStores, tmp_path: Path
) -> None:
    fill(server)
    done = run(*args(server, tmp_path / "output", "--quiet"))
    assert (done.exit_code, done.output) == (0, "")
    server.faults.append(("/vector_stores", refusing(401, "no such key")))
    done = run(*args(server, tmp_path / "output", "--quiet"))
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "set OPENAI_API_KEY to a key that may read this" in done.stderr


def test_programs_get_json(server: VectorStores, tmp_path: Path) -> None:
    fill(server)
    done = run(*args(server, tmp_path / "output", "--json"))
    found = json.loads(done.stdout)["recovered"]
    assert [one["verdict"] for one in found["results"]] == ["verified", "exact"]
    assert found["report"] == f"{tmp_path}/output/recovery.json"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "say which store: --vector-store vs_..."),
        (["--vector-store", "vs_1", "--collection", "x"], "go with another --from"),
        (["--from", "qdrant", "--vector-store", "vs_1"], "do not go with --from qdrant"),
        (["--from", "chroma", "--url", "x"], "--url and --collection"),
        (
            ["--from", "qdrant", "--url", "x", "--collection", "y", "--field", "text"],
            "--field text: write it as text=body",
        ),
        (["--vector-store", "vs_1", "--size", "800"], "--size and --overlap go together"),
        (["--vector-store", "vs_1", "--concurrency", "0"], "--concurrency"),
        (["--vector-store", "vs_1", "--calibrate", "once"], "--calibrate"),
    ],
)
def test_what_makes_no_sense_is_refused(given: list[str], says: str) -> None:
    done = run(*given)
    assert done.exit_code == 2
    assert says in done.stderr


def test_without_a_key_it_is_said_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    done = run("--vector-store", "vs_1")
    assert done.exit_code == 1
    assert "there is no key: set OPENAI_API_KEY" in done.stderr


def test_a_server_named_by_its_url_needs_no_key(
    server: VectorStores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    # No proxy reaches this very machine.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    fill(server)
    assert run(*args(server, tmp_path / "output")).exit_code == 0


def test_azure_is_reached_by_its_own_variables(
    server: VectorStores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.root)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key")
    monkeypatch.setenv("OPENAI_API_VERSION", "2025-04-01-preview")
    fill(server)
    done = run("--azure", "--vector-store", "vs_1", "-o", str(tmp_path / "output"))
    assert done.exit_code == 0, done.output
    assert server.headers[0]["api-key"] == "azure-key"
    server.faults.append(("/vector_stores", refusing(401, "no")))
    done = run("--azure", "--vector-store", "vs_1", "-o", str(tmp_path / "output"))
    assert "set AZURE_OPENAI_API_KEY" in done.stderr


@pytest.mark.parametrize("kind", ["qdrant", "chroma", "chunkenizer"])
def test_other_stores_are_asked_where_they_are_said_to_be(kind: str, tmp_path: Path) -> None:
    [port] = free_ports(1)
    given = ["--from", kind, "--url", f"http://127.0.0.1:{port}", "--patience", "1"]
    given += [] if kind == "chunkenizer" else ["--collection", "notes"]
    done = run(*given, "-o", str(tmp_path / "output"))
    assert done.exit_code == 1
    assert f"127.0.0.1:{port}" in done.stderr
    assert not (tmp_path / "output").exists()


def test_files_come_back_out_of_a_folder_of_chroma(tmp_path: Path) -> None:
    chromadb = pytest.importorskip("chromadb")
    text = prose(400, 8)
    splitter = pytest.importorskip("langchain_text_splitters").RecursiveCharacterTextSplitter(
        chunk_size=500, chunk_overlap=100, add_start_index=True
    )
    parts = splitter.create_documents([text], [{"source": "notes/a.md"}])
    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(tmp_path / "chroma"), settings)
    kept = client.create_collection("notes", embedding_function=None)
    kept.add(
        ids=[str(at) for at in range(len(parts))],
        documents=[part.page_content for part in parts],
        metadatas=[part.metadata for part in parts],
        embeddings=[[1.0, float(at)] for at in range(len(parts))],
    )
    given = ["--from", "chroma", "--url", str(tmp_path / "chroma"), "--collection", "notes"]
    done = run(*given, "--suffix", "", "--verify", "-o", str(tmp_path / "output"))
    assert done.exit_code == 0, done.output
    assert "  Verify: 1 every chunk stands in it, in order" in done.stdout
    assert (tmp_path / "output" / "a.md").read_text() == text.strip()


def test_fields_of_ones_own_are_named_one_by_one(tmp_path: Path) -> None:
    chromadb = pytest.importorskip("chromadb")
    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(tmp_path / "chroma"), settings)
    kept = client.create_collection("notes", embedding_function=None)
    rows = [{"body": f"Part {at}.\n", "wo": "b.txt", "place": at} for at in range(3)]
    kept.add(ids=["2", "0", "1"], metadatas=rows, embeddings=[[1.0, 2.0]] * 3)
    given = ["--from", "chroma", "--url", str(tmp_path / "chroma"), "--collection", "notes"]
    given += ["--suffix", "", "-o", str(tmp_path / "output")]
    unknown = run(*given)
    assert unknown.exit_code == 1
    assert "map them with --field text=body" in unknown.stderr
    parts = ["--field", "text=body", "--field", "document=wo", "--field", "chunk_index=place"]
    assert run(*given, *parts).exit_code == 0
    text = (tmp_path / "output" / "b.txt").read_text()
    assert [line for line in text.splitlines() if line] == ["Part 0.", "Part 1.", "Part 2."]
    assert run(*given, "--field", "colour=blue").exit_code == 1


def library(*arguments: str) -> dict[str, dict[str, object]]:
    done = CliRunner().invoke(main, ["ls", "--json", *arguments])
    return {one["name"]: one for one in json.loads(done.stdout)["documents"]}


def test_files_go_straight_into_the_library_with_their_attributes(
    server: VectorStores, tmp_path: Path
) -> None:
    fill(server)
    server.put(
        "vs_1",
        Held("file-3", "a.md", "Another of that name.\n", attributes={"tags": "x\ud800\0y"}),
        Held("file-4", "../up.txt", "It leads nowhere.\n"),
        Held("file-5", "data.json", '{"a": [1, 2]}\n'),
        Held("file-6", "page.html", "What a page says, and no page.\n"),
        Held("file-7", "empty.md", ""),
        Held("file-8", "real.html", "<!DOCTYPE html><html><body><p>Hello.</p></body></html>"),
    )
    done = run(*args(server, tmp_path / "output", "--add", "--folder", "rescued"))
    assert done.exit_code == 0, done.output
    assert "  Library: 7 added" in done.stdout
    assert "  Empty: 1 of the files, because their store has no chunks of them" in done.stdout
    found = library("--folder", "rescued")
    assert set(found) == {
        "a.md",
        "b.pdf.md",
        "a~file-3.md",
        ".._up.txt",
        "data.json",
        "page.html.md",
        "real.html",
    }
    assert found["a.md"]["attributes"] == {
        "year": 2024,
        "recovered_from": "vs_1",
        "file_id": "file-1",
        "verdict": "verified",
    }
    assert all(one["live"] for one in found.values())
    text = CliRunner().invoke(main, ["text", "a.md"])
    assert text.stdout == prose(900, 1)
    again = run(*args(server, tmp_path / "output", "--add", "--folder", "rescued"))
    assert "  Library: 7 unchanged" in again.stdout


def test_one_file_of_several_stores_is_added_once_for_each(
    server: VectorStores, tmp_path: Path
) -> None:
    given = ["--base-url", server.url, "-o", str(tmp_path / "output"), "--add"]
    for at in range(4):
        server.put(f"vs_{at}", Held("same", "n.md", f"Of store {at}.\n"))
        given += ["--vector-store", f"vs_{at}"]
    assert "  Library: 4 added" in run(*given).stdout
    assert set(library()) == {"n.md", "n~same.md", "n~same~2.md", "n~same~3.md"}


def test_what_the_library_does_not_take_is_told(server: VectorStores, tmp_path: Path) -> None:
    server.put("vs_1", Held("file-1", "a.md", "  \n\n  \n"))
    done = run(*args(server, tmp_path / "output", "--add"))
    assert done.exit_code == 1
    assert "  failed: a.md: it has no text" in done.stdout


@contextmanager
def serving(home: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "unchunk", "serve", "--port", "0", "--no-sample", "--json"]
    with subprocess.Popen(
        command, env=environment(home), stdout=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stdout
            assert started.stdout.readline()
            yield
        finally:
            started.kill()


def test_files_go_into_a_library_that_a_server_has(server: VectorStores, tmp_path: Path) -> None:
    fill(server)
    with serving(tmp_path / "home"):
        done = run(*args(server, tmp_path / "output", "--add"))
        assert done.exit_code == 0, done.output
        found = library()
    assert set(found) == {"a.md", "b.pdf.md"}
    assert found["a.md"]["attributes"] == {
        "year": 2024,
        "recovered_from": "vs_1",
        "file_id": "file-1",
        "verdict": "verified",
    }


def test_an_interrupt_ends_what_is_being_added_and_says_how_to_go_on(
    server: VectorStores, tmp_path: Path
) -> None:
    for number in range(40):
        server.put("vs_1", Held(f"file-{number}", f"{number}.md", prose(200, number)))
    command = [sys.executable, "-m", "unchunk"]
    adding = [*command, "recover", *args(server, tmp_path / "output", "--add")]
    stuck = threading.Event()
    with provider() as remote:
        # Such patience that nothing but the interrupt ends it.
        settings = {
            **os.environ,
            "PYTHONFAULTHANDLER": "1",
            "UNCHUNK_EMBEDDER": "openai:m",
            "UNCHUNK_EMBEDDER_URL": f"{remote.url}/v1",
            "UNCHUNK_EMBEDDER_PATIENCE": "3600",
        }

        def hang(*_: object) -> None:
            stuck.set()
            remote.released.wait()

        remote.plan.extend([right] * 8 + [hang] * 200)
        with subprocess.Popen(
            adding, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert stuck.wait(120)
            errors = interrupted(process)
        assert process.returncode == 130, errors.decode()
        assert b"the same command goes on" in errors
        remote.plan.clear()
        subprocess.run(adding, env=settings, capture_output=True, check=True)
        healthy = subprocess.run(
            [*command, "doctor"], env=settings, capture_output=True, text=True, check=True
        )
    assert "40 documents" in healthy.stdout
    assert all(one["attributes"] for one in library().values())


def test_on_a_screen_a_bar_is_shown_and_the_lines_stay_whole(
    server: VectorStores, tmp_path: Path
) -> None:
    fill(server)
    said = shown(
        "recover",
        *args(server, tmp_path / "output"),
        home=tmp_path / "home",
        settings={"OPENAI_API_KEY": "k"},
    )
    assert "START: Retrieve and reconstruct files" in said
    assert "Summary: 2 files, 7 chunks, 8,935 bytes reconstructed" in said
    assert "Fetched" in said


def test_lines_go_to_a_file_where_only_the_bar_is_on_a_screen(
    server: VectorStores, tmp_path: Path
) -> None:
    fill(server)
    screen, side = pty.openpty()
    seen: list[bytes] = []

    def watch() -> None:
        with suppress(OSError):  # as it ends when nobody has the screen open
            while piece := os.read(screen, 65536):
                seen.append(piece)

    watching = threading.Thread(target=watch)
    watching.start()
    with (tmp_path / "log").open("wb") as log:
        done = subprocess.run(
            [sys.executable, "-m", "unchunk", "recover", *args(server, tmp_path / "output")],
            env={**os.environ, "TERM": "xterm"},
            stdout=log,
            stderr=side,
            check=False,
        )
    os.close(side)
    watching.join()
    os.close(screen)
    bar = b"".join(seen).decode()
    assert done.returncode == 0, bar
    assert "Summary: 2 files" in (tmp_path / "log").read_text()
    assert "Summary" not in bar
