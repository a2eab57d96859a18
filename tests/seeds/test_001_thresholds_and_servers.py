"""Document 001: thresholds that mean something, and the Python API beside a running server."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

import unchunk
from adapters.sources.stores import chroma_client, counted, fill_chroma
from corpus import ROOT
from homes import Home
from seed_documents import code_block, needs_documents
from servers import free_ports, running
from unchunk import ChatRequest, UnchunkError
from unchunk.beside.running import find
from unchunk.chat.request import question
from unchunk.cli import main
from unchunk.errors import LibraryInUseError, TransientError

AUTHENTICATION = """# Signing in

## Authentication methods

People sign in with a password and a second factor. OAuth is implemented for other programs: they
send the person to the authorization page and get a code back, which they exchange for a token.

## Tokens

An access token is good for one hour. With its refresh token a program gets the next one.
"""
COST = "What does a night in the harbour cost?"
NONSENSE = "How dense is the core of a neutron star?"
MODEL = "granite-embedding-30m-english"


class Served(NamedTuple):
    home: Path
    folder: Path
    url: str
    pid: int


@contextmanager
def serving(folder: Path, home: Path, **settings: str) -> Iterator[tuple[str, int]]:
    """`unchunk serve` as a process of its own, ready to answer: its address and process id."""
    (port,) = free_ports(1)
    kept = {name: it for name, it in os.environ.items() if not name.startswith("UNCHUNK_")}
    chosen = {f"UNCHUNK_{name.upper()}": it for name, it in settings.items()}
    environment = kept | chosen | {"UNCHUNK_HOME": str(home)}
    command = [sys.executable, "-m", "unchunk", "serve", "--port", str(port), "--no-sample"]
    url = f"http://127.0.0.1:{port}"
    with running(command, folder, environment, f"{url}/health/ready") as pid:
        yield url, pid


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the built-in model, where README's example has its library."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "sign-in.md").write_text(AUTHENTICATION)
    home = folder / "output" / "library"
    with serving(folder, home) as (url, pid):
        with unchunk.open(home) as library:
            library.add(folder / "sign-in.md", folder="security")
        yield Served(home, folder, url, pid)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("UNCHUNK_")]:
        monkeypatch.delenv(name)


@needs_documents
@pytest.mark.statement("001-80")
@pytest.mark.parametrize("line", [130, 271, 278])
def test_rag_search_works_as_shown_while_a_server_has_the_library(
    served: Served, line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCHUNK_HOME", str(served.home))
    results: list[str] = []

    def rag_search(*arguments: Any, **options: Any) -> str:  # noqa: ANN401 - as the document has them
        results.append(unchunk.rag_search(*arguments, **options))
        return results[-1]

    exec(code_block("001", line), {"rag_search": rag_search})  # noqa: S102 - the document's own
    assert "1 document(s) reconstructed" in results[0]
    assert "second factor" in results[0]
    with unchunk.open(served.home) as library:
        assert library.rag_search("auth", limit=5) == unchunk.rag_search("auth", limit=5)
    if len(results) > 1:
        assert "chunk(s) found" in results[1]


@needs_documents
@pytest.mark.statement("001-81")
def test_search_with_context_works_as_shown_while_a_server_has_the_library(served: Served) -> None:
    code = code_block("001", 141).strip()
    with unchunk.open(served.home) as library:
        found = eval(code, {"search_with_context": library.search_with_context})  # noqa: S307
        assert library.search_with_context("OAuth implementation", min_score=0.99) == []
        assert library.search_with_context(NONSENSE) == []
        assert library.search_with_context(NONSENSE, min_score=-1)
    assert [one.name for one in found] == ["sign-in.md"]
    assert "OAuth is implemented" in found[0].full_content
    assert max(one.score for one in found[0].chunks) == found[0].max_score >= 0.5

    async def awaited() -> object:
        async with unchunk.open(served.home) as library:
            return await eval(code, {"search_with_context": library.search_with_context})  # noqa: S307

    assert asyncio.run(awaited()) == found


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.statement("001-81")
def test_the_readme_example_runs_while_a_server_has_the_library(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(served.folder)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    [example] = [one for one in blocks if "unchunk.open(" in one]
    exec(example, {})  # noqa: S102 - our own
    told = capsys.readouterr().out
    assert "harbour-rules.md" in told
    assert "14 €" in told
    assert told.endswith("True\n")


def answers(library: Any) -> dict[str, object]:  # noqa: ANN401 - with or without a server
    """What a library says of itself in every way that changes nothing."""
    evidence = library.retrieve(COST)
    answer = library.ask(COST)
    return {
        "search": library.search(COST, limit=3).hits,
        "evidence": (evidence.documents, evidence.notes),
        "documents": library.search_with_context(COST, 2, include_adjacent=False),
        "rag": library.rag_search(COST, show_content=False),
        "card": library.find_file_by_name("harbour-rules.md"),
        "answer": (answer.answer, answer.finish, [one.text for one in answer.citations]),
        "streamed": [event.kind for event in library.chat(ChatRequest(question(COST)))],
        "prompt": library.explain(ChatRequest(question(COST))).messages,
        "text": library.text("harbour-rules.md"),
        "chunks": library.chunks("harbour-rules.md", 0, 1),
        "listed": [one.name for one in library.documents()],
        "counts": library.counts().documents,
        "health": {name: one.ok for name, one in library.health().items()},
    }


@pytest.mark.statement("001-82")
def test_a_collection_that_the_server_does_not_search_is_refused(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"chunkenizer:{served.url}"
    monkeypatch.setenv("UNCHUNK_HOME", str(served.home))
    with pytest.raises(LibraryInUseError, match=r"searches the library, not the collection"):
        unchunk.rag_search("auth", chat_source=place)
    done = CliRunner().invoke(main, ["search", "auth"], env={"UNCHUNK_CHAT_SOURCE": place})
    assert done.exit_code == 1
    assert "unchunk search --collection" in done.stderr
    for text in (
        unchunk.rag_search("auth", collection=place),
        CliRunner().invoke(main, ["search", "auth", "--collection", place]).stdout,
    ):
        assert "sign-in.md" in text


@pytest.mark.statement("001-82")
def test_python_gets_the_same_with_and_without_a_server(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with unchunk.open(home, embedder="hashing") as library:
        library.add(ROOT / "examples" / "harbour-rules.md", ROOT / "examples" / "haiku.md")
        alone = answers(library)
    # Opened before the server starts, and still open when it has stopped.
    with unchunk.open(home, embedder="hashing") as library:
        with serving(tmp_path, home, embedder="hashing") as (url, _):
            assert answers(library) == alone
            changed(library, tmp_path)
            refused(library, home)
        with pytest.raises(TransientError, match=rf"{url} .* has stopped: start it again"):
            library.search(COST)
        assert len(library.documents()) == alone["counts"]


def changed(library: Any, folder: Path) -> None:  # noqa: ANN401 - as above
    """Everything that changes a library."""
    path = folder / "tides.md"
    path.write_text("# Tides\n\nThe tide comes in twice a day.\n")
    steps: list[str] = []
    [added] = library.add(path, folder="sea", report=lambda event: steps.append(event.stage))
    assert (added.result, steps[0], steps[-1]) == ("added", "read", "done")
    one = library.add_file(path, "one.md", folder="sea", attributes={"year": 1851})
    assert library.document(one.document).attributes == {"year": 1851}
    assert "twice a day" in library.search("tide").hits[0].text
    assert library.retry() == []
    assert library.reindex("tides.md").documents == 1
    assert library.delete("one.md").clean
    assert [receipt.clean for receipt in library.delete_folder("sea")] == [True]
    answer = library.ask(ChatRequest(question(COST), conversation="new"))
    assert [one.id for one in library.conversations()] == [answer.conversation]
    library.delete_conversation(answer.conversation)
    with pytest.raises(UnchunkError, match="question is empty"):
        library.search(" ")
    with pytest.raises(LibraryInUseError, match="for the owner 'local', not for 'ben'"):
        library.search(COST, owner="ben")


def refused(library: Any, home: Path) -> None:  # noqa: ANN401 - as above
    """What needs exclusive access names the server, and says what to do."""
    server = find(home)
    assert server is not None
    calls = {
        "doctor": library.doctor,
        "reindex --all": library.migrate,
        "export": lambda: library.export(home / "library.zip"),
        "import": lambda: library.restore(home / "library.zip"),
    }
    for name, call in calls.items():
        with pytest.raises(LibraryInUseError) as caught:
            call()
        assert str(caught.value) == (
            f"`{name}` needs exclusive access, but a server is using this library"
            f" ({server.url}, pid {server.pid}). Stop the server and try again."
        )


def remote(served: Served, **others: str | float) -> dict[str, Any]:
    """Settings by which the built-in model is a provider of OpenAI's kind, of which nothing is known."""
    return {"embedder": f"openai:{MODEL}", "embedder_url": f"{served.url}/v1", **others}


@pytest.mark.statement("001-83")
def test_a_remote_embedder_gets_a_threshold_and_strictness_holds(
    served: Served, tmp_path: Path
) -> None:
    strict = {text: ChatRequest(question(text), strict=True) for text in (COST, NONSENSE)}
    with unchunk.open(tmp_path, **remote(served)) as library:
        library.add(ROOT / "examples" / "harbour-rules.md")
        assert library.ask(strict[NONSENSE]).finish == "refused"
        answer = library.ask(strict[COST])
        assert (answer.finish, "14 €" in answer.answer) == ("extractive", True)
        examined = library.doctor()
        threshold = examined.embedder.min_score
        assert 0.5 < threshold < 0.7
        assert examined.uncalibrated == ""
    with unchunk.open(tmp_path, **remote(served, embedder_min_score=-1)) as library:
        assert library.ask(strict[NONSENSE]).finish == "extractive"


@pytest.mark.statement("001-83")
def test_a_measured_threshold_is_stored(served: Served, tmp_path: Path) -> None:
    with chroma_client(tmp_path / "chroma") as client:
        payloads: list[dict[str, Any]] = [{"mongo_id": "a", "chunk_index": 0, "content": COST}]
        rows = np.eye(1, 384, dtype=np.float32)
        fill_chroma(client, "pages", payloads, rows=rows)
    with counted(served.url) as (door, calls):
        settings = remote(served) | {"embedder_url": f"{door}/v1"}
        with unchunk.open(tmp_path / "home", **settings, embedder_min_score=0.5) as opened:
            opened.add(ROOT / "examples" / "harbour-rules.md")

        def library() -> None:
            with unchunk.open(tmp_path / "home", **settings) as opened:
                opened.search(COST)

        def collection() -> None:
            place = f"chroma:{tmp_path / 'chroma'}#pages"
            with unchunk.open_collection(place, tmp_path / "none", **settings) as opened:
                opened.search(COST)

        for search in (library, collection):
            embeddings = []
            for _ in range(3):
                calls.clear()
                search()
                embeddings.append(calls["embeddings"])
            first, *later = embeddings
            # The probes take two calls.
            assert later == [first - 2, first - 2]


@pytest.mark.statement("001-84")
def test_the_average_is_that_of_the_chunks_that_match(served: Served, tmp_path: Path) -> None:
    with unchunk.open(tmp_path, **remote(served)) as library:
        library.add(ROOT / "examples" / "harbour-rules.md")
        threshold = library.doctor().embedder.min_score
        # Not its words: only its meaning finds anything.
        [document] = library.search_with_context("mooring fee prices", chunks_per_doc=None)
    scores = [one.score for one in document.chunks]
    assert min(scores) >= threshold
    assert len(scores) < document.chunk_count
    assert document.avg_score == pytest.approx(sum(scores) / len(scores))


@pytest.mark.statement("001-85")
def test_what_was_found_by_words_alone_says_so(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with unchunk.open(tmp_path, **remote(served)) as library:
        library.add(ROOT / "examples" / "harbour-rules.md")
        assert re.search(r"Relevance: 0\.\d{3} \(avg: 0\.\d{3}\)", library.rag_search(COST))
    down = {"embedder_url": "http://127.0.0.1:9/v1", "embedder_patience": 0.1}
    with unchunk.open(tmp_path, **remote(served) | down) as library:
        told = library.rag_search(COST)
        [document] = library.search_with_context(COST)
        chunk_told = library.rag_search(COST, use_chunk_aware=False)
    for text in (told, chunk_told):
        assert "found by words" in text
        assert not re.search(r"(Relevance|Score): ", text)
    assert document.found_by == "words"
    assert document.as_dict()["max_score"] > 1
    for name, value in ({"home": tmp_path} | remote(served) | down).items():
        monkeypatch.setenv(f"UNCHUNK_{name.upper()}", str(value))
    for command in ("search", "ask"):
        done = CliRunner().invoke(main, [command, COST])
        assert "found by words" in done.stdout
        assert not re.search(r"Relevance|score \d", done.stdout)


@pytest.mark.statement("001-83")
def test_doctor_shows_the_threshold_and_a_setting_overrides_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.file("tides.md", "The tide comes in twice a day.\n")
    shown: Mapping[str, str] = {"0": "0.220", "0.4": "0.400"}
    for setting, threshold in shown.items():
        environment = {
            "UNCHUNK_HOME": str(home.folder),
            "UNCHUNK_EMBEDDER": "hashing",
            "UNCHUNK_EMBEDDER_MIN_SCORE": setting,
        }
        assert CliRunner().invoke(main, ["add", str(home.files)], env=environment).exit_code == 0
        done = CliRunner().invoke(main, ["doctor"], env=environment)
        assert f"hashing-1: a similarity of {threshold} or more counts as a match" in done.output
