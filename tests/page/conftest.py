"""One browser for each module, one visit for each test, one server of each kind for all."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any

import pytest
from playwright.sync_api import Browser

from adapters.llm.scripted import ScriptedModel
from page.browsing import CHROMIUM, Enter, Visit, chromium, visiting
from page.running import Running, started

_OWNERS = (f"keeper-{number}" for number in count())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: `apt-get install chromium` brings it")
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture(scope="session")
def talking(tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel) -> Iterator[Running]:
    """With a model, and with keys: each test is another user of it, and has a library alone."""
    home = tmp_path_factory.mktemp("talking") / "home"
    with started(
        home,
        embedder="hashing",
        require_keys="yes",
        chat="openai:scripted",
        chat_url=f"{model.url}/v1",
    ) as server:
        yield server


@pytest.fixture(scope="session")
def quoting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The same without a model."""
    home = tmp_path_factory.mktemp("quoting") / "home"
    with started(home, embedder="hashing", require_keys="yes") as server:
        yield server


@pytest.fixture
def enter(browser: Browser) -> Iterator[Enter]:
    """Lets somebody in: by default a new owner, who is signed in."""
    with ExitStack() as stack:

        def entered(server: Running, owner: str | None = None, **options: Any) -> Visit:  # noqa: ANN401 - the browser's own
            who = next(_OWNERS) if owner is None else owner
            return stack.enter_context(visiting(browser, server, who, **options))

        yield entered


@pytest.fixture
def visit(enter: Enter, talking: Running, model: ScriptedModel) -> Visit:
    """Somebody new, at a server with a model that has nothing prepared."""
    model.script.clear()
    return enter(talking)


@pytest.fixture
def reader(enter: Enter, quoting: Running) -> Visit:
    """Somebody new, at a server without a model."""
    return enter(quoting)
