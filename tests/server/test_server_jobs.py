"""Documents that come in while nobody waits: progress, turns, pauses, deletion, ends and restarts."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from adapters.embed.provider import DIMENSIONS, KEY, Handler, Provider, provider, refuse, right
from homes import Home
from server.houses import PATIENCE, House, add, ended, error, house, job_of, later, send
from server.scripted import eventually
from unchunk.adapters.catalog import SqlQueue
from unchunk.engine import Engine
from unchunk.errors import OutputError
from unchunk.server.options import Options

TIDES = "The tide comes in twice a day.\n\n" + "Salt water rises over the flat sand. " * 200
# Who is asked to wait so long does not try again within the call.
AWAY = refuse(503, {"error": {"message": "it rains", "code": "down"}}, Retry_After="10000")


@pytest.fixture
def embedder() -> Iterator[Provider]:
    with provider() as it:
        yield it


def by(embedder: Provider) -> dict[str, str | float]:
    return {
        "embedder": "openai:some",
        "embedder_url": f"{embedder.url}/v1",
        "embedder_key": KEY,
        "embedder_dimensions": DIMENSIONS,
        "embedder_max_tokens": 512,
        "embedder_patience": 60.0,
    }


def held(embedder: Provider) -> Callable[[Handler, dict[str, Any]], None]:
    """An answer that comes when the test lets it."""

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        assert embedder.released.wait(PATIENCE)
        right(handler, body)

    return answer


def jobs(client: httpx2.Client) -> list[dict[str, Any]]:
    found = client.get("/api/jobs").json()["jobs"]
    assert isinstance(found, list)
    return found


def test_a_file_that_nobody_waits_for_is_kept_and_comes_in(
    tmp_path: Path, embedder: Provider
) -> None:
    embedder.plan.append(held(embedder))
    with house(tmp_path, settings=by(embedder)) as it:
        client = it["local"]
        fields = {"folder": "sea", "metadata_json": '{"team": "blue"}'}
        job = later(client, "tides.txt", TIDES, **fields)
        assert (job["kind"], job["name"], job["folder"]) == ("upload", "tides.txt", "sea")
        assert job["state"] in ("queued", "running")
        assert job["ended_at"] is None
        [row] = client.get("/api/documents?state=pending").json()["documents"]
        assert (row["id"], row["attributes"]) == (job["document_id"], {"team": "blue"})
        assert client.get(f"/api/documents/{row['id']}/original").content == TIDES.encode()

        eventually(lambda: job_of(client, job["id"])["stage"] == "embedding", PATIENCE)
        now = job_of(client, job["id"])
        assert (now["state"], now["done"], now["result"]) == ("running", 0, "")
        assert now["total"] > 5
        assert jobs(client) == [now]
        embedder.released.set()
        done = ended(client, job["id"])
        assert (done["state"], done["stage"], done["result"]) == ("done", "done", "added")
        assert done["done"] == done["total"] == now["total"]
        assert done["begun_at"] <= done["ended_at"]
        [row] = client.get("/api/documents").json()["documents"]
        assert (row["state"], row["chunk_count"]) == ("live", done["total"])

        # The same again: there is nothing to do.
        again = later(client, "tides.txt", TIDES, folder="sea")
        assert (again["state"], again["result"]) == ("done", "unchanged")
        forced = later(client, "tides.txt", TIDES, folder="sea", force_reindex="true")
        assert ended(client, forced["id"])["result"] == "reindexed"
        other = later(client, "tides.txt", TIDES + "More.", folder="sea")
        assert ended(client, other["id"])["result"] == "replaced"
        copy = later(client, "copy.txt", TIDES + "More.")
        assert ended(client, copy["id"])["result"] == "linked"
        assert [one["id"] for one in jobs(client)] == [
            one["id"] for one in (copy, other, forced, again, job)
        ]


def test_of_many_jobs_those_to_be_done_are_told_of_before_those_that_were(
    tmp_path: Path, embedder: Provider
) -> None:
    options = Options(job_width=1, upload_folder=tmp_path / "uploads")
    with house(tmp_path, options=options, settings=by(embedder)) as it:
        client = it["local"]
        done = [later(client, f"done {at}.txt", f"{at} {TIDES}") for at in range(2)]
        for one in done:
            ended(client, one["id"])
        embedder.plan.append(held(embedder))
        coming = [later(client, f"coming {at}.txt", f"{at} {TIDES} More.") for at in range(3)]
        eventually(lambda: embedder.running == 1)

        def told(limit: int) -> list[str]:
            return [one["id"] for one in client.get(f"/api/jobs?limit={limit}").json()["jobs"]]

        first, second, third = (one["id"] for one in coming)
        assert told(1000) == [third, second, first, done[1]["id"], done[0]["id"]]
        assert told(4) == [third, second, first, done[1]["id"]]
        # Of these, the one that is worked on and the next.
        assert told(2) == [second, first]
        for limit in (0, 1001):
            assert error(client.get(f"/api/jobs?limit={limit}")) == (422, "malformed")
        embedder.released.set()
        for one in coming:
            ended(client, one["id"])


def test_so_many_come_in_at_once_and_the_rest_waits_for_its_turn(
    tmp_path: Path, embedder: Provider
) -> None:
    embedder.plan.extend([held(embedder)] * 3)
    options = Options(job_width=2, upload_folder=tmp_path / "uploads", max_jobs=3)
    with house(tmp_path, options=options, settings=by(embedder)) as it:
        client = it["local"]
        every = [later(client, f"{at}.txt", f"{at} {TIDES}") for at in range(5)]
        eventually(lambda: embedder.running == 2)
        assert [one["state"] for one in jobs(client)] == ["queued"] * 3 + ["running"] * 2
        assert error(send(client, "more.txt", TIDES, wait="false")) == (503, "unavailable")
        assert client.get("/api/documents").json()["total"] == 5, "nothing was kept of it"
        embedder.released.set()
        assert {ended(client, one["id"])["result"] for one in every} == {"added"}
        assert embedder.most_running == 2


def test_owners_take_turns(tmp_path: Path, embedder: Provider) -> None:
    embedder.plan.append(held(embedder))
    options = Options(job_width=1, require_keys=True, upload_folder=tmp_path / "uploads")
    with house(tmp_path, "ann", "bob", options=options, settings=by(embedder)) as it:
        many = [later(it["ann"], f"{at}.txt", f"ann {at} {TIDES}") for at in range(4)]
        one = later(it["bob"], "b.txt", f"bob {TIDES}")
        embedder.released.set()
        for job in many:
            ended(it["ann"], job["id"])
        ended(it["bob"], one["id"])
        first = [request.body["input"][0].split()[0] for request in embedder.requests]
        # The embedder is calibrated in between.
        whose = [one for one in first if one in ("ann", "bob")]
        assert whose.index("bob") <= 2
        assert len(jobs(it["bob"])) == 1


def test_what_is_deleted_ends_its_job(tmp_path: Path, embedder: Provider) -> None:
    embedder.plan.append(held(embedder))
    options = Options(job_width=1, upload_folder=tmp_path / "uploads")
    with house(tmp_path, options=options, settings=by(embedder)) as it:
        client = it["local"]
        running = later(client, "a.txt", f"a {TIDES}")
        queued = later(client, "b.txt", f"b {TIDES}")
        stays = later(client, "c.txt", f"c {TIDES}")
        eventually(lambda: embedder.running == 1)
        assert client.delete(f"/api/documents/{queued['document_id']}").json()["receipt"]["clean"]
        gone = job_of(client, queued["id"])
        assert (gone["state"], gone["error_code"]) == ("failed", "deleted")
        assert gone["ended_at"] is not None

        async def leave() -> int:
            client = httpx2.AsyncClient(base_url=it.served.url, timeout=PATIENCE)
            async with client:
                deleting = asyncio.create_task(
                    client.delete(f"/api/documents/{running['document_id']}")
                )
                path = f"/api/documents/{running['document_id']}"
                while (await client.get(path)).status_code != 404:  # noqa: ASYNC110 - over there
                    await asyncio.sleep(0.01)
                # At once, though somebody works on it still.
                embedder.released.set()
                reply = await deleting
                assert reply.json()["receipt"]["clean"]
                return reply.status_code

        assert asyncio.run(leave()) == 200
        gone = ended(client, running["id"])
        assert (gone["state"], gone["error_code"]) == ("failed", "deleted")
        assert ended(client, stays["id"])["result"] == "added"
        assert client.get("/api/documents").json()["total"] == 1


def test_a_folder_that_is_deleted_ends_the_jobs_of_what_is_in_it(
    tmp_path: Path, embedder: Provider
) -> None:
    embedder.plan.append(held(embedder))
    options = Options(job_width=1, upload_folder=tmp_path / "uploads")
    with house(tmp_path, options=options, settings=by(embedder)) as it:
        client = it["local"]
        first = later(client, "a.txt", f"a {TIDES}")
        inside = [later(client, f"{at}.txt", f"{at} {TIDES}", folder="f") for at in range(3)]
        assert client.delete("/api/folders?folder=f").json()["deleted"] == 3
        embedder.released.set()
        assert {ended(client, one["id"])["error_code"] for one in inside} == {"deleted"}
        assert ended(client, first["id"])["result"] == "added"


def test_what_waits_for_the_embedder_is_tried_again_by_itself(
    tmp_path: Path, embedder: Provider
) -> None:
    embedder.plan.extend([AWAY] * 30)
    options = Options(job_patience=0.05, upload_folder=tmp_path / "uploads")
    with house(tmp_path, options=options, settings=by(embedder)) as it:
        client = it["local"]
        every = [later(client, f"{at}.txt", f"{at} {TIDES}") for at in range(3)]
        # One that was waited for goes the same way.
        reply = send(client, "waited.txt", f"waited {TIDES}")
        assert (reply.status_code, reply.json()["result"]) == (202, "waiting")
        assert len(jobs(client)) == 4
        eventually(
            lambda: any(
                one["state"] == "waiting" and "it rains" in one["error"] for one in jobs(client)
            ),
            PATIENCE,
        )
        embedder.plan.clear()
        assert {ended(client, one["id"])["state"] for one in every} == {"done"}
        eventually(lambda: client.get("/api/documents?state=live").json()["total"] == 4, PATIENCE)


def test_what_waits_is_tried_at_once_where_somebody_asks(
    tmp_path: Path, embedder: Provider
) -> None:
    embedder.plan.extend([AWAY] * 100)
    options = Options(job_patience=10_000, upload_folder=tmp_path / "uploads")
    with house(tmp_path, options=options, settings=by(embedder)) as it:
        client = it["local"]
        job = later(client, "a.txt", TIDES)
        eventually(lambda: job_of(client, job["id"])["state"] == "waiting", PATIENCE)
        embedder.plan.clear()
        reply = client.post(f"/api/documents/{job['document_id']}/retry")
        assert reply.status_code == 202
        assert reply.json()["job"]["id"] == job["id"], "it is the same job"
        assert ended(client, job["id"])["result"] == "added"


def test_documents_are_brought_in_again_and_written_anew(tmp_path: Path) -> None:
    with house(tmp_path) as it:
        client = it["local"]
        live = add(client, "a.txt", TIDES)
        assert error(client.post(f"/api/documents/{live}/retry")) == (409, "nothing-to-do")
        reply = client.post(f"/api/documents/{live}/reindex")
        assert reply.status_code == 202
        job = reply.json()["job"]
        assert (job["kind"], job["document_id"]) == ("reindex", live)
        done = ended(client, job["id"])
        assert (done["state"], done["result"], done["done"]) == ("done", "reindexed", done["total"])
        assert done["total"] > 5

        send(client, "broken.pdf", b"%PDF-1.7 broken")
        [row] = client.get("/api/documents?state=failed").json()["documents"]
        assert error(client.post(f"/api/documents/{row['id']}/reindex")) == (409, "no-text")
        reply = client.post(f"/api/documents/{row['id']}/retry")
        assert (reply.status_code, reply.json()["job"]["kind"]) == (202, "retry")
        done = ended(client, reply.json()["job"]["id"])
        assert (done["state"], done["error_code"]) == ("failed", "damaged")
        assert done["error"]


def test_of_ended_jobs_only_some_are_kept(tmp_path: Path) -> None:
    options = Options(kept_jobs=3, upload_folder=tmp_path / "uploads")
    with house(tmp_path, options=options) as it:
        client = it["local"]
        every = [later(client, f"{at}.txt", f"{at} {TIDES}") for at in range(6)]
        eventually(lambda: client.get("/api/documents?state=live").json()["total"] == 6)
        eventually(lambda: len(jobs(client)) == 3)
        kept = {one["id"] for one in jobs(client)}
        for one in every:
            status = client.get(f"/api/jobs/{one['id']}").status_code
            assert status == (200 if one["id"] in kept else 404)


def test_ended_jobs_are_kept_for_a_while(tmp_path: Path) -> None:
    options = Options(kept_job_seconds=0, upload_folder=tmp_path / "uploads")
    with house(tmp_path, options=options) as it:
        job = later(it["local"], "a.txt", TIDES)
        eventually(lambda: it["local"].get(f"/api/jobs/{job['id']}").status_code == 404)
        assert jobs(it["local"]) == []


# How servers end, and begin again.


def test_a_server_that_ends_lets_a_job_come_to_its_end(tmp_path: Path, embedder: Provider) -> None:
    embedder.plan.append(held(embedder))
    options = Options(job_grace=PATIENCE, job_width=1, upload_folder=tmp_path / "uploads")
    with house(tmp_path, options=options, settings=by(embedder)) as it:
        later(it["local"], "a.txt", f"a {TIDES}")
        later(it["local"], "b.txt", f"b {TIDES}")
        eventually(lambda: embedder.running == 1)
        assert it.served.server is not None
        it.served.server.should_exit = True
        eventually(lambda: it.served.app.state.house.jobs._is_closing)
        embedder.released.set()
    states = states_in(tmp_path, embedder)
    assert states == {"a.txt": "live", "b.txt": "pending"}, "the second was not begun any more"


def test_a_job_that_does_not_end_is_parked_and_goes_on_at_the_next_start(
    tmp_path: Path, embedder: Provider
) -> None:
    embedder.plan.append(held(embedder))
    options = Options(job_grace=0, job_width=1, upload_folder=tmp_path / "uploads")
    with house(tmp_path, options=options, settings=by(embedder)) as it:
        for name in "ab":
            later(it["local"], f"{name}.txt", f"{name} {TIDES}")
        eventually(lambda: embedder.running == 1)
    assert states_in(tmp_path, embedder) == {"a.txt": "pending", "b.txt": "pending"}
    with house(tmp_path, settings=by(embedder)) as it:
        comes_in(it, 2)


def test_what_was_on_its_way_in_goes_on_for_every_owner(tmp_path: Path, embedder: Provider) -> None:
    embedder.plan.extend([held(embedder)] * 2)
    options = Options(job_grace=0, require_keys=True, upload_folder=tmp_path / "uploads")
    settings = by(embedder)
    with house(tmp_path, "ann", "bob", options=options, settings=settings) as it:
        for owner in ("ann", "bob"):
            later(it[owner], "a.txt", f"{owner} {TIDES}")
        eventually(lambda: embedder.running == 2)
    with house(tmp_path, "ann", "bob", settings=settings) as it:
        for owner in ("ann", "bob"):
            comes_in(it, 1, owner)


def comes_in(it: House, count: int, owner: str = "local") -> None:
    client = it[owner]
    eventually(lambda: client.get("/api/documents?state=live").json()["total"] == count, PATIENCE)
    eventually(lambda: all(one["state"] == "done" for one in jobs(client)), PATIENCE)
    assert [one["kind"] for one in jobs(client)] == ["upload"] * count


def states_in(folder: Path, embedder: Provider) -> dict[str, str]:
    """Of all documents; and the parts of the library agree."""
    home = Home.__new__(Home)
    home.folder = folder / "home"

    async def look(engine: Engine) -> dict[str, str]:
        assert (await engine.doctor()).healthy
        return {one.name: one.status for one in await engine.documents()}

    return home.run(look, **by(embedder))


@contextmanager
def process(home: Path, embedder: Provider) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`unchunk serve` as a process of its own."""
    settings = {f"UNCHUNK_{name.upper()}": str(it) for name, it in by(embedder).items()}
    command = [sys.executable, "-m", "unchunk", "--home", str(home), "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--json", "--no-sample"],
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        try:
            yield running, json.loads(running.stdout.readline())["url"]
        finally:
            running.terminate()
            with suppress(subprocess.TimeoutExpired):
                running.wait(PATIENCE)
            running.kill()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_is_ended_amid_its_jobs_loses_nothing(
    tmp_path: Path, embedder: Provider, how: signal.Signals
) -> None:
    home = tmp_path / "home"
    with process(home, embedder) as (running, url):
        with httpx2.Client(base_url=url, timeout=PATIENCE) as client:
            first = later(client, "0.txt", f"0 {TIDES}")
            assert ended(client, first["id"])["result"] == "added"
            embedder.plan.extend([held(embedder)] * 20)
            for at in range(1, 12):
                later(client, f"{at}.txt", f"{at} {TIDES}")
            # A new version of what is live is on its way, too.
            later(client, "0.txt", f"0 {TIDES} anew")
            eventually(lambda: embedder.running >= 2, PATIENCE)
        running.send_signal(how)
        assert running.wait(PATIENCE) == (0 if how == signal.SIGTERM else -signal.SIGKILL)
    embedder.plan.clear()
    embedder.released.set()
    states = states_in(tmp_path, embedder)
    assert states.pop("0.txt") == "live"
    assert set(states.values()) == {"pending"}
    assert len(states) == 11
    with (
        process(home, embedder) as (_, url),
        httpx2.Client(base_url=url, timeout=PATIENCE) as client,
    ):
        live = "/api/documents?state=live"
        eventually(lambda: client.get(live).json()["total"] == 12, PATIENCE)
        eventually(lambda: all(one["state"] == "done" for one in jobs(client)), PATIENCE)
        [row] = client.get("/api/documents?q=0.txt&limit=1").json()["documents"][-1:]
        text = client.get(f"/api/documents/{first['document_id']}/text").json()["text"]
        assert text.endswith("anew"), row
    assert set(states_in(tmp_path, embedder).values()) == {"live"}


def test_what_another_process_may_be_at_is_left_to_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.file("a.txt", TIDES)

    async def keep(engine: Engine) -> None:
        assert (await engine.keep_file(path, "a.txt")).result == "waiting"

    home.run(keep)

    async def scene() -> None:
        async with home.open() as first, home.open() as second:
            assert (first.is_alone, second.is_alone) == (True, False)
            [document] = await second.documents()
            assert replace(document, draft=None).status == "pending"

    asyncio.run(scene())


def test_a_server_whose_catalog_fails_at_first_answers_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> int:
        await asyncio.sleep(0)
        raise OutputError("the disk is full")

    monkeypatch.setattr(SqlQueue, "adopt", broken)
    monkeypatch.setattr(SqlQueue, "release", broken)
    with house(tmp_path) as it:
        assert jobs(it["local"]) == []
        assert add(it["local"], "a.txt", TIDES)


def test_a_job_is_the_same_after_a_restart(tmp_path: Path, embedder: Provider) -> None:
    embedder.plan.append(held(embedder))
    options = Options(job_grace=0, job_width=1, upload_folder=tmp_path / "uploads")
    with house(tmp_path, options=options, settings=by(embedder)) as it:
        done = it["local"].get("/api/jobs").json()["jobs"]
        every = [later(it["local"], f"{name}.txt", f"{name} {TIDES}") for name in "ab"]
        eventually(lambda: embedder.running == 1)
    with house(tmp_path, settings=by(embedder)) as it:
        for one in every:
            assert ended(it["local"], one["id"])["result"] == "added"
        assert len(jobs(it["local"])) == len(done) + 2


def test_a_draft_that_nobody_has_a_job_for_comes_in_at_the_next_start(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.file("a.txt", TIDES)

    async def keep(engine: Engine) -> None:
        assert (await engine.keep_file(path, "a.txt")).result == "waiting"

    home.run(keep)
    with house(tmp_path) as it:
        comes_in(it, 1)


def test_a_server_that_ends_begins_no_job(tmp_path: Path) -> None:
    with house(tmp_path) as it:
        stop = it.served.app.state.house.jobs.stop
        assert it.served.loop is not None
        it.served.loop.call_soon_threadsafe(stop)
        eventually(lambda: it.served.app.state.house.jobs._is_closing)
        assert error(send(it["local"], "a.txt", TIDES, wait="false")) == (503, "unavailable")
        assert it["local"].get("/api/documents").json()["total"] == 0
