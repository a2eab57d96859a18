from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.llm.scripted import ScriptedModel
from cli.terminals import make_library


@pytest.fixture(scope="session")
def asked_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library to ask; conversations come and go, documents stay."""
    return make_library(tmp_path_factory.mktemp("asking"))


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server
