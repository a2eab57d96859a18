"""The whole on many machines, all of them this one: a Qdrant cluster, PostgreSQL, a shared folder
of originals, servers and workers as processes of the command line, and a balancer before them.

Each part can be killed, paused and started again. Whatever happens, all of them are ended, by
their ids.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import servers
from balancers import Balancer, balancing
from clusters import Cluster, cluster
from databases import PostgresServer, postgres_running

_PATIENCE = 60.0
_TUNED = Path(__file__).parent / "cluster" / "tuned.py"
# What is limited elsewhere is tested there. A worker that is gone is missed soon.
FREELY = {
    "embedder": "hashing",
    "require_keys": "yes",
    "rate_limit": "0",
    "sign_in_limit": "0",
    "lease_seconds": "5",
}

# What is committed is there after a kill; that the power fails is no part of this.
DURABLE = ("synchronous_commit=on", "full_page_writes=on", "max_connections=300")


def kill_database(database: PostgresServer) -> None:
    """Without a word; it can be started as soon as this returns."""
    children = Path(f"/proc/{database.pid}/task/{database.pid}/children").read_text().split()
    database.stop("kill")
    assert all(servers.ends(int(child)) for child in children)


def environment(settings: Mapping[str, str | float]) -> dict[str, str]:
    """By which a command has these settings, and none of whoever runs the tests."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("UNCHUNK_")}
    return others | {f"UNCHUNK_{name.upper()}": str(value) for name, value in settings.items()}


class Program:
    """A command of ours as a process of its own, with a home of its own; `log` is all it says."""

    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str],
        settings: Mapping[str, str | float],
        ready: str = "",
        tuning: Mapping[str, Any] | None = None,
    ) -> None:
        """`tuning` are options of a server that no setting is for."""
        self.home, self.log = folder / "home", folder / "log"
        self._arguments, self._settings, self._ready = arguments, settings, ready
        self._entry = [sys.executable, "-m", "unchunk"]
        if tuning:
            self._entry = [sys.executable, str(_TUNED), json.dumps(tuning)]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def begin(self) -> None:
        self.home.parent.mkdir(parents=True, exist_ok=True)
        command = [*self._entry, "--home", str(self.home), *self._arguments]
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                env=environment(self._settings),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def wait(self) -> None:
        """Until it answers, or, where it answers nobody, until it said that it is ready."""
        deadline = time.monotonic() + _PATIENCE
        while not self._is_ready():
            if not self.is_running or time.monotonic() > deadline:
                pytest.fail(f"{self._arguments[0]} does not start: {self.said}")
            time.sleep(0.05)

    def start(self) -> None:
        self.begin()
        self.wait()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        assert self._process is not None
        self._process.wait()

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """As an operator ends it, or, where it does not listen, by force."""
        if not self.is_running:
            return
        assert self._process is not None
        self.resume()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    @property
    def said(self) -> str:
        return self.log.read_text("utf-8", "replace")[-4000:] if self.log.exists() else ""

    def _is_ready(self) -> bool:
        if not self._ready:
            return '{"worker"' in self.said
        try:
            return httpx2.get(f"{self._ready}/health/live", timeout=5).status_code == 200
        except httpx2.HTTPError:
            return False


class Stack:
    """`url` is the service; `settings` are those that all its parts share."""

    def __init__(
        self,
        folder: Path,
        database: PostgresServer,
        nodes: Cluster,
        settings: Mapping[str, str | float],
    ) -> None:
        self.folder, self.database, self.cluster = folder, database, nodes
        self.settings = {**FREELY, **settings}
        self.servers: list[Program] = []
        self.workers: list[Program] = []
        self.ports: list[int] = []
        self.balancer: Balancer

    @property
    def url(self) -> str:
        return self.balancer.url

    def add_server(
        self,
        settings: Mapping[str, str | float] | None = None,
        tuning: Mapping[str, Any] | None = None,
    ) -> Program:
        """Begun, and not waited for."""
        (port,) = servers.free_ports(1)
        folder = self.folder / f"server{len(self.servers)}"
        arguments = ["serve", "--no-work", "--no-sample", "--port", str(port), "--json"]
        url = f"http://127.0.0.1:{port}"
        chosen = {**self.settings, **(settings or {})}
        self.servers.append(Program(folder, arguments, chosen, url, tuning))
        self.ports.append(port)
        self.servers[-1].begin()
        return self.servers[-1]

    def add_worker(self) -> Program:
        """Begun, and not waited for."""
        folder = self.folder / f"worker{len(self.workers)}"
        self.workers.append(Program(folder, ["worker", "--json"], self.settings))
        self.workers[-1].begin()
        return self.workers[-1]

    def command(self, *arguments: str, timeout: float = 300) -> "subprocess.CompletedProcess[str]":
        """One of our commands, beside all that runs."""
        home = self.folder / "commands" / "home"
        return subprocess.run(
            [sys.executable, "-m", "unchunk", "--home", str(home), *arguments],
            env=environment(self.settings),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def new_key(self, owner: str) -> str:
        done = self.command("keys", "new", f"of {owner}", "--owner", owner, "--json")
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout)["key"])

    def doctor(self) -> dict[str, Any]:
        done = self.command("doctor", "--json")
        assert done.stdout, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found | {"status": done.returncode, "said": done.stderr}

    def client(self, key: str = "", timeout: float = _PATIENCE) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=timeout)

    def logs(self) -> str:
        """The last of what each part said."""
        parts = {p.log.parent.name: p.said[-1500:] for p in (*self.servers, *self.workers)}
        parts |= {f"node{at}": node.log[-800:] for at, node in enumerate(self.cluster.nodes)}
        parts["postgres"] = self.database._said()
        return "\n".join(f"--- {name}\n{said}" for name, said in parts.items())


@contextmanager
def stack(
    folder: Path,
    servers: int = 2,
    workers: int = 3,
    nodes: int = 3,
    settings: Mapping[str, str | float] | None = None,
) -> Iterator[Stack]:
    with ExitStack() as parts:
        database = parts.enter_context(postgres_running(*DURABLE))
        found = parts.enter_context(cluster(folder / "qdrant", nodes))
        with over(folder, database, found, settings, servers=servers, workers=workers) as whole:
            yield whole


@contextmanager
def over(
    folder: Path,
    database: PostgresServer,
    nodes: Cluster,
    settings: Mapping[str, str | float] | None = None,
    *,
    servers: int = 2,
    workers: int = 3,
) -> Iterator[Stack]:
    """Servers and workers of a library in a database and a cluster that are there already."""
    (folder / "originals").mkdir(parents=True, exist_ok=True)
    shared = {
        "catalog": database.url,
        "index": nodes.spec,
        "blobs": f"folder:{folder / 'originals'}",
        **(settings or {}),
    }
    whole = Stack(folder, database, nodes, shared)
    try:
        for _ in range(servers):
            whole.add_server()
        for _ in range(workers):
            whole.add_worker()
        for one in (*whole.servers, *whole.workers):
            one.wait()
        with balancing(whole.ports) as balancer:
            whole.balancer = balancer
            yield whole
    except BaseException:
        # Where it failed, this is what there is to look at.
        sys.stderr.write(whole.logs())
        raise
    finally:
        for one in (*whole.servers, *whole.workers):
            one.end()
