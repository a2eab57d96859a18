"""What Prometheus reads: true figures, few labels, and nothing that is anybody's own."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.scripted import Scripted, Served, eventually, serving
from unchunk.engine import Counts, Engine
from unchunk.server.options import Options
from unchunk.settings import load
from unchunk.wiring import open_engine

Labels = tuple[tuple[str, str], ...]
QUESTION = "Where is the kraken?"
NAME = "kraken-report.txt"
TEXT, BROKEN = b"The kraken sleeps below.", b"%PDF-1.7 and nothing more"


class Figures:
    """What `/metrics` says."""

    def __init__(self, reply: httpx2.Response) -> None:
        assert reply.status_code == 200, reply.text
        assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        self.text = reply.text
        self._values: dict[tuple[str, Labels], float] = {}
        for family in text_string_to_metric_families(reply.text):
            for sample in family.samples:
                self._values[sample.name, tuple(sorted(sample.labels.items()))] = sample.value

    def __call__(self, name: str, **labels: str) -> float:
        return self._values[name, tuple(sorted(labels.items()))]

    def labels(self, name: str, label: str) -> set[str]:
        return {dict(it)[label] for known, it in self._values if known == name}

    @property
    def all_labels(self) -> set[str]:
        return {value for _, labels in self._values for _, value in labels}


class Counting(Scripted):
    async def counts(self, *, owner: str | None = None) -> Counts:
        assert owner is None
        telemetry = self.telemetry
        return Counts(3, 40, 2, 1, dict(telemetry.counters), dict(telemetry.seconds))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    async def opening() -> Engine:
        return await open_engine(load(tmp_path / "home", {}, embedder="hashing"))

    with serving(opening, Options(probe_seconds=0)) as it:
        yield it


def read(served: Served, **headers: str) -> Figures:
    return Figures(httpx2.get(f"{served.url}/metrics", headers=headers, timeout=60))


def test_the_library_and_what_was_done_to_it_are_counted(served: Served) -> None:
    with httpx2.Client(base_url=served.url, timeout=60) as client:
        sent = {"file": (NAME, TEXT)}
        assert client.post("/api/documents", files=sent).is_success
        broken = {"file": ("broken.pdf", BROKEN)}
        assert client.post("/api/documents", files=broken).status_code == 422
        assert client.post("/api/search", json={"query": QUESTION}).is_success
        assert client.post("/api/chat", json={"message": QUESTION}).is_success
    seen = read(served)
    assert seen("unchunk_documents", state="live") == 1
    assert seen("unchunk_documents", state="failed") == 1
    assert seen("unchunk_documents", state="pending") == 0
    assert seen("unchunk_chunks") == 1
    assert seen("unchunk_events_total", event="files_added") == 1
    assert seen("unchunk_events_total", event="files_failed") == 1
    assert seen("unchunk_events_total", event="answers_extractive") == 1
    assert seen("unchunk_events_total", event="embedder_calls") >= 2
    for stage in ("read", "extract", "embed", "index", "flush", "commit", "search"):
        assert seen("unchunk_stage_seconds_total", stage=stage) > 0
    assert seen.labels("unchunk_part_ok", "part") == {"catalog", "index", "embedder", "chat"}
    assert seen("unchunk_part_ok", part="index") == 1
    assert seen("unchunk_streams", state="running") == 0
    assert seen("unchunk_jobs", state="running") == seen("unchunk_jobs", state="queued") == 0
    assert seen("unchunk_uploads_in_progress") == 0
    assert seen("unchunk_uploaded_bytes_total") == len(TEXT) + len(BROKEN)
    assert seen("process_resident_memory_bytes") > 1_000_000
    assert seen("process_cpu_seconds_total") > 0
    assert "_created" not in seen.text
    assert seen("unchunk_info", version=Options().version) == 1


def test_no_label_holds_a_name_an_owner_or_a_question(served: Served) -> None:
    with httpx2.Client(base_url=served.url, timeout=60) as client:
        added = client.post("/api/documents", files={"file": (NAME, b"The kraken sleeps.")}).json()
        client.post("/api/search", json={"query": QUESTION})
        client.get(f"/api/documents/{added['document_id']}?q=kraken")
        client.get("/api/kraken?q=kraken")
        client.request("KRAKEN", "/api/search")
    seen = read(served)
    assert "kraken" not in seen.text.lower()
    assert added["document_id"] not in seen.text
    assert "local" not in seen.all_labels


def test_requests_are_counted_by_template_and_class_of_status() -> None:
    with (
        serving(Counting().engine) as served,
        httpx2.Client(base_url=served.url, timeout=60) as client,
    ):
        for path in ("c1", "c1", "c2", "x" * 500, "%2e%2e", "é"):
            client.get(f"/api/conversations/{path}")
        client.post("/api/chat", json={"message": "q"})
        client.post("/api/chat", json={})
        client.delete("/api/chat")
        for at in range(20):
            client.get(f"/nowhere/{at}")
            client.request(f"M{at}", "/api/chat")
        client.get("/openapi.json")
        client.get("/health")
        client.get("/api/health")
        seen = read(served)
    name, one = "unchunk_http_requests_total", "/api/conversations/{conversation}"
    assert seen(name, method="GET", route=one, status="2xx") == 2
    assert seen(name, method="GET", route=one, status="4xx") == 4
    assert seen("unchunk_http_request_seconds_count", route=one, status="4xx") == 4
    assert seen("unchunk_http_request_seconds_bucket", route=one, status="2xx", le="+Inf") == 2
    assert seen(name, method="POST", route="/api/chat", status="2xx") == 1
    assert seen(name, method="POST", route="/api/chat", status="4xx") == 1
    assert seen(name, method="DELETE", route="/api/chat", status="4xx") == 1
    assert seen(name, method="OTHER", route="/api/chat", status="4xx") == 20
    assert seen(name, method="GET", route="none", status="4xx") == 20
    for route in ("/openapi.json", "/health", "/api/health"):
        assert seen(name, method="GET", route=route, status="2xx") == 1
    # Its own request is the only one under way.
    assert seen("unchunk_http_requests_in_progress") == 1


def test_a_request_that_nobody_foresaw_counts_as_a_failure_of_the_server() -> None:
    with serving(Counting([RuntimeError("unforeseen")]).engine) as served:
        assert (
            httpx2.post(f"{served.url}/api/chat", json={"message": "q"}, timeout=60).status_code
            == 500
        )
        seen = read(served)
    assert seen("unchunk_http_requests_total", method="POST", route="/api/chat", status="5xx") == 1


def test_a_stream_is_measured_to_its_beginning_and_counted_while_it_is_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = Counting(pause_at=3)
    caplog.set_level(logging.INFO, logger="unchunk")
    with serving(engine.engine) as served:
        url = f"{served.url}/api/chat/stream"
        with httpx2.stream("POST", url, json={"message": "q"}, timeout=60) as reply:
            assert reply.status_code == 200
            during = read(served)
            engine.gate.set()
            reply.read()
        eventually(lambda: read(served)("unchunk_http_requests_in_progress") == 1)
        seen = read(served)
    assert during("unchunk_streams", state="running") == 1
    assert during("unchunk_http_requests_in_progress") == 2
    assert seen("unchunk_streams", state="running") == 0
    assert seen("unchunk_streams", state="kept") == 1
    route: dict[str, Any] = {"route": "/api/chat/stream", "status": "2xx"}
    assert seen("unchunk_http_request_seconds_count", **route) == 1
    [whole] = [
        one.facts["seconds"]  # type: ignore[attr-defined]  # ours
        for one in caplog.records
        if "/api/chat/stream" in one.getMessage()
    ]
    assert 0 < seen("unchunk_http_request_seconds_sum", **route) < whole


def test_two_servers_in_one_process_count_for_themselves() -> None:
    with serving(Counting().engine) as one, serving(Counting().engine) as other:
        httpx2.get(f"{one.url}/api/conversations", timeout=60)
        labels = {"method": "GET", "route": "/api/conversations", "status": "2xx"}
        assert read(one)("unchunk_http_requests_total", **labels) == 1
        with pytest.raises(KeyError):
            read(other)("unchunk_http_requests_total", **labels)


def test_figures_need_a_key_of_their_own_which_is_good_for_nothing_else(tmp_path: Path) -> None:
    async def opening() -> Engine:
        return await open_engine(load(tmp_path / "home", {}, embedder="hashing"))

    with serving(opening, Options(require_keys=True)) as served:
        keyring = served.app.state.house.engine.keyring
        _, usual = served.inside(lambda: keyring.new("laptop", "me"))
        _, figures = served.inside(lambda: keyring.new("prometheus", "me", "metrics"))
        url = f"{served.url}/metrics"
        assert httpx2.get(url, timeout=60).status_code == 401
        assert (
            httpx2.get(url, headers={"Authorization": f"Bearer {usual}"}, timeout=60).status_code
            == 403
        )
        assert read(served, Authorization=f"Bearer {figures}")("unchunk_chunks") == 0
        elsewhere = httpx2.get(
            f"{served.url}/api/status", headers={"X-API-Key": figures}, timeout=60
        )
        assert elsewhere.status_code == 403
