"""`unchunk worker` as processes of their own: shared work, kills, dead letters and clean ends."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from click.testing import CliRunner
from sqlalchemy import create_engine, text

from server.houses import house
from servers import qdrant
from unchunk import __version__
from unchunk.beside.running import Notice
from unchunk.cli.main import main
from unchunk.engine import Engine
from unchunk.settings import load
from unchunk.wiring import open_engine

T = TypeVar("T")
PATIENCE = 60.0
TIDES = "Salt water rises over the flat sand. " * 400
# Ends its process when it is to take in a document of that name.
POISONED = """
import os, sys
from unchunk.engine import Engine
retry = Engine.retry
async def poisoned(self, *documents, **more):
    if (await self.document(documents[0], owner=more["owner"])).name == "poison.txt":
        os._exit(9)
    return await retry(self, *documents, **more)
Engine.retry = poisoned
from unchunk.cli.main import main
main(sys.argv[1:])
"""


class Work:
    """A library, and processes that work on it."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.settings = folder, {"embedder": "hashing", **settings}

    def run(self, work: Callable[[Engine], Awaitable[T]], home: str = "home") -> T:
        async def opened() -> T:
            settings = load(self.folder / home, {}, **self.settings)
            async with await open_engine(settings) as engine:
                return await work(engine)

        return asyncio.run(opened())

    def environment(self) -> dict[str, str]:
        kept = {name: it for name, it in os.environ.items() if not name.startswith("UNCHUNK_")}
        return kept | {f"UNCHUNK_{name.upper()}": it for name, it in self.settings.items()}

    def command(self, *arguments: str) -> tuple[int, str]:
        """In this process."""
        given = ["--home", str(self.folder / "home"), *arguments]
        done = CliRunner().invoke(main, given, env=self.environment())
        return done.exit_code, done.output

    @contextmanager
    def worker(
        self, home: str = "home", *, script: str = "", width: int = 4
    ) -> Iterator["subprocess.Popen[str]"]:
        """One that is ready to take jobs, or that has ended."""
        program = ["-c", script] if script else ["-m", "unchunk"]
        arguments = ["--home", str(self.folder / home), "worker", "--json", "--width", str(width)]
        with subprocess.Popen(
            [sys.executable, *program, *arguments],
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                assert "worker" in json.loads(line or "{}"), line or process.communicate()
                yield process
            finally:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE)
                process.kill()


async def keep(engine: Engine, folder: Path, name: str, content: str) -> str:
    """A file that waits for a worker."""
    path = folder / "file"
    path.write_text(content)
    kept = await engine.keep_file(path, name)
    await engine.sharing.queue.begin("upload", await engine.exactly(kept.document))
    return kept.document


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.05)


async def all_in(engine: Engine) -> None:
    async with asyncio.timeout(PATIENCE):
        while (await engine.counts()).pending:  # noqa: ASYNC110 - others bring them in
            await asyncio.sleep(0.05)


def test_two_workers_share_the_work_and_one_that_is_killed_loses_nothing(
    tmp_path: Path, postgres: str
) -> None:
    (tmp_path / "blobs").mkdir()
    with qdrant(tmp_path / "qdrant") as index:
        work = Work(
            tmp_path,
            catalog=postgres,
            index=f"qdrant:{index.url}",
            blobs=f"folder:{tmp_path / 'blobs'}",
            lease_seconds="2",
        )

        async def bring(engine: Engine) -> None:
            for at in range(30):
                await keep(engine, tmp_path, f"{at}.txt", f"{at}. {TIDES}")

        with work.worker("first") as first, work.worker("second") as second:
            with ThreadPoolExecutor(1) as aside:
                bringing = aside.submit(work.run, bring)
                _kill_amid_its_jobs(first, postgres)
            bringing.result()
            work.run(all_in)
            second.terminate()
            said, _ = second.communicate(timeout=PATIENCE)
            assert second.returncode == 0
            results = {json.loads(line)["result"] for line in said.splitlines()}
            # What was whole when its worker died needs no more than to be noted.
            assert {"added"} <= results <= {"added", "unchanged"}

        async def look(engine: Engine) -> None:
            await engine.purge_remains()
            found = await engine.documents()
            assert [one.status for one in found] == ["live"] * 30
            assert len({one.live.chunk_count for one in found if one.live}) == 1
            for at, one in enumerate(sorted(found, key=lambda it: int(it.name[:-4]))):
                assert await engine.text(one.id) == f"{at}. {TIDES}"
            jobs = await engine.sharing.queue.of("local", 100)
            assert [one.state for one in jobs] == ["done"] * 30
            assert max(one.attempts for one in jobs) == 2, "the killed one's were begun again"
            examined = await engine.doctor()
            assert examined.healthy, examined.findings

        work.run(look)


def _kill_amid_its_jobs(process: "subprocess.Popen[str]", url: str) -> None:
    """Stopped first, so that what it has can be looked at before it dies."""
    database = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    is_its_own = text("SELECT count(*) FROM jobs WHERE state = 'running' AND worker LIKE :name")

    def has_some() -> bool:
        process.send_signal(signal.SIGSTOP)
        with database.connect() as connection:
            if connection.scalar(is_its_own, {"name": f"%-{process.pid}-%"}):
                return True
        process.send_signal(signal.SIGCONT)
        return False

    eventually(has_some)
    process.kill()
    database.dispose()


def test_what_ends_its_worker_is_a_dead_letter_that_retry_empties(tmp_path: Path) -> None:
    work = Work(tmp_path, job_attempts="1")

    async def bring(engine: Engine) -> None:
        for name in ("poison.txt", "good.txt"):
            await keep(engine, tmp_path, name, f"{name} {TIDES}")

    work.run(bring)
    with work.worker(script=POISONED, width=1) as process:
        assert process.wait(PATIENCE) == 9
    with work.worker() as process:
        assert process.stdout is not None
        came = json.loads(process.stdout.readline())
        assert (came["name"], came["result"]) == ("good.txt", "added")
        process.terminate()
        assert process.wait(PATIENCE) == 0

    code, said = work.command("ls")
    assert code == 0
    assert "whoever worked on it ended, 1 times" in said

    async def look(engine: Engine) -> dict[str, tuple[str, str]]:
        jobs = await engine.sharing.queue.of("local", 9)
        return {one.name: (one.state, one.error_code) for one in jobs}

    assert work.run(look)["poison.txt"] == ("failed", "crashed")
    code, said = work.command("retry")
    assert (code, "1 added" in said) == (0, True), said
    assert work.run(look)["poison.txt"] == ("done", "")


def test_failed_documents_are_left_to_the_workers(tmp_path: Path) -> None:
    work = Work(tmp_path)

    async def bring(engine: Engine) -> None:
        path = tmp_path / "file"
        path.write_text(TIDES)
        kept = await engine.keep_file(path, "a.txt")
        document = await engine.exactly(kept.document)
        assert document.draft is not None

    work.run(bring)
    code, said = work.command("retry", "--queue", "--json")
    assert code == 0
    assert [one["name"] for one in json.loads(said)["queued"]] == ["a.txt"]

    async def look(engine: Engine) -> list[tuple[str, str, str]]:
        jobs = await engine.sharing.queue.of("local", 9)
        return [(one.name, one.kind, one.state) for one in jobs]

    assert work.run(look) == [("a.txt", "retry", "queued")]
    code, said = work.command("retry", "--queue", "a.txt")
    assert (code, said) == (0, "queued for the workers: 1 document\n")


def test_a_worker_says_why_it_cannot_work_beside_a_server_with_an_index_of_its_own(
    tmp_path: Path,
) -> None:
    work = Work(tmp_path)
    with house(tmp_path) as it:
        assert it.served.inside(it.served.app.state.house.engine.claim) is None
        notice = Notice(it.home, "local", __version__)
        notice.tell(it.served.url)
        try:
            code, said = work.command("worker")
        finally:
            notice.take_back()
    assert code == 1
    assert f"the server at {it.served.url} has the library" in said
    assert "`index`" in said
