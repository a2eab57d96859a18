"""The command that answers one question, as people and programs read it."""

import asyncio
import json
import os
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from adapters.llm.scripted import Behaviour, Exchange, ScriptedModel, answer, piece
from chat.rooms import NIGHT
from cli.terminals import (
    ESCAPES,
    OURS,
    STEERING,
    json_of,
    make_library,
    on_screen,
    piped,
    shown,
)
from unchunk.cli import main
from unchunk.settings import load
from unchunk.synchronous import SynchronousEngine
from unchunk.wiring import open_engine

BEACON = "How is the beacon of Skagen painted?"


pytestmark = pytest.mark.usefixtures("home")


def run(*arguments: str, status: int = 0) -> Result:
    done = CliRunner().invoke(main, ["ask", *arguments])
    assert done.exit_code == status, done.output
    return done


def record(*arguments: str, status: int = 0) -> Any:  # noqa: ANN401 - what JSON holds
    return json_of(run(*arguments, "--json", status=status).stdout)


def source_of(question: str, *options: str) -> tuple[str, int, int]:
    """The first source's id, a chunk that is found, and one that is sent beside it."""
    first = record(question, *options)["sources"][0]
    hits = [one["chunk_index"] for one in first["chunks"]]
    sent = (
        index
        for one in first["passages"]
        for index in range(one["first_chunk"], one["last_chunk"] + 1)
    )
    return first["document"], hits[0], next((one for one in sent if one not in hits), -1)


def gated(gate: threading.Event, before: str, behind: str) -> Behaviour:
    """Goes on when it may."""

    async def behave(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.event(piece(before))
        while not gate.is_set():  # noqa: ASYNC110 - it belongs to a thread
            await asyncio.sleep(0.005)
        await exchange.event(piece(behind))
        await exchange.event(piece(finish="stop"))
        await exchange.event("[DONE]")
        await exchange.end()

    return behave


def test_without_a_model_the_answer_is_what_the_documents_say() -> None:
    done = run(NIGHT)
    assert done.stdout.startswith("No language model is set up.")
    assert "A night in the harbour costs 22 euros" in done.stdout
    cited = re.findall(r"\[(\w{16}):\d+\]", done.stdout)
    sources = done.stdout.partition("\nSources:\n")[2]
    assert f"  [{cited[0]}] rules/harbour.md: Rules of the harbour, chunks " in sources
    assert re.search(r"score 0\.\d\d", sources)
    assert done.stderr == ""


def test_sources_are_told_by_page_where_there_are_pages() -> None:
    assert re.search(
        r"ferry\.pdf: pages \d-3, .*chunks [\d,-]+ of \d+, score \d",
        run("Who keeps the ferry timetable of page 3?", "--name", "ferry.pdf").stdout,
    )


@pytest.mark.parametrize("screen", [False, True])
def test_words_appear_as_they_come(
    home: Path, model: ScriptedModel, settings: dict[str, str], screen: bool
) -> None:
    gate = threading.Event()
    model.script.append(gated(gate, "The night costs", " 22 euros."))
    running = on_screen if screen else piped
    try:
        with running("ask", NIGHT, home=home, settings=settings) as process:
            assert "22" not in process.wait_for("The night costs")
            assert "Sources" not in process.said
            gate.set()
            assert process.ended() == 0
    finally:
        gate.set()
    answered, _, sources = process.said.replace("\r\n", "\n").partition("\nSources:\n")
    if screen:
        sources = process.said
        assert "The night costs 22 euros." in process.said
        assert "(the answer cites none of its sources)" in process.said
    else:
        assert answered == "The night costs 22 euros.\n"
        assert process.complained == "(the answer cites none of its sources)\n"
    assert re.search(r"rules/harbour\.md: .*\(not cited\)", sources)


def test_citations_are_numbers_on_a_screen_and_as_written_in_a_pipe(
    home: Path, model: ScriptedModel, settings: dict[str, str]
) -> None:
    document, hit, beside = source_of(BEACON, "--full", "--name", "long report.txt")
    assert beside >= 0
    known, context, unknown = f"[{document}:{hit}]", f"[{document}:{beside}]", "[nothing:3]"
    both, wide = f"[{document}:{hit}, nothing:1]", f"[{document}:{hit}-900]"
    # Cut anywhere, as models do.
    text = f"White {known}, red {context}, blue {unknown}, x[1] {both} {wide}\r\nend]"
    tokens = [text[at : at + 7] for at in range(0, len(text), 7)]
    command = ("ask", BEACON, "--full", "--name", "long report.txt")
    model.script.append(answer(*tokens))
    on = shown(*command, home=home, settings=settings)
    cyan, off = "\x1b[36m", "\x1b[0m"
    assert (
        f"White {cyan}[1]{off}, red {cyan}\x1b[2m[1]{off}, blue \x1b[31m[?]{off}, x[1] "
        f"[{cyan}1{off}, \x1b[31m?{off}] {cyan}[1?]{off}\r\nend]\r\n"
    ) in on
    assert "cites what it was not given: [nothing:3], nothing:1, " in on
    assert re.search(
        r"^  \[1\] long report\.txt: chunks [\d-]+ of \d+, score 0\.\d\d\r$", on, re.MULTILINE
    )
    model.script.append(answer(*tokens))
    done = run(*command[1:])
    assert done.stdout.startswith(text.replace("\r", "") + "\n\nSources:\n")
    assert f"\n  [{document}] long report.txt: " in done.stdout
    assert "cites what it was not given" in done.stderr


def test_what_a_model_or_a_document_says_does_not_steer_the_terminal(
    home: Path, model: ScriptedModel, settings: dict[str, str]
) -> None:
    question = f"Olga keeps the quayside {ESCAPES}"
    hostile = [*(f"say{ESCAPES}"), f"[{ESCAPES}:1]", f"[x{ESCAPES}:2]", "\ud83d", "\udc4d."]
    model.script.append(answer(*hostile))
    for one, provider in ((question, settings), (f"{question} source:\x1b[31mnowhere.txt", {})):
        said = shown("ask", one, "--why", "--conversation", "new", home=home, settings=provider)
        ours = OURS.sub("", said)
        assert "Olga" in ours
        assert not STEERING.search(ours), ascii(said)
        assert "\r" not in ours
        assert "\x1b[31m red" not in said
        assert "\x1b[31mnowhere" not in said


@pytest.mark.usefixtures("settings")
def test_the_model_fails_in_words_and_by_its_status() -> None:
    done = run(NIGHT, "--model", "cut", status=1)
    assert done.stdout.startswith("The pilot boards\n\nSources:\n")
    assert re.match(r"Error: .+\n", done.stderr)
    done = run(NIGHT, "--model", "page", status=1)
    assert done.stdout.startswith("The model did not answer. These are the sentences")
    assert "22 euros" in done.stdout
    assert "Error: " in done.stderr
    record_of = record(NIGHT, "--model", "cut", status=1)
    assert record_of["error"]["code"]
    assert record_of["answer"] == "The pilot boards"


@pytest.mark.usefixtures("settings")
def test_json_is_the_answer_on_one_line() -> None:
    one = record(NIGHT, "--why")
    assert set(one) == {
        *("answer", "finish", "model", "plan", "sources", "omitted", "also_see", "citations"),
        *("warnings", "usage", "error", "conversation", "turn"),
    }
    assert one["answer"] == "The pilot boards at the outer buoy."
    assert one["finish"] == "stop"
    assert one["plan"]["mode"] == "passages"
    assert one["sources"][0]["name"] == "harbour.md"
    kept = record(NIGHT, "--conversation", "new")
    assert kept["turn"] == 0
    assert record(NIGHT, "--conversation", kept["conversation"])["turn"] == 1


@pytest.mark.usefixtures("settings")
def test_why_tells_how_the_question_was_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(f"Explain: {NIGHT}", "--why")
    assert '(the word "explain" asks for detail)\n' in done.stderr
    assert f"(full documents; searched for: {NIGHT})\n" in done.stderr
    assert re.search(r"\(\d+ tokens were read, 8 written\)", done.stderr)
    assert "asks for detail" not in done.stdout
    assert "asks for more than passages" in run(NIGHT, "--why").stderr
    assert "the model alone is asked" in run(NIGHT, "--why", "--no-rag").stderr
    monkeypatch.setenv("UNCHUNK_CHAT", "")
    assert re.search(r"\(context: \d+ of 24000 characters\)", run(NIGHT, "--why").stderr)
    assert "(" not in run(NIGHT).stderr


@pytest.mark.usefixtures("settings")
def test_options_reach_the_model(model: ScriptedModel) -> None:
    options = ["--model", "echo", "--temperature", "0.25", "--max-tokens", "900"]
    run(NIGHT, *options, "--stop", "END", "--stop", "\n\n")
    body = model.asked[-1].body
    assert body["model"] == "echo"
    assert body["temperature"] == 0.25
    assert body["max_tokens"] == 900
    assert body["stop"] == ["END", "\n\n"]
    [message] = body["messages"]
    assert message["content"].endswith(f"Question: {NIGHT}")
    run(NIGHT, "--template", "question-first")
    assert f"Question:\n{NIGHT}\n\nContext:" in model.asked[-1].body["messages"][0]["content"]


@pytest.mark.usefixtures("settings")
def test_without_documents_the_question_goes_to_the_model_as_it_is(model: ScriptedModel) -> None:
    done = run(NIGHT, "--no-rag")
    assert model.asked[-1].body["messages"] == [{"role": "user", "content": NIGHT}]
    assert done.stdout == "The pilot boards at the outer buoy.\n"
    assert done.stderr == ""


@pytest.mark.usefixtures("settings")
def test_where_to_look_and_how_much_of_it_is_said_by_options() -> None:
    def names(*options: str) -> set[str]:
        question = "Which lamp of the lighthouse burned in the harbour?"
        return {one["name"] for one in record(question, *options)["sources"]}

    assert names("--folder", "rules") == {"harbour.md"}
    assert names("--name", "lighthouse.md") == {"lighthouse.md"}
    assert record(NIGHT, "--full")["plan"]["mode"] == "full documents"
    assert record(f"Explain: {NIGHT}", "--passages")["plan"]["mode"] == "passages"


@pytest.mark.usefixtures("settings")
def test_a_strict_question_without_evidence_is_not_put_to_the_model(model: ScriptedModel) -> None:
    done = run(NIGHT, "--strict", "--folder", "nowhere")
    assert done.stdout == "Nothing was found in the documents that answers this.\n"
    assert done.stderr == "(no document is as the filters say)\n"
    assert not model.asked
    done = run(NIGHT, "--folder", "nowhere")
    assert done.stdout == "The pilot boards at the outer buoy.\n"
    assert "(no source was used. Nothing was found" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ([""], 1, "the question is empty"),
        ([NIGHT, "--template", "mine"], 1, "there is no template 'mine': use context-first, "),
        ([NIGHT, "--conversation", "nothing"], 1, "there is no conversation 'nothing'"),
        ([NIGHT, "--full", "--passages"], 2, "--full and --passages exclude each other"),
        ([NIGHT, "--no-rag", "--strict"], 2, "--no-rag cannot be combined"),
        ([NIGHT, "--no-rag", "--folder", "x"], 2, "--no-rag cannot be combined"),
        ([NIGHT, "--no-rag"], 1, "no model is set up: set `chat`"),
        ([NIGHT, "--temperature", "-1"], 2, "--temperature"),
        ([NIGHT, "--max-tokens", "0"], 2, "--max-tokens"),
        ([], 2, "QUESTION"),
    ],
)
def test_what_cannot_be_asked_is_said_in_a_line(
    arguments: list[str], status: int, says: str
) -> None:
    done = run(*arguments, status=status)
    assert says in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.output


@pytest.mark.usefixtures("settings")
def test_a_temperature_that_is_no_number_is_told(model: ScriptedModel) -> None:
    done = run(NIGHT, "--no-rag", "--temperature", "nan", status=1)
    assert re.match(r"Error: .+\n$", done.stderr)
    assert not model.asked


def test_a_library_without_documents_says_how_to_add_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCHUNK_HOME", str(tmp_path))
    done = run(NIGHT)
    assert done.stdout == "Nothing was found in the documents that answers this.\n"
    assert done.stderr == "(there are no documents; `unchunk add PATH` adds some)\n"


def test_a_library_that_another_process_has_open_answers(home: Path) -> None:
    settings = load(home, {}, embedder="hashing", chunk_size=200)
    with SynchronousEngine(lambda: open_engine(settings)) as engine:
        with piped("ask", NIGHT, home=home) as process:
            assert process.ended() == 0
        assert len(engine.documents()) == 5
    assert "22 euros" in process.said
    assert process.complained == ""


def test_a_library_that_cannot_be_opened_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("UNCHUNK_HOME", str(tmp_path / "file" / "home"))
    done = run(NIGHT, "--conversation", "new", status=1)
    assert done.stderr.count("Error:") == 1
    assert "choose another --home" in done.stderr


def test_bytes_that_are_no_text_are_asked_as_signs_of_that(home: Path) -> None:
    with piped("ask", os.fsdecode(b"night in the harbour \xff"), home=home) as process:
        assert process.ended() == 0
    assert "22 euros" in process.said


@pytest.mark.parametrize("screen", [False, True])
def test_an_interrupt_stops_the_model_and_keeps_what_came(
    home: Path, model: ScriptedModel, settings: dict[str, str], screen: bool
) -> None:
    question = f"What is said on {'a screen' if screen else 'a pipe'}?"
    command = ("ask", question, "--model", "stream:3000:0.01", "--conversation", "new")
    with (on_screen if screen else piped)(*command, home=home, settings=settings) as process:
        process.wait_for(" word word")
        process.interrupt()
        assert process.ended() == 130
    assert model.settled(lambda: model.aborted == 1)
    assert model.finished == 0
    told = process.said if screen else process.complained
    assert "(stopped)" in told
    assert "Traceback" not in told
    assert "Error" not in told
    [conversation] = re.findall(r"--conversation (\w+)` goes on", told)
    kept = CliRunner().invoke(main, ["conversations", "show", conversation, "--json"])
    [turn] = json.loads(kept.stdout)["turns"]
    assert turn["question"] == question
    assert turn["answered"]["status"] == "stopped"
    # What was said was kept; a word more may have come than was printed.
    assert turn["answered"]["answer"].startswith(" word word")
    again = run("And now?", "--conversation", conversation)
    assert again.stdout.startswith("The pilot boards")
    assert model.asked[-1].body["messages"][0]["content"] == question


def test_an_interrupt_before_the_first_word_and_for_programs(
    home: Path, model: ScriptedModel, settings: dict[str, str]
) -> None:
    for number, option in enumerate(("--why", "--json"), 1):
        with piped(
            "ask", NIGHT, "--model", "hang", option, home=home, settings=settings
        ) as process:
            assert model.settled(lambda: model.started == number, 60)  # noqa: B023 - at once
            process.interrupt()
            assert process.ended() == 130
        assert process.said == ""
        assert process.complained.endswith("(stopped)\n")
        assert "Traceback" not in process.complained
        assert model.settled(lambda: model.aborted == number)  # noqa: B023 - at once


def test_whoever_stops_reading_stops_the_model(
    home: Path, model: ScriptedModel, settings: dict[str, str]
) -> None:
    with piped(
        "ask", NIGHT, "--model", "stream:3000:0.005", home=home, settings=settings
    ) as process:
        process.wait_for(" word")
        process.stop_reading()
        assert process.process.wait(60) == 1
    assert model.settled(lambda: model.aborted == 1)
    assert "Traceback" not in process.complained


def test_the_own_files_of_a_library_are_no_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_library(tmp_path / "library")
    (home / "questions.txt").write_text("\n# now\n+what was asked\n")
    shutil.rmtree(tmp_path / "library" / "files")
    (tmp_path / "library" / "mine.md").write_text("Mine.")
    monkeypatch.setenv("UNCHUNK_HOME", str(home))
    added = CliRunner().invoke(main, ["add", str(tmp_path / "library"), "--json"])
    assert [one["name"] for one in json.loads(added.stdout)["files"]] == ["mine.md"]
