"""The threshold of an embedder that has none: measured, kept, shown, and set by hand."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from adapters.embed.provider import DIMENSIONS, Handler, provider, refuse, right
from adapters.embed.real_models import files_of
from homes import Home
from unchunk.adapters.embed.local import LocalEmbedder
from unchunk.adapters.embed.models import LocalModel, descriptions
from unchunk.domain import EmbedderIdentity
from unchunk.engine import Engine
from unchunk.errors import InvalidSettingError
from unchunk.library.calibration import (
    CalibratedEmbedder,
    FileThresholds,
    NotedThresholds,
    measured,
    threshold_of,
)
from unchunk.library.probes import PROBES
from unchunk.ports import Role, Vectors
from unchunk.settings import load
from unchunk.wiring.collections import open_collection
from unchunk.wiring.providers import make_embedder


class Planted:
    """Knows the probes: `near` is how near each question is to its own passage, 0 to the others."""

    def __init__(self, near: float = 0.8) -> None:
        self.near, self.calls = near, 0
        self.identity = EmbedderIdentity("planted", 2 * len(PROBES), 100)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [1] * len(texts)

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        self.calls += 1
        rows = np.zeros((len(texts), self.identity.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            at = next((at for at, probe in enumerate(PROBES) if text in probe), 0)
            row[at] = 1.0 if role == "document" else self.near
            row[at + len(PROBES)] = 0.0 if role == "document" else (1 - self.near**2) ** 0.5
        return rows

    async def close(self) -> None: ...


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.file("tides.md", "# Tides\n\nThe tide comes in twice a day.\n")
    return home


@pytest.mark.parametrize("model", descriptions(), ids=lambda model: model.name)
def test_it_is_near_the_threshold_of_a_model_that_was_measured_at_release(
    model: LocalModel,
) -> None:
    embedder = LocalEmbedder(model, files_of(model))
    found = asyncio.run(measured(embedder))
    assert found == pytest.approx(model.identity.min_score, abs=0.1)


def test_it_lies_between_what_is_unrelated_and_what_is_related() -> None:
    cosines = np.full((4, 4), 0.3, np.float32)
    np.fill_diagonal(cosines, [0.7, 0.8, 0.9, 0.9])
    assert threshold_of(cosines) == pytest.approx(0.3)
    # Where the two overlap, what is related is not left out.
    np.fill_diagonal(cosines, 0.2)
    assert threshold_of(cosines) == pytest.approx(0.2)


@pytest.mark.parametrize("near", [0.0, 0.5, 1.0])
def test_it_is_never_nothing(near: float) -> None:
    assert asyncio.run(measured(Planted(near))) > 0


def test_an_embedder_is_calibrated_once_by_its_first_use() -> None:
    async def work() -> None:
        inner = Planted()
        embedder = CalibratedEmbedder(inner)
        assert embedder.identity.min_score == 0
        await asyncio.gather(*(embedder.embed(["when?"], "query") for _ in range(5)))
        assert embedder.identity.min_score > 0
        assert inner.calls == 5 + 2

    asyncio.run(work())


def test_it_is_kept_with_the_library_and_shown_by_doctor(home: Home) -> None:
    async def first(engine: Engine) -> float:
        await engine.add(home.files)
        found = await engine.doctor()
        assert found.embedder is not None
        assert found.uncalibrated == ""
        return found.embedder.min_score

    async def again(engine: Engine) -> float:
        assert engine.embedder is not None
        return engine.embedder.min_score

    with provider() as server:
        remote = {"embedder": "openai:m", "embedder_url": f"{server.url}/v1"}
        threshold = home.run(first, **remote)
        asked = len(server.requests)
        assert home.run(again, **remote) == pytest.approx(threshold, abs=0.001)
        assert len(server.requests) == asked
    assert threshold > 0


def test_a_library_from_before_is_calibrated_when_its_provider_answers(home: Home) -> None:
    """Its catalog notes a threshold of 0, as every remote embedder had."""
    down: dict[str, str | float] = {
        "embedder": "openai:m",
        "embedder_url": "http://127.0.0.1:9/v1",
        "embedder_dimensions": DIMENSIONS,
        "embedder_patience": 0.1,
    }

    async def without(engine: Engine) -> None:
        found = await engine.doctor()
        assert "127.0.0.1:9" in found.uncalibrated
        assert engine.embedder is not None
        assert engine.embedder.min_score == 0
        assert any("searched by words only" in note for note in (await engine.search("tide")).notes)

    async def with_it(engine: Engine) -> None:
        await engine.search("tide")
        assert engine.embedder is not None
        assert engine.embedder.min_score > 0

    home.run(without, **down)
    with provider() as server:
        up = down | {"embedder_url": f"{server.url}/v1", "embedder_patience": 60.0}
        home.run(with_it, **up)


def test_where_calibration_fails_searches_go_on_and_say_so(home: Home) -> None:
    no_probes = refuse(403, {"error": {"message": "no probes today"}})

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        found = await engine.search("When does the tide come in?")
        assert [hit.name for hit in found.hits] == ["tides.md"]
        [note] = found.notes
        assert "m is not calibrated" in note
        assert "no probes today" in note
        assert note in (await engine.rag_search("When does the tide come in?"))
        [document] = await engine.search_with_context("When does the tide come in?")
        assert note in document.notes
        examined = await engine.doctor()
        assert "no probes today" in examined.uncalibrated
        assert examined.healthy

    with provider() as server:
        options: dict[str, str | float] = {
            "embedder": "openai:m",
            "embedder_url": f"{server.url}/v1",
            "embedder_dimensions": DIMENSIONS,
        }

        def answer(handler: Handler, body: dict[str, Any]) -> None:
            is_probe = PROBES[0].passage in body["input"]
            (no_probes if is_probe else right)(handler, body)

        server.plan.extend([answer] * 50)
        home.run(work, **options)


def test_processes_that_calibrate_at_the_same_time_agree(home: Home) -> None:
    async def work(engine: Engine) -> None:
        thresholds = NotedThresholds(engine._parts.catalog)
        embedders = [CalibratedEmbedder(Planted(near), thresholds) for near in (0.5, 0.9)]
        await asyncio.gather(*(one.embed(["when?"], "query") for one in embedders))
        first, second = (one.identity.min_score for one in embedders)
        assert first == second > 0
        third = CalibratedEmbedder(Planted(0.7), thresholds)
        await third.embed(["when?"], "query")
        assert third.identity.min_score == first

    home.run(work)


def test_a_migration_calibrates_the_new_embedder(home: Home) -> None:
    async def add(engine: Engine) -> None:
        await engine.add(home.files)

    async def migrate(engine: Engine) -> None:
        assert (await engine.migrate()).documents == 1
        assert engine.embedder is not None
        assert engine.embedder.name == "m"
        assert engine.embedder.min_score > 0

    home.run(add)
    with provider() as server:
        home.run(migrate, embedder="openai:m", embedder_url=f"{server.url}/v1")


def test_a_setting_goes_over_it_for_every_embedder(home: Home) -> None:
    async def work(engine: Engine) -> tuple[float, int]:
        await engine.add(home.files)
        assert engine.embedder is not None
        found = await engine.search_with_context("How often does the tide come in?")
        return engine.embedder.min_score, len(found)

    assert home.run(work, embedder_min_score=0.999)[0] == 0.999
    assert home.run(work)[0] == 0.22
    with pytest.raises(InvalidSettingError, match="embedder_min_score"):
        home.run(work, embedder_min_score=1.5)


def test_two_servers_that_give_their_models_one_name_have_a_threshold_each(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.json"
    fingerprint = Planted().identity.fingerprint

    async def work() -> None:
        first = FileThresholds(path, "openai:m http://one/v1")
        other = FileThresholds(path, "openai:m http://two/v1")
        assert await first.keep(fingerprint, 0.3) == 0.3
        assert await other.load(fingerprint) is None
        await other.keep(fingerprint, 0.6)
        assert [await one.load(fingerprint) for one in (first, other)] == [0.3, 0.6]

    asyncio.run(work())
    # An address may hold a password.
    assert "one" not in path.read_text()


def test_for_collections_it_is_kept_in_the_home(tmp_path: Path) -> None:
    texts = ["the tide comes in twice a day", "a pilot boards every ship"]

    async def work(url: str) -> tuple[str, ...]:
        settings = load(tmp_path / "home", {}, embedder="openai:m", embedder_url=f"{url}/v1")
        fields = {"document": "document", "text": "text", "chunk_index": "at"}
        place = f"qdrant:{tmp_path / 'qdrant'}#notes"
        collection = await open_collection(settings, place, fields=fields)
        try:
            return (await collection.search(texts[0])).notes
        finally:
            await collection.close()

    async def fill(url: str) -> None:
        with closing(QdrantClient(path=str(tmp_path / "qdrant"))) as client:
            vectors = models.VectorParams(size=DIMENSIONS, distance=models.Distance.COSINE)
            client.create_collection("notes", vectors)
            embedder = await make_embedder(
                load(tmp_path, {}, embedder_url=f"{url}/v1"), "openai:m", None
            )
            rows = await embedder.embed(texts, "document")
            await embedder.close()
            points = [
                models.PointStruct(
                    id=at, vector=row.tolist(), payload={"document": "d", "text": text, "at": at}
                )
                for at, (row, text) in enumerate(zip(rows, texts, strict=True))
            ]
            client.upsert("notes", points)

    with provider() as server:
        asyncio.run(fill(server.url))
        assert not any("calibrated" in note for note in asyncio.run(work(server.url)))
        probed = [it for it in server.requests if PROBES[0].passage in it.body["input"]]
        assert len(probed) == 1
        asyncio.run(work(server.url))
        again = [it for it in server.requests if PROBES[0].passage in it.body["input"]]
        assert len(again) == 1
    # Another server may mean something else by that name.
    with provider() as server:
        asyncio.run(work(server.url))
        assert any(PROBES[0].passage in it.body["input"] for it in server.requests)
    # A damaged file is no reason to refuse anything: it is written anew.
    (tmp_path / "home" / "thresholds.json").write_text("{")
    with provider() as server:
        asyncio.run(work(server.url))
        assert any(PROBES[0].passage in it.body["input"] for it in server.requests)
