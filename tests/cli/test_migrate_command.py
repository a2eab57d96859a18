"""`unchunk migrate`, by its exit status and what it prints."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moves import look, settings_in, stock
from unchunk.cli import main
from unchunk.settings import load


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stocked")
    asyncio.run(stock(settings_in(folder / "home"), folder / "files"))
    return folder / "home"


@pytest.fixture
def laptop(stocked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNCHUNK_EMBEDDER", "hashing")
    monkeypatch.setenv("UNCHUNK_CHUNK_SIZE", "200")
    monkeypatch.setenv("UNCHUNK_CHUNK_OVERLAP", "40")
    shutil.copytree(stocked, tmp_path / "laptop")
    return tmp_path / "laptop"


def migrated(laptop: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["--home", str(laptop), "migrate", *arguments])


def test_a_library_moves_into_a_folder_that_opens_by_itself(laptop: Path, tmp_path: Path) -> None:
    done = migrated(laptop, "--to", str(tmp_path / "home"))
    assert done.exit_code == 0, done.output
    assert "5 documents: 5 moved, 0 were there, 0 removed" in done.output
    assert "5 of 5 documents verified" in done.output
    # Without what the environment says over here.
    assert asyncio.run(look(load(tmp_path / "home", {})))[1] == []
    again = json.loads(migrated(laptop, "--to", str(tmp_path / "home"), "--json").output)
    assert (again["moved"], again["unchanged"], again["differs"]) == (0, 5, [])
    assert again["settings"]["embedder"] == "hashing"


def test_what_is_not_whole_is_named_and_the_exit_status_tells(laptop: Path, tmp_path: Path) -> None:
    for path in (laptop / "uploads").rglob("[!.]*"):
        if path.is_file() and path.read_bytes().startswith(b"# The whale"):
            path.unlink()
    done = migrated(laptop, "--to", str(tmp_path / "home"))
    assert done.exit_code == 1
    assert "document whale.md: its original is gone" in done.output
    assert "4 of 5 documents verified" in done.output


def test_what_was_deleted_over_there_is_named_and_the_exit_status_tells(
    laptop: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    assert migrated(laptop, "--to", str(home)).exit_code == 0
    gone = CliRunner().invoke(main, ["--home", str(home), "rm", "whale.md"])
    assert gone.exit_code == 0, gone.output
    done = migrated(laptop, "--to", str(home))
    assert done.exit_code == 1
    assert "document whale.md: it was deleted over there" in done.output
    assert "4 of 5 documents verified" in done.output


def test_a_setting_that_cannot_be_is_refused(laptop: Path, tmp_path: Path) -> None:
    wrong = migrated(laptop, "--to", str(tmp_path / "home"), "--set", "index")
    assert wrong.exit_code == 2
    assert "NAME=VALUE" in wrong.output
    unknown = migrated(laptop, "--to", str(tmp_path / "home"), "--set", "indx=edge")
    assert unknown.exit_code == 1
    assert "did you mean index" in unknown.output
    assert not (tmp_path / "home").exists()
