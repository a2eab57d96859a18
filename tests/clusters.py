"""A real Qdrant cluster for tests: its nodes are processes here, which can be killed and paused."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import servers

_PATIENCE = 120.0
# Small enough for several nodes on two cores.
_SMALL = {
    "TELEMETRY_DISABLED": "true",
    "LOG_LEVEL": "WARN",
    "SERVICE__HOST": "127.0.0.1",
    "SERVICE__MAX_WORKERS": "2",
    "CLUSTER__ENABLED": "true",
    "STORAGE__PERFORMANCE__MAX_SEARCH_THREADS": "1",
    "STORAGE__PERFORMANCE__MAX_OPTIMIZATION_RUNTIME_THREADS": "1",
    "STORAGE__PERFORMANCE__OPTIMIZER_CPU_BUDGET": "1",
    "STORAGE__PERFORMANCE__ASYNC_SCORER": "false",
    "STORAGE__WAL__WAL_CAPACITY_MB": "4",
}


class Node:
    """One server of a cluster, on the same storage and ports each time that it is started."""

    def __init__(self, folder: Path, bootstrap: str, settings: dict[str, str]) -> None:
        http, self.grpc_port, p2p = servers.free_ports(3)
        self.url = f"http://127.0.0.1:{http}"
        self.uri = f"http://127.0.0.1:{p2p}"
        self._folder = folder
        self._command = [str(servers.qdrant_binary()), "--uri", self.uri]
        if bootstrap:
            self._command += ["--bootstrap", bootstrap]
        own = {
            "SERVICE__HTTP_PORT": str(http),
            "SERVICE__GRPC_PORT": str(self.grpc_port),
            "CLUSTER__P2P__PORT": str(p2p),
            "STORAGE__STORAGE_PATH": str(folder / "storage"),
            "STORAGE__SNAPSHOTS_PATH": str(folder / "snapshots"),
        }
        self._settings = _SMALL | own | settings
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def spec(self) -> str:
        """As the setting `index` names it."""
        return f"{self.url}?grpc={self.grpc_port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return (self._folder / "node.log").read_text("utf-8", "replace")

    def start(self) -> None:
        """Return when it answers; it may not have found the others yet."""
        self._folder.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {f"QDRANT__{key}": it for key, it in self._settings.items()}
        with (self._folder / "node.log").open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + _PATIENCE
        while not self.asked("/readyz"):
            if self._process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"a node of Qdrant does not start: {self.log[-1000:]}")
            time.sleep(0.1)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        assert self._process is not None
        self._process.wait()

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """However it is; a paused one ends, too."""
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def asked(self, path: str) -> Any:  # noqa: ANN401 -- JSON
        """What a GET of its REST address tells, or None if it gives no good answer."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as reply:  # noqa: S310 ours
                said = reply.read()
        except (urllib.error.URLError, OSError):
            return None
        return json.loads(said)["result"] if said.startswith(b"{") else said


class Cluster:
    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes

    @property
    def spec(self) -> str:
        """As the setting `index` names it."""
        return "qdrant:" + ",".join(node.spec for node in self.nodes)

    def wait(self) -> None:
        """Until every node knows every other and has a leader, and no replica is behind."""
        deadline = time.monotonic() + _PATIENCE
        while not all(self._is_well(node) for node in self.nodes):
            if time.monotonic() > deadline:
                pytest.fail(f"the cluster does not get well: {self.nodes[0].log[-1000:]}")
            time.sleep(0.1)

    def _is_well(self, node: Node) -> bool:
        known = node.asked("/cluster")
        if known is None or len(known["peers"]) != len(self.nodes):
            return False
        if known["raft_info"]["leader"] is None:
            return False
        collections = (node.asked("/collections") or {"collections": []})["collections"]
        return all(self._is_whole(node, one["name"]) for one in collections)

    def _is_whole(self, node: Node, collection: str) -> bool:
        shards = node.asked(f"/collections/{collection}/cluster")
        if shards is None:
            return False
        both = shards["local_shards"] + shards["remote_shards"]
        return all(one["state"] == "Active" for one in both) and not shards["shard_transfers"]


def quick_folder(folder: Path) -> Path:
    """In memory where there is such a place: a cluster syncs its disk at every step."""
    memory = Path("/dev/shm")  # noqa: S108 -- the folder in it is ours alone
    if not os.access(memory, os.W_OK):
        return folder
    return Path(tempfile.mkdtemp(prefix="unchunk-cluster-", dir=memory))


@contextmanager
def quick_cluster(folder: Path) -> Iterator[Cluster]:
    """Three nodes that lose all when the machine is switched off, and nothing when killed."""
    place = quick_folder(folder)
    try:
        with cluster(place) as started:
            yield started
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def cluster(
    folder: Path, nodes: int = 3, settings: dict[str, str] | None = None
) -> Iterator[Cluster]:
    """Nodes that know each other; `settings` are Qdrant's own, without `QDRANT__`."""
    first = Node(folder / "node0", "", settings or {})
    others = [Node(folder / f"node{at}", first.uri, settings or {}) for at in range(1, nodes)]
    both = Cluster([first, *others])
    try:
        for node in both.nodes:
            node.start()
        both.wait()
        yield both
    finally:
        for node in both.nodes:
            node.end()
