"""How often somebody may ask counts at all servers together, and keys are the same at each."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from server.scripted import eventually
from server.towers import Tower, two
from unchunk.adapters.catalog import rates
from unchunk.errors import TransientError
from unchunk.server import limits
from unchunk.server.faults import RefusedError
from unchunk.server.limits import Rate
from unchunk.server.options import Options

TALKS, SESSION = "/api/conversations", "/api/session"
FEW = Options(require_keys=True, rate_limit=6, sign_in_limit=3)
MANY = Options(require_keys=True)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a database may need longer than a moment."""
    monkeypatch.setattr(limits, "_MOMENT", 60.0)


def new_key(tower: Tower, owner: str = "local") -> tuple[str, str]:
    """The id of a key, and all of it."""
    keyring = tower.engine.keyring
    assert keyring is not None
    key, shown = tower.served.inside(lambda: keyring.new("a key", owner))
    return key.id, shown


@contextmanager
def keyed(postgres: str, options: Options) -> Iterator[tuple[Tower, Tower, str, dict[str, str]]]:
    """Two servers, the id of a key, and how it is shown."""
    with two(postgres, options=options) as (one, other):
        key, shown = new_key(one)
        yield one, other, key, {"Authorization": f"Bearer {shown}"}


def get(tower: Tower, path: str, headers: dict[str, str]) -> httpx2.Response:
    return httpx2.get(f"{tower.url}{path}", headers=headers)


def test_requests_count_wherever_they_are_sent(postgres: str) -> None:
    with keyed(postgres, FEW) as (one, other, _, headers):
        replies = [get((one, other)[at % 2], TALKS, headers) for at in range(10)]
        assert [one.status_code for one in replies] == [200] * 6 + [429] * 4
        assert all(1 <= int(one.headers["Retry-After"]) <= 10 for one in replies[6:])
        # Others are not kept from anything.
        _, shown = new_key(one, "somebody")
        assert get(other, TALKS, {"Authorization": f"Bearer {shown}"}).status_code == 200


def test_attempts_to_sign_in_count_wherever_they_are_made(postgres: str) -> None:
    with keyed(postgres, FEW) as (one, other, _, _):
        said = [
            httpx2.post(f"{tower.url}{SESSION}", json={"key": "wrong"}).status_code
            for tower in (one, other, one, other, one)
        ]
        assert said == [401, 401, 401, 429, 429]


def test_a_key_that_is_revoked_at_one_server_is_refused_by_the_other_at_once(
    postgres: str,
) -> None:
    with keyed(postgres, MANY) as (one, other, key, headers):
        keyring = one.engine.keyring
        assert keyring is not None
        assert [get(tower, TALKS, headers).status_code for tower in (one, other)] == [200, 200]
        one.served.inside(lambda: keyring.revoke(key))
        assert [get(tower, TALKS, headers).status_code for tower in (one, other)] == [401, 401]


def test_a_session_is_good_at_every_server_and_ended_at_every_server(postgres: str) -> None:
    with keyed(postgres, MANY) as (one, other, _, headers):
        shown = headers["Authorization"].removeprefix("Bearer ")
        begun = httpx2.post(f"{one.url}{SESSION}", json={"key": shown})
        cookie = {"Cookie": begun.headers["set-cookie"].split(";")[0]}
        assert get(other, SESSION, cookie).json()["csrf"] == begun.json()["csrf"]
        assert get(other, TALKS, cookie).status_code == 200
        token = {"X-CSRF-Token": begun.json()["csrf"], **cookie}
        assert httpx2.delete(f"{other.url}{SESSION}", headers=token).status_code == 204
        assert [get(tower, TALKS, cookie).status_code for tower in (one, other)] == [401, 401]


def test_each_server_counts_alone_while_the_database_does_not_answer(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: object) -> float:
        await asyncio.sleep(60)
        return 0.0

    monkeypatch.setattr(limits, "_MOMENT", 0.05)
    with keyed(postgres, FEW) as (one, other, _, headers):
        monkeypatch.setattr(rates.SqlRates, "take", hang)
        for tower in (one, other):
            said = [get(tower, TALKS, headers).status_code for _ in range(8)]
            assert said == [200] * 6 + [429] * 2


def test_they_count_together_again_when_it_is_back(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> float:
        raise TransientError("it is away")

    monkeypatch.setattr(limits, "_ALONE", 0.1)
    with keyed(postgres, FEW) as (one, other, _, headers):
        with monkeypatch.context() as patch:
            patch.setattr(rates.SqlRates, "take", away)
            assert get(one, TALKS, headers).status_code == 200
        eventually(lambda: get(one, TALKS, headers).status_code == 429)
        assert get(other, TALKS, headers).status_code == 429


def test_whoever_was_told_to_wait_is_not_asked_for_before() -> None:
    class Counted:
        asked = 0

        async def take(self, name: str, per_minute: int) -> float:
            assert (name, per_minute) == ("request a", 5)
            self.asked += 1
            return 30.0

        async def forget(self) -> None: ...

    async def scene() -> None:
        shared = Counted()
        rate = Rate("request", 5, shared)
        for _ in range(10):
            with pytest.raises(RefusedError) as refused:
                await rate.take("a")
            assert refused.value.headers["Retry-After"] == "30"
        assert shared.asked == 1
        # 0 is no limit.
        await Rate("request", 0, shared).take("b")

    asyncio.run(scene())
