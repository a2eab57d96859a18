"""Keys: made, checked, revoked; and what of them is kept."""

import asyncio
import hashlib
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from unchunk.adapters.catalog import SqlKeys, open_database
from unchunk.errors import InvalidInputError, NotFoundError, TransientError
from unchunk.keyring import Keyring, check_owner
from unchunk.settings import load
from unchunk.wiring import open_keyring


def play(tmp_path: Path, scene: Callable[[Keyring], Awaitable[None]]) -> None:
    async def opened() -> None:
        keyring = await open_keyring(load(tmp_path / "home", {}))
        try:
            await scene(keyring)
        finally:
            await keyring.close()

    asyncio.run(opened())


def test_a_key_opens_what_it_was_made_for_until_it_is_revoked(tmp_path: Path) -> None:
    async def scene(keyring: Keyring) -> None:
        mine, shown = await keyring.new("laptop", "me")
        other, others = await keyring.new(" prometheus ", "me", "metrics")
        assert (mine.owner, mine.label, mine.scope) == ("me", "laptop", "all")
        assert (other.label, other.scope) == ("prometheus", "metrics")
        assert shown.startswith(f"uk_{mine.id}_")
        for text, key in ((shown, mine), (others, other)):
            found = await keyring.check(text)
            assert found is not None
            assert (found.id, found.digest) == (key.id, key.digest)
        assert [one.id for one in await keyring.all()] == [mine.id, other.id]
        assert (await keyring.revoke(mine.id)).label == "laptop"
        assert await keyring.check(shown) is None
        # All of the key will do, too.
        await keyring.revoke(others)
        assert await keyring.all() == []
        with pytest.raises(NotFoundError, match="no key 'nothing'"):
            await keyring.revoke("nothing")

    play(tmp_path, scene)


def test_no_other_text_is_a_key(tmp_path: Path) -> None:
    async def scene(keyring: Keyring) -> None:
        key, shown = await keyring.new("a", "me")
        other, _ = await keyring.new("b", "you")
        last = "A" if shown[-1] != "A" else "B"
        for text in (
            "",
            "uk_",
            key.id,
            shown[:-1],
            shown[:-1] + last,
            shown + "A",
            shown.upper(),
            f" {shown}",
            f"{shown}\n",
            shown.replace("uk_", "uk-"),
            # The secret of one under the name of the other.
            shown.replace(key.id, other.id),
            shown.replace(key.id, "0" * 16),
            shown.replace(key.id, "٠" * 16),
            f"uk_{key.id}_{key.digest.hex()[:43]}",
            "uk_' OR 1=1 --",
            "\0",
            "uk_" * 10_000,
        ):
            assert await keyring.check(text) is None, text

    play(tmp_path, scene)


def test_what_is_kept_of_a_key_is_a_digest(tmp_path: Path) -> None:
    shown = ""

    async def scene(keyring: Keyring) -> None:
        nonlocal shown
        key, shown = await keyring.new("a", "me")
        assert key.digest == hashlib.sha256(shown.split("_", 2)[2].encode()).digest()
        assert repr(key.digest) not in repr(key)

    play(tmp_path, scene)
    content = (tmp_path / "home" / "catalog.sqlite").read_bytes()
    assert shown.split("_")[1].encode() in content
    assert shown.split("_", 2)[2].encode() not in content


def test_a_revoked_key_leaves_nothing_in_the_file(tmp_path: Path) -> None:
    digest = b""

    async def scene(keyring: Keyring) -> None:
        nonlocal digest
        key, _ = await keyring.new("the secret name", "me")
        digest = key.digest
        await keyring.revoke(key.id)

    play(tmp_path, scene)
    content = (tmp_path / "home" / "catalog.sqlite").read_bytes()
    assert digest not in content
    assert b"the secret name" not in content


def test_the_day_of_the_last_use_is_noted_and_no_more(tmp_path: Path) -> None:
    async def scene(keyring: Keyring) -> None:
        key, shown = await keyring.new("a", "me")
        assert key.used_on is None
        before = datetime.now(UTC).date()
        for _ in range(3):
            assert await keyring.check(shown) is not None
        [found] = await keyring.all()
        assert isinstance(found.used_on, date)
        assert before <= found.used_on <= datetime.now(UTC).date()

    play(tmp_path, scene)


def test_nobody_is_kept_out_because_the_day_cannot_be_noted(tmp_path: Path) -> None:
    class Unwritable(SqlKeys):
        async def used(self, key: str, day: date) -> None:
            del key, day
            raise TransientError("somebody else is writing")

    async def scene() -> None:
        database = await open_database(tmp_path / "c.db")
        keyring = Keyring(Unwritable(database), database.close)
        _, shown = await keyring.new("a", "me")
        assert await keyring.check(shown) is not None
        await keyring.close()

    asyncio.run(scene())


@pytest.mark.parametrize(
    "name",
    ["", " ", ".", "..", "...", "a/b", "/", "a\\b", "a\nb", "a\0", "\x7f", "\ud800", "x" * 101],
)
def test_an_owner_is_a_name_that_can_stand_anywhere(tmp_path: Path, name: str) -> None:
    async def scene(keyring: Keyring) -> None:
        with pytest.raises(InvalidInputError):
            await keyring.new("a", name)
        assert await keyring.all() == []

    play(tmp_path, scene)


def test_an_owner_is_the_same_however_it_was_typed() -> None:
    assert check_owner(" Zoe\u0308 ") == "Zo\u00eb"
    assert check_owner("anna@example.org") == "anna@example.org"
    assert check_owner("日本 .x") == "日本 .x"


def test_the_secret_of_sessions_is_kept_and_told_to_nobody(tmp_path: Path) -> None:
    secrets = []

    async def scene(keyring: Keyring) -> None:
        secrets.append(await keyring.secret())
        assert await keyring.secret() == secrets[-1]

    play(tmp_path, scene)
    play(tmp_path, scene)
    assert secrets[0] == secrets[1]
    assert len(secrets[0]) == 32
    with closing(sqlite3.connect(tmp_path / "home" / "catalog.sqlite")) as connection:
        notes = dict(connection.execute("SELECT key, value FROM notes"))
    assert secrets[0].hex() in notes.values()
