"""Document 000: the files of a vector store, put together again from their chunks.

The servers are one of our own that speaks OpenAI's and Azure's paths, and `unchunk serve`. The
document's code runs as it stands there.
"""

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from textwrap import indent
from threading import Event
from types import SimpleNamespace
from typing import Any

import httpx
import openai
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from openai import AsyncAzureOpenAI, AsyncOpenAI, AzureOpenAI, OpenAI

import unchunk
from recovery.vector_stores import Exchange, Held, VectorStores, prose, refusing
from seed_documents import code_block, needs_documents
from servers import free_ports
from unchunk import (
    ChunkOverlapInfo,
    RAGTextRetrievalParams,
    ReconstructionResult,
    detect_chunk_overlap,
    get_all_vector_store_file_contents,
    get_filename_from_file,
    get_vector_store_file_content,
    retrieve_and_reconstruct_files,
    stitch,
    stitch_chunks,
)
from unchunk.cli import main
from unchunk.errors import ProviderUnavailableError

STORE = "vs_abc123"
VERSION = "2025-04-01-preview"
AZURE = (AzureOpenAI, AsyncAzureOpenAI)
CLIENTS = pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI, *AZURE])
ROW = "2024-01-01 00:00 request served, nothing to report\n"
# The files of the document's example; each was cut into windows of characters.
EXAMPLE = {
    "document1.pdf": (45_230, 5_463),
    "notes.md": (8_102, 3_933),
    "report.docx": (31_455, 5_549),
}
SHARED = 1847


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[VectorStores]:
    """A server, and nothing in the environment that would lead elsewhere."""
    for name in ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with VectorStores() as started:
        yield started


@pytest.fixture
def client(server: VectorStores) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.url) as made:
        yield made


def windows(text: str, size: int, shared: int = SHARED) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text) - shared, size - shared)]


def example(server: VectorStores) -> dict[str, str]:
    """The store of the document's example, down to its numbers."""
    texts = {}
    for number, (name, (length, size)) in enumerate(EXAMPLE.items(), 1):
        texts[name] = prose(9_000, number)[:length]
        chunks = windows(texts[name], size)
        server.put(STORE, Held(f"file-{number}", name, texts[name], None, chunks=chunks))
    return texts


def retrieved(client: Any, folder: Path, **options: Any) -> list[ReconstructionResult]:  # noqa: ANN401 - any client
    params = RAGTextRetrievalParams(STORE, output_folder=str(folder), **options)
    return retrieve_and_reconstruct_files(client, params)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"recovery.json"}


# --- The data structures


@needs_documents
@pytest.mark.statement("000-01", "000-02", "000-03")
@pytest.mark.parametrize(
    ("line", "ours"),
    [(216, RAGTextRetrievalParams), (228, ChunkOverlapInfo), (238, ReconstructionResult)],
)
def test_the_dataclasses_have_the_fields_and_defaults_of_the_document(line: int, ours: Any) -> None:  # noqa: ANN401 - a class
    namespace: dict[str, Any] = {"dataclass": dataclass, "field": field}
    exec(code_block("000", line), namespace)  # noqa: S102 - the document's own code
    theirs = fields(namespace[ours.__name__])
    for one, other in zip(theirs, fields(ours), strict=False):
        assert (one.name, one.default) == (other.name, other.default)
        assert (one.default_factory is MISSING) == (other.default_factory is MISSING)
    # What we have more is optional, so that the document's calls work.
    for more in fields(ours)[len(theirs) :]:
        assert more.default is not MISSING


# --- The algorithms


def pseudo_code(line: int, name: str, **known: object) -> Callable[..., Any]:
    """A function that the document gives in pseudo-code, which is Python but for one word."""
    namespace: dict[str, Any] = {"ChunkOverlapInfo": ChunkOverlapInfo, **known}
    exec(code_block("000", line).replace("function ", "def "), namespace)  # noqa: S102 - as above
    found: Callable[..., Any] = namespace[name]
    return found


PLAIN = st.text("ab \n") | st.text(st.characters(exclude_characters="\ufffd", codec="utf-8"))
PAIRS = st.tuples(PLAIN, PLAIN, PLAIN).map(lambda it: (it[0] + it[1], it[1] + it[2]))


def is_one_text(left: str, right: str) -> bool:
    return "".join(left.split()) == "".join(right.split())


@needs_documents
@pytest.mark.statement("000-04", "000-05")
@given(PAIRS)
def test_the_longest_suffix_that_is_a_prefix_is_the_overlap(pair: tuple[str, str]) -> None:
    theirs = pseudo_code(133, "detect_overlap")(*pair)
    ours = detect_chunk_overlap(*pair)
    if ours.confidence == "normalized":
        assert theirs.confidence == "none" or is_one_text(*pair)
    else:
        assert ours == theirs


@needs_documents
@pytest.mark.statement("000-06")
# The quicker one misses most overlaps of short texts, so most pairs are left out.
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(PAIRS)
def test_where_the_quicker_algorithm_finds_the_same_so_do_we(pair: tuple[str, str]) -> None:
    quicker = pseudo_code(151, "detect_overlap_optimized")(*pair)
    assume(quicker == pseudo_code(133, "detect_overlap")(*pair))
    assume(not is_one_text(*pair) or pair[0] == pair[1])
    ours = detect_chunk_overlap(*pair)
    assert ours == quicker or (ours.confidence, quicker.confidence) == ("normalized", "none")


@needs_documents
@pytest.mark.statement("000-07", "000-08")
@given(st.lists(PLAIN), st.integers(0, 12))
def test_chunks_are_stitched_as_the_document_does_it(texts: list[str], overlap: int) -> None:
    chunks = [SimpleNamespace(text=text) for text in texts]
    assert stitch_chunks(chunks, overlap) == pseudo_code(175, "stitch_chunks")(chunks, overlap)


@pytest.mark.statement("000-04", "000-09")
@pytest.mark.parametrize(
    ("left", "right", "info"),
    [
        ("one two three", "three four", ChunkOverlapInfo(5, "exact")),
        ("Hello world", "Hello  world", ChunkOverlapInfo(12, "normalized")),
        (
            "It was the best of times, it was the worst",
            "it  was\nthe worst of times",
            ChunkOverlapInfo(17, "normalized"),
        ),
        ("one", "two", ChunkOverlapInfo(0, "none")),
    ],
)
def test_a_pair_is_exact_normalized_or_none(left: str, right: str, info: ChunkOverlapInfo) -> None:
    found = detect_chunk_overlap(chunk_a_text=left, chunk_b_text=right)
    assert found == info
    assert found.detection_method == "suffix_prefix_match"
    assert list(inspect.signature(detect_chunk_overlap).parameters) == [
        "chunk_a_text",
        "chunk_b_text",
    ]


@pytest.mark.statement("000-09")
def test_chunks_that_differ_in_white_space_alone_are_joined_as_normalized(
    server: VectorStores, client: OpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chunks = ["Hello world", "Hello  world"]
    server.put(STORE, Held("file-1", "a.pdf", "Hello world", 800, 400, chunks=chunks))
    [done] = retrieved(client, tmp_path)
    assert done.confidence == "normalized"
    assert Path(done.output_path).read_text() == "Hello  world"
    assert "    Overlap detected: 12 chars (confidence: normalized)" in capsys.readouterr().out


@pytest.mark.statement("000-08")
def test_the_arguments_of_stitching_are_called_as_in_the_document() -> None:
    chunks = [SimpleNamespace(text="one two"), SimpleNamespace(text="two three")]
    assert stitch_chunks(chunks=chunks, overlap_chars=3) == "one two three"


# --- The script


@dataclass
class Place:
    """A server that has a store of two files in windows of tokens."""

    client: OpenAI
    store: str
    texts: dict[str, str]


TEXTS = {"tides.md": prose(2_500, 1), "letters.txt": "Größe: 東京都 🙂👍🏽 naïve.\n" * 200}


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """`unchunk serve`, and its address."""
    command = [sys.executable, "-m", "unchunk", "serve", "--port", "0", "--no-sample", "--json"]
    kept = {name: it for name, it in os.environ.items() if not name.startswith("UNCHUNK_")}
    settings = {"UNCHUNK_HOME": str(folder / "home"), "UNCHUNK_EMBEDDER": "hashing"}
    with subprocess.Popen(
        command, cwd=folder, env={**kept, **settings}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


def uploaded(client: OpenAI) -> str:
    """A store with the files of `TEXTS`, each read and cut."""
    store = client.vector_stores.create(name="seeds")
    for name, text in TEXTS.items():
        client.vector_stores.files.upload_and_poll(
            vector_store_id=store.id,
            file=(name, text.encode()),
            poll_interval_ms=50,
            chunking_strategy={
                "type": "static",
                "static": {"max_chunk_size_tokens": 400, "chunk_overlap_tokens": 100},
            },
        )
    return store.id


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[str, str]]]:
    """The address of each server, and the store on it."""
    with ExitStack() as stack:
        ours = stack.enter_context(serving(tmp_path_factory.mktemp("serve")))
        with OpenAI(api_key="k", base_url=f"{ours}/v1") as client:
            store = uploaded(client)
        scripted = stack.enter_context(VectorStores())
        for at, (name, text) in enumerate(TEXTS.items()):
            scripted.put(STORE, Held(f"file-{at}", name, text, 400, 100))
        yield {"unchunk serve": (ours, store), "OpenAI-style": (scripted.root, STORE)}


@pytest.mark.statement("000-10", "000-11", "000-12", "000-13")
@CLIENTS
@pytest.mark.parametrize("place", ["OpenAI-style", "unchunk serve"])
def test_every_file_comes_back_from_either_server_by_any_client(
    roots: dict[str, tuple[str, str]], tmp_path: Path, kind: type[Any], place: str
) -> None:
    root, store = roots[place]
    where: dict[str, Any] = {"base_url": f"{root}/v1"}
    if kind in AZURE:
        where = {"azure_endpoint": root, "api_version": VERSION}
    client = kind(api_key="k", **where)
    done = retrieve_and_reconstruct_files(client, RAGTextRetrievalParams(store, [], str(tmp_path)))
    assert {one.filename: Path(one.output_path).read_bytes().decode() for one in done} == TEXTS
    assert all(one.chunk_count > 1 for one in done)
    contents = get_all_vector_store_file_contents(client, store)
    assert {get_filename_from_file(one["file"]) for one in contents} == set(TEXTS)
    assert [len(one["chunks"]) for one in contents] == [one.chunk_count for one in done]
    if isinstance(client, OpenAI):
        client.close()


@pytest.mark.statement("000-10")
def test_files_are_got_by_the_content_of_their_chunks(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    example(server)
    retrieved(client, tmp_path)
    assert server.count(f"/vector_stores/{STORE}/files/file-1/content") == 1
    assert not any(it.startswith("/v1/files/") and "content" in it for it in server.seen)


@needs_documents
@pytest.mark.statement("000-14")
def test_the_console_shows_what_the_document_shows(
    server: VectorStores,
    client: OpenAI,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    example(server)
    monkeypatch.chdir(tmp_path)
    retrieve_and_reconstruct_files(client, RAGTextRetrievalParams(STORE))

    def timeless(text: str) -> list[str]:
        text = re.sub(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]", "[TIME]", text)
        return re.sub(r"\(\d+ secs\)", "(N secs)", text).splitlines()

    assert timeless(capsys.readouterr().out) == timeless(code_block("000", 289))


@pytest.mark.statement("000-15")
@pytest.mark.parametrize("headers", [True, False])
def test_headers_and_footers_may_stay_out(
    server: VectorStores,
    client: OpenAI,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    headers: bool,
) -> None:
    example(server)
    retrieved(client, tmp_path, log_headers=headers)
    lines = capsys.readouterr().out.splitlines()
    assert any("START:" in line for line in lines) == headers
    assert any("END:" in line for line in lines) == headers
    assert "  Processing 3 files..." in lines


@pytest.mark.statement("000-02", "000-16", "000-17", "000-40")
def test_a_result_tells_where_each_file_is_and_how_large(
    server: VectorStores, client: OpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = example(server)
    done = retrieved(client, tmp_path / "new" / "folder", output_suffix=".txt")
    assert isinstance(done, list)
    assert [(one.filename, one.original_file_id, one.chunk_count) for one in done] == [
        ("document1.pdf", "file-1", 12),
        ("notes.md", "file-2", 3),
        ("report.docx", "file-3", 8),
    ]
    for one in done:
        path = tmp_path / "new" / "folder" / f"{one.filename}.txt"
        assert Path(one.output_path) == path
        assert path.read_text() == texts[one.filename]
        assert one.reconstructed_bytes == path.stat().st_size
    assert "Summary: 3 files, 23 chunks, 84,787 bytes" in capsys.readouterr().out


@pytest.mark.statement("000-18")
def test_each_file_is_logged_as_the_action_flow_says(
    server: VectorStores, client: OpenAI, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    example(server)
    with caplog.at_level("INFO", "unchunk"):
        retrieved(client, tmp_path)
    assert "Reconstructed notes.md: 3 chunks -> 8102 bytes" in caplog.messages


@pytest.mark.statement("000-19", "000-20")
@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ([], {"document1.pdf", "notes.md", "report.docx"}),
        (["notes.md"], {"notes.md"}),
        (["file-3"], {"report.docx"}),
        (["document1.pdf", "file-2"], {"document1.pdf", "notes.md"}),
        (["no such file"], set()),
    ],
)
def test_files_are_chosen_by_name_or_id_and_all_without_a_choice(
    server: VectorStores, client: OpenAI, tmp_path: Path, only: list[str], expected: set[str]
) -> None:
    example(server)
    done = retrieved(client, tmp_path, only_these_filenames=only)
    assert {one.filename for one in done} == expected
    assert names(tmp_path) == {f"{name}.reconstructed.md" for name in expected}
    assert server.count("/content") == len(expected)


@pytest.mark.statement("000-20", "000-21")
def test_a_file_without_a_name_goes_by_its_attributes_or_its_id(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    server.put(STORE, Held("file-1", "", "One."))
    server.put(STORE, Held("file-2", "", "Two.", attributes={"filename": "two.md"}))
    done = retrieved(client, tmp_path)
    assert [one.filename for one in done] == ["file-1", "two.md"]
    assert names(tmp_path) == {"file-1.reconstructed.md", "two.md.reconstructed.md"}
    for given_, name in [
        (SimpleNamespace(id="file-1", filename="a.md"), "a.md"),
        (SimpleNamespace(id="file-1", attributes={"filename": "b.md"}), "b.md"),
        (SimpleNamespace(id="file-1", attributes=None), "file-1"),
    ]:
        assert get_filename_from_file(given_) == name


@pytest.mark.statement("000-22", "000-23")
def test_the_chunks_of_one_file_and_of_all_are_got_from_all_pages(
    server: VectorStores, client: OpenAI
) -> None:
    server.chunks_per_page = 2
    example(server)
    server.put(STORE, *(Held(f"more-{at}", f"{at}.txt", f"Number {at}.") for at in range(120)))
    server.put(STORE, Held("late", "late.md", "Not yet.", status="in_progress"))
    chunks = get_vector_store_file_content(client, STORE, "file-1")
    assert [one.text for one in chunks] == server.stores[STORE][0].chunks
    found = get_all_vector_store_file_contents(client, STORE)
    assert [set(one) for one in found] == [{"file", "chunks"}] * 124
    held = {one.id: (one.name, one.cut()) for one in server.stores[STORE]}
    assert {
        one["file"].id: (get_filename_from_file(one["file"]), [it.text for it in one["chunks"]])
        for one in found[:-1]
    } == {name: it for name, it in held.items() if name != "late"}
    assert (found[-1]["file"].status, found[-1]["chunks"]) == ("in_progress", [])


@pytest.mark.statement("000-07", "000-24")
def test_the_action_flow_by_hand_gives_what_one_overlap_for_all_gives(
    server: VectorStores, client: OpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = example(server)
    contents = get_all_vector_store_file_contents(client, STORE)
    first = next(one["chunks"] for one in contents if len(one["chunks"]) > 1)
    info = detect_chunk_overlap(first[0].text, first[1].text)
    assert info == ChunkOverlapInfo(SHARED, "exact")
    by_hand = {
        get_filename_from_file(one["file"]): stitch_chunks(one["chunks"], info.overlap_chars)
        for one in contents
    }
    assert by_hand == texts
    done = retrieved(client, tmp_path, calibrate="first-pair")
    assert {one.filename: Path(one.output_path).read_text() for one in done} == by_hand
    assert "Warning: one overlap for all joints" in capsys.readouterr().out


# --- Where we know better


@pytest.mark.statement("000-25", "000-26")
def test_windows_of_tokens_come_back_though_each_joint_shares_other_characters(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    text = prose(3_000, 4)
    for size, overlap in ((800, 400), (512, 64)):
        held = Held(f"file-{size}", f"{size}.md", text, size, overlap)
        server.put(STORE, held)
        chunks = held.cut()
        shared = {detect_chunk_overlap(*pair).overlap_chars for pair in pairwise(chunks)}
        assert len(shared) > 1
    for one in retrieved(client, tmp_path / "each"):
        assert Path(one.output_path).read_text() == text
    for one in retrieved(client, tmp_path / "first", calibrate="first-pair"):
        assert Path(one.output_path).read_text() != text


@pytest.mark.statement("000-27")
def test_of_a_text_that_repeats_itself_nothing_is_deleted(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    text = ROW * 400
    held = Held("file-1", "log.txt", text, 800, 400)
    server.put(STORE, held)
    chunks = held.cut()
    # The longest match takes both chunks for one.
    longest = detect_chunk_overlap(chunks[0], chunks[1]).overlap_chars
    assert len(stitch_chunks(chunks, longest)) < len(text) / 2
    [done] = retrieved(client, tmp_path)
    assert Path(done.output_path).read_text() == text
    # Where nobody tells how it was cut, it is said that another joint may be right.
    assert stitch(chunks).confidence == "ambiguous"


@pytest.mark.statement("000-28")
def test_chunks_that_share_nothing_are_joined_by_a_newline_with_a_warning(
    server: VectorStores, client: OpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    apart = ["It was a dark night.", "Nobody saw how slowly the ship came in."]
    text = prose(700, 3)
    server.put(STORE, Held("file-1", "apart.md", "".join(apart), 800, 400, chunks=apart))
    server.put(STORE, Held("file-2", "touching.md", text, 300, 0))
    done = retrieved(client, tmp_path)
    assert Path(done[0].output_path).read_text() == "\n".join(apart)
    assert done[0].confidence == "none"
    said = capsys.readouterr().out
    assert "    Overlap detected: 0 chars (confidence: none)" in said
    assert "      Warning: none" in said
    # Where the store says that nothing overlaps, no newline is put where there was none.
    assert Path(done[1].output_path).read_text() == text


@pytest.mark.statement("000-28")
@pytest.mark.parametrize(
    "chunks",
    [
        ["alpha beta gamma delta", "epsilon zeta eta theta", "iota kappa"],
        ["First para.", "Third para.", "Fifth para."],
        ["It was a dark night.", "Nobody saw the ship."],
        ["One thing.\n\nAnother thing.", "A third thing.\n\nA fourth."],
    ],
)
def test_that_chunks_have_one_size_by_chance_does_not_glue_their_words(
    server: VectorStores, client: OpenAI, tmp_path: Path, chunks: list[str]
) -> None:
    server.put(STORE, Held("file-1", "apart.md", "".join(chunks), None, chunks=chunks))
    [done] = retrieved(client, tmp_path)
    assert Path(done.output_path).read_text() == "\n".join(chunks)
    assert done.confidence == "none"


@pytest.mark.statement("000-28")
def test_windows_of_one_size_that_share_nothing_are_joined_with_nothing(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    text = prose(120, 7)[:450]
    chunks = [text[at : at + 100] for at in range(0, 450, 100)]
    server.put(STORE, Held("file-1", "windows.md", text, None, chunks=chunks))
    [done] = retrieved(client, tmp_path)
    assert Path(done.output_path).read_text() == text


@pytest.mark.statement("000-29")
def test_a_file_that_is_there_is_overwritten(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    texts = example(server)
    for name in texts:
        (tmp_path / f"{name}.reconstructed.md").write_text("old " * 20_000)
    done = retrieved(client, tmp_path)
    assert {one.filename: Path(one.output_path).read_text() for one in done} == texts


@pytest.mark.statement("000-30")
def test_two_files_of_one_name_do_not_overwrite_each_other(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    server.put(STORE, Held("file-1", "a.md", "The first."), Held("file-2", "a.md", "The second."))
    done = retrieved(client, tmp_path)
    assert [Path(one.output_path).read_text() for one in done] == ["The first.", "The second."]
    assert names(tmp_path) == {"a.md.reconstructed.md", "a.md~file-2.reconstructed.md"}


# --- The guarantees


def cut(*counts: int) -> list[Held]:
    """Files of so many chunks each."""
    found = []
    for at, count in enumerate(counts):
        text = prose(1_000, at)[: 200 * count]
        chunks = [text[it * 200 : it * 200 + 300] for it in range(count)]
        found.append(Held(f"file-{at}", f"{at}.md", text, None, chunks=chunks))
    return found


@pytest.mark.statement("000-31", "000-32", "000-33", "000-34")
@pytest.mark.parametrize("counts", [(), (0,), (1,), (9,), (0, 1, 9), (1, 1, 1), (0, 0), (2, 0, 1)])
def test_any_number_of_files_and_of_chunks_is_no_error(
    server: VectorStores,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    counts: tuple[int, ...],
) -> None:
    files = cut(*counts)
    server.put(STORE, *files)
    output = tmp_path / "output"
    monkeypatch.chdir(tmp_path)
    command = ["recover", "--vector-store", STORE, "--base-url", server.url]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    for one in files:
        assert (output / f"{one.name}.reconstructed.md").read_text() == one.text
    assert names(output) == {f"{one.name}.reconstructed.md" for one in files}
    assert ("Overlap detected" in done.stdout) == any(count > 1 for count in counts)
    assert ("Empty: " in done.stdout) == (0 in counts)
    assert f"Summary: {len(counts)} files, {sum(counts)} chunks" in done.stdout


@pytest.mark.statement("000-35")
@CLIENTS
def test_a_client_is_used_as_it_was_set_up(
    server: VectorStores, tmp_path: Path, kind: type[Any]
) -> None:
    [port] = free_ports(1)
    server.faults.append(("/vector_stores", refusing(503, "away")))
    for root in (server.root, f"http://127.0.0.1:{port}"):
        where: dict[str, Any] = {"base_url": f"{root}/v1"}
        if kind in AZURE:
            where = {"azure_endpoint": root, "api_version": VERSION}
        with pytest.raises(ProviderUnavailableError, match="tried once"):
            retrieved(kind(api_key="k", max_retries=0, timeout=5.0, **where), tmp_path)
    assert len(server.seen) == 1


@pytest.mark.statement("000-35")
@CLIENTS
@pytest.mark.parametrize("timeout", [0.3, httpx.Timeout(0.3), openai.Timeout(0.3)])
def test_the_timeout_of_a_client_holds(
    server: VectorStores, tmp_path: Path, kind: type[Any], timeout: object
) -> None:
    asked, given_up = Event(), Event()

    def silent(exchange: Exchange) -> None:
        asked.set()
        # Nothing is said until the client has given up; with another timeout it waits for ever.
        given_up.wait()
        exchange.close_connection = True

    server.faults.append(("/vector_stores", silent))
    where: dict[str, Any] = {"base_url": server.url}
    if kind in AZURE:
        where = {"azure_endpoint": server.root, "api_version": VERSION}
    try:
        with pytest.raises(ProviderUnavailableError, match="tried once"):
            retrieved(kind(api_key="k", max_retries=0, timeout=timeout, **where), tmp_path)
    finally:
        given_up.set()
    assert asked.is_set()
    assert len(server.seen) == 1


# --- The file of the document

MAIN = {
    "# Client setup": "load_dotenv()\nfrom openai import OpenAI\nclient = OpenAI()",
    "# RAGTextRetrievalParams": 'params = RAGTextRetrievalParams(os.environ["THE_STORE"])',
    "# Call": "results = retrieve_and_reconstruct_files(client, params)",
    "# Print": 'with open("summary.txt", "w") as file:\n    file.write(f"{len(results)} files")',
}


@needs_documents
@pytest.mark.statement("000-36", "000-37", "000-38")
@pytest.mark.parametrize("module", ["openai_backendtools", "unchunk"])
def test_the_script_of_the_document_runs(server: VectorStores, tmp_path: Path, module: str) -> None:
    texts = example(server)
    lines = []
    for line in code_block("000", 279).splitlines():
        lines.append(line)
        for comment, code in MAIN.items():
            if comment in line:
                lines.append(indent(code, "    "))
    assert len(lines) == 1 + 2 * len(MAIN)
    imports = code_block("000", 253).replace("openai_backendtools", module)
    script = tmp_path / "test_rag_text_retrieval.py"
    script.write_text(f"{imports}\n\n" + "\n".join(lines) + "\n")
    if module != "unchunk":
        (tmp_path / f"{module}.py").write_text("from unchunk import *\n")
    (tmp_path / ".env").write_text(
        f"OPENAI_API_KEY=sk-test\nOPENAI_BASE_URL={server.url}\nTHE_STORE={STORE}\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={name: it for name, it in os.environ.items() if not re.search("OPENAI|DOTENV", name)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "summary.txt").read_text() == "3 files"
    assert names(tmp_path / "output") == {f"{name}.reconstructed.md" for name in texts}


@pytest.mark.statement("000-36")
def test_the_document_s_names_are_public_and_open_is_pythons_own() -> None:
    namespace: dict[str, Any] = {}
    exec("from unchunk import *", namespace)  # noqa: S102 - as in the document
    assert namespace.get("open", open) is open
    assert callable(unchunk.open)
    wanted = {"RAGTextRetrievalParams", "ChunkOverlapInfo", "ReconstructionResult"}
    wanted |= {"detect_chunk_overlap", "stitch_chunks", "get_filename_from_file"}
    wanted |= {"retrieve_and_reconstruct_files", "get_vector_store_file_content"}
    assert wanted | {"get_all_vector_store_file_contents"} <= set(namespace)


@pytest.mark.statement("000-39")
@pytest.mark.usefixtures("dotenv_enabled")
def test_the_command_reads_dotenv_too_and_real_variables_win(
    server: VectorStores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example(server)
    [port] = free_ports(1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    (tmp_path / ".env").write_text(
        f"OPENAI_API_KEY='sk-from-file'\nOPENAI_BASE_URL=http://127.0.0.1:{port}/v1\n"
    )
    done = CliRunner().invoke(main, ["recover", "--vector-store", STORE])
    assert done.exit_code == 0, done.output
    assert server.headers[0]["authorization"] == "Bearer sk-from-file"
