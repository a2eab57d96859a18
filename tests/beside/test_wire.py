"""The engine's values come over the line as they were."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from homes import Home
from unchunk import errors
from unchunk.beside.wire import (
    Documents,
    Looking,
    read,
    read_body,
    read_error,
    read_event,
    said_of,
    written,
    written_error,
    written_event,
)
from unchunk.chat.events import Done, Event, Failed, ReadingPart, Token
from unchunk.chat.request import ChatRequest, question
from unchunk.engine import Engine
from unchunk.errors import (
    ExtractionError,
    InvalidInputError,
    LibraryInUseError,
    NotFoundError,
    PermanentError,
    TransientError,
    UnchunkError,
)
from unchunk.ports import Sampling
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.query import Turn
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.shelf import Where
from unchunk.retrieval.snippets import Found
from unchunk.server.rendering import rendered

WHERE = Where(
    folders=("a",),
    pages=(1, 3),
    since=datetime(2026, 1, 2, tzinfo=UTC),
    fields=(("one", 1), ("yes", True), ("word", "1")),
)


def over(value: object) -> object:
    return json.loads(rendered(value))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    text = "# Tides\n\nThe tide comes in twice a day.\n\n" + "Sand is dry above the weed. " * 90
    home.file("tides.md", text)
    return home


def test_evidence_chunks_and_answers_are_the_same_on_both_sides(home: Home) -> None:
    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        evidence = await engine.retrieve("when does the tide come in", amount=Amount(5))
        assert evidence.documents
        assert read(Evidence, over(written(Evidence, evidence))) == evidence
        found = await engine.search("tide")
        assert read(Found, over(written(Found, found))) == found
        asked = ChatRequest(question("When does the tide come in?"))
        kinds = set()
        async for event in engine.chat(asked):
            kinds.add(event.kind)
            line = over(written_event(event))
            assert isinstance(line, dict)
            assert read_event(line) == event
        assert kinds >= {"plan", "sources", "token", "citation", "usage", "done"}

    home.run(work)


def test_questions_are_the_same_on_both_sides() -> None:
    asked = ChatRequest(
        question("Why?"), "c1", False, "passages", WHERE, sampling=Sampling("m", 0.5, 7, ("x",))
    )
    assert read(ChatRequest, over(written(ChatRequest, asked))) == asked
    amount = Amount(3, None, False, 0.25, 99)
    turns = (Turn("user", "Who?"), Turn("assistant", "Ada.", (("d1", 2),)))
    looking = Looking("why", WHERE, amount=said_of(amount), history=turns, include=(("d2", 0),))
    again = read(Looking, over(written(Looking, looking)))
    assert again == looking
    assert again.wanted == amount


@pytest.mark.parametrize(
    "event",
    [
        ReadingPart(2, 9, "id", "a.md", 30, 59),
        Token("half \ud83d"),
        Done("half \ud83d", "stop", "m"),
        Failed("a", "b", True),
    ],
)
def test_half_a_character_of_a_model_comes_over(event: Event) -> None:
    line = over(written_event(event))
    assert isinstance(line, dict)
    assert read_event(line) == event


@pytest.mark.parametrize(
    "error",
    [
        NotFoundError("gone"),
        LibraryInUseError("busy"),
        InvalidInputError("odd"),
        errors.OutputError("x"),
    ],
)
def test_an_error_is_the_same_on_both_sides(error: UnchunkError) -> None:
    given = over(written_error(error))
    assert isinstance(given, dict)
    again = read_error(given)
    assert type(again) is type(error)
    assert str(again) == str(error)


def test_an_error_that_is_not_known_here_says_whether_to_try_again() -> None:
    class OddError(TransientError):
        pass

    for error, kind in (
        (OddError("later"), TransientError),
        (ExtractionError("empty", "no text"), PermanentError),
    ):
        given = over(written_error(error))
        assert isinstance(given, dict)
        assert type(read_error(given)) is kind


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"[]", b"7", b'{"documents": 7}', b"[" * 99_999]
)
def test_what_is_no_call_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInputError):
        read_body(Documents, body)
