"""Everything real but for the model's words: library, engine, server, sockets.

The checklist of document 002 and the testing list of document 003 stand here by name.
"""

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

import httpx2
import pytest
from websockets.sync.client import connect

import towns
from adapters.llm.real_model import RealModel, running
from adapters.llm.scripted import ScriptedModel, answer
from adapters.sources.stores import Chunkenizer, chunkenizer
from chat.rooms import HARBOUR, LIGHTHOUSE, NIGHT
from homes import Home
from server.scripted import Sent, Served, eventually, parsed, serving
from unchunk.chat.turn import NO_MODEL
from unchunk.engine import Engine
from unchunk.server.options import Options
from unchunk.settings import load
from unchunk.wiring import open_engine

PATIENCE = 60.0


class Place:
    """A served library with two documents, and the model that it asks."""

    def __init__(self, served: Served, model: ScriptedModel) -> None:
        self.served, self.model = served, model
        self.client = httpx2.Client(base_url=served.url, timeout=PATIENCE)

    def ask(self, message: str, **more: object) -> dict[str, Any]:
        reply = self.client.post("/api/chat", json={"message": message, **more})
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        return found

    def stream(self, message: str, **more: object) -> list[Sent]:
        reply = self.client.post("/api/chat/stream", json={"message": message, **more})
        assert reply.status_code == 200, reply.text
        return parsed(reply.text)

    def id_of(self, name: str) -> str:
        listed = self.client.get("/documents").json()["documents"]
        return next(str(one["id"]) for one in listed if one["name"] == name)

    @property
    def sent(self) -> str:
        """The last message that the model got."""
        return str(self.model.asked[-1].body["messages"][-1]["content"])


@contextmanager
def place(
    folder: Path, *, options: Options | None = None, **settings: str | float
) -> Iterator[Place]:
    home = Home(folder)
    for name, text in (("harbour.md", HARBOUR), ("lighthouse.md", LIGHTHOUSE)):
        home.file(name, text)
    with towns.model() as model:
        chosen: dict[str, str | float] = {
            "embedder": "hashing",
            "chunk_size": 200,
            "chat": "openai:scripted",
            "chat_url": f"{model.url}/v1",
            "chat_timeout": 5.0,
            **settings,
        }
        with _served(home, options, chosen) as served:
            whole = Place(served, model)
            with whole.client:
                yield whole


@contextmanager
def _served(
    home: Home, options: Options | None, chosen: dict[str, str | float]
) -> Iterator[Served]:
    """With all files of the home in its library."""

    async def fill(engine: Engine) -> None:
        await engine.add(home.files)

    if towns.is_on():
        folder = home.folder.parent
        towns.done(folder, chosen, fill)
        with towns.housed(folder, (), options, chosen) as (served, _):
            yield served
        return
    home.run(fill, **chosen)
    loaded = load(home.folder, {}, **chosen)
    with serving(lambda: open_engine(loaded), options) as served:
        yield served


# Document 002: with RAG, without it, and when its source is gone


def test_the_chat_endpoint_with_rag_enabled_answers_from_the_documents(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        document = at.id_of("harbour.md")
        at.model.script.append(answer("22 euros [", f"{document}:0]."))
        found = at.ask(NIGHT)
    assert found["answer"] == f"22 euros [{document}:0]."
    assert found["citations"][0]["state"] == "cited"
    [source] = found["sources"]
    assert source["name"] == "harbour.md"
    assert source["coverage"]
    assert source["checksum"]
    assert found["plan"]["rag"] is True
    assert found["usage"]["context_size"] > 0


def test_the_chat_endpoint_with_rag_disabled_works_as_before(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": NIGHT}]
    with place(tmp_path, rag_enabled="false") as at:
        reply = at.client.post("/api/chat", json={"messages": messages})
        assert reply.json()["answer"] == "The pilot boards at the outer buoy."
        assert at.model.asked[-1].body["messages"] == messages
        found = at.ask(NIGHT, rag_enabled=True)
    assert found["sources"]


def test_the_stream_with_rag_has_its_sources_before_the_first_token(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        kinds = [one.kind for one in at.stream(NIGHT)]
    assert kinds[:2] == ["plan", "sources"]
    assert kinds[-1] == "done"
    assert kinds.index("sources") < kinds.index("token")


def test_chunkenizer_unavailable_degrades_gracefully(tmp_path: Path) -> None:
    with chunkenizer(Chunkenizer([])) as url:
        pass
    with place(tmp_path, chat_source=f"chunkenizer:{url}") as at:
        found = at.ask(NIGHT)
    assert found["answer"] == "The pilot boards at the outer buoy."
    assert found["sources"] == []
    assert "search-unavailable" in [one["code"] for one in found["warnings"]]


def test_the_log_line_of_a_retrieval_has_all_its_parts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "unchunk")
    with place(tmp_path) as at:
        headers = {"X-Request-ID": "trace-7"}
        reply = at.client.post("/api/chat", json={"message": NIGHT}, headers=headers)
        assert reply.headers["x-request-id"] == "trace-7"
        assert at.model.asked[-1].header("x-request-id") == "trace-7"
    [record] = [one for one in caplog.records if one.getMessage().startswith("RAG retrieval")]
    assert record.job == "trace-7"  # type: ignore[attr-defined]  # as telemetry adds it
    for part in ("request_id=trace-7", "rag_enabled=True", "top_k=", "retrieval_time_ms="):
        assert part in record.getMessage()


# Document 003: what kind of question it is


@pytest.mark.parametrize(
    "tag",
    ["source:lighthouse.md", 'source:"lighthouse.md"', "SOURCE:LIGHTHOUSE.MD", "source:lighth"],
    ids=["plain", "quoted", "any case", "a part"],
)
def test_a_source_tag_brings_that_file_whole(tmp_path: Path, tag: str) -> None:
    with place(tmp_path) as at:
        found = at.ask(f"{NIGHT} {tag}")
        assert tag not in at.sent
    [source] = found["sources"]
    assert (source["name"], source["kind"]) == ("lighthouse.md", "full document")
    assert found["plan"]["mode"] == "sources"


@pytest.mark.parametrize(
    ("asked", "mode"),
    [
        ("Explain what a night in the harbour costs", "full documents"),
        ("What happened to the lamp over time?", "full documents"),
        ("Who is the keeper?", "passages"),
        ("What does a small boat pay for a night?", "passages"),
    ],
)
def test_words_that_ask_for_detail_call_for_full_documents(
    tmp_path: Path, asked: str, mode: str
) -> None:
    with place(tmp_path) as at:
        found = at.ask(asked)
    assert found["plan"]["mode"] == mode
    assert bool(found["plan"]["reasons"]) == (mode == "full documents")


def test_a_follow_up_escalates_to_the_full_document_of_the_last_answer(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        document = at.id_of("lighthouse.md")
        at.model.script.append(answer(f"Marta Reyes [{document}:0]."))
        first = at.ask("Who kept the lighthouse?", conversation="new")
        then = at.ask("Tell me more about her", conversation=first["conversation"])
    assert then["plan"]["follow_up"]
    assert then["plan"]["mode"] == "full documents"
    assert "lighthouse.md" in [one["name"] for one in then["sources"]]
    assert then["turn"] == 1


def test_a_very_large_file_is_cut_around_what_was_found(tmp_path: Path) -> None:
    long = "\n\n".join(f"Paragraph {n} says nothing of note about stone {n}." for n in range(2000))
    long += "\n\nThe zeppelin landed on the pier in 1931.\n\n" + long
    with place(tmp_path) as at:
        files = {"file": ("long.txt", long.encode())}
        assert at.client.post("/documents", files=files).status_code == 200
        found = at.ask("Explain when the zeppelin landed on the pier")
        assert "zeppelin landed on the pier in 1931" in at.sent
        assert "omitted ...]" in at.sent
    [source] = [one for one in found["sources"] if one["name"] == "long.txt"]
    assert source["kind"] == "excerpt"
    assert found["omitted"]


def test_a_file_that_is_not_there_is_said_and_everything_is_searched(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        found = at.ask(f"{NIGHT} source:nowhere.txt")
    assert any("there is no document 'nowhere.txt'" in one["message"] for one in found["warnings"])
    assert found["sources"][0]["name"] == "harbour.md"


# Both of them, and what a client can do


def test_without_a_model_the_whole_answer_is_quotes_that_resolve(tmp_path: Path) -> None:
    with place(tmp_path, chat="", chat_url="") as at:
        found = at.ask(NIGHT)
    assert found["answer"].startswith(NO_MODEL)
    assert found["citations"]
    assert all(one["start"] is not None for one in found["citations"])


def test_a_socket_asks_cancels_and_asks_again(tmp_path: Path) -> None:
    with place(tmp_path) as at, connect(at.served.ws) as socket:
        socket.send(json.dumps({"type": "ask", "message": NIGHT, "model": "stream:500:0.02"}))
        while json.loads(socket.recv(PATIENCE))["type"] != "token":
            pass
        socket.send(json.dumps({"type": "cancel"}))
        while json.loads(socket.recv(PATIENCE))["type"] not in ("error", "done"):
            pass
        assert at.model.settled(lambda: at.model.aborted == 1)
        socket.send(json.dumps({"type": "ask", "message": NIGHT}))
        kinds: list[str] = []
        while not kinds or kinds[-1] != "done":
            kinds.append(json.loads(socket.recv(PATIENCE))["type"])
        assert "sources" in kinds


def test_a_broken_stream_goes_on_where_it_was_left(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        body = {"message": NIGHT, "model": "stream:40:0.02"}
        seen = ""
        with at.client.stream("POST", "/api/chat/stream", json=body) as reply:
            for piece in reply.iter_text():
                seen += piece
                if seen.count("event: token") > 5:
                    break
        head = parsed(seen[: seen.rindex("\n\n") + 2])
        stream = head[-1].id.rpartition(":")[0]
        reply = at.client.get(f"/api/chat/stream/{stream}", headers={"Last-Event-ID": head[-1].id})
        events = head + parsed(reply.text)
    assert [one.kind for one in events].count("token") == 40
    numbers = [int(one.id.rpartition(":")[2]) for one in events]
    assert numbers == list(range(1, len(events) + 1))
    assert events[-1].kind == "done"


def test_two_hundred_aborted_streams_leave_nothing_behind(tmp_path: Path) -> None:
    with place(tmp_path, options=Options(resume_seconds=0.1)) as at:
        at.stream(NIGHT)
        tasks = len(at.served.tasks())
        body = {"message": NIGHT, "model": "stream:5000:0.02"}

        def abort() -> None:
            with at.client.stream("POST", "/api/chat/stream", json=body) as reply:
                seen = ""
                for piece in reply.iter_text():
                    seen += piece
                    if "event: token" in seen:
                        return

        def some() -> None:
            for _ in range(20):
                abort()

        threads = [threading.Thread(target=some) for _ in range(10)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        eventually(lambda: at.model.aborted == 200, 60)
        at.client.close()
        eventually(lambda: at.served.connections() == 0)
        eventually(lambda: len(at.served.tasks()) <= tasks)
        # What may be left is kept for the next question.
        assert at.model.settled(lambda: at.model.open <= 2)
        assert at.model.started == 201


def test_what_one_conversation_says_stays_after_a_restart(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        first = at.ask(NIGHT, conversation="new")["conversation"]
    home = load(tmp_path / "home", {}, embedder="hashing", chunk_size=200)
    with serving(lambda: open_engine(home)) as served:
        kept = httpx2.get(f"{served.url}/api/conversations/{first}", timeout=PATIENCE).json()
    assert kept["title"] == NIGHT
    assert kept["turns"][0]["answer"] == "The pilot boards at the outer buoy."
    assert kept["turns"][0]["record"]["sources"][0]["name"] == "harbour.md"


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealModel]:
    with running(tmp_path_factory.mktemp("model")) as model:
        yield model


class By(TypedDict):
    chat: str
    chat_url: str
    chat_timeout: float


def by(model: RealModel) -> By:
    return {"chat": f"openai:{model.name}", "chat_url": model.url, "chat_timeout": 60.0}


def test_a_real_model_streams_an_answer_from_the_documents(
    tmp_path: Path, small_model: RealModel
) -> None:
    with place(tmp_path, **by(small_model), chat_max_tokens=24) as at:
        events = at.stream(NIGHT)
    kinds = [one.kind for one in events]
    assert kinds[:2] == ["plan", "sources"]
    assert kinds[-1] == "done"
    [usage] = [one.data for one in events if one.kind == "usage"]
    # Its server tells how large its window is, so that the budget is in its tokens.
    assert usage["unit"] == "tokens"
    assert 0 < int(str(usage["prompt_tokens"])) < 1024
    assert int(str(usage["completion_tokens"])) > 0
    assert events[-1].data["answer"]


def test_stopping_an_answer_of_a_real_model_frees_it(
    tmp_path: Path, small_model: RealModel
) -> None:
    with place(tmp_path, **by(small_model), chat_max_tokens=400) as at:
        stream, seen = "", ""
        body = {"message": NIGHT}
        with at.client.stream("POST", "/api/chat/stream", json=body) as reply:
            stream = reply.headers["x-stream-id"]
            for piece in reply.iter_text():
                seen += piece
                if "event: token" in seen:
                    break
        assert at.client.delete(f"/api/chat/stream/{stream}").status_code == 204
        assert small_model.becomes_idle()


def test_an_upload_that_is_cut_off_changes_nothing(tmp_path: Path) -> None:
    def form(text: str) -> bytes:
        head = 'Content-Disposition: form-data; name="file"; filename="harbour.md"'
        return f"--b\r\n{head}\r\n\r\n{text}\r\n--b--\r\n".encode()

    kind = {"content-type": "multipart/form-data; boundary=b"}
    with place(tmp_path) as at:
        whole = form(HARBOUR.replace("22", "99"))
        for cut in (3, 7, 60, 200):
            reply = at.client.post("/documents", content=whole[:-cut], headers=kind)
            assert reply.status_code == 400, (cut, reply.text)
            assert "boundary" in reply.json()["detail"]
        assert "22 euros" in str(at.ask(NIGHT)["sources"])
        assert at.client.post("/documents", content=whole, headers=kind).status_code == 200
        assert "99 euros" in str(at.ask(f"{NIGHT} Now?")["sources"])


def test_a_body_of_another_kind_is_told_which_kind_is_wanted(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        kind = {"content-type": "application/x-www-form-urlencoded"}
        reply = at.client.post("/api/chat", content=b'{"message": "x"}', headers=kind)
    assert "content-type: application/json" in reply.json()["error"]["message"]


def test_a_second_server_on_a_library_is_refused_at_once(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        at.ask(NIGHT)
        command = [sys.executable, "-m", "unchunk", "--home", str(tmp_path / "home"), "serve"]
        environment = os.environ | {"UNCHUNK_EMBEDDER": "hashing", "UNCHUNK_CHUNK_SIZE": "200"}
        done = subprocess.run(
            [*command, "--port", "0"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: ")
    assert "process" in line
