"""What goes wrong, and what then: each row of the design's table that an answer can meet."""

import asyncio
import logging
import os
import signal
import socket
from pathlib import Path

import pytest

from adapters.embed.provider import provider
from adapters.embed.provider import refuse as refused
from adapters.llm.scripted import ScriptedModel, answer
from adapters.sources.stores import Chunkenizer, chunkenizer
from chat.rooms import NIGHT, Room, codes, events_of, kinds
from gates import break_off
from servers import ends, qdrant
from unchunk.chat.events import Answer, SourcesFound, gather
from unchunk.chat.request import ChatRequest, question
from unchunk.engine import Engine
from unchunk.errors import IndexUnavailableError
from unchunk.telemetry import job
from unchunk.wiring import collections

HARBOUR_RESULT = {
    "document_id": "d-1",
    "document_name": "harbour.md",
    "chunk_index": 3,
    "chunk_text": "A night in the harbour costs 22 euros.",
    "token_count": 9,
    "metadata": {"team": "port"},
}


def test_with_the_embedding_provider_down_words_alone_find_and_the_answer_says_so(
    room: Room,
) -> None:
    async def ask(engine: Engine) -> Answer:
        server.plan.extend([refused(401, {})] * 1000)
        return gather(await events_of(engine, NIGHT))

    with provider() as server:
        found = room.run(ask, embedder="openai:m", embedder_url=f"{server.url}/v1")
    assert found.finish == "stop"
    assert found.sources.documents[0].name == "harbour.md"
    assert any("searched by words only" in one.message for one in found.warnings)


def test_with_the_index_unreachable_chat_goes_on_without_rag_and_says_why(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(engine: Engine) -> Answer:
        for space in engine._parts.spaces.all:
            break_off(monkeypatch, space.index, "search_many", IndexUnavailableError("it is gone"))
        return gather(await events_of(engine, NIGHT))

    found = room.run(ask)
    assert found.finish == "stop"
    assert found.answer
    assert not found.sources.documents
    assert any("it is gone" in one.message for one in found.warnings)
    assert "22 euros" not in str(room.sent)


def test_a_qdrant_server_that_dies_leaves_chat_alive(room: Room, tmp_path: Path) -> None:
    """The same with a real server, killed between two questions."""

    async def ask() -> tuple[Answer, Answer]:
        with qdrant(tmp_path / "qdrant") as server:
            async with room.open(index=f"qdrant:{server.url}") as engine:
                await room.filled(engine)
                before = gather(await events_of(engine, NIGHT))
                os.kill(server.pid, signal.SIGKILL)
                assert ends(server.pid)
                return before, gather(await events_of(engine, f"{NIGHT} Again?"))

    before, after = asyncio.run(ask())
    assert before.sources.documents
    assert after.finish == "stop"
    assert not after.sources.documents
    assert "search-unavailable" in codes(after)


def test_with_the_model_provider_down_the_sources_are_shown_with_quotes_and_the_error(
    tmp_path: Path,
) -> None:
    with ScriptedModel() as server:
        room = Room(tmp_path, server)
    # Nobody listens there any more.
    found = room.answer(NIGHT, chat_timeout=2.0)
    assert found.error is not None
    assert found.error.transient
    assert found.sources.documents[0].name == "harbour.md"
    assert "22 euros" in found.answer
    assert found.finish == "extractive"


def test_a_model_that_is_too_busy_is_not_waited_for_an_hour(room: Room) -> None:
    found = room.answer(NIGHT, model="busy")
    assert found.error is not None
    assert found.error.transient
    assert "22 euros" in found.answer


def test_answers_come_from_a_chunkenizer_server_if_the_settings_say_so(room: Room) -> None:
    room.server.script.append(answer("22 euros [d-1:3]."))
    with chunkenizer(Chunkenizer([HARBOUR_RESULT])) as url:
        found = room.answer(NIGHT, chat_source=f"chunkenizer:{url}", top_k=4)
    assert [one.state for one in found.citations] == ["cited"]
    assert found.sources.documents[0].document == "d-1"
    assert "A night in the harbour costs 22 euros. [d-1:3]" in room.sent[-1]["content"]


@pytest.mark.parametrize(
    ("trick", "said"),
    [
        ((500, b"{}"), "500"),
        ((200, b"<html>Welcome</html>"), "cannot be read"),
        ((200, b'{"results": "none"}'), "no list of results"),
    ],
    ids=["failing", "nonsense", "wrong"],
)
def test_a_chunkenizer_that_fails_is_said_and_the_chat_goes_on(
    room: Room, trick: tuple[int, bytes], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "unchunk")
    kept = Chunkenizer([HARBOUR_RESULT])
    kept.trick = trick
    with chunkenizer(kept) as url:
        found = room.answer(NIGHT, chat_source=f"chunkenizer:{url}")
    assert found.finish == "stop"
    [warning] = [one for one in found.warnings if one.code == "search-unavailable"]
    assert said in warning.message
    assert "skipping" in caplog.text
    assert "CONTEXT" not in room.sent[-1]["content"]


def test_a_chunkenizer_that_is_down_is_said_and_the_chat_goes_on(room: Room) -> None:
    with chunkenizer(Chunkenizer([])) as url:
        pass
    found = room.answer(NIGHT, chat_source=f"chunkenizer:{url}")
    assert found.finish == "stop"
    assert "search-unavailable" in codes(found)


def test_a_chunkenizer_without_results_leaves_a_chat_without_sources(room: Room) -> None:
    with chunkenizer(Chunkenizer([])) as url:
        found = room.answer(NIGHT, chat_source=f"chunkenizer:{url}")
    assert found.finish == "stop"
    assert "no-source" in codes(found)


def test_a_document_that_failed_answers_nothing_and_the_others_do(room: Room) -> None:
    async def ask(engine: Engine) -> list[str]:
        [outcome] = await engine.add(room.home.file("broken.pdf", b"%PDF-1.4 broken"))
        assert outcome.result == "failed"
        events = await events_of(engine, NIGHT)
        assert kinds(events)[-1] == "done"
        [sources] = [one for one in events if isinstance(one, SourcesFound)]
        return [one.name for one in sources.documents]

    assert room.run(ask) == ["harbour.md"]


@pytest.mark.parametrize("strict", [False, True])
def test_a_search_that_failed_is_not_said_to_have_found_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch, strict: bool
) -> None:
    async def ask(engine: Engine) -> Answer:
        for space in engine._parts.spaces.all:
            break_off(monkeypatch, space.index, "search_many", IndexUnavailableError("it is gone"))
        return gather(await events_of(engine, ChatRequest(question(NIGHT), strict=strict)))

    found = room.run(ask, model="scripted" if strict else "")
    assert not found.answer
    assert found.error is not None
    assert found.error.message == "it is gone"


def test_health_is_red_while_the_index_does_not_answer(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(engine: Engine) -> None:
        assert all(one.ok for one in (await engine.health()).values())
        with monkeypatch.context() as patch:
            for space in engine._parts.spaces.all:
                break_off(patch, space.index, "census", IndexUnavailableError("it is gone"))
            found = await engine.health()
            assert found["index"] == (False, "it is gone")
            assert all(one.ok for name, one in found.items() if name != "index")

    room.run(look)


def test_a_source_that_hangs_is_waited_for_once_by_all_who_ask(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collections, "_PATIENCE", 0.5)

    async def ask(engine: Engine) -> list[Answer]:
        asked = (events_of(engine, f"{NIGHT} {n}") for n in range(6))
        return [gather(one) for one in await asyncio.gather(*asked)]

    opened = 0
    real = collections.open_collection

    async def counted(*arguments: object, **options: object) -> object:
        nonlocal opened
        opened += 1
        return await real(*arguments, **options)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(collections, "open_collection", counted)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"qdrant:http://127.0.0.1:{silent.getsockname()[1]}#docs"
        found = room.run(ask, chat_source=place)
    assert opened == 1
    assert {one.finish for one in found} == {"stop"}
    assert all("did not answer within" in str(one.warnings) for one in found)


def test_the_request_is_traced_through_the_calls_of_all_providers(room: Room) -> None:
    async def ask(engine: Engine) -> None:
        with job("trace-9"):
            await events_of(engine, NIGHT, request_id="trace-9")

    with provider() as server:
        room.run(ask, embedder="openai:m", embedder_url=f"{server.url}/v1")
    assert server.requests[-1].headers["X-Request-ID"] == "trace-9"
    assert room.server.asked[-1].header("x-request-id") == "trace-9"
