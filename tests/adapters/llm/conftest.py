from collections.abc import Iterator

import pytest

from adapters.llm.real_model import RealModel, running
from adapters.llm.scripted import ScriptedModel


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel() as started:
        yield started


@pytest.fixture(scope="session")
def real_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealModel]:
    with running(tmp_path_factory.mktemp("model")) as started:
        yield started
