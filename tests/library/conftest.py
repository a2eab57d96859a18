import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from homes import Home
from moves import settings_in, stock
from servers import qdrant
from sharers import Town
from unchunk.settings import Settings


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture(scope="session")
def qdrant_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with qdrant(tmp_path_factory.mktemp("qdrant")) as server:
        yield f"{server.url}?grpc={server.grpc_port}"


@pytest.fixture
def town(tmp_path: Path, postgres: str, qdrant_server: str) -> Town:
    return Town(tmp_path, postgres, f"qdrant:{qdrant_server}")


@pytest.fixture(scope="session")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with something of every kind, its files, and the key that opens it."""
    folder = tmp_path_factory.mktemp("stocked")
    key = asyncio.run(stock(settings_in(folder / "laptop"), folder / "files"))
    (folder / "key").write_text(key)
    return folder


@pytest.fixture
def laptop(stocked: Path, tmp_path: Path) -> Settings:
    """A copy of it, to be moved."""
    shutil.copytree(stocked, tmp_path, dirs_exist_ok=True)
    return settings_in(tmp_path / "laptop")
