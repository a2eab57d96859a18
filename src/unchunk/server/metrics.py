"""What a server counts, as Prometheus reads it.

No label says whose something is, what it is called or what was asked, and each has few values:
those of our own routes, stages and states.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from unchunk.engine import Counts
from unchunk.telemetry import Condition

MEDIA_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "WEBSOCKET"})
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is counted elsewhere, at one moment."""

    version: str
    counts: Counts
    parts: Mapping[str, Condition]
    streams: int
    kept_streams: int
    jobs: Mapping[str, int] = field(default_factory=dict)


class Metrics:
    """Has a registry of its own: several servers may run in one process."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "unchunk_http_requests",
            "Requests that were answered, by method, route and class of status.",
            ("method", "route", "status"),
            registry=registry,
        )
        self._seconds = Histogram(
            "unchunk_http_request_seconds",
            "Time to the end of a reply; of an event stream and a WebSocket, to its beginning.",
            ("route", "status"),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._in_progress = Gauge(
            "unchunk_http_requests_in_progress",
            "Requests that are being answered, open streams and WebSockets among them.",
            registry=registry,
        )
        self._uploads = Gauge(
            "unchunk_uploads_in_progress", "Files that are coming in.", registry=registry
        )
        self._uploaded = Counter(
            "unchunk_uploaded_bytes", "Bytes of the files that came in.", registry=registry
        )
        self._elsewhere = _Elsewhere()
        registry.register(self._elsewhere)
        # Memory, processor time and open files, where the system tells.
        ProcessCollector(registry=registry)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """`route` is the template, and empty where nothing is."""
        method = method if method in _METHODS else "OTHER"
        route, family = route or "none", f"{status // 100}xx"
        self._requests.labels(method, route, family).inc()
        self._seconds.labels(route, family).observe(seconds)

    @contextmanager
    def answering(self) -> Iterator[None]:
        with self._in_progress.track_inprogress():
            yield

    @contextmanager
    def uploading(self) -> Iterator[None]:
        with self._uploads.track_inprogress():
            yield

    def uploaded(self, size: int) -> None:
        self._uploaded.inc(size)

    def shown(self, snapshot: Snapshot) -> bytes:
        self._elsewhere.snapshot = snapshot
        return generate_latest(_Lean(self._registry))


class _Lean(Collector):
    """Without the moment that each series began at, which nobody asks for and doubles them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            metric.samples = [it for it in metric.samples if not it.name.endswith("_created")]
            yield metric


class _Elsewhere(Collector):
    """What others count, as of the last snapshot."""

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None

    def collect(self) -> Iterable[Metric]:
        seen = self.snapshot
        if seen is None:
            return
        counts = seen.counts
        info = InfoMetricFamily("unchunk", "Which unchunk this is.")
        info.add_metric((), {"version": seen.version})
        yield info
        yield _gauges(
            "unchunk_part_ok",
            "1: the part answers; of a provider, its last call did.",
            "part",
            {name: int(it.ok) for name, it in seen.parts.items()},
        )
        states = {"live": counts.documents, "pending": counts.pending, "failed": counts.failed}
        yield _gauges("unchunk_documents", "Documents of all owners.", "state", states)
        yield GaugeMetricFamily("unchunk_chunks", "Chunks that can be found.", counts.chunks)
        yield _gauges(
            "unchunk_jobs", "Files that are being taken in, or wait for it.", "state", seen.jobs
        )
        streams = {"running": seen.streams, "kept": seen.kept_streams}
        yield _gauges(
            "unchunk_streams", "Answers that are being written, or kept.", "state", streams
        )
        yield _totals("unchunk_events", "What happened, by kind.", "event", counts.counters)
        yield _totals("unchunk_stage_seconds", "Time in each stage.", "stage", counts.seconds)


def _gauges(name: str, told: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, told, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


def _totals(name: str, told: str, label: str, values: Mapping[str, float]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, told, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family
