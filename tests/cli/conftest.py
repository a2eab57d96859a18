import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.llm.scripted import ScriptedModel
from cli.terminals import SETTINGS, make_library


@pytest.fixture(scope="session")
def asked_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library to ask; conversations come and go, documents stay."""
    return make_library(tmp_path_factory.mktemp("asking"))


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


@pytest.fixture
def home(asked_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("UNCHUNK_")]:
        monkeypatch.delenv(name)
    for name, value in {**SETTINGS, "UNCHUNK_HOME": str(asked_home)}.items():
        monkeypatch.setenv(name, value)
    return asked_home


@pytest.fixture
def settings(home: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """By which the scripted model is asked; they hold in this process already."""
    assert home.exists()
    chosen = {"UNCHUNK_CHAT": "openai:scripted", "UNCHUNK_CHAT_URL": f"{model.url}/v1"}
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    return chosen
