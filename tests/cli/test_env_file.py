"""What a `.env` file in the working directory says holds for the command that is run there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from unchunk.cli import main
from unchunk.cli.environment import load_env_file


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, dotenv_enabled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working directory, and no variables of ours."""
    assert dotenv_enabled is None
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("UNCHUNK_")]:
        monkeypatch.delenv(name)


def listed() -> str:
    done = CliRunner().invoke(main, ["ls", "--json"])
    assert done.exit_code == 0, done.output
    return done.stderr


def test_quotes_comments_and_other_variables_are_read_as_usual(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["# mine", "export RAG_A='one two' # said", 'RAG_B="${RAG_A}!"', "", "RAG_C=", "RAG_D"]
    Path(".env").write_text("\ufeff" + "\r\n".join(lines), "utf-8")
    load_env_file()
    found = {name: os.environ.get(f"RAG_{name}") for name in "ABC"}
    assert found == {"A": "one two", "B": "one two!", "C": ""}
    assert "RAG_D" not in os.environ
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
    Path(".env").write_text("RAG_A=\0\nRAG_B=two\n")
    load_env_file()
    assert os.environ.get("RAG_A") is None
    assert os.environ["RAG_B"] == "two"


def test_a_file_that_cannot_be_read_is_told_and_a_folder_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path(".env").write_bytes(b"RAG_A=\xff\n")
    load_env_file()
    assert capsys.readouterr().err == (
        "Warning: .env is ignored, because it cannot be read: it is not UTF-8\n"
    )
    Path(".env").unlink()
    Path(".env").mkdir()
    load_env_file()
    assert capsys.readouterr().err == ""


def test_only_commands_read_it() -> None:
    Path(".env").write_text("RAG_A=one\n")
    script = "import os, unchunk; unchunk.stitch_chunks([], 0); unchunk.open; print('RAG_A' in os.environ)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    "name",
    [
        "PYTHONPATH",
        "PATH",
        "LD_PRELOAD",
        "DYLD_INSERT_LIBRARIES",
        "OPENSSL_CONF",
        "AWS_CONFIG_FILE",
        "HTTPS_PROXY",
        "SSL_CERT_FILE",
        "XUNCHUNK_HOME",
        "unchunk_home",
        "DATABASE_URL",
    ],
)
def test_variables_that_are_not_ours_are_not_taken_from_it(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some of them decide which code is run."""
    monkeypatch.delenv(name, raising=False)
    Path(".env").write_text(f"{name}=./hostile\nRAG_A=one\n")
    load_env_file()
    assert name not in os.environ
    assert os.environ["RAG_A"] == "one"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "name",
    [
        "UNCHUNK_CHAT_URL",
        "RAG_TOP_K",
        "CHUNKENIZER_API_URL",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_API_VERSION",
        "AZURE_OPENAI_ENDPOINT",
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_AD_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_REGION",
        "PGPASSWORD",
    ],
)
def test_our_variables_and_those_of_providers_are_taken_from_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(name, raising=False)
    Path(".env").write_text(f"{name}=one\n")
    load_env_file()
    assert os.environ[name] == "one"


def test_any_variable_can_be_part_of_a_value_and_real_ones_go_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_PORT", "1")
    Path(".env").write_text(
        "A_HOST=here\nA_PORT=2\nUNCHUNK_CHAT_URL=http://${A_HOST}:${A_PORT}/${A_PATH:-v1}\n"
    )
    load_env_file()
    assert os.environ["UNCHUNK_CHAT_URL"] == "http://here:1/v1"
    assert "A_HOST" not in os.environ


@pytest.mark.parametrize(("value", "reads"), [("1", False), ("Yes", False), ("0", True)])
def test_it_can_be_turned_off(value: str, monkeypatch: pytest.MonkeyPatch, *, reads: bool) -> None:
    monkeypatch.setenv("PYTHON_DOTENV_DISABLED", value)
    Path(".env").write_text("RAG_A=one\n")
    load_env_file()
    assert ("RAG_A" in os.environ) is reads
