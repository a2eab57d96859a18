"""What a `.env` file in the working directory says holds for the command that is run there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from unchunk.cli import main
from unchunk.cli.environment import load_env_file


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty working directory, and an environment that is as before when the test is over."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("UNCHUNK_")]:
        monkeypatch.delenv(name)
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def listed() -> str:
    done = CliRunner().invoke(main, ["ls", "--json"])
    assert done.exit_code == 0, done.output
    return done.stderr


def test_quotes_comments_and_other_variables_are_read_as_usual(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["# mine", "export A_NAME='one two' # said", 'B_NAME="${A_NAME}!"', "", "C_NAME=", "D"]
    Path(".env").write_text("\ufeff" + "\r\n".join(lines), "utf-8")
    load_env_file()
    found = {name: os.environ.get(f"{name}_NAME") for name in "ABC"}
    assert found == {"A": "one two", "B": "one two!", "C": ""}
    assert "D" not in os.environ
    assert capsys.readouterr().err == ""
    assert list(tmp_path.iterdir()) == [tmp_path / ".env"]


def test_the_home_and_settings_of_a_command_are_read_from_it(tmp_path: Path) -> None:
    Path(".env").write_text("UNCHUNK_HOME=./library\nUNCHUNK_EMBEDDER=hashing\n")
    assert listed() == ""
    assert (tmp_path / "library").is_dir()


def test_a_real_variable_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNCHUNK_HOME", str(tmp_path / "real"))
    Path(".env").write_text("UNCHUNK_HOME=./other\nUNCHUNK_EMBEDDER=hashing\n")
    listed()
    assert (tmp_path / "real").is_dir()
    assert not (tmp_path / "other").exists()


def test_a_line_that_is_no_variable_is_named_and_left_out(tmp_path: Path) -> None:
    text = 'UNCHUNK_HOME=./library\n\n\nnot a variable\nUNCHUNK_EMBEDDER=hashing\nX="open\n'
    Path(".env").write_text(text)
    warnings = listed().splitlines()
    assert warnings == [
        "Warning: .env:4 is ignored, because it is not NAME=VALUE",
        "Warning: .env:6 is ignored, because it is not NAME=VALUE",
    ]
    assert (tmp_path / "library").is_dir()


def test_a_value_that_no_variable_can_hold_is_left_out() -> None:
    Path(".env").write_text("A_NAME=\0\nB_NAME=two\n")
    load_env_file()
    assert os.environ.get("A_NAME") is None
    assert os.environ["B_NAME"] == "two"


def test_a_file_that_cannot_be_read_is_told_and_a_folder_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path(".env").write_bytes(b"A_NAME=\xff\n")
    load_env_file()
    assert capsys.readouterr().err == (
        "Warning: .env is ignored, because it cannot be read: it is not UTF-8\n"
    )
    Path(".env").unlink()
    Path(".env").mkdir()
    load_env_file()
    assert capsys.readouterr().err == ""


def test_only_commands_read_it() -> None:
    Path(".env").write_text("A_NAME=one\n")
    script = "import os, unchunk; unchunk.stitch_chunks([], 0); unchunk.open; print('A_NAME' in os.environ)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", ["PYTHONPATH", "PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES"])
def test_what_decides_which_code_is_run_is_not_taken_from_it(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = os.environ.get(name)
    os.environ.pop(name, None)
    Path(".env").write_text(f"{name}=./hostile\nA_NAME=one\n")
    load_env_file()
    assert name not in os.environ
    assert os.environ["A_NAME"] == "one"
    assert capsys.readouterr().err == (
        f"Warning: .env: {name} is ignored, because it decides which code is run\n"
    )
    if before is not None:
        os.environ[name] = before
