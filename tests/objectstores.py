"""A real S3 server for tests: OpenStack Swift, which speaks S3 too, in an environment of its own.

It is fetched once from where Python packages come from. Where it cannot be had the test is
skipped and says why; on CI it fails instead.
"""

import fcntl
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from obstore.exceptions import BaseError
from obstore.store import S3Store

from servers import cache, free_ports, missing, running
from unchunk.adapters.blobs.s3 import Bucket, Patience, S3Blobs

_SWIFT = "swift==2.38.3"
# Its parts, as they were when this was written; a newer one of them is another server.
_WITH = ("eventlet==0.41.3", "pyeclib==1.8.0", "setuptools<81", "xattr==1.3.0")
ID, KEY, REGION = "test:tester", "testing", "us-east-1"


@dataclass(frozen=True, slots=True)
class S3Server:
    url: str
    pid: int

    def bucket(self) -> str:
        """The name of a new one, with nothing in it."""
        name = f"unchunk-{uuid4().hex[:12]}"
        store = S3Store(
            name,
            config={
                "access_key_id": ID,
                "secret_access_key": KEY,
                "region": REGION,
                "endpoint": self.url,
                "virtual_hosted_style_request": False,
            },
            client_options={"allow_http": True},
        )
        # An object without a name is the bucket itself; only the answer is not what it expects.
        with suppress(BaseError):
            store.put("", b"")
        assert list(store.list()) == []
        return name


def _python() -> Path:
    """An interpreter that has Swift."""
    folder = cache() / _SWIFT.replace("==", "-")
    python = folder / "bin" / "python"
    done = folder / "whole"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            venv.create(folder, clear=True, with_pip=True, symlinks=True)
            command = [str(python), "-m", "pip", "install", "--quiet", _SWIFT, *_WITH]
            made = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            if made.returncode:
                missing(f"pip cannot fetch {_SWIFT}: {made.stderr.strip()[-300:]}")
            done.touch()
    return python


@contextmanager
def s3(folder: Path, port: int = 0) -> Iterator[S3Server]:
    """A server that keeps its objects in `folder`."""
    if sys.platform != "linux":
        missing("the S3 server for tests runs on Linux only")
    python = _python()
    at = port or free_ports(1)[0]
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(python), str(Path(__file__).with_name("swift_server.py")), str(at), str(folder)]
    environment = {key: it for key, it in os.environ.items() if not key.startswith("PYTHON")}
    url = f"http://127.0.0.1:{at}"
    with running(command, folder, environment, f"{url}/healthcheck") as pid:
        yield S3Server(url, pid)


def store_in(
    server: S3Server, bucket: str, incoming: Path, prefix: str = "", key: str = KEY
) -> S3Blobs:
    """With less patience than people have."""
    where = Bucket(bucket, prefix, server.url, REGION, ID, key)
    return S3Blobs(where, incoming, Patience(connect=1.0, answer=10.0, retry=3.0))
