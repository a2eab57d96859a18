"""`unchunk eval`, run as a user runs it."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from adapters.embed.provider import provider, right
from evaluation import small_sets
from unchunk.cli import main
from unchunk.text.tokens import get_encoding

WAYS = ["as set (blend:0.6)", "ranked by meaning", "ranked by words", "RRF"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("UNCHUNK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("UNCHUNK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UNCHUNK_EMBEDDER", "hashing")
    monkeypatch.setenv("UNCHUNK_FUSION", "blend:0.6")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "passing"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "passing").mkdir()
    return tmp_path / "home"


def run(*arguments: str | Path, status: int = 0) -> Result:
    done = CliRunner().invoke(main, ["eval", *map(str, arguments)])
    assert done.exit_code == status, done.output
    return done


def run_json(*arguments: str | Path) -> Any:  # noqa: ANN401 - what JSON holds
    return json.loads(run(*arguments, "--json").stdout)


def test_a_set_is_measured_in_a_library_that_goes_again(home: Path, tmp_path: Path) -> None:
    told = run(small_sets.beir(tmp_path / "small"), "--compare", "meaning").output
    assert "small: BEIR, 3 documents, 2 questions" in told
    assert "(of the judgements, those of test.tsv)" in told
    assert "Questions: 2" in told
    rows = [line.split("  ") for line in told.splitlines() if "as set (" in line]
    assert rows[0][0] == "nDCG@10"
    shown = [line.split() for line in told.splitlines()]
    assert ["way", "found", "nothing", "characters", "twice"] in shown
    assert ["ranked", "by", "meaning", "0", "0"] in shown
    assert not home.exists()
    assert not any((tmp_path / "passing").iterdir())


@pytest.mark.usefixtures("home")
def test_programs_get_every_question_of_every_way(tmp_path: Path) -> None:
    found = run_json(small_sets.beir(tmp_path / "small"))
    assert (found["set"], found["layout"], found["documents"]) == ("small", "BEIR", 3)
    [part] = found["parts"]
    assert list(part["ways"]) == WAYS
    assert [row["way"] for row in part["rows"][:4]] == WAYS
    first = part["rows"][0]
    assert (first["measure"], first["p"]) == ("nDCG@10", None)
    assert first["mean"] == pytest.approx((1 + 1 / (1 + 1 / 1.584962500721156)) / 2)
    figures = part["ways"]["RRF"]["figures"]
    assert [one["values"]["MRR@10"] for one in figures] == [1, 1]


@pytest.mark.usefixtures("home")
def test_a_home_of_the_set_is_kept_and_embedded_once(tmp_path: Path) -> None:
    small, kept = small_sets.chunking_evaluation(tmp_path / "small"), tmp_path / "kept"
    found = run_json(small, "--home-of-set", kept, "--compare", "words")
    assert found["counters"]["embedding_calls"] >= 1
    assert list(found["parts"][0]["ways"]) == [WAYS[0], "ranked by words"]
    again = (small, "--home-of-set", kept, "--compare", "rrf")
    assert "embedding_calls" not in run_json(*again)["counters"]
    told = run(*again, "--questions", "1").output
    assert "(1 of 2 questions are asked)" in told
    assert "IoU at 2000 tokens" in told
    used = get_encoding().count(f"{small_sets.BERTH}\n")
    assert f"{used}/500 {used}/1000 {used}/1500 {used}/2000" in told


@pytest.mark.usefixtures("home")
def test_follow_ups_are_told_apart_and_asked_without_their_conversation_too(
    tmp_path: Path,
) -> None:
    small = small_sets.inscit(tmp_path / "small")
    first, later = run_json(small, "--compare", "rrf")["parts"]
    assert (first["title"], first["questions"]) == ("First questions", 2)
    assert (later["title"], later["questions"]) == ("Follow-ups", 1)
    assert list(later["ways"]) == [WAYS[0], "without the conversation", "RRF"]


def test_the_settings_are_those_of_the_home(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    (home / "unchunk.toml").write_text('chunk_size = 40\nchunk_overlap = 0\nfusion = "rrf"\n')
    monkeypatch.delenv("UNCHUNK_FUSION")
    models = home / "models"
    models.mkdir()
    small, kept = small_sets.beir(tmp_path / "small"), tmp_path / "kept"
    found = run_json(small, "--home-of-set", kept, "--compare", "rrf", "--compare", "words")
    assert list(found["parts"][0]["ways"]) == ["as set (rrf)", "ranked by words"]
    assert (kept / "models").resolve() == models
    (home / "unchunk.toml").unlink()
    told = run(small, "--home-of-set", kept, status=1).output
    assert "holds this set with another embedder or chunking: choose another" in told


def test_an_index_on_a_server_is_not_left_with_vectors_of_nobody(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCHUNK_INDEX", "qdrant:http://127.0.0.1:1")
    told = run(small_sets.beir(tmp_path / "small"), status=1).output
    assert "name a --home-of-set FOLDER to keep it" in told
    assert not home.exists()


@pytest.mark.usefixtures("home")
def test_a_file_without_text_is_told_and_the_status_says_so(tmp_path: Path) -> None:
    small = small_sets.financebench(tmp_path / "small")
    (small / "pdfs" / "EMPTY_2021.pdf").touch()
    told = run(small, "--compare", "words", status=1).output
    assert "failed: EMPTY_2021: it has no bytes" in told
    assert "page recall at 500 tokens" in told


@pytest.mark.usefixtures("home")
def test_what_is_no_set_is_told_in_a_line(tmp_path: Path) -> None:
    told = run(tmp_path, status=1).output
    assert "is not an evaluation set; expected one of BEIR (corpus.jsonl," in told
    small = small_sets.beir(tmp_path / "small")
    (tmp_path / "file").touch()
    assert "cannot be used" in run(small, "--home-of-set", tmp_path / "file" / "x", status=1).output


@pytest.mark.parametrize("kept", [True, False])
def test_an_interrupt_says_whether_anything_is_kept(kept: bool, tmp_path: Path) -> None:
    small = small_sets.beir(tmp_path / "small")
    command = [sys.executable, "-m", "unchunk", "eval", str(small)]
    command += ["--home-of-set", str(tmp_path / "kept")] if kept else []
    passing = tmp_path / "passing"
    passing.mkdir()
    with provider() as server:
        environment = {
            **os.environ,
            "UNCHUNK_EMBEDDER": "openai:m",
            "UNCHUNK_EMBEDDER_URL": f"{server.url}/v1",
            "UNCHUNK_HOME": str(tmp_path / "home"),
            "TMPDIR": str(passing),
        }
        stuck = threading.Event()

        def hang(*_: object) -> None:
            stuck.set()
            server.released.wait()

        server.plan.extend([right] + [hang] * 100)
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as process:
            assert stuck.wait(120)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert (b"What came in is kept" if kept else b"Nothing is kept") in errors
    assert not list(passing.iterdir())
