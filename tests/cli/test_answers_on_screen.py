"""What a screen shows of an answer's events, and the line that questions are typed in."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from unchunk.chat.events import (
    CitationState,
    Cited,
    Done,
    Event,
    Failed,
    Planned,
    ReadingPart,
    Token,
    Used,
    Warned,
)
from unchunk.cli.answers import Terminal, marked, source_lines
from unchunk.cli.prompting import prompting
from unchunk.retrieval.display import harmless


def cited(text: str, at: int, state: CitationState = "cited", document: str = "one") -> Cited:
    return Cited(text, at, at + len(text), state, document, 3)


def test_a_citation_waits_for_what_tells_it_and_words_do_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = Terminal(on_screen=True)
    seen = []
    events: list[Event] = [
        Token("So "),
        Token("it is [one:3]"),
        cited("[one:3]", 9),
        Token(" here\r"),
        Token("\n."),
    ]
    for event in events:
        terminal._take(event)
        seen.append(capsys.readouterr().out)
    assert seen == ["So ", "", "", "", "it is [?] here\n."]
    terminal.fail("no \x1b more")
    told = capsys.readouterr()
    assert told.out == "\n"
    assert told.err == "Error: no ␛ more\n"


def test_what_is_no_part_of_the_answer_begins_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    events: list[Event] = [
        Planned(rag=False, conversation="kept"),
        Warned("no-source", "told at the end"),
        ReadingPart(2, 9, "id", "a \x1b book.md", 30, 59),
        Token("An answer"),
        Failed("Cut", "it broke"),
        Used(5, 10, "characters"),
        Done("An answer", "failed", "m"),
    ]
    terminal = Terminal(on_screen=True, why=True)
    answer = terminal.show(events)
    told = capsys.readouterr()
    assert answer.error is not None
    assert terminal.conversation == "kept"
    assert told.out == "An answer\n"
    assert told.err.splitlines() == [
        "(the model alone is asked, not the documents)",
        "(reading part 2 of 9: a ␛ book.md)",
        "Error: it broke",
        "(context: 5 of 10 characters)",
        "(told at the end)",
    ]


PARTS = st.lists(st.sampled_from(["word ", "[one:3]", "[two:1]", "[no:1]", "\x1b[2J", "\r\n", "]"]))


@given(PARTS, st.integers(1, 9))
def test_marks_stand_where_citations_do_wherever_the_text_begins(
    parts: list[str], size: int
) -> None:
    text, found = "", list[dict[str, Any]]()
    for part in parts:
        if part.startswith("["):
            document = part[1:-3]
            state: CitationState = "unknown" if document == "no" else "cited"
            found.append(cited(part, len(text), state, document).as_dict())
        text += part
    numbers = {"one": 1, "two": 2}
    whole = marked(text, found, numbers)
    assert "\x1b[2J" not in whole
    assert whole.count("[1]") == parts.count("[one:3]")
    assert whole.count("[?]") == parts.count("[no:1]")
    assert marked(text, (), numbers) == harmless(text)
    start = size * 7
    moved = [one | {"at": one["at"] + start, "end": one["end"] + start} for one in found]
    assert marked(text, moved, numbers, start=start) == whole


def test_many_headings_are_counted() -> None:
    one = {
        "document": "id",
        "name": "report.pdf",
        "folder": "",
        "pages": [4, 4],
        "heading_paths": [[], ["A"], ["B", "C"], ["D"], ["E"]],
        "coverage": "chunks 1-9 of 9",
        "chunks": [],
    }
    assert list(source_lines([one], [], on_screen=True)) == [
        "  [1] report.pdf: page 4, A, B > C, 2 more headings, chunks 1-9 of 9 (not cited)"
    ]


def test_lines_are_typed_emptied_and_ended(tmp_path: Path) -> None:
    asked: list[int] = []

    def names() -> list[str]:
        asked.append(1)
        return ["harbour.md"]

    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        read = prompting(names, tmp_path)
        typed.send_text("a question\r")
        assert read() == "a question"
        typed.send_text("half\x03")
        assert read() == ""
        typed.send_text("\x04")
        assert read() is None
    assert not asked
    assert "+a question" in (tmp_path / "questions.txt").read_text()
