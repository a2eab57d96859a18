from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.shelves import Town, served_town
from server.scripted import Served


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Town]]:
    """A server with keys in force, and two owners' documents."""
    with served_town(tmp_path_factory.mktemp("town")) as found:
        yield found


@pytest.fixture
def served(town: tuple[Served, Town]) -> Served:
    return town[0]


@pytest.fixture
def keys(town: tuple[Served, Town]) -> Town:
    return town[1]


@pytest.fixture
def empty_home(tmp_path: Path) -> Path:
    return tmp_path / "home"
