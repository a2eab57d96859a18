"""Traces to whatever speaks OpenTelemetry's protocol over HTTP.

What the environment says in OTEL_... holds: headers, sampling, the name of the service. Spans go out
in batches, from a thread of their own; a collector that does not answer costs nothing but its spans.
"""

import logging
from collections.abc import Mapping
from threading import Timer

from unchunk.errors import MissingPartError
from unchunk.telemetry import Fact, Span, log

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import SpanKind, StatusCode, format_trace_id, set_span_in_context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as missing:
    raise MissingPartError(
        "OpenTelemetry is not installed: pip install 'unchunk[otel]'"
    ) from missing

# Calls of somebody else.
_CLIENT = frozenset({"chat", "embedder"})
_PATH = "/v1/traces"
# So long the last spans may take to go out.
_PATIENCE = 3.0


def exporter_to(url: str) -> SpanExporter:
    """`url` is the collector's; without one, the environment says where it is."""
    if url:
        url = url.rstrip("/").removesuffix(_PATH) + _PATH
    return OTLPSpanExporter(endpoint=url or None)


class OtelTracer:
    """`Tracer`; sends what `exporter` is given. Nothing of it is global."""

    def __init__(self, exporter: SpanExporter, version: str = "") -> None:
        self._exporter = exporter
        known = {"service.name": "unchunk", "service.version": version}
        told = OTELResourceDetector().detect().attributes
        self._provider = TracerProvider(resource=Resource.create(known | dict(told)))
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("unchunk", version)
        self._propagator = TraceContextTextMapPropagator()
        self._handler = _Forwarding(logging.WARNING)
        self._logger = logging.getLogger("opentelemetry")
        self._logger.addHandler(self._handler)

    def start(
        self,
        name: str,
        facts: Mapping[str, Fact],
        parent: Span | None,
        asked: Mapping[str, str] | None = None,
    ) -> "_Span":
        if asked is not None:
            context, kind = self._propagator.extract(dict(asked)), SpanKind.SERVER
        else:
            kind = SpanKind.CLIENT if name in _CLIENT else SpanKind.INTERNAL
            context = (
                parent.as_context if isinstance(parent, _Span) else self._propagator.extract({})
            )
        made = self._tracer.start_span(name, context, kind, dict(facts))
        return _Span(made, self._propagator)

    def flush(self) -> None:
        """Send what has ended so far."""
        self._provider.force_flush()

    def close(self) -> None:
        # From then on nothing is tried again.
        late = Timer(_PATIENCE, self._exporter.shutdown)
        late.daemon = True
        late.start()
        try:
            self._provider.shutdown()
        finally:
            late.cancel()
            self._logger.removeHandler(self._handler)


class _Span:
    def __init__(self, span: OtelSpan, propagator: TraceContextTextMapPropagator) -> None:
        self._span, self._is_over = span, False
        self.as_context = set_span_in_context(span)
        self._propagator = propagator

    @property
    def trace(self) -> str:
        return format_trace_id(self._span.get_span_context().trace_id)

    @property
    def headers(self) -> dict[str, str]:
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, self.as_context)
        return carrier

    def note(self, facts: Mapping[str, Fact], name: str = "") -> None:
        self._span.set_attributes(dict(facts))
        if name:
            self._span.update_name(name)

    def end(self, error: str = "") -> None:
        if self._is_over:
            return
        self._is_over = True
        if error:
            self._span.set_status(StatusCode.ERROR, error)
            self._span.set_attribute("error.type", error)
        self._span.end()


class _Forwarding(logging.Handler):
    """What OpenTelemetry has to say goes to our log, and not to the screen."""

    def emit(self, record: logging.LogRecord) -> None:
        log("traces: %s", record.getMessage(), level=record.levelno)
