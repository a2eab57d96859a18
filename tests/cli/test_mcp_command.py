"""The command that agents' programs start; tests/agents speaks to it as they do."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from unchunk.cli import main


def test_it_answers_until_its_input_ends(home: Path) -> None:
    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    done = CliRunner().invoke(main, ["--home", str(home), "mcp"], input=f"{json.dumps(begin)}\n")
    assert done.exit_code == 0, done.output
    [line] = done.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "unchunk"


@pytest.mark.usefixtures("home")
def test_what_is_wrong_goes_to_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNCHUNK_NONSENSE", "1")
    done = CliRunner().invoke(main, ["mcp"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert "there is no setting 'nonsense'" in done.stderr
