"""A collector of traces on 127.0.0.1, which keeps what it is sent."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Collector:
    """`status` is what it answers."""

    url: str = ""
    status: int = 200
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)

    @property
    def spans(self) -> dict[str, Span]:
        """By name; of several of one name, the last."""
        return {
            span.name: span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }

    @property
    def resource(self) -> dict[str, str]:
        return {
            one.key: one.value.string_value
            for one in self.requests[0].resource_spans[0].resource.attributes
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True


@contextmanager
def collector() -> Iterator[Collector]:
    kept = Collector()

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            kept.paths.append(self.path)
            kept.headers.append(dict(self.headers))
            kept.requests.append(ExportTraceServiceRequest.FromString(sent))
            self.send_response(kept.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base's name
            pass

    with _Server(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        kept.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield kept
        finally:
            server.shutdown()
            thread.join()
