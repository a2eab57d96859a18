"""A Qdrant server as a child of the process that uses it, so that what it takes is counted.

Where its program is, the environment says: BENCH_QDRANT. Needs only the standard library.
"""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

PROGRAM = "BENCH_QDRANT"
_SECONDS = 60.0


class QdrantServer:
    def __init__(self, folder: Path) -> None:
        """Start one on the storage in a folder, and wait until it is ready."""
        folder.mkdir(parents=True, exist_ok=True)
        http, grpc = _free_ports()
        self.url = f"http://127.0.0.1:{http}"
        settings = {
            "SERVICE__HOST": "127.0.0.1",
            "SERVICE__HTTP_PORT": str(http),
            "SERVICE__GRPC_PORT": str(grpc),
            "STORAGE__STORAGE_PATH": str(folder / "storage"),
            "STORAGE__SNAPSHOTS_PATH": str(folder / "snapshots"),
            "TELEMETRY_DISABLED": "true",
        }
        self._process = subprocess.Popen(
            [os.environ[PROGRAM]],
            cwd=folder,
            env=os.environ | {f"QDRANT__{key}": value for key, value in settings.items()},
            stdout=subprocess.DEVNULL,
        )
        end = time.monotonic() + _SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise RuntimeError("the Qdrant server did not start")
            time.sleep(0.02)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=1) as answer:  # noqa: S310 -- our own
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _free_ports() -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [int(each.getsockname()[1]) for each in taken]
    for each in taken:
        each.close()
    return ports
