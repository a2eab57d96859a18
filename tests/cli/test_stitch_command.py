"""The commands, run as a user runs them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from unchunk.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*arguments: str, lines: str = "") -> Result:
    return CliRunner().invoke(main, ["stitch", *arguments], input=lines)


def chunk_lines(**files: list[str]) -> str:
    return "".join(
        json.dumps({"file": name, "text": text}) + "\n"
        for name, texts in files.items()
        for text in texts
    )


def test_the_sample_comes_back_byte_for_byte(tmp_path: Path) -> None:
    source = str(EXAMPLES / "chunks.jsonl")
    command = [sys.executable, "-m", "unchunk", "stitch", source, "-o", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("harbour-rules.md", "haiku.md"):
        recovered = tmp_path / f"{name}.reconstructed.md"
        assert recovered.read_bytes() == (EXAMPLES / name).read_bytes()
    assert "2 files (2 verified)" in done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert [file["confidence"] for file in report["files"]] == ["verified", "verified"]
    assert [seam["index"] for seam in report["files"][1]["seams"]] == [1, 2]
    assert report["files"][0]["strategy"] == "120/60 tokens"


@pytest.mark.parametrize(
    ("drop", "confidence"), [(0, "ambiguous"), (None, "verified")], ids=["no first", "all"]
)
def test_an_index_tells_the_order_and_whether_the_first_chunk_is_there(
    tmp_path: Path, drop: int | None, confidence: str
) -> None:
    text = " ".join(f"Verse {number}.\n\n" for number in range(60))
    chunks = [text[at : at + 100] for at in range(0, len(text) - 50, 50)]
    lines = [
        json.dumps({"file": "a", "text": chunk, "index": at}) + "\n"
        for at, chunk in enumerate(chunks)
        if at != drop
    ]
    told = ("--unit", "chars", "--size", "100", "--overlap", "50")
    done = run("-", "-o", str(tmp_path), "--suffix", "", *told, lines="".join(reversed(lines)))
    assert f"1 {confidence}" in done.output
    assert text.endswith((tmp_path / "a").read_text())


def test_a_strategy_that_is_told_is_followed(tmp_path: Path) -> None:
    words = [str(number) for number in range(50)]
    texts = [" ".join(words[at : at + 20]) for at in range(0, 40, 10)]
    told = ("--unit", "words", "--size", "20", "--overlap", "10")
    done = run("-", "-o", str(tmp_path), "--suffix", ".txt", *told, lines=chunk_lines(n=texts))
    assert done.exit_code == 0
    assert (tmp_path / "n.txt").read_text() == " ".join(words)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("", "there are no chunks in it"),
        ("\n\n", "there are no chunks in it"),
        ('{"file": "a", "text": "b"}\n{"file"', ":2: not a line of JSON"),
        ("[1, 2]\n", ":1: not {"),
        ('{"file": "a"}\n', ":1: 'text' is missing or not a string"),
        ('{"file": null, "text": "b"}\n', ":1: 'file' is missing or not a string"),
        ('{"file": "a", "text": "b", "index": "1"}\n', ":1: 'index' is not a whole number: '1'"),
        ('{"file": "a", "text": "b", "index": -1}\n', ":1: 'index' is not a whole number: -1"),
        (
            '{"file": "a", "text": "b", "index": 1}\n{"file": "a", "text": "c"}\n',
            "some chunks of 'a' have an 'index' and some none",
        ),
        (
            '{"file": "a", "text": "b", "index": 1}\n{"file": "a", "text": "c", "index": 1}\n',
            "two chunks of 'a' have the same 'index'",
        ),
        ("[" * 100_000 + "\n", ":1: not a line of JSON"),
    ],
)
def test_bad_lines_are_named_and_nothing_is_written(tmp_path: Path, lines: str, says: str) -> None:
    output = tmp_path / "output"
    done = run("-", "-o", str(output), lines=lines)
    assert done.exit_code == 1
    assert says in done.output
    assert not output.exists()


def test_half_a_strategy_is_refused(tmp_path: Path) -> None:
    done = run("-", "-o", str(tmp_path), "--size", "20", lines=chunk_lines(a=["x"]))
    assert done.exit_code == 2
    assert "--size and --overlap go together" in done.output


def test_a_strategy_without_sense_is_refused(tmp_path: Path) -> None:
    told = ("--size", "20", "--overlap", "20")
    done = run("-", "-o", str(tmp_path), *told, lines=chunk_lines(a=["x"]))
    assert done.exit_code == 1
    assert "less than size (20)" in done.output


def test_no_name_leaves_the_folder_or_overwrites_another(tmp_path: Path) -> None:
    names = ["../../evil", "/etc/passwd", "A.md", "a.md", "..", "", "con", "x" * 500, "é" * 300]
    names += ["a\0b\nc", "report.json"]
    lines = "".join(json.dumps({"file": name, "text": name + "!"}) + "\n" for name in names)
    folder = tmp_path / "in" / "here"
    done = run("-", "-o", str(folder), "--suffix", "", lines=lines)
    assert done.exit_code == 0, done.output
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert len(list(folder.iterdir())) == len(names) + 1
    written = {path.read_text() for path in folder.iterdir() if path.name != "report.json"}
    assert written == {name + "!" for name in names}


def test_a_suffix_cannot_leave_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    done = run("-", "-o", str(folder), "--suffix", "/../../out", lines=chunk_lines(a=["x"]))
    assert done.exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"here"}
    assert (folder / "a_.._.._out").read_text() == "x"


def test_a_name_that_cannot_be_printed_is_no_trouble(tmp_path: Path) -> None:
    done = run("-", "-o", str(tmp_path), lines='{"file": "a\\ud800", "text": "hello there"}\n')
    assert done.exit_code == 0, done.output
    assert (tmp_path / "a_.reconstructed.md").read_text() == "hello there"
    assert (tmp_path / "report.json").exists()


def test_what_is_there_is_overwritten_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.reconstructed.md"
    target.write_text("something old and long")
    assert run("-", "-o", str(tmp_path), lines=chunk_lines(a=["new"])).exit_code == 0
    assert target.read_text() == "new"
    assert {path.name for path in tmp_path.iterdir()} == {"a.reconstructed.md", "report.json"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is full")
def test_a_full_disk_is_said_and_leaves_what_was_there(tmp_path: Path) -> None:
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "from unchunk.cli import main; main(sys.argv[1:])"
    )
    target = tmp_path / "big.reconstructed.md"
    target.write_text("old")
    lines = tmp_path / "chunks.jsonl"
    lines.write_text(chunk_lines(big=["x" * 5000]))
    done = subprocess.run(
        [sys.executable, "-c", script, "stitch", lines, "-o", tmp_path],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 1
    assert f"cannot write {target}" in done.stderr
    assert target.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {target.name, lines.name}


def test_an_output_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = run("-", "-o", str(tmp_path / "taken"), lines=chunk_lines(a=["x"]))
    assert done.exit_code == 1
    assert "cannot write" in done.output


def test_a_missing_chunk_is_noted(tmp_path: Path) -> None:
    text = "".join(f"Line {number} of a text that says nothing twice.\n" for number in range(200))
    texts = [text[at : at + 1000] for at in range(0, len(text), 800)]
    del texts[3]
    done = run("-", "-o", str(tmp_path), lines=chunk_lines(a=texts))
    assert "at least 1 missing" in done.output
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["files"][0]["missing"] == 1
