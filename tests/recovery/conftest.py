from collections.abc import Iterator

import pytest

from recovery.vector_stores import VectorStores


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[VectorStores]:
    """A server, and nothing in the environment that would lead elsewhere."""
    for name in ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with VectorStores() as started:
        yield started
