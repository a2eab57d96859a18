"""Requests of all kinds, made from the description of the API: none is met by surprise."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from adapters.extract.making import pdf
from server.scripted import Served, serving
from unchunk.engine import Engine
from unchunk.server.options import Options
from unchunk.settings import load
from unchunk.wiring import open_engine

LEAST = 2_000
TIDES = "# Tides\n\nThe tide comes in twice a day.\n\n## Springs\n\nAfter the new moon.\n"
WHALES = "The white whale swam before him.\n\n" + "Sailors speak of it at night. " * 60
FILES = {
    "tides.md": TIDES.encode(),
    "whales.txt": WHALES.encode(),
    "buoys.pdf": pdf(["Green buoys lie to starboard.", "Red buoys lie to port."]),
}
UPLOADS = ["POST /documents", "POST /api/documents"]
# What the description cannot say, and is refused with a reason: a range that ends before it begins,
# a template that is not there, a stream that is no longer kept.
REFUSED = ["400", "410"]
ACCEPTED = ["2xx", "401", "403", "404", "409", "429"]
CHECKS = (
    "allow_header_conformance",
    "content_type_conformance",
    "negative_data_rejection",
    "not_a_server_error",
    "positive_data_acceptance",
    "response_headers_conformance",
    "response_schema_conformance",
    "status_code_conformance",
    "unsupported_method",
    "use_after_free",
)


@dataclass
class Run:
    """What came of it."""

    cases: int = 0
    operations: set[str] = field(default_factory=set)
    statuses: Counter[int] = field(default_factory=Counter)
    checks: set[str] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    def add(self, event: events.EngineEvent) -> None:
        if isinstance(event, events.ScenarioFinished):
            recorder = event.recorder
            self.cases += len(recorder.cases)
            self.operations |= {one.value.operation.label for one in recorder.cases.values()}
            for seen in recorder.interactions.values():
                assert seen.response is not None, seen.request
                self.statuses[seen.response.status_code] += 1
            for found in (one for some in recorder.checks.values() for one in some):
                self.checks.add(found.name)
                if (why := found.failure_info) is not None:
                    told = f"{found.name}: {why.failure.title}: {why.failure.message}"
                    self.failures.append(f"{told}\n{why.code_sample}")
        elif isinstance(event, events.NonFatalError):
            self.failures.append(f"{event.label}: {event.value}")
        elif isinstance(event, events.FatalError):
            raise event.exception


@contextmanager
def library(folder: Path, options: Options) -> Iterator[Served]:
    async def opening() -> Engine:
        return await open_engine(load(folder / "home", {}, embedder="hashing"))

    with serving(opening, options) as served:
        yield served


def fill(url: str, headers: dict[str, str]) -> None:
    with httpx2.Client(base_url=url, headers=headers, timeout=60) as client:
        for name, content in FILES.items():
            assert client.post("/api/documents", files={"file": (name, content)}).is_success
        kept = client.post("/api/chat", json={"message": "How often?", "conversation": "new"})
        assert kept.is_success


def run(url: str, headers: dict[str, str], **settings: Any) -> Run:  # noqa: ANN401 - as in its file
    config = SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "headers": headers,
            "checks": {
                "positive_data_acceptance": {"expected-statuses": [*ACCEPTED, *REFUSED]},
                "negative_data_rejection": {"expected-statuses": ["4xx"]},
            },
            # Any bytes are a file, which may turn out to be none that can be read; and what is
            # left empty in a form was not said.
            "operations": [
                {
                    "include-name": UPLOADS,
                    "checks": {
                        "positive_data_acceptance": {
                            "expected-statuses": [*ACCEPTED, *REFUSED, "415", "422"]
                        },
                        "negative_data_rejection": {"enabled": False},
                    },
                }
            ],
        }
        | settings
    )
    location = f"{url}/openapi.json"
    schema = schemathesis.openapi.from_url(location, config=config, headers=headers)
    found = Run()
    for event in from_schema(schema).execute():
        found.add(event)
    described = {
        f"{method.upper()} {path}"
        for path, methods in schema.raw_schema["paths"].items()
        for method in methods
    }
    assert found.operations == described
    return found


def generation(examples: int) -> dict[str, Any]:
    return {
        "deterministic": True,
        "max-examples": examples,
        "database": "none",
        "no-shrink": True,
    }


def test_whatever_is_sent_is_answered_as_the_description_says(tmp_path: Path) -> None:
    with library(tmp_path, Options(rate_limit=0, sign_in_limit=0)) as served:
        fill(served.url, {})
        found = run(served.url, {}, generation=generation(10))
        with httpx2.Client(base_url=served.url, timeout=60) as client:
            assert client.get("/health/ready").json() == {"ready": True, "reasons": []}
    assert not found.failures, "\n\n".join(found.failures[:5])
    assert found.cases >= LEAST
    assert set(CHECKS) <= found.checks
    assert max(found.statuses) < 500
    # Not all of it was refused.
    assert found.statuses[200] > 300


def test_the_same_with_a_key_which_nothing_does_without(tmp_path: Path) -> None:
    options = Options(rate_limit=0, sign_in_limit=0, require_keys=True)
    with library(tmp_path, options) as served:
        keyring = served.app.state.house.engine.keyring
        _, key = served.inside(lambda: keyring.new("tests", "somebody"))
        headers = {"Authorization": f"Bearer {key}"}
        fill(served.url, headers)
        phases = {"coverage": {"enabled": False}}
        found = run(served.url, headers, generation=generation(8), phases=phases)
    assert not found.failures, "\n\n".join(found.failures[:5])
    assert found.cases >= 200
    assert "ignored_auth" in found.checks
    assert max(found.statuses) < 500
