"""Two servers on one library: one that only keeps what is sent, and one that takes it in."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from adapters.embed.provider import Provider, provider
from databases import schema_in
from server.houses import PATIENCE, add, ended, error, house, job_of, later, send
from server.scripted import eventually
from server.test_server_jobs import AWAY, TIDES, by, held
from servers import qdrant
from unchunk.server.options import Options


class Town(NamedTuple):
    """`idle` does no work itself."""

    idle: httpx2.Client
    busy: httpx2.Client
    embedder: Provider


@pytest.fixture(scope="module")
def embedder() -> Iterator[Provider]:
    with provider() as it:
        yield it


@pytest.fixture(scope="module")
def town(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: str, embedder: Provider
) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    (folder / "blobs").mkdir()
    with ExitStack() as stack:
        index = stack.enter_context(qdrant(folder / "qdrant"))
        settings = by(embedder) | {
            "catalog": stack.enter_context(schema_in(postgres_server)),
            "index": f"qdrant:{index.url}",
            "blobs": f"folder:{folder / 'blobs'}",
            "lease_seconds": 3.0,
        }
        clients = []
        for name, work in (("idle", False), ("busy", True)):
            (folder / name / "uploads").mkdir(parents=True)
            options = Options(work=work, job_patience=0.05, upload_folder=folder / name / "uploads")
            it = stack.enter_context(house(folder / name, options=options, settings=settings))
            clients.append(it["local"])
        idle, busy = clients
        yield Town(idle, busy, embedder)


@pytest.fixture(autouse=True)
def _calm(embedder: Provider) -> Iterator[None]:
    yield
    embedder.plan.clear()
    embedder.released.clear()


def body(reply: httpx2.Response) -> dict[str, object]:
    """Without what is another one each time."""
    found = {**reply.json(), "document_id": "", "document": sorted(reply.json()["document"])}
    return {**found, "sha256": len(str(found["sha256"]))}


def test_a_server_that_does_no_work_answers_as_one_that_does(town: Town, tmp_path: Path) -> None:
    with house(tmp_path, settings=by(town.embedder)) as alone:
        steps: tuple[tuple[str, str | bytes, dict[str, str]], ...] = (
            ("a.txt", TIDES, {"metadata_json": '{"team": "blue"}'}),
            ("a.txt", TIDES, {}),
            ("a.txt", TIDES, {"force_reindex": "true"}),
            ("a.txt", TIDES + "More.", {}),
            ("copy.txt", TIDES + "More.", {}),
            ("broken.pdf", b"%PDF-1.7 broken", {}),
            ("bad name/", TIDES, {}),
        )
        for name, content, fields in steps:
            here, there = (send(it, name, content, **fields) for it in (town.idle, alone["local"]))
            assert here.status_code == there.status_code, here.text
            if here.status_code == 200:
                assert body(here) == body(there)
            else:
                assert error(here) == error(there)
                messages = [it.json()["error"]["message"] for it in (here, there)]
                assert messages[0] == messages[1]


def test_a_job_is_the_same_on_every_server(town: Town) -> None:
    town.embedder.plan.append(held(town.embedder))
    job = later(town.idle, "job.txt", f"job {TIDES}")
    eventually(lambda: job_of(town.idle, job["id"])["stage"] == "embedding", PATIENCE)
    assert job_of(town.busy, job["id"])["state"] == "running"
    town.embedder.released.set()
    assert ended(town.idle, job["id"])["result"] == "added"
    assert job_of(town.busy, job["id"]) == job_of(town.idle, job["id"])
    assert town.idle.get("/api/jobs").json() == town.busy.get("/api/jobs").json()
    text = town.idle.get(f"/api/documents/{job['document_id']}/text").json()["text"]
    assert text == f"job {TIDES}"


def test_what_waits_for_the_embedder_is_told_by_a_server_that_does_no_work(town: Town) -> None:
    town.embedder.plan.extend([AWAY] * 3)
    reply = send(town.idle, "waits.txt", f"waits {TIDES}")
    assert (reply.status_code, reply.json()["result"]) == (202, "waiting")
    town.embedder.plan.clear()
    document = reply.json()["document_id"]
    path = f"/api/documents/{document}"
    eventually(lambda: town.busy.get(path).json()["state"] == "live", PATIENCE)


def test_what_one_server_deletes_the_other_stops_to_work_on(town: Town) -> None:
    town.embedder.plan.append(held(town.embedder))
    job = later(town.idle, "gone.txt", f"gone {TIDES}")
    eventually(lambda: job_of(town.idle, job["id"])["stage"] == "embedding", PATIENCE)
    reply = town.idle.delete(f"/api/documents/{job['document_id']}")
    assert reply.json()["receipt"]["clean"], reply.text
    gone = ended(town.busy, job["id"])
    assert (gone["state"], gone["error_code"]) == ("failed", "deleted")
    town.embedder.released.set()


def test_jobs_are_counted_wherever_they_are_worked_on(town: Town) -> None:
    add(town.busy, "counted.txt", f"counted {TIDES}")
    town.embedder.plan.append(held(town.embedder))
    job = later(town.idle, "runs.txt", f"runs {TIDES}")
    for client in (town.idle, town.busy):
        eventually(lambda it=client: 'unchunk_jobs{state="running"} 1.0' in it.get("/metrics").text)  # type: ignore[misc] # each its own
    town.embedder.released.set()
    assert ended(town.idle, job["id"])["state"] == "done"
