"""Files out of a vector store by a script, as the first specification gives it."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from openai import AsyncAzureOpenAI, AsyncOpenAI, AzureOpenAI, OpenAI

from recovery.vector_stores import Held, VectorStores, prose
from unchunk import (
    RAGTextRetrievalParams,
    ReconstructionResult,
    get_filename_from_file,
    retrieve_and_reconstruct_files,
)
from unchunk.errors import InvalidInputError, NotFoundError

STORE = "vs_abc123"


@pytest.fixture
def client(server: VectorStores) -> Iterator[OpenAI]:
    with OpenAI(api_key="sk-test", base_url=server.url) as made:
        yield made


def wanted(folder: Path, **options: Any) -> RAGTextRetrievalParams:  # noqa: ANN401 - its own
    return RAGTextRetrievalParams(STORE, output_folder=str(folder), **options)


def three_files(server: VectorStores) -> dict[str, str]:
    texts = {"document1.pdf": prose(3000, 1), "notes.md": prose(700, 2), "report.docx": "Short.\n"}
    server.put(
        STORE,
        Held("file-1", "document1.pdf", texts["document1.pdf"]),
        Held("file-2", "notes.md", texts["notes.md"], 300, 120),
        Held("file-3", "report.docx", texts["report.docx"]),
    )
    return texts


def test_the_parameters_and_the_result_are_those_of_the_specification() -> None:
    given = [(one.name, one.default) for one in fields(RAGTextRetrievalParams)][:5]
    assert given == [
        ("vector_store_id", MISSING),
        ("only_these_filenames", MISSING),
        ("output_folder", "./output"),
        ("output_suffix", ".reconstructed.md"),
        ("log_headers", True),
    ]
    assert RAGTextRetrievalParams("vs_1").only_these_filenames == []
    assert [one.name for one in fields(ReconstructionResult)][:5] == [
        "filename",
        "original_file_id",
        "chunk_count",
        "reconstructed_bytes",
        "output_path",
    ]
    assert ReconstructionResult("a", "file-1", 2, 3, "./output/a").output_path == "./output/a"


def test_every_file_comes_back_byte_for_byte_each_under_its_own_strategy(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    texts = three_files(server)
    done = retrieve_and_reconstruct_files(client, wanted(tmp_path / "new" / "output"))
    assert [(one.filename, one.original_file_id) for one in done] == [
        ("document1.pdf", "file-1"),
        ("notes.md", "file-2"),
        ("report.docx", "file-3"),
    ]
    for one in done:
        content = Path(one.output_path).read_bytes()
        assert content == texts[one.filename].encode()
        assert one.reconstructed_bytes == len(content)
        assert one.output_path.endswith(f"/{one.filename}.reconstructed.md")
    assert [one.chunk_count for one in done][2] == 1
    assert all(one.chunk_count > 2 for one in done[:2])
    # Of a PDF or a DOCX nothing shows that the first chunk is the first.
    assert [one.confidence for one in done] == ["exact", "verified", "exact"]


def test_what_is_printed_has_the_form_of_the_specification(
    server: VectorStores,
    client: OpenAI,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    three_files(server)
    monkeypatch.chdir(tmp_path)
    retrieve_and_reconstruct_files(client, RAGTextRetrievalParams(STORE))
    lines = capsys.readouterr().out.splitlines()
    place, ending = r"\./output", r"\.reconstructed\.md"
    time = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]"
    patterns = [
        rf"{time} START: Retrieve and reconstruct files from vector store\.\.\.",
        r"  Vector store: vs_abc123",
        r"  Detecting overlap from first file\.\.\.",
        r"    Overlap detected: \d+ chars \(confidence: exact\)",
        r"  Processing 3 files\.\.\.",
        rf"    \[ 1 / 3 \] document1\.pdf: 23 chunks -> 29,703 bytes -> {place}/document1\.pdf{ending}",
        rf"    \[ 2 / 3 \] notes\.md: \d+ chunks -> \d,\d{{3}} bytes -> {place}/notes\.md{ending}",
        rf"    \[ 3 / 3 \] report\.docx: 1 chunks -> 7 bytes -> {place}/report\.docx{ending}",
        rf"{time} END: Retrieve and reconstruct files from vector store \(\d+ secs\)\.",
        r"  Summary: 3 files, \d+ chunks, \d\d,\d{3} bytes reconstructed",
    ]
    assert len(lines) == len(patterns), lines
    for line, pattern in zip(lines, patterns, strict=True):
        assert re.fullmatch(pattern, line), line


def test_without_headers_the_first_and_the_last_line_stay_out(
    server: VectorStores, client: OpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three_files(server)
    retrieve_and_reconstruct_files(client, wanted(tmp_path, log_headers=False))
    said = capsys.readouterr().out
    assert "START" not in said
    assert "END" not in said
    assert said.splitlines()[0] == f"  Vector store: {STORE}"
    assert "  Summary: 3 files" in said


@pytest.mark.parametrize("kind", [OpenAI, AzureOpenAI, AsyncOpenAI, AsyncAzureOpenAI])
@pytest.mark.parametrize("own", [True, False], ids=["own connections", "the SDK's"])
def test_all_kinds_of_clients_will_do(
    server: VectorStores, tmp_path: Path, kind: type[Any], *, own: bool
) -> None:
    texts = three_files(server)
    is_azure = issubclass(kind, AzureOpenAI | AsyncAzureOpenAI)
    where: dict[str, Any] = {"base_url": server.url}
    if is_azure:
        where = {"azure_endpoint": server.root, "api_version": "2025-04-01-preview"}
    if own:
        made = httpx2.AsyncClient if issubclass(kind, AsyncOpenAI) else httpx2.Client
        where["http_client"] = made(headers={"x-mine": "yes"})
    client = kind(api_key="k", **where)
    done = retrieve_and_reconstruct_files(client, wanted(tmp_path))
    if isinstance(client, OpenAI):
        client.close()
    assert {one.filename: Path(one.output_path).read_text() for one in done} == texts
    assert all(path.startswith("/openai/") == is_azure for path in server.seen)
    assert all(("api-version=2025-04-01-preview" in path) == is_azure for path in server.seen)
    sent = server.headers[0]
    assert sent["openai-beta"] == "assistants=v2"
    assert sent.get("x-mine") == ("yes" if own else None)
    assert sent.get("api-key", sent.get("authorization")) == ("k" if is_azure else "Bearer k")


def test_it_works_inside_a_running_loop_too(server: VectorStores, tmp_path: Path) -> None:
    texts = three_files(server)

    async def script() -> list[ReconstructionResult]:
        client = AsyncOpenAI(api_key="k", base_url=server.url)
        # Used here before, so that its connections are those of this loop.
        await client.files.retrieve("file-1")
        done = retrieve_and_reconstruct_files(client, wanted(tmp_path))
        await client.files.retrieve("file-2")
        await client.close()
        return done

    done = asyncio.run(script())
    assert {one.filename: Path(one.output_path).read_text() for one in done} == texts


def test_what_is_no_client_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"the client is str: give openai\.OpenAI"):
        retrieve_and_reconstruct_files("sk-key", wanted(tmp_path))  # type: ignore[arg-type]


@pytest.mark.parametrize("only", [["notes.md"], ["file-2"], ["notes.md", "file-2"], "notes.md"])
def test_files_are_chosen_by_name_or_id(
    server: VectorStores, client: OpenAI, tmp_path: Path, only: list[str] | str
) -> None:
    three_files(server)
    done = retrieve_and_reconstruct_files(client, wanted(tmp_path, only_these_filenames=only))
    assert [one.original_file_id for one in done] == ["file-2"]
    assert server.count("/content") == 1
    assert {path.name for path in tmp_path.iterdir()} == {
        "notes.md.reconstructed.md",
        "recovery.json",
    }


def test_the_folder_may_be_a_path_and_no_names_mean_all_files(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    three_files(server)
    options = RAGTextRetrievalParams(STORE, only_these_filenames=None, output_folder=tmp_path)
    done = retrieve_and_reconstruct_files(client, options)
    assert sorted(one.original_file_id for one in done) == ["file-1", "file-2", "file-3"]
    assert all(Path(one.output_path).parent == tmp_path for one in done)


def test_files_are_chosen_by_the_name_among_their_attributes_too(
    server: VectorStores, client: OpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three_files(server)
    server.put(STORE, Held("file-9", "9.tmp", "text", attributes={"filename": "old name.md"}))
    done = retrieve_and_reconstruct_files(
        client, wanted(tmp_path, only_these_filenames=["old name.md"])
    )
    assert [one.original_file_id for one in done] == ["file-9"]
    assert "there is no file" not in capsys.readouterr().out


def test_a_name_that_matches_nothing_is_said(
    server: VectorStores, client: OpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three_files(server)
    options = wanted(tmp_path, only_these_filenames=["nots.md"])
    assert retrieve_and_reconstruct_files(client, options) == []
    assert "  Warning: there is no file 'nots.md'" in capsys.readouterr().out


def test_a_store_without_files_is_no_error(
    server: VectorStores, client: OpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.put(STORE)
    assert retrieve_and_reconstruct_files(client, wanted(tmp_path)) == []
    assert "  Summary: 0 files, 0 chunks, 0 bytes reconstructed" in capsys.readouterr().out
    assert json.loads((tmp_path / "recovery.json").read_text())["files"] == []


def test_files_of_one_chunk_need_no_overlap_and_one_of_none_is_empty(
    server: VectorStores, client: OpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.put(STORE, Held("file-1", "one.txt", "One chunk.\n"), Held("file-2", "none.txt", ""))
    done = retrieve_and_reconstruct_files(client, wanted(tmp_path))
    assert [one.chunk_count for one in done] == [1, 0]
    assert [Path(one.output_path).read_text() for one in done] == ["One chunk.\n", ""]
    said = capsys.readouterr().out
    assert "No file has more than one chunk" in said
    assert "      Warning: none; there are no chunks" in said


def test_what_is_there_is_overwritten_and_a_link_is_not_followed(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    texts = three_files(server)
    output, elsewhere = tmp_path / "output", tmp_path / "elsewhere.txt"
    output.mkdir()
    elsewhere.write_text("mine")
    (output / "notes.md.reconstructed.md").symlink_to(elsewhere)
    (output / "document1.pdf.reconstructed.md").write_text("old")
    retrieve_and_reconstruct_files(client, wanted(output))
    assert elsewhere.read_text() == "mine"
    assert not (output / "notes.md.reconstructed.md").is_symlink()
    assert (output / "notes.md.reconstructed.md").read_text() == texts["notes.md"]
    assert (output / "document1.pdf.reconstructed.md").read_text() == texts["document1.pdf"]


def test_two_files_of_one_name_do_not_overwrite_each_other(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    server.put(
        STORE,
        Held("file-1", "notes.md", "The first.\n"),
        Held("file-2", "notes.md", "The second.\n"),
        Held("file-3", "NOTES.md", "The third.\n"),
    )
    done = retrieve_and_reconstruct_files(client, wanted(tmp_path))
    assert [Path(one.output_path).name for one in done] == [
        "notes.md.reconstructed.md",
        "notes.md~file-2.reconstructed.md",
        "NOTES.md~file-3.reconstructed.md",
    ]
    assert [Path(one.output_path).read_text() for one in done] == [
        "The first.\n",
        "The second.\n",
        "The third.\n",
    ]
    # Asked for alone, it does not take the other's place.
    again = wanted(tmp_path, only_these_filenames=["file-2"])
    assert retrieve_and_reconstruct_files(client, again)[0].output_path == done[1].output_path


def test_lists_and_contents_of_several_pages_are_followed(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    server.chunks_per_page = 2
    long = prose(1500, 3)
    server.put(STORE, Held("file-long", "long.md", long, 200, 100))
    server.put(STORE, *(Held(f"file-{at}", f"{at}.txt", f"Number {at}.\n") for at in range(150)))
    done = retrieve_and_reconstruct_files(client, wanted(tmp_path))
    assert len(done) == 151
    assert Path(done[0].output_path).read_text() == long
    assert server.count(f"/vector_stores/{STORE}/files?") == 2
    assert server.count("file-long/content") > 5


def test_a_file_that_is_not_ready_or_fails_stops_no_other(
    server: VectorStores, client: OpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.put(
        STORE,
        Held("file-1", "slow.md", status="in_progress"),
        Held("file-2", "bad.pdf", status="failed",
             error={"code": "unsupported_file", "message": "no text in it"}),
        Held("file-3", "stopped.md", status="cancelled"),
        Held("file-4", "gone.md", "Its content is gone.\n"),
        Held("file-5", "strange.md", status="asleep"),
        Held("file-6", "fine.md", "All is well.\n"),
    )  # fmt: skip
    server.faults.append(("file-4/content", lambda exchange: exchange.reply(404, {})))
    done = retrieve_and_reconstruct_files(client, wanted(tmp_path))
    assert [one.filename for one in done] == ["fine.md"]
    said = capsys.readouterr().out
    assert "[ 1 / 6 ] slow.md: in progress" in said
    assert "[ 2 / 6 ] bad.pdf: failed: unsupported_file: no text in it" in said
    assert "[ 3 / 6 ] stopped.md: cancelled" in said
    assert "[ 4 / 6 ] gone.md: not fetched: the server does not give the content" in said
    assert "[ 5 / 6 ] strange.md: failed: its status is 'asleep', which is not known" in said
    report = json.loads((tmp_path / "recovery.json").read_text())
    assert [one["status"] for one in report["files"]] == [
        "in progress",
        "failed",
        "cancelled",
        "not fetched",
        "failed",
        "recovered",
    ]


def test_a_store_that_is_not_there_is_said(
    server: VectorStores, client: OpenAI, tmp_path: Path
) -> None:
    with pytest.raises(NotFoundError, match="there is no vector store vs_abc123 there"):
        retrieve_and_reconstruct_files(client, wanted(tmp_path / "output"))
    assert not (tmp_path / "output").exists()
    assert server.count("vector_stores") == 1


def test_one_overlap_for_all_is_there_for_who_asks_with_a_warning(
    server: VectorStores, client: OpenAI, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = prose(900, 5)
    chunks = [text[at : at + 1000] for at in range(0, len(text) - 200, 800)]
    server.put(STORE, Held("file-1", "by-characters.md", text, None, chunks=chunks))
    server.put(STORE, Held("file-2", "by-tokens.md", prose(2000, 6)))
    done = retrieve_and_reconstruct_files(client, wanted(tmp_path, calibrate="first-pair"))
    assert Path(done[0].output_path).read_text() == text
    assert Path(done[1].output_path).read_text() != prose(2000, 6)
    assert [one.confidence for one in done] == ["none", "none"]
    said = capsys.readouterr().out
    assert "Overlap detected: 200 chars (confidence: exact)" in said
    assert "Warning: one overlap for all joints gets next to no file of token windows back" in said


def test_an_unknown_calibration_is_refused(client: OpenAI, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="calibrate 'once' is unknown"):
        retrieve_and_reconstruct_files(client, wanted(tmp_path, calibrate="once"))


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (SimpleNamespace(filename="a.md", id="file-1"), "a.md"),
        (SimpleNamespace(filename=None, id="file-1", attributes={"filename": "b.md"}), "b.md"),
        (SimpleNamespace(id="file-1", attributes=None), "file-1"),
        ({"id": "file-1", "filename": "c.md"}, "c.md"),
        ({"id": "file-1"}, "file-1"),
        ({}, ""),
    ],
)
def test_a_file_is_called_by_its_name_or_else_its_id(file: object, name: str) -> None:
    assert get_filename_from_file(file) == name
