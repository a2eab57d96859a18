"""Makes `corpus` and `foreign`, which lie here, and `bench` importable from every test."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from objectstores import S3Server

TESTS = Path(__file__).parent
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

# How long an example takes is the machine's affair, and that of whoever else is busy on it.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "what the end-to-end tests run against: a server of their own, or many (see towns.py)"
    parser.addoption("--stack", choices=("one", "cluster"), default="one", help=told)


def pytest_configure(config: pytest.Config) -> None:
    # No command reads the `.env` of the folder that the tests are started in, nor keeps what is in
    # it in this process. `dotenv_enabled` is for tests of just that.
    os.environ["PYTHON_DOTENV_DISABLED"] = "1"
    # What runs in the background of a script ignores an interrupt, and so would all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--stack") == "cluster":
        from cluster import suite

        config.pluginmanager.register(suite)


@pytest.fixture
def dotenv_enabled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have commands read `.env`, and forget what they read when the test is over."""
    before = dict(os.environ)
    monkeypatch.delenv("PYTHON_DOTENV_DISABLED")
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL database: the one that is given, or one for this process of tests."""
    from databases import postgres_running

    if given := os.environ.get("UNCHUNK_TEST_POSTGRES"):
        yield given
        return
    with postgres_running() as server:
        yield server.url


@pytest.fixture(scope="session")
def postgres_tables(postgres_server: str) -> str:
    """A script that makes the tables of a library there."""
    from databases import tables_in

    return tables_in(postgres_server)


@pytest.fixture
def postgres(postgres_server: str, postgres_tables: str) -> Iterator[str]:
    """The URL of a database for a new library, which goes again with all that is in it."""
    from databases import schema_in

    with schema_in(postgres_server, postgres_tables) as url:
        yield url


@pytest.fixture
def bare_postgres(postgres_server: str) -> Iterator[str]:
    """As `postgres`, but without tables."""
    from databases import schema_in

    with schema_in(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator["S3Server"]:
    """An S3 server for this process of tests; each test has a bucket of its own."""
    from objectstores import s3

    with s3(tmp_path_factory.mktemp("s3")) as server:
        yield server
