"""The commands on kept conversations, and on what a model is told about folders."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from adapters.llm.scripted import ScriptedModel, answer
from chat.rooms import NIGHT
from cli.terminals import ESCAPES, OURS, SETTINGS, STEERING, json_of, make_library, shown
from unchunk.cli import main


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_library(tmp_path_factory.mktemp("conversing"))


@pytest.fixture(autouse=True)
def home(library: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("UNCHUNK_")]:
        monkeypatch.delenv(name)
    settings = {"UNCHUNK_CHAT": "openai:scripted", "UNCHUNK_CHAT_URL": f"{model.url}/v1"}
    for name, value in {**SETTINGS, **settings, "UNCHUNK_HOME": str(library)}.items():
        monkeypatch.setenv(name, value)
    return library


def run(*arguments: str, status: int = 0) -> Result:
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == status, done.output
    return done


def run_json(*arguments: str, status: int = 0) -> Any:  # noqa: ANN401 - what JSON holds
    return json_of(run(*arguments, "--json", status=status).stdout)


def begun(question: str, *options: str, status: int = 0) -> str:
    """The conversation that a question begins."""
    known = {one["id"] for one in run_json("conversations", "ls")["conversations"]}
    run("ask", question, "--conversation", "new", *options, status=status)
    after = {one["id"] for one in run_json("conversations", "ls")["conversations"]}
    [made] = after - known
    return str(made)


def test_a_library_without_conversations_says_how_to_begin_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCHUNK_HOME", str(tmp_path))
    assert run("conversations", "ls").stdout == (
        "there are no conversations; `unchunk chat` begins one\n"
    )
    assert run_json("conversations", "ls") == {"conversations": []}


def test_conversations_are_listed_the_latest_first() -> None:
    first, second = begun(NIGHT, "--folder", "rules"), begun("Who lit the lamp?")
    run("ask", "And then?", "--conversation", first)
    heading, *rows = run("conversations", "ls", "--limit", "2").stdout.splitlines()
    assert heading.split() == ["conversation", "last", "turns", "folder", "title"]
    assert re.fullmatch(
        rf"{first}  \d{{4}}-\d\d-\d\d \d\d:\d\d  2 +rules +{re.escape(NIGHT)}", rows[0]
    )
    assert rows[1].startswith(second)
    assert rows[1].endswith("  Who lit the lamp?")
    [one, _] = run_json("conversations", "ls", "--limit", "2")["conversations"]
    assert one["id"] == first
    assert one["turn_count"] == 2
    assert one["folder"] == "rules"


def test_a_conversation_is_shown_with_its_sources(home: Path, model: ScriptedModel) -> None:
    document = run_json("show", "harbour.md")["id"]
    model.script.append(answer(f"22 euros [{document}:0], or [nothing:1]."))
    made = begun(NIGHT)
    run("ask", "And then?", "--conversation", made, "--model", "cut", status=1)
    lines = run("conversations", "show", made).stdout.splitlines()
    assert lines[:4] == [NIGHT, "", f"> {NIGHT}", f"22 euros [{document}:0], or [nothing:1]."]
    assert lines[4].startswith(f"  [{document}] rules/harbour.md: Rules of the harbour, chunks ")
    after = lines[lines.index("> And then?") :]
    assert after[1:3] == ["The pilot boards", "(failed)"]
    assert after[3].startswith("Error: ")
    kept = run_json("conversations", "show", made)
    assert kept["conversation"]["id"] == made
    assert [one["answered"]["status"] for one in kept["turns"]] == ["complete", "failed"]
    on = shown("conversations", "show", made, home=home)
    assert "22 euros \x1b[36m[1]\x1b[0m, or \x1b[31m[?]\x1b[0m." in on
    assert "\r\n  [1] rules/harbour.md: " in on


def test_what_was_said_does_not_steer_the_terminal(home: Path, model: ScriptedModel) -> None:
    model.script.append(answer(ESCAPES))
    made = begun(f"Olga keeps the quayside {ESCAPES}", "--folder", "odd")
    run("prompt", f"folder {ESCAPES}", f"text {ESCAPES}\nand more")
    for command in (("conversations", "ls"), ("conversations", "show", made), ("prompt",)):
        ours = OURS.sub("", shown(*command, home=home))
        assert "red" in ours
        assert not STEERING.search(ours), ascii(ours)
        assert "\r" not in ours
    run("prompt", f"folder {ESCAPES}", "")


def test_a_conversation_gets_another_title_and_its_own_again() -> None:
    made = begun(NIGHT)
    assert run("conversations", "rename", made, "Prices").stdout == f"{made} is now called Prices\n"
    renamed = run_json("conversations", "rename", made, "Fees")
    assert renamed["conversation"]["title"] == "Fees"
    assert run("conversations", "rename", made, "").stdout == f"{made} is now called {NIGHT}\n"


def test_a_conversation_is_deleted() -> None:
    made, other = begun(NIGHT), begun(NIGHT)
    assert run("conversations", "rm", made).stdout == f"{made} is deleted\n"
    assert run_json("conversations", "rm", other) == {"deleted": other}
    for command in (("show", made), ("rm", made), ("rename", made, "x")):
        done = run("conversations", *command, status=1)
        assert done.stderr == f"Error: there is no conversation '{made}'\n"
        assert done.stdout == ""
    error = run_json("conversations", "show", made, status=1)["error"]
    assert error["type"] == "NotFoundError"


def test_a_folder_has_a_prompt_of_its_own(model: ScriptedModel) -> None:
    assert run("prompt").stdout.startswith("no folder has a prompt of its own; `unchunk prompt ")
    assert run("prompt", "rules").stdout == "rules:\n  (none)\n"
    assert (
        run("prompt", "rules", "Be brief.\nBe kind.").stdout == "rules:\n  Be brief.\n  Be kind.\n"
    )
    assert run_json("prompt") == {"prompts": {"rules": "Be brief.\nBe kind."}}
    run("ask", NIGHT, "--folder", "rules")
    assert model.asked[-1].body["messages"][0] == {
        "role": "system",
        "content": "Be brief.\nBe kind.",
    }
    run("ask", NIGHT)
    assert len(model.asked[-1].body["messages"]) == 1
    assert run_json("prompt", "rules", "") == {"prompts": {"rules": ""}}
    assert run_json("prompt") == {"prompts": {}}
    assert "name a folder" in run("prompt", "", "for all", status=2).stderr
