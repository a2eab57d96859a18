"""Many users at once, as `bench.users` has them for longer: nothing is mixed up, nothing is lost."""

import asyncio
from pathlib import Path

from bench.crowd import MIX, crowd
from bench.users import address, examine, owners, serving

from adapters.llm.scripted import ScriptedModel

USERS, ACTIONS = 10, 15


def test_ten_users_at_once_get_what_is_theirs_and_leave_a_healthy_library(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with ScriptedModel() as model:
        environment = {
            "UNCHUNK_EMBEDDER": "hashing",
            "UNCHUNK_CHAT": "openai:scripted",
            "UNCHUNK_CHAT_URL": f"{model.url}/v1",
            "UNCHUNK_REQUIRE_KEYS": "yes",
            "UNCHUNK_RATE_LIMIT": "0",
        }
        libraries = owners(home, 3)
        with serving(home, environment) as server:
            tally = asyncio.run(crowd(address(server), libraries, USERS, actions=ACTIONS))
        assert server.returncode == 0
    assert not tally.wrong, tally.told
    done = sum(map(len, tally.seconds.values())) + tally.meant.total()
    assert done == USERS * ACTIONS
    assert set(tally.seconds) == set(MIX)
    assert all(library.documents for library in libraries)
    assert examine(home, environment)
