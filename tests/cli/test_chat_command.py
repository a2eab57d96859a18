"""The command that converses: lines in a pipe, and a person at a screen."""

import re
import stat
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory

from adapters.llm.scripted import ScriptedModel, answer
from chat.rooms import NIGHT
from cli.terminals import json_of, on_screen, piped
from unchunk.cli import main
from unchunk.cli.prompting import HISTORY, SourceCompleter, _history
from unchunk.retrieval.tags import take_tags

LEAVE = "\x04"
STOP = "\x03"
# Sent when a line can be typed.
READY = "\x1b[?2004h"


pytestmark = pytest.mark.usefixtures("home")


def chat(lines: Iterable[str], *options: str, status: int = 0) -> Result:
    said = "".join(f"{line}\n" for line in lines)
    done = CliRunner().invoke(main, ["chat", *options], input=said)
    assert done.exit_code == status, done.output
    return done


def latest() -> list[dict[str, object]]:
    done = CliRunner().invoke(main, ["conversations", "ls", "--limit", "2", "--json"])
    found: list[dict[str, object]] = json_of(done.stdout)["conversations"]
    return found


@pytest.mark.usefixtures("settings")
def test_lines_are_a_conversation_with_follow_ups(model: ScriptedModel) -> None:
    model.script.extend([answer("22 euros."), answer("The master.")])
    done = chat([NIGHT, "", "   ", "And who works the crane?"])
    assert done.stdout.startswith("22 euros.\n\nSources:\n")
    assert "\n\nThe master.\n\nSources:\n" in done.stdout
    before, reply, now = model.asked[-1].body["messages"]
    assert (before["content"], reply["content"]) == (NIGHT, "22 euros.")
    assert now["content"].endswith("Question: And who works the crane?")
    assert latest()[0]["title"] == NIGHT
    assert latest()[0]["turn_count"] == 2


@pytest.mark.usefixtures("settings")
def test_a_conversation_is_gone_on_with(model: ScriptedModel) -> None:
    chat([NIGHT])
    known = str(latest()[0]["id"])
    chat(["And who works the crane?"], "--conversation", known)
    assert len(model.asked[-1].body["messages"]) == 3
    assert (latest()[0]["id"], latest()[0]["turn_count"]) == (known, 2)


@pytest.mark.usefixtures("settings")
def test_commands_are_no_questions(model: ScriptedModel) -> None:
    done = chat(["/help", "/nonsense", "/rag", "/rag off", "hello", "/rag on", NIGHT, "/quit", "x"])
    assert done.stdout.count("/rag on|off  ask the documents, or the model alone") == 3
    alone, asked = [one.body["messages"] for one in model.asked]
    assert alone == [{"role": "user", "content": "hello"}]
    assert "CONTEXT:" in asked[-1]["content"]
    before = latest()[0]["id"]
    chat([NIGHT, "/new", "Who lit the lamp?"])
    assert [one["title"] for one in latest()] == ["Who lit the lamp?", NIGHT]
    assert before not in {one["id"] for one in latest()}
    assert len(model.asked[-1].body["messages"]) == 1


@pytest.mark.usefixtures("settings")
def test_a_path_is_a_question_and_an_end_is_as_good_as_leaving(model: ScriptedModel) -> None:
    chat(["/etc/hosts is named in which rule?", "/exit", "more"])
    assert len(model.asked) == 1
    assert chat([]).stdout == ""


@pytest.mark.parametrize(
    "line", ["source:", "source:harbour.md", "source:nowhere.md", 'source:"', "[", "[x:1]", "?"]
)
def test_odd_lines_are_answered(line: str) -> None:
    done = chat([line, NIGHT])
    assert "Traceback" not in done.output
    assert "22 euros" in done.stdout


def test_bytes_that_are_no_text_are_asked_nevertheless() -> None:
    done = CliRunner().invoke(
        main, ["chat"], input=b"night in the harbour \xff\r\n" + NIGHT.encode()
    )
    assert done.exit_code == 0
    assert done.stdout.count("22 euros") == 2


@pytest.mark.usefixtures("settings")
def test_a_question_that_fails_ends_no_conversation_and_begins_no_other() -> None:
    before = {one["id"] for one in latest()}
    done = chat(["/rag off", "first", "second"], "--model", "fail-amid", status=1)
    assert done.stderr.count("Error:") == 2
    found = [one for one in latest() if one["id"] not in before]
    assert [one["title"] for one in found] == ["first"]
    assert found[0]["turn_count"] == 2
    # One that has no answer at all does not tell where it is kept.
    done = chat(["/rag off", "third", "fourth"], "--model", "page", status=1)
    assert (latest()[0]["title"], latest()[0]["turn_count"]) == ("third", 2)
    done = chat([NIGHT, NIGHT], "--template", "nonsense", status=1)
    assert done.stderr.count("Error: there is no template 'nonsense'") == 2
    assert latest()[0]["title"] == "third"


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        (["--conversation", "nothing"], 1, "there is no conversation 'nothing'"),
        (["--json"], 2, "use `unchunk ask --json`"),
        (["--full", "--passages"], 2, "exclude each other"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_asked(
    options: list[str], status: int, says: str
) -> None:
    done = chat([NIGHT], *options, status=status)
    assert says in done.stderr
    assert done.stdout == ""


def test_an_unknown_conversation_is_told_before_anybody_types(home: Path) -> None:
    with on_screen("chat", "--conversation", "nothing", home=home) as screen:
        assert screen.ended() == 1
    assert "there is no conversation 'nothing'" in screen.said
    assert "Ask your documents" not in screen.said


def test_an_interrupt_in_a_pipe_ends_all(
    home: Path, model: ScriptedModel, settings: dict[str, str]
) -> None:
    said = f"{NIGHT}\nmore\n".encode()
    command = ("chat", "--model", "stream:3000:0.01")
    with piped(*command, home=home, said=said, settings=settings) as process:
        process.wait_for(" word")
        process.interrupt()
        assert process.ended() == 130
    assert process.complained == "(stopped)\n"
    assert model.settled(lambda: model.aborted == 1)
    assert len(model.asked) == 1
    with piped("chat", home=home, settings=settings) as process:
        assert process.process.stdin
        process.process.stdin.write(f"{NIGHT}\n".encode())
        process.process.stdin.flush()
        process.wait_for("Sources:")
        process.interrupt()
        assert process.ended() == 130
    assert "Traceback" not in process.complained


def test_a_person_at_a_screen(home: Path, model: ScriptedModel, settings: dict[str, str]) -> None:
    (home / HISTORY).unlink(missing_ok=True)
    model.script.append(answer(*[" word"] * 3000, pause=0.01))
    with on_screen("chat", home=home, settings=settings) as screen:
        screen.wait_for("Ask your documents. /help tells more")
        screen.wait_for(READY)
        screen.type(f"{NIGHT}\r")
        screen.wait_for(" word word")
        screen.type(STOP)  # stops that answer only
        screen.wait_for("(stopped)")
        assert model.settled(lambda: model.aborted == 1)
        screen.wait_for(READY, times=2)
        before = len(screen.said)
        screen.type("half a line")
        screen.type(STOP)  # empties the line
        screen.wait_for(READY, times=3)
        screen.type("/help\r")
        screen.wait_for("leave; so does Ctrl-D")
        screen.wait_for(READY, times=4)
        screen.type("see source:long")
        screen.wait_for("long report.txt")  # offered
        screen.type("\t")
        screen.wait_for('report.txt"')
        screen.type(" Skagen\r")
        screen.wait_for("The pilot boards")
        screen.wait_for(READY, times=5)
        screen.type(LEAVE)
        assert screen.ended() == 0
    assert "half a line" in screen.said[before:]
    _, second = model.asked
    assert second.body["messages"][0]["content"] == NIGHT
    assert second.body["messages"][1]["content"].startswith(" word")
    assert "The beacon of Skagen" in second.body["messages"][2]["content"]
    [known] = re.findall(r"`unchunk chat --conversation (\w+)` goes on with this", screen.said)
    assert latest()[0]["id"] == known
    history = home / HISTORY
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    asked = re.findall(r"^\+(.+)$", history.read_text(), re.MULTILINE)
    assert asked == [NIGHT, "/help", 'see source:"long report.txt" Skagen']
    with on_screen("chat", "--conversation", known, home=home, settings=settings) as screen:
        screen.wait_for(f"Going on with: {NIGHT}")
        screen.wait_for(READY)
        screen.type("/quit\r")
        assert screen.ended() == 0


NAMES = [
    "harbour.md",
    "long report.txt",
    "O'Neill's log.md",
    'the "old" list.md',
    "HARBOUR notes.md",
]


def completed(text: str, names: Iterable[str] = NAMES) -> list[str]:
    """The lines that a person can choose from."""
    document = Document(text, len(text))
    found = SourceCompleter(lambda: names).get_completions(document, CompleteEvent())
    return [text[: len(text) + one.start_position] + one.text for one in found]


def test_names_are_completed_behind_source() -> None:
    assert completed("what is source:harb") == [
        'what is source:"HARBOUR notes.md"',
        "what is source:harbour.md",
    ]
    assert completed("SOURCE:report") == ['SOURCE:"long report.txt"']
    assert completed("(source:'long re") == ["(source:'long report.txt'"]
    assert completed("source:O'N") == ["source:\"O'Neill's log.md\""]
    assert completed('source:"the') == ["source:'the \"old\" list.md'"]
    assert len(completed("source:")) == len(NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "harb",
        "source",
        "source: harb",
        "resource:harb",
        "source:harb x",
        'source:"harbour.md" x',
        'source:"harbour.md"',
        "source:nothing",
    ],
)
def test_nothing_is_offered_elsewhere(text: str) -> None:
    assert completed(text) == []


def test_what_is_completed_names_the_document_and_cannot_steer() -> None:
    names = [*NAMES, "a,b.md", "ends.", "[x].md", "e\u0301te\u0301.md", "two  blanks"]
    for line, name in zip(completed("source:", names), sorted(names), strict=True):
        assert take_tags(line)[1] in {(name,), ("été.md",)}
    hostile = ["a\x1b[31m.md", "two\nlines.md", "\u202etxt.exe", " ", "'\"' \"'\" x"]
    assert completed("source:", hostile) == []


def test_the_history_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / HISTORY
    path.touch(mode=0o644)
    path.chmod(0o644)
    history = _history(path)
    assert isinstance(history, FileHistory)
    history.store_string("a question")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(_history(path).load_history_strings()) == ["a question"]
    path.unlink()
    path.mkdir()
    history.store_string("lost, and nobody is stopped by it")


def test_a_history_that_cannot_be_kept_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / HISTORY).mkdir()
    assert isinstance(_history(tmp_path / HISTORY), InMemoryHistory)
    assert "(questions will not be remembered: " in capsys.readouterr().err
