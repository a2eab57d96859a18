"""Spans as OpenTelemetry has them, in memory and over a socket."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from adapters.tracing.collector import collector
from unchunk.adapters.tracing.otel import OtelTracer, exporter_to
from unchunk.errors import InvalidSettingError, MissingPartError
from unchunk.settings import load
from unchunk.telemetry import Telemetry, job, span_headers
from unchunk.wiring.traces import make_tracer

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


class Memory:
    """A tracer whose spans can be looked at."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracer = OtelTracer(self.exporter, "1.2")
        self.telemetry = Telemetry(tracer=self.tracer)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        self.tracer.flush()
        return {one.name: one for one in self.exporter.get_finished_spans()}


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    for name in ("OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_SAMPLER"):
        monkeypatch.delenv(name, raising=False)
    made = Memory()
    yield made
    made.tracer.close()


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def test_a_span_hangs_on_the_one_around_it(memory: Memory) -> None:
    with (
        memory.telemetry.span("GET", asked={}) as request,
        memory.telemetry.stage("search"),
        memory.telemetry.stage("embedder", {"texts": 3}),
    ):
        assert request is not None
        request.note({"http.route": "/api/chat"}, "GET /api/chat")
    with memory.telemetry.stage("read"):
        pass
    spans = memory.spans
    assert list(spans) == ["embedder", "search", "GET /api/chat", "read"]
    asked, search, call, read = (
        spans[it] for it in ("GET /api/chat", "search", "embedder", "read")
    )
    assert [one.kind for one in (asked, search, call)] == [
        SpanKind.SERVER,
        SpanKind.INTERNAL,
        SpanKind.CLIENT,
    ]
    assert parent_of(asked) is parent_of(read) is None
    assert (parent_of(search), parent_of(call)) == (id_of(asked), id_of(search))
    assert dict(asked.attributes or {}) == {"http.route": "/api/chat"}
    assert dict(call.attributes or {}) == {"texts": 3}
    assert asked.context is not None
    assert read.context is not None
    assert asked.context.trace_id != read.context.trace_id
    assert asked.resource.attributes["service.name"] == "unchunk"
    assert asked.resource.attributes["service.version"] == "1.2"


def test_the_trace_of_a_request_goes_on_and_is_passed_to_whoever_is_called(memory: Memory) -> None:
    asked = {"traceparent": PARENT, "tracestate": "vendor=1", "x-other": "y"}
    with memory.telemetry.span("GET", asked=asked) as request, memory.telemetry.stage("chat"):
        assert request is not None
        assert request.trace == TRACE
        passed = span_headers()
    version, trace, span, flags = passed["traceparent"].split("-")
    assert (version, trace, flags) == ("00", TRACE, "01")
    assert int(span, 16) == id_of(memory.spans["chat"])
    assert passed["tracestate"] == "vendor=1"
    assert set(passed) == {"traceparent", "tracestate"}


@pytest.mark.parametrize("header", ["", "nonsense", "00-0-0-01", "ff-" + PARENT[3:], "é" * 200])
def test_a_header_that_is_none_begins_a_new_trace(memory: Memory, header: str) -> None:
    with memory.telemetry.span("GET", asked={"traceparent": header}) as request:
        assert request is not None
        assert request.trace != TRACE
    assert parent_of(memory.spans["GET"]) is None


def test_what_is_not_to_be_recorded_is_not_and_says_so_to_whoever_is_called(memory: Memory) -> None:
    with memory.telemetry.span("GET", asked={"traceparent": PARENT[:-1] + "0"}):
        assert span_headers()["traceparent"].endswith("-00")
    assert not memory.spans


def test_an_error_is_told_by_its_kind_and_not_by_its_words(memory: Memory) -> None:
    with pytest.raises(ValueError, match="secret"), memory.telemetry.span("read"):
        raise ValueError("secret")
    span = memory.tracer.start("chat", {}, None)
    span.end("500")
    span.end()
    spans = memory.spans
    assert spans["read"].status.status_code is spans["chat"].status.status_code is StatusCode.ERROR
    assert dict(spans["read"].attributes or {}) == {"error.type": "ValueError"}
    assert not spans["read"].events
    assert "secret" not in spans["read"].to_json()
    assert spans["chat"].status.description == "500"


def test_the_environment_names_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "notes")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
    memory = Memory()
    with memory.telemetry.span("read"):
        pass
    told = memory.spans["read"].resource.attributes
    memory.tracer.close()
    assert (told["service.name"], told["deployment.environment"]) == ("notes", "test")


@pytest.mark.parametrize("path", ["", "/", "/v1/traces"])
def test_spans_go_out_over_a_socket_at_the_latest_when_it_closes(tmp_path: Path, path: str) -> None:
    with collector() as remote:
        tracer = make_tracer(load(tmp_path, {}, trace_url=remote.url + path), {})
        assert isinstance(tracer, OtelTracer)
        with job("j1"), Telemetry(tracer=tracer).span("GET", asked={"traceparent": PARENT}):
            pass
        tracer.close()
    assert remote.paths == ["/v1/traces"]
    assert remote.spans["GET"].trace_id.hex() == TRACE
    assert remote.resource["service.name"] == "unchunk"


def test_the_usual_environment_sets_it_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(tmp_path, {})
    with collector() as remote:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", remote.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=me")
        tracer = make_tracer(settings)
        assert tracer is not None
        with Telemetry(tracer=tracer).span("read"):
            pass
        tracer.close()
        assert set(remote.spans) == {"read"}
        assert {name.lower(): it for name, it in remote.headers[0].items()}["x-tenant"] == "me"


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
        {"OTEL_TRACES_EXPORTER": "console"},
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4317"},
        {"OTEL_SERVICE_NAME": "notes"},
    ],
)
def test_nothing_is_traced_unless_somebody_asks_for_it(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    assert make_tracer(load(tmp_path, {}), environment) is None


def test_without_the_extra_a_setting_is_refused_and_the_environment_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delitem(sys.modules, "unchunk.adapters.tracing.otel")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(MissingPartError, match=r"unchunk\[otel\]"):
        make_tracer(load(tmp_path, {}, trace_url="http://127.0.0.1:1"), {})
    with caplog.at_level(logging.WARNING, "unchunk"):
        asked = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
        assert make_tracer(load(tmp_path, {}), asked) is None
    assert "unchunk[otel]" in caplog.text


def test_where_traces_go_must_be_an_address(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettingError, match="trace_url 'collector:4318' is not a URL"):
        make_tracer(load(tmp_path, {}, trace_url="collector:4318"), {})


def test_a_collector_that_refuses_harms_nobody_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with collector() as remote:
        remote.status = 403
        tracer = OtelTracer(exporter_to(remote.url))
        with caplog.at_level(logging.WARNING, "unchunk"), Telemetry(tracer=tracer).span("read"):
            pass
        with caplog.at_level(logging.WARNING, "unchunk"):
            tracer.close()
    assert remote.paths
    ours = [one.getMessage() for one in caplog.records if one.name == "unchunk"]
    assert any(line.startswith("traces: ") and "403" in line for line in ours)
