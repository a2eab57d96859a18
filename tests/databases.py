"""PostgreSQL for tests: Debian's, as a process of its own at 127.0.0.1, ended by its id.

Where it is not installed the test is skipped and says why; on CI it fails instead.
"""

import asyncio
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal, TypedDict

import psycopg
import pytest

from servers import free_ports, missing
from unchunk.adapters.catalog import open_database

_PATIENCE = 60.0
# Nothing here outlives the tests, so nothing need be on the disk.
_HASTE = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_wal_size=1GB")
_NOBODY = "nobody"
_PREFIX = "unchunk_test_"

How = Literal["fast", "immediate", "kill"]
_SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT, "kill": signal.SIGKILL}


def _programs() -> Path:
    """Where the newest PostgreSQL is that Debian installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_number)
    if not found:
        missing("PostgreSQL is not installed: apt-get install postgresql, or run make system")
    return found[-1].parent


def _number(program: Path) -> int:
    return int(program.parents[1].name)


class PostgresServer:
    """A server with its data in a folder of its own, which can go and come back."""

    def __init__(self, folder: Path, *options: str, programs: Path | None = None) -> None:
        """`options` are settings, such as `max_connections=20`."""
        self._folder = folder
        self._options = options
        self._programs = programs or _programs()
        (self.port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._make()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def pid(self) -> int:
        assert self._process is not None, "it does not run"
        return self._process.pid

    def start(self) -> None:
        settings = ("listen_addresses=127.0.0.1", "unix_socket_directories=", f"port={self.port}")
        command = [str(self._programs / "postgres"), "-D", str(self._folder / "data")]
        for setting in (*settings, *self._options):
            command += ["-c", setting]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **_as_somebody()
            )
        deadline = time.monotonic() + _PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"PostgreSQL does not start: {self._said()}")
            time.sleep(0.02)

    def stop(self, how: How = "fast") -> None:
        """Whoever is connected is cut off; but for "fast", it has no time to tidy up."""
        if self._process is None:
            return
        self._process.send_signal(_SIGNALS[how])
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def restart(self, how: How = "fast") -> None:
        self.stop(how)
        self.start()

    def _make(self) -> None:
        somebody = _as_somebody()
        if somebody:
            shutil.chown(self._folder, _NOBODY)
        command = [str(self._programs / "initdb"), "-D", str(self._folder / "data")]
        command += ["-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8"]
        command += ["--locale=C.UTF-8", "--no-instructions"]
        done = subprocess.run(
            command, cwd=self._folder, capture_output=True, text=True, check=False, **somebody
        )
        if done.returncode:
            pytest.fail(f"initdb fails: {done.stderr[-500:]}")

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _said(self) -> str:
        return (self._folder / "log").read_text("utf-8", "replace")[-1000:]


class _Somebody(TypedDict, total=False):
    user: str
    group: str
    extra_groups: list[str]


def _as_somebody() -> _Somebody:
    """PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return {}
    return {"user": _NOBODY, "group": "nogroup", "extra_groups": []}


@contextmanager
def postgres_running(*options: str, programs: Path | None = None) -> Iterator[PostgresServer]:
    """A server that is gone with all its data at the end."""
    # Not pytest's own folder, which nobody but its user may enter.
    folder = Path(mkdtemp(prefix="unchunk-postgres-"))
    server = None
    try:
        server = PostgresServer(folder, *_HASTE, *options, programs=programs)
        server.start()
        yield server
    finally:
        if server is not None:
            server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def schema_in(server: str, script: str = "") -> Iterator[str]:
    """The URL of a schema of a database, which goes again with all that is in it.

    It is empty, or has what the script of `tables_in` makes.
    """
    schema = f"{_PREFIX}{secrets.token_hex(8)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        connection.execute(script.replace(_PREFIX, schema).encode())
        mark = "&" if "?" in server else "?"
        yield f"{server}{mark}options=-csearch_path%3D{schema}"
        connection.execute("RESET ALL")
        connection.execute("SET lock_timeout = '5s'")
        connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())


def tables_in(server: str) -> str:
    """A script that makes the tables of a library: far quicker than all migrations are."""
    with schema_in(server) as url:

        async def make() -> None:
            await (await open_database(url)).close()

        asyncio.run(make())
        schema = url.rpartition("%3D")[2]
        command = [str(_programs() / "pg_dump"), server, "--schema", schema, "--inserts"]
        made = subprocess.check_output([*command, "--no-owner"], text=True)
    lines = [
        line for line in made.splitlines() if not line.startswith(("CREATE SCHEMA", "--", "\\"))
    ]
    return "\n".join(lines).replace(schema, _PREFIX)
