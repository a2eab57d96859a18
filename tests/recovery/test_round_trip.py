"""Files into our own server by the official SDK, and out of its vector stores by the command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from openai import AzureOpenAI
from openai.types.vector_stores.file_batch_create_params import File

from corpus import generated
from server.openai_sdk.clients import placed, sent
from unchunk import RAGTextRetrievalParams, retrieve_and_reconstruct_files

STRATEGIES = ((800, 400), (1600, 800), (512, 64), (400, 100), (100, 50))
DOS = "Line one.\r\n\r\nLine two, with a tab\tin it.\r\n" * 300
LETTERS = "".join(f"Größe {at}: 東京都 🙂👍🏽 naïve.\n" for at in range(400))


def texts() -> dict[str, str]:
    """Real and hard ones; those that the library takes for nothing but text."""
    own = Path(__file__).parents[2] / "src" / "unchunk" / "text"
    found = {f"{path.stem}.py": path.read_text() for path in sorted(own.glob("*.py"))}
    found |= {"dos.txt": DOS, "letters.txt": LETTERS, "one.txt": "One line.\n", "lower.md": "a b"}
    found |= {f"{name}.txt": text for name, text in generated() if name.endswith("-6000")}
    return {name: text for name, text in found.items() if text.strip()}


def static(size: int, overlap: int) -> dict[str, object]:
    numbers = {"max_chunk_size_tokens": size, "chunk_overlap_tokens": overlap}
    return {"type": "static", "static": numbers}


def test_what_goes_in_comes_out_byte_for_byte_under_five_strategies(tmp_path: Path) -> None:
    wanted = texts()
    with placed(tmp_path) as place:
        store = place.sync.vector_stores.create(name="all")
        files: list[File] = []
        for at, (name, text) in enumerate(wanted.items()):
            strategy = static(*STRATEGIES[at % len(STRATEGIES)])
            file = place.sync.files.create(file=(name, text.encode()), purpose="assistants")
            files.append({"file_id": file.id, "chunking_strategy": strategy})  # type: ignore[typeddict-item] # the numbers are what it wants
        done = place.sync.vector_stores.file_batches.create_and_poll(
            store.id, files=files, poll_interval_ms=50
        )
        assert done.file_counts.completed == len(wanted)
        output = tmp_path / "output"
        command = [sys.executable, "-m", "unchunk", "recover", "--vector-store", store.id]
        command += ["--base-url", place.url, "-o", str(output), "--suffix", "", "--verify"]
        told = subprocess.run(
            command,
            env={**os.environ, "OPENAI_API_KEY": "sk-any", "UNCHUNK_HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
            check=False,
        )
    assert told.returncode == 0, told.stdout[-3000:] + told.stderr
    report = json.loads((output / "recovery.json").read_text())
    assert len(report["files"]) == len(wanted)
    for one in report["files"]:
        assert Path(one["output"]).read_bytes() == wanted[one["name"]].encode(), one["name"]
        assert one["verify"] == "same"
        assert one["strategy"]["origin"] == "given"


@pytest.mark.parametrize("azure", [False, True], ids=["OpenAI", "Azure"])
def test_a_script_gets_its_files_back(tmp_path: Path, *, azure: bool) -> None:
    with placed(tmp_path) as place:
        store = place.sync.vector_stores.create(name="script")
        for name, text in (("dos.txt", DOS), ("letters.txt", LETTERS)):
            file = sent(place.sync, name, text)
            place.sync.vector_stores.files.create_and_poll(
                vector_store_id=store.id,
                file_id=file.id,
                attributes={"lang": name[:2]},
                poll_interval_ms=50,
            )
        params = RAGTextRetrievalParams(store.id, output_folder=str(tmp_path / "output"))
        client = place.sync
        if azure:
            root = place.url.removesuffix("/v1")
            client = AzureOpenAI(azure_endpoint=root, api_key="k", api_version="2025-04-01")
        found = retrieve_and_reconstruct_files(client, params)
        if azure:
            client.close()
    assert {one.filename: Path(one.output_path).read_bytes().decode() for one in found} == {
        "dos.txt": DOS,
        "letters.txt": LETTERS,
    }
    report = json.loads((tmp_path / "output" / "recovery.json").read_text())
    assert {one["name"]: one["attributes"] for one in report["files"]} == {
        "dos.txt": {"lang": "do"},
        "letters.txt": {"lang": "le"},
    }
