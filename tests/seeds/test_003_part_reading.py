"""Document 003, "handles large documents": a model reads those that are too long part by part."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.sync.client import connect

import unchunk
from adapters.llm.scripted import Behaviour, ScriptedModel, error, hang, refuse
from chat.reading import book, citations_in, part_of, prompt_of, reader
from homes import Home
from server.scripted import Sent, Served, parsed, serving
from unchunk.settings import load
from unchunk.wiring import open_engine

SUMMARY = "Summarise source:log.md"
ROOM: dict[str, str | float] = {
    "embedder": "hashing",
    "chunk_size": 200,
    "max_context_chars": 1_500,
}


class Asked:
    """A server whose library has a long document, `log.md`, and the model that it asks."""

    def __init__(self, served: Served, model: ScriptedModel, client: httpx2.Client) -> None:
        self.served, self.model, self._client = served, model, client

    def post(self, path: str = "/api/chat", **body: object) -> httpx2.Response:
        reply = self._client.post(path, json=body)
        assert reply.status_code == 200, reply.text
        return reply

    def stream(self, **body: object) -> list[Sent]:
        return parsed(self.post("/api/chat/stream", **body).text)


@contextmanager
def asked(
    folder: Path, behaviour: Behaviour | None = None, **settings: str | float
) -> Iterator[Asked]:
    home = Home(folder)
    path = home.file("log.md", book())
    with ScriptedModel() as model:
        model.script.extend([behaviour or reader()] * 100)
        chosen = {**ROOM, "chat": "openai:scripted", "chat_url": f"{model.url}/v1", **settings}
        home.run(lambda engine: engine.add(path), **chosen)
        loaded = load(home.folder, {}, **chosen)
        with (
            serving(lambda: open_engine(loaded)) as served,
            httpx2.Client(base_url=served.url, timeout=60) as client,
        ):
            yield Asked(served, model, client)


def warnings(reply: dict[str, Any], code: str) -> list[str]:
    return [one["message"] for one in reply["warnings"] if one["code"] == code]


@pytest.mark.statement("003-80", "003-81")
def test_the_stream_tells_of_each_part_and_the_answer_cites_chunks_of_all_of_them(
    tmp_path: Path,
) -> None:
    with asked(tmp_path) as at:
        events = at.stream(message=SUMMARY)
        calls = len(at.model.asked)
    kinds = [one.kind for one in events]
    parts = [one.data for one in events if one.kind == "reading"]
    count = len(parts)
    assert count > 2
    assert [(one["part"], one["parts"]) for one in parts] == [
        (number, count) for number in range(1, count + 1)
    ]
    assert {one["name"] for one in parts} == {"log.md"}
    assert kinds.index("sources") < kinds.index("reading") < kinds.index("token")
    assert calls == count + 1
    [sources] = [one.data["sources"] for one in events if one.kind == "sources"]
    assert isinstance(sources, list)
    assert [one["kind"] for one in sources] == ["full document"]
    # Each part is cited by the chunk that its notes do.
    cited = [one.data for one in events if one.kind == "citation"]
    assert {one["state"] for one in cited} == {"context"}
    for part, one in zip(parts, cited, strict=True):
        assert part["first_chunk"] <= one["chunk_index"] <= part["last_chunk"]  # type: ignore[operator]
    [usage] = [one.data for one in events if one.kind == "usage"]
    assert usage["completion_tokens"] == calls


@pytest.mark.statement("003-80")
def test_notes_lose_citations_of_chunks_that_their_part_does_not_have(tmp_path: Path) -> None:
    def note(number: int, prompt: str) -> str:
        real = citations_in(prompt)[0]
        foreign = 0 if number > 1 else 9999
        return f"Note {number} {real} [{real[1:17]}:{foreign}] [0123456789abcdef:1]"

    with asked(tmp_path, reader(note)) as at:
        reply = at.post(message=SUMMARY).json()
        final = prompt_of(at.model.asked[-1])
    notes = citations_in(final)
    assert len(notes) == len(set(notes)) > 2
    assert "9999" not in final
    assert "0123456789abcdef" not in final
    assert [one["state"] for one in reply["citations"]] == ["context"] * len(notes)


@pytest.mark.statement("003-81")
def test_a_socket_has_the_same_events_and_other_routes_take_longer(tmp_path: Path) -> None:
    with asked(tmp_path) as at:
        kinds = [""]
        with connect(at.served.ws) as socket:
            socket.send(json.dumps({"type": "ask", "id": "1", "message": SUMMARY}))
            while kinds[-1] != "done":
                kinds.append(json.loads(socket.recv(60))["type"])
        whole = at.post(message=SUMMARY).json()
        body = {"model": "unchunk", "messages": [{"role": "user", "content": SUMMARY}]}
        compatible = at.post("/v1/chat/completions", **body).json()
    assert kinds.count("reading") > 2
    said = compatible["choices"][0]["message"]["content"]
    assert whole["answer"].startswith("All crates were found.")
    assert said.startswith("All crates were found.")
    assert len(whole["citations"]) == kinds.count("reading")


@pytest.mark.statement("003-80")
@pytest.mark.parametrize(
    ("question", "reads"),
    [
        ("What is source:log.md about?", True),
        ("Explain all of source:log.md", True),
        ("Summarise the log", True),
        ("Tell me everything in the log", True),
        ("What does source:log.md say about crate number 333?", False),
        ("Which crate was found in chapter 3?", False),
    ],
)
def test_only_a_question_about_all_of_the_document_has_it_read_in_parts(
    tmp_path: Path, question: str, *, reads: bool
) -> None:
    with asked(tmp_path) as at:
        at.post(message=question)
        assert any(map(part_of, at.model.asked)) is reads


@pytest.mark.statement("003-82")
@pytest.mark.parametrize(
    ("setting", "field", "reads"),
    [(2, None, False), (0, None, False), (2, 12, True), (12, 0, False)],
)
def test_max_parts_is_a_setting_and_a_field_and_0_turns_it_off(
    tmp_path: Path, setting: int, field: int | None, *, reads: bool
) -> None:
    more: dict[str, Any] = {} if field is None else {"max_parts": field}
    with asked(tmp_path, max_parts=setting) as at:
        reply = at.post(message=SUMMARY, **more).json()
        assert any(map(part_of, at.model.asked)) is reads
    limit = setting if field is None else field
    told = warnings(reply, "parts")
    # Beyond the limit, the excerpt answers, and the warning has both numbers and what to do.
    assert bool(told) is (not reads and limit > 0)
    for message in told:
        numbers = [int(one) for one in re.findall(r"\d+", message)]
        assert limit in numbers
        assert max(numbers) > limit
        assert "raise max_parts" in message
    assert reply["sources"][0]["kind"] == ("full document" if reads else "excerpt")


@pytest.mark.statement("003-82")
def test_the_environment_and_the_command_set_it_too_and_the_command_tells_of_the_parts(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    path = home.file("log.md", book())
    home.run(lambda engine: engine.add(path), **ROOM)
    with ScriptedModel() as model:
        model.script.extend([reader()] * 100)
        environment = {f"UNCHUNK_{name.upper()}": str(it) for name, it in ROOM.items()} | {
            "UNCHUNK_HOME": str(home.folder),
            "UNCHUNK_CHAT": "openai:scripted",
            "UNCHUNK_CHAT_URL": f"{model.url}/v1",
            "UNCHUNK_MAX_PARTS": "0",
        }

        def run(*options: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "unchunk", "ask", SUMMARY, *options]
            return subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True, timeout=120
            )

        assert "reading part" not in run().stderr
        shown = run("--max-parts", "12")
    assert re.search(r"^\(reading part 2 of \d+: log\.md\)$", shown.stderr, re.MULTILINE)
    assert shown.stdout.startswith("All crates were found.")


@pytest.mark.statement("003-83")
def test_a_part_that_cannot_be_read_is_named_and_the_others_make_the_answer(
    tmp_path: Path,
) -> None:
    with asked(tmp_path, reader(part2=refuse(400, error("no such luck")))) as at:
        reply = at.post(message=SUMMARY).json()
    assert reply["finish"] == "stop"
    [message] = warnings(reply, "part-unread")
    assert "part 2 of" in message
    assert "no such luck" in message
    assert len(reply["citations"]) > 1


@pytest.mark.statement("003-83")
def test_who_stops_the_stream_stops_all_calls_of_the_model(tmp_path: Path) -> None:
    with asked(tmp_path, hang) as at:
        client = httpx2.Client(base_url=at.served.url, timeout=60)
        with client, client.stream("POST", "/api/chat/stream", json={"message": SUMMARY}) as reply:
            name = reply.headers["X-Stream-ID"]
            for line in reply.iter_lines():
                if line == "event: reading" and at.model.settled(lambda: at.model.started > 1):
                    break
            client.delete(f"/api/chat/stream/{name}")
        assert at.model.settled(lambda: at.model.aborted == at.model.started)


@pytest.mark.statement("003-80")
def test_the_python_api_reads_in_parts_as_well(tmp_path: Path) -> None:
    path = tmp_path / "log.md"
    path.write_text(book(), "utf-8")
    with ScriptedModel() as model:
        model.script.extend([reader()] * 100)
        settings = {**ROOM, "chat": "openai:scripted", "chat_url": f"{model.url}/v1"}
        with unchunk.open(tmp_path / "home", **settings) as library:
            library.add(path)
            request = unchunk.ChatRequest(({"role": "user", "content": SUMMARY},))
            kinds = [event.kind for event in library.chat(request)]
            assert kinds.count("reading") > 2
            request = unchunk.ChatRequest(request.messages, max_parts=0)
            assert "reading" not in [event.kind for event in library.chat(request)]
