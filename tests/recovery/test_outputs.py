"""What is written: where, under which names, and what the report says of it."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from hashlib import sha256
from math import inf, nan
from pathlib import Path

import pytest
from openai import AsyncOpenAI

from recovery.recovering import STORE, recovered
from recovery.vector_stores import Held, VectorStores, prose, refusing
from unchunk.adapters.sources.openai_files import OpenAIFiles
from unchunk.domain import ChunkingStrategy
from unchunk.errors import InvalidInputError, NotFoundError, OutputError
from unchunk.ports import FieldValue, LostFile
from unchunk.recovery.output import FOLDER, named_files, safe_names
from unchunk.recovery.request import Recovered, Rescue
from unchunk.recovery.rescue import recover

HOSTILE = [
    "../../evil",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a\0b",
    "a\nb\x1b[31m",
    "con",
    "NUL.txt",
    "x" * 5000,
    "é" * 300,
    "recovery.json",
    "report.json",
    FOLDER,
    "a\ud800",
    "\u202egpj.exe",
    "C:\\windows\\system32",
]


def test_no_name_leaves_the_folder_or_overwrites_another(
    server: VectorStores, tmp_path: Path
) -> None:
    for at, name in enumerate(HOSTILE):
        server.put(STORE, Held(f"file-{at}", name, f"Text of {at}.\n"))
    output, said = tmp_path / "in" / "here", list[str]()
    done = recovered(server, output, suffix="", said=said)
    assert done.is_whole
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["here"]
    assert len(list(output.iterdir())) == len(HOSTILE) + 1
    assert all(path.is_file() and len(path.name.encode()) < 256 for path in output.iterdir())
    written = {Path(one.path).read_text() for one in done.results}
    assert written == {f"Text of {at}.\n" for at in range(len(HOSTILE))}
    # Nothing of it steers a terminal, or breaks its line.
    assert all(line.isprintable() and len(line) < 1500 for line in said)


@pytest.mark.skipif(os.name == "nt", reason="Windows allows fewer names")
def test_a_name_that_the_system_allows_stays_as_it_is(server: VectorStores, tmp_path: Path) -> None:
    kept = [
        ".gitignore",
        "Q1: report?.md",
        "a*b|c<d>.txt",
        "con",
        "C:\\x",
        "...",
        "end. ",
        'say "so"',
    ]
    changed = {"sub/x.md": "sub_x.md", "a\x1b[2J": "a_[2J", "b\x9b2J": "b_2J", "..": "unnamed"}
    for at, name in enumerate([*kept, *changed]):
        server.put(STORE, Held(f"file-{at}", name, f"Text of {at}.\n"))
    recovered(server, tmp_path, suffix=".md")
    written = {path.name for path in tmp_path.iterdir()}
    expected = {f"{name}.md" for name in [*kept, *changed.values()]}
    assert written == expected | {"recovery.json"}


def test_no_name_is_that_of_a_file_of_ours() -> None:
    names = ["recovery.json", "report.json", FOLDER, FOLDER.upper()]
    given = [output for _, output in named_files(((name, "id") for name in names), "")]
    assert not {"recovery.json", "report.json", FOLDER} & {name.casefold() for name in given}
    assert dict(safe_names(["report.json"], ""))["report.json"] != "report.json"


@pytest.mark.parametrize("suffix", ["/../../out", "\0", "/etc/x"])
def test_a_suffix_cannot_leave_the_folder(
    server: VectorStores, tmp_path: Path, suffix: str
) -> None:
    server.put(STORE, Held("file-1", "a", "text"))
    done = recovered(server, tmp_path / "here", suffix=suffix)
    assert {path.name for path in tmp_path.iterdir()} == {"here"}
    assert Path(done.results[0].path).parent == tmp_path / "here"


def test_the_report_tells_all_of_every_file(server: VectorStores, tmp_path: Path) -> None:
    text = prose(700, 1)
    server.put(STORE, Held("file-1", "a.md", text, 300, 100, attributes={"year": 2024, "x": "y"}))
    server.put(
        STORE, Held("file-2", "b.md", prose(900, 2), None, chunks=Held("", "", prose(900, 2)).cut())
    )
    server.put(STORE, Held("file-3", "c.md", status="failed", error={"message": "broken"}))
    recovered(server, tmp_path, verify=True)
    report = json.loads((tmp_path / "recovery.json").read_text())
    assert list(report) == ["schema", "stores", "started", "files", "ended", "totals"]
    assert report["schema"] == 1
    assert report["stores"] == [{"name": STORE, "files": 3, "problem": ""}]
    assert report["started"] <= report["ended"]
    first, second, third = report["files"]
    written = (tmp_path / "a.md.reconstructed.md").read_bytes()
    seams = first.pop("seams")
    assert first == {
        "store": STORE,
        "id": "file-1",
        "name": "a.md",
        "output": f"{tmp_path}/a.md.reconstructed.md",
        "status": "recovered",
        "chunks": len(seams) + 1,
        "characters": len(text),
        "bytes": len(written),
        "sha256": sha256(text.encode()).hexdigest(),
        "strategy": {"unit": "tokens", "size": 300, "overlap": 100, "origin": "given"},
        "verdict": "verified",
        "missing": 0,
        "order": None,
        "notes": [],
        "attributes": {"year": 2024, "x": "y"},
        "verify": "same",
    }
    assert [seam["index"] for seam in seams] == list(range(1, len(seams) + 1))
    assert {seam["confidence"] for seam in seams} == {"verified"}
    assert set(seams[0]) == {"index", "start", "overlap", "confidence", "method", "missing"}
    assert second["strategy"] == {
        "unit": "tokens",
        "size": 800,
        "overlap": 400,
        "origin": "inferred",
    }
    assert (third["status"], third["output"], third["notes"]) == ("failed", None, ["broken"])
    assert report["totals"]["files"] == 3
    assert report["totals"]["verdicts"] == {"verified": 2}


def test_several_stores_are_recovered_together(server: VectorStores, tmp_path: Path) -> None:
    server.put(STORE, Held("file-1", "a.md", "The first.\n"))
    server.put("vs_2", Held("file-1", "a.md", "The first.\n"), Held("file-2", "b.md", "Third.\n"))
    done = recovered(server, tmp_path, stores=(STORE, "vs_2"))
    assert [(one.store, Path(one.path).name) for one in done.results] == [
        (STORE, "a.md.reconstructed.md"),
        ("vs_2", "a.md~file-1.reconstructed.md"),
        ("vs_2", "b.md.reconstructed.md"),
    ]


def test_a_store_that_cannot_be_read_is_told_and_stops_no_other(
    server: VectorStores, tmp_path: Path
) -> None:
    server.put(STORE, Held("file-1", "a.md", "The first.\n"))
    said: list[str] = []
    done = recovered(server, tmp_path, stores=("vs_gone", STORE), said=said)
    assert [one.id for one in done.results] == ["file-1"]
    assert not done.is_whole
    assert "vs_gone told of 0 files and no more: there is no vector store" in done.problems[0]
    assert any(line.startswith("  Warning: vs_gone told of 0 files") for line in said)
    report = json.loads((tmp_path / "recovery.json").read_text())
    assert [one["problem"] == "" for one in report["stores"]] == [False, True]
    with pytest.raises(NotFoundError):
        recovered(server, tmp_path, stores=("vs_gone", "vs_lost"))


def test_a_list_that_breaks_off_gives_what_it_told(server: VectorStores, tmp_path: Path) -> None:
    server.put(STORE, *(Held(f"file-{at}", f"{at}.md", f"Number {at}.\n") for at in range(120)))
    server.faults.append(("after=", refusing(400, "no more")))
    done = recovered(server, tmp_path)
    assert sum(one.status == "recovered" for one in done.results) == 100
    assert "told of 100 files and no more" in done.problems[0]


def test_a_strategy_that_is_told_counts_where_the_store_tells_none(
    server: VectorStores, tmp_path: Path
) -> None:
    words = prose(300, 4).split()
    chunks = [" ".join(words[at : at + 50]) for at in range(0, len(words) - 20, 30)]
    server.put(STORE, Held("file-1", "a.html", " ".join(words), None, chunks=chunks))
    server.put(STORE, Held("file-2", "b.md", prose(900, 2)))
    done = recovered(server, tmp_path, strategy=ChunkingStrategy("words", 50, 20), verify=True)
    assert Path(done.results[0].path).read_text() == " ".join(words)
    assert Path(done.results[1].path).read_text() == prose(900, 2)
    report = json.loads((tmp_path / "recovery.json").read_text())
    assert [(one["strategy"]["unit"], one["strategy"]["origin"]) for one in report["files"]] == [
        ("words", "given"),
        ("tokens", "given"),
    ]


def test_an_output_that_is_a_file_is_said(server: VectorStores, tmp_path: Path) -> None:
    server.put(STORE, Held("file-1", "a.md", "text"))
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(OutputError, match="cannot write to"):
        recovered(server, tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"
    assert server.count("/content") == 0


def test_a_folder_where_a_file_should_be_is_said_and_stops_no_other(
    server: VectorStores, tmp_path: Path
) -> None:
    server.put(STORE, Held("file-1", "a.md", "text"), Held("file-2", "b.md", "text"))
    taken = tmp_path / "a.md.reconstructed.md"
    taken.mkdir()
    done = recovered(server, tmp_path)
    assert [one.status for one in done.results] == ["not written", "recovered"]
    assert done.results[0].notes == (f"cannot write {taken}: Is a directory",)
    report = json.loads((tmp_path / "recovery.json").read_text())
    assert [one["output"] for one in report["files"]] == [None, f"{tmp_path}/b.md.reconstructed.md"]
    # What was fetched waits for its place.
    taken.rmdir()
    server.seen.clear()
    assert recovered(server, tmp_path).is_whole
    assert server.count("/content") == 0


def test_a_suffix_that_no_name_has_room_for_is_refused_before_anything_is_fetched(
    server: VectorStores, tmp_path: Path
) -> None:
    server.put(STORE, Held("file-1", "x" * 300, "text"), Held("file-2", "x" * 300, "more"))
    with pytest.raises(InvalidInputError, match="is too long for the name of a file: at most 100"):
        recovered(server, tmp_path, suffix="." + "x" * 100)
    assert server.seen == []
    assert recovered(server, tmp_path, suffix="." + "x" * 99).is_whole


def test_numbers_that_no_json_holds_are_left_out(server: VectorStores, tmp_path: Path) -> None:
    class Odd(OpenAIFiles):
        async def files(self) -> AsyncIterator[LostFile]:
            odd: dict[str, FieldValue] = {"a": nan, "b": (1.0, inf), "c": 1.5, "d": ("x", None)}
            yield LostFile("file-1", "a.md", attributes=odd)

    async def scene() -> Recovered:
        store = Odd(AsyncOpenAI(api_key="k", base_url=server.url), STORE)
        try:
            return await recover([store], Rescue(str(tmp_path)))
        finally:
            await store.close()

    server.put(STORE, Held("file-1", "a.md", "text"))
    assert asyncio.run(scene()).results[0].attributes == {"c": 1.5, "d": ("x", None)}
    report = json.loads((tmp_path / "recovery.json").read_text(), parse_constant=pytest.fail)
    assert report["files"][0]["attributes"] == {"c": 1.5, "d": ["x", None]}


@pytest.mark.parametrize("name", ["report", "lock"])
def test_a_link_in_the_spool_leads_nowhere(server: VectorStores, tmp_path: Path, name: str) -> None:
    server.put(STORE, Held("file-1", "a.md", "text"))
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    spool = tmp_path / "output" / FOLDER
    spool.mkdir(parents=True)
    (spool / name).symlink_to(mine)
    with suppress(OutputError):  # as the lock is no file of ours
        recovered(server, tmp_path / "output")
    assert mine.read_text() == "mine"


SCRIPT = """
mount -t tmpfs -o size=256k tmpfs "$1" || exit 99
"$2" -m unchunk recover --vector-store vs_1 --base-url "$3" -o "$1"; echo "full: $?"
mount -o remount,size=100m "$1"
"$2" -m unchunk recover --vector-store vs_1 --base-url "$3" -o "$1"; echo "again: $?"
ls -A "$1" | wc -l
"""


def test_a_full_disk_is_told_and_the_same_command_goes_on(
    server: VectorStores, tmp_path: Path
) -> None:
    if not shutil.which("unshare"):
        pytest.skip("this system has no unshare to make a small disk with")
    for at in range(12):
        server.put(STORE, Held(f"file-{at}", f"{at}.md", prose(2000, at)))
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"]
    done = subprocess.run(
        [*command, str(tmp_path), sys.executable, server.url],
        env={**os.environ, "OPENAI_API_KEY": "k"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "full:" not in done.stdout:
        pytest.skip(f"this system lets nobody make a small disk: {done.stderr.strip()}")
    assert "full: 1" in done.stdout
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "again: 0" in done.stdout
    # Twelve files and the report, and nothing else.
    assert done.stdout.split()[-1] == "13"
    # What the small disk had room for was not fetched again.
    assert server.count("/content") < 24
