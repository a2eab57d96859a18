from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.llm.scripted import ScriptedModel
from chat.rooms import Room


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with ScriptedModel() as server:
        yield Room(tmp_path, server)
