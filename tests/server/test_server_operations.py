"""What those who run a server ask it: is it up, can it work, what is it made of."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from adapters.embed.provider import provider, refuse
from adapters.llm.scripted import ScriptedModel, error
from adapters.llm.scripted import refuse as refuse_chat
from server.scripted import Scripted, Served, eventually, serving
from servers import free_ports
from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.engine import Engine
from unchunk.errors import IndexUnavailableError
from unchunk.library import conditions
from unchunk.server.checkup import Fresh
from unchunk.server.options import Options
from unchunk.settings import load
from unchunk.telemetry import Condition
from unchunk.wiring import open_engine

Reply = dict[str, Any]
PROBES = ("/health", "/api/health", "/health/live", "/health/ready")
# Each probe asks anew.
FRESH = Options(probe_seconds=0, embedder="hashing")


@contextmanager
def library(
    folder: Path, options: Options = FRESH, **settings: str | float
) -> Iterator[tuple[Served, httpx2.Client]]:
    async def opening() -> Engine:
        chosen: dict[str, str | float] = {"embedder": "hashing", **settings}
        return await open_engine(load(folder / "home", {}, **chosen))

    with (
        serving(opening, options) as served,
        httpx2.Client(base_url=served.url, timeout=60) as client,
    ):
        yield served, client


def engine_of(served: Served) -> Engine:
    engine: Engine = served.app.state.house.engine
    return engine


def body_of(reply: httpx2.Response) -> Reply:
    body = reply.json()
    assert isinstance(body, dict)
    return body


def test_a_server_that_is_well_is_live_and_ready(tmp_path: Path) -> None:
    with library(tmp_path) as (_, client):
        replies = {path: client.get(path) for path in PROBES}
    assert {reply.status_code for reply in replies.values()} == {200}
    assert replies["/health/live"].json() == {"live": True}
    assert replies["/health/ready"].json() == {"ready": True, "reasons": []}
    assert replies["/health"].json() == replies["/api/health"].json()


@pytest.mark.parametrize("part", ["catalog", "index"])
def test_without_catalog_or_index_it_is_live_but_not_ready(part: str) -> None:
    class Ill(Scripted):
        async def health(self) -> dict[str, Condition]:
            return await super().health() | {part: Condition(ok=False, reason="it is gone")}

    with serving(Ill().engine) as served:
        live, ready, health = (
            httpx2.get(f"{served.url}{path}", timeout=60)
            for path in ("/health/live", "/health/ready", "/health")
        )
    assert live.status_code == 200
    assert (ready.status_code, health.status_code) == (503, 503)
    assert ready.json() == {"ready": False, "reasons": [f"{part}: it is gone"]}
    told = health.json()
    assert (told["status"], told["live"], told["ready"]) == ("error", True, False)
    words = {"catalog": told["sqlite"], "index": told["qdrant"]}
    assert words == dict.fromkeys(words, "ok") | {part: "it is gone"}


def test_an_index_that_comes_back_makes_it_ready_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(_: object = None) -> None:
        raise IndexUnavailableError("the index is gone")

    with library(tmp_path) as (served, client):
        [space] = engine_of(served)._parts.spaces.all
        with monkeypatch.context() as patch:
            patch.setattr(space.index, "census", gone)
            assert client.get("/health/ready").json() == {
                "ready": False,
                "reasons": ["index: the index is gone"],
            }
        assert client.get("/health/ready").json() == {"ready": True, "reasons": []}


def test_a_provider_of_vectors_is_judged_by_its_last_call_and_never_asked_by_a_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unchunk.retrieval.sighting._OUTAGE_SECONDS", 0.0)
    with provider() as remote:
        settings: dict[str, str | float] = {
            "embedder": "openai:text-embedding-3-small",
            "embedder_url": f"{remote.url}/v1",
            "embedder_key": "sk-1",
            "embedder_dimensions": 512,
            "embedder_patience": 3.0,
        }
        with library(tmp_path, FRESH, **settings) as (_, client):
            for _ in range(3):
                told = body_of(client.get("/api/status"))["health"]["embedder"]
                assert told == {"ok": True, "reason": "not asked yet"}
                assert client.get("/health").status_code == 200
            assert not remote.requests
            asked = {"query": "tides"}
            assert client.post("/api/search", json=asked).status_code == 200
            assert body_of(client.get("/api/status"))["health"]["embedder"] == {
                "ok": True,
                "reason": "",
            }
            remote.plan.extend([refuse(503, {"error": {"message": "too busy"}})] * 50)
            assert client.post("/api/search", json={"query": "moon"}).status_code == 200
            calls = len(remote.requests)
            ready = client.get("/health/ready")
            assert ready.status_code == 200
            assert body_of(ready)["ready"] is True
            [reason] = body_of(ready)["reasons"]
            assert reason.startswith("embedder: ")
            assert "too busy" in reason
            assert "sk-1" not in reason
            assert len(remote.requests) == calls
            remote.plan.clear()
            assert client.post("/api/search", json={"query": "sand"}).status_code == 200
            assert body_of(client.get("/health/ready"))["reasons"] == []


def test_a_text_that_an_embedder_does_not_take_says_nothing_of_it(tmp_path: Path) -> None:
    with provider() as remote:
        settings: dict[str, str | float] = {
            "embedder": "openai:text-embedding-3-small",
            "embedder_url": f"{remote.url}/v1",
            "embedder_dimensions": 512,
        }
        with library(tmp_path, FRESH, **settings) as (_, client):
            remote.plan.extend([refuse(400, {"error": {"message": "too long"}})] * 2)
            client.post("/api/search", json={"query": "tides"})
            assert remote.requests
            assert body_of(client.get("/health/ready"))["reasons"] == []


def test_an_embedder_of_this_machine_is_loaded_by_the_first_probe_and_asked_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    embed = HashingEmbedder.embed

    async def counted(self: HashingEmbedder, texts: list[str], role: Any) -> Any:  # noqa: ANN401
        asked.extend(texts)
        return await embed(self, texts, role)

    monkeypatch.setattr(HashingEmbedder, "embed", counted)
    with library(tmp_path) as (_, client):
        assert not asked
        for _ in range(3):
            assert client.get("/health/ready").status_code == 200
        assert len(asked) == 1


def test_a_chat_model_is_judged_by_its_last_call(tmp_path: Path) -> None:
    with ScriptedModel() as model:
        settings: dict[str, str | float] = {
            "chat": "openai:echo",
            "chat_url": f"{model.url}/v1",
            "chat_key": "sk-2",
            "chat_timeout": 30.0,
            "chat_window": 8_000,
        }
        with library(tmp_path, FRESH, **settings) as (_, client):

            def told() -> Reply:
                found: Reply = body_of(client.get("/api/status"))["health"]["chat"]
                return found

            assert told() == {"ok": True, "reason": "not asked yet"}
            question = {"message": "hello", "rag_enabled": False}
            assert client.post("/api/chat", json=question).status_code == 200
            assert told() == {"ok": True, "reason": ""}
            model.script.append(refuse_chat(401, error("no such key")))
            refused = client.post("/api/chat", json=question)
            assert refused.status_code == 502
            assert told()["ok"] is False
            assert "401" in told()["reason"]
            ready = client.get("/health/ready")
            assert ready.status_code == 200
            assert body_of(ready)["reasons"][0].startswith("chat: ")
            calls = len(model.asked)
            client.get("/health")
            assert len(model.asked) == calls
            assert client.post("/api/chat", json=question).status_code == 200
            assert told() == {"ok": True, "reason": ""}


def test_without_a_model_it_says_that_answers_are_quotes(tmp_path: Path) -> None:
    with library(tmp_path) as (_, client):
        told = body_of(client.get("/api/status"))
    assert told["health"]["chat"]["ok"] is True
    assert "quotes" in told["health"]["chat"]["reason"]
    assert told["chat"] == {"model": "", "window": None}


def test_the_status_tells_what_the_library_is_made_of_and_holds(tmp_path: Path) -> None:
    options = Options(probe_seconds=0, max_upload=1_000, max_body=2_000, version="7.8")
    with library(tmp_path, options) as (served, client):
        for name, text in (("a.txt", "Tides rise."), ("b.txt", "Whales sing.")):
            client.post("/api/documents", files={"file": (name, text.encode())})
        engine = engine_of(served)
        other = tmp_path / "theirs.txt"
        other.write_text("Somebody else's.")
        served.inside(lambda: engine.add(other, owner="somebody"))
        client.post("/api/search", json={"query": "tides"})
        told = body_of(client.get("/api/status"))
    assert told["version"] == "7.8"
    assert told["uptime_seconds"] > 0
    assert set(told["health"]) == {"catalog", "index", "embedder", "chat"}
    assert told["embedder"]["name"]
    assert told["embedder"]["dimensions"] > 0
    assert told["index"] == {"kind": "edge"}
    assert "800" in told["chunking"]
    assert told["library"] == {"documents": 2, "chunks": 2, "pending": 0, "failed": 0}
    assert told["counters"]["searches"] == 1
    assert told["counters"]["files_added"] == 3
    assert told["seconds"]["search"] > 0
    assert told["streams"] == {"running": 0}
    assert told["limits"] == {"max_upload": 1_000, "max_body": 2_000}


@dataclass
class Slow(Scripted):
    """Takes as long to say how it is as the test wants."""

    looked: int = 0
    free: threading.Event = field(default_factory=threading.Event)

    async def health(self) -> dict[str, Condition]:
        self.looked += 1
        while not self.free.is_set():  # noqa: ASYNC110 - no event of this loop
            await asyncio.sleep(0.005)
        return await super().health()


def test_however_many_probes_come_the_parts_are_asked_once() -> None:
    engine = Slow()
    replies: list[int] = []
    with serving(engine.engine, Options(probe_seconds=3_600)) as served:
        url = f"{served.url}/health/ready"
        threads = [
            threading.Thread(target=lambda: replies.append(httpx2.get(url, timeout=60).status_code))
            for _ in range(8)
        ]
        for one in threads:
            one.start()
        eventually(lambda: engine.looked == 1)
        # One that gives up takes nothing from the others.
        with pytest.raises(httpx2.TimeoutException):
            httpx2.get(url, timeout=0.05)
        engine.free.set()
        for one in threads:
            one.join(30)
        assert httpx2.get(url, timeout=60).status_code == 200
    assert replies == [200] * 8
    assert engine.looked == 1


def test_what_is_no_longer_fresh_is_asked_again_also_after_a_failure() -> None:
    made: list[int] = []

    async def make() -> int:
        made.append(len(made))
        if len(made) == 1:
            raise IndexUnavailableError("not yet")
        return len(made)

    async def ask() -> list[int]:
        asked = Fresh(make, 0)
        with pytest.raises(IndexUnavailableError):
            await asked.get()
        return [await asked.get(), await asked.get()]

    assert asyncio.run(ask()) == [2, 3]


def test_a_server_that_shuts_down_is_not_ready() -> None:
    with serving(Scripted().engine, Options(probe_seconds=0)) as served:
        served.inside(served.streams.close)
        ready = httpx2.get(f"{served.url}/health/ready", timeout=60)
        assert httpx2.get(f"{served.url}/health/live", timeout=60).status_code == 200
    assert ready.status_code == 503
    assert "shutting down" in ready.json()["reasons"][0]


def test_where_keys_are_in_force_only_whose_the_settings_are_learns_the_reasons(
    tmp_path: Path,
) -> None:
    options = Options(probe_seconds=0, require_keys=True)
    with library(tmp_path, options) as (served, client):
        engine = engine_of(served)
        _, key = served.inside(lambda: engine.keyring.new("laptop", "local"))
        _, others = served.inside(lambda: engine.keyring.new("phone", "me"))
        engine.telemetry.failed("embedder", "no answer from https://inside.example")
        engine.health = _with_index_gone(engine)  # type: ignore[method-assign]  # a part that is gone
        for path in ("/health", "/health/ready"):
            unknown = client.get(path)
            known = client.get(path, headers={"Authorization": f"Bearer {key}"})
            other = client.get(path, headers={"Authorization": f"Bearer {others}"})
            assert unknown.status_code == known.status_code == other.status_code == 503
            assert unknown.json()["reasons"] == other.json()["reasons"] == []
            assert "elsewhere.example" not in unknown.text + other.text
            assert "elsewhere.example" in known.text
        assert client.get("/health/live").status_code == 200
        refused = client.get("/api/status")
        assert (refused.status_code, refused.json()["error"]["type"]) == (401, "key-needed")
        assert "elsewhere.example" in client.get("/api/status", headers={"X-API-Key": key}).text


def test_figures_of_the_whole_server_are_for_its_operator(tmp_path: Path) -> None:
    with library(tmp_path, Options(probe_seconds=0, require_keys=True)) as (served, client):
        engine = engine_of(served)
        keys = {}
        for owner in ("local", "me"):
            _, keys[owner] = served.inside(partial(engine.keyring.new, "a key", owner))
        query = {"query": "frog"}
        searched = client.post("/search", json=query, headers={"X-API-Key": keys["local"]})
        assert searched.status_code == 200
        engine.health = _with_index_gone(engine)  # type: ignore[method-assign]  # a part that is gone
        mine, others = (
            client.get("/api/status", headers={"X-API-Key": keys[owner]})
            for owner in ("local", "me")
        )
        assert mine.json()["operator"]
        assert mine.json()["counters"]["searches"] == 1
        assert mine.json()["seconds"]
        assert "elsewhere.example" in mine.text
        told = body_of(others)
        assert (told["operator"], told["counters"], told["seconds"]) == (False, {}, {})
        assert told["health"]["index"] == {"ok": False, "reason": ""}
        assert {part["reason"] for part in told["health"].values()} == {""}
        assert told["library"]["documents"] == 0
        # Of the answers that are being written, everybody is told their own.
        served.inside(partial(_follow, served, "local"))
        running = [
            client.get("/api/status", headers={"X-API-Key": keys[owner]}).json()["streams"]
            for owner in ("local", "me")
        ]
        assert running == [{"running": 1}, {"running": 0}]


async def _follow(served: Served, owner: str) -> None:
    served.streams.follow(asyncio.create_task(asyncio.sleep(60)), owner)


def _with_index_gone(engine: Engine) -> Any:  # noqa: ANN401 - in the place of a method
    look = engine.health

    async def health() -> dict[str, Condition]:
        gone = Condition(ok=False, reason="no answer from https://elsewhere.example")
        return await look() | {"index": gone}

    return health


def test_a_new_library_whose_embedder_does_not_answer_says_so_and_is_ready(tmp_path: Path) -> None:
    """It keeps what comes in until it does."""
    [port] = free_ports(1)
    settings: dict[str, str | float] = {
        "embedder": "openai:of-unknown-size",
        "embedder_url": f"http://127.0.0.1:{port}/v1",
        "embedder_patience": 0.1,
    }
    with library(tmp_path, FRESH, **settings) as (_, client):
        ready = client.get("/health/ready")
        told = body_of(client.get("/api/status"))
    assert ready.status_code == 200
    [reason] = body_of(ready)["reasons"]
    assert reason.startswith("embedder: ")
    assert f"127.0.0.1:{port}/" in reason
    assert told["embedder"] == {
        "name": "hashing",
        "dimensions": None,
        "max_tokens": None,
        "min_score": None,
    }
    assert told["index"] == {"kind": "edge"}


def test_a_part_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(_: object = None) -> None:
        await asyncio.sleep(3_600)

    monkeypatch.setattr(conditions, "_PATIENCE", 0.05)
    with library(tmp_path) as (served, client):
        # It is loaded before: that may take longer than so little.
        [space] = engine_of(served)._parts.spaces.all
        assert space.embedder is not None
        embedder = space.embedder
        served.inside(lambda: embedder.embed(["ready"], "query"))
        monkeypatch.setattr(space.index, "census", hang)
        ready = client.get("/health/ready")
    assert ready.status_code == 503
    assert "index: no answer within 0 s" in body_of(ready)["reasons"]
