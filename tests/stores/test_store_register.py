"""Stores are made, found, changed and deleted, and live as long as they are used."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from homes import Home
from shops import ME, OTHER, TIDES, Clock, bring, fill, room
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import MemberCounts, Page
from unchunk.stores import Addition


def test_a_store_is_found_again_as_it_was_made(home: Home) -> None:
    async def make(engine: Engine) -> str:
        made = await engine.stores.create(
            name="Tides",
            description="All about the sea.",
            metadata={"team": "blue"},
            expires_after=timedelta(days=7),
            owner=ME,
        )
        assert made.id.startswith("vs_")
        assert made.expires_at == made.last_active_at + timedelta(days=7)
        assert await engine.stores.get(made.id, owner=ME) == made
        return made.id

    store = home.run(make)

    async def look(engine: Engine) -> None:
        found = await engine.stores.get(store, owner=ME)
        assert (found.name, found.metadata) == ("Tides", {"team": "blue"})
        assert await engine.stores.page(Page(), owner=ME) == ([found], False)

    home.run(look)


def test_an_update_changes_what_is_given_and_nothing_else(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores = engine.stores
        made = await stores.create(
            name="a", metadata={"k": "v"}, expires_after=timedelta(days=1), owner=ME
        )
        renamed = await stores.update(made.id, name="b", owner=ME)
        assert (renamed.name, renamed.metadata, renamed.expires_after) == (
            "b",
            {"k": "v"},
            timedelta(days=1),
        )
        bare = await stores.update(made.id, metadata={}, expires_after=None, owner=ME)
        assert (bare.name, bare.metadata, bare.expires_after) == ("b", {}, None)
        told = await stores.update(made.id, description="of b", owner=ME)
        assert told.description == "of b"
        assert await stores.get(made.id, owner=ME) == told

    home.run(work)


def test_updates_at_the_same_time_do_not_undo_each_other(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores, made = engine.stores, await engine.stores.create(owner=ME)
        await asyncio.gather(
            stores.update(made.id, name="n", owner=ME),
            stores.update(made.id, description="d", owner=ME),
            stores.update(made.id, metadata={"k": "v"}, owner=ME),
            stores.update(made.id, expires_after=timedelta(days=3), owner=ME),
        )
        found = await stores.get(made.id, owner=ME)
        assert (found.name, found.description) == ("n", "d")
        assert (found.metadata, found.expires_after) == ({"k": "v"}, timedelta(days=3))

    home.run(work)


def test_what_is_too_much_is_refused_and_changes_nothing(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores, made = engine.stores, await engine.stores.create(name="a", owner=ME)
        wrong: list[dict[str, Any]] = [
            {"name": "n" * 1001},
            {"description": "d" * 10_001},
            {"metadata": {"k": "v" * 513}},
            {"expires_after": timedelta(0)},
        ]
        for options in wrong:
            with pytest.raises(InvalidInputError, match=next(iter(options))):
                await stores.create(**options, owner=ME)
            with pytest.raises(InvalidInputError, match=next(iter(options))):
                await stores.update(made.id, **options, owner=ME)
        assert await stores.page(Page(), owner=ME) == ([made], False)

    home.run(work)


def test_deleting_a_store_leaves_its_documents(home: Home) -> None:
    async def work(engine: Engine) -> None:
        document = await bring(engine, home, "tides.txt", TIDES)
        store = await fill(engine, document)
        await engine.stores.delete(store, owner=ME)
        with pytest.raises(NotFoundError):
            await engine.stores.get(store, owner=ME)
        with pytest.raises(NotFoundError):
            await engine.stores.content(store, document, owner=ME)
        assert await engine.text(document) == TIDES

    home.run(work)


def test_a_store_of_another_owner_is_as_one_that_never_was(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stores = engine.stores
        mine = await bring(engine, home, "mine.txt", TIDES)
        theirs = await bring(engine, home, "theirs.txt", TIDES, OTHER)
        store = await fill(engine, mine)
        batch, _ = await stores.attach_batch(store, [Addition(mine)], owner=ME)
        asked: dict[str, Callable[[str], Awaitable[object]]] = {
            "get": lambda at: stores.get(at, owner=OTHER),
            "update": lambda at: stores.update(at, name="x", owner=OTHER),
            "delete": lambda at: stores.delete(at, owner=OTHER),
            "attach": lambda at: stores.attach(at, Addition(theirs), owner=OTHER),
            "attach_batch": lambda at: stores.attach_batch(at, [Addition(theirs)], owner=OTHER),
            "member": lambda at: stores.member(at, mine, owner=OTHER),
            "members": lambda at: stores.members(at, Page(), owner=OTHER),
            "describe": lambda at: stores.describe(at, mine, {}, owner=OTHER),
            "detach": lambda at: stores.detach(at, mine, owner=OTHER),
            "content": lambda at: stores.content(at, mine, owner=OTHER),
            "batch": lambda at: stores.batch(at, batch.id, owner=OTHER),
            "cancel": lambda at: stores.cancel(at, batch.id, owner=OTHER),
            "documents": lambda at: stores.documents([at], owner=OTHER),
            "search": lambda at: stores.search(at, ["tide"], owner=OTHER),
        }
        for name, ask in asked.items():
            with pytest.raises(NotFoundError) as caught:
                await ask(store)
            with pytest.raises(NotFoundError) as unknown:
                await ask("vs_never")
            assert str(caught.value).replace(store, "vs_never") == str(unknown.value), name
        assert await stores.page(Page(), owner=OTHER) == ([], False)
        assert await stores.counts([store], owner=OTHER) == {}
        assert await stores.attributes([store], [mine], owner=OTHER) == {}
        # Nor does another's file go into one's own.
        with pytest.raises(NotFoundError, match="no file"):
            await stores.attach_batch(store, [Addition(mine), Addition(theirs)], owner=ME)
        found = await stores.counts([store], owner=ME)
        assert found == {store: MemberCounts(completed=1, size=len(TIDES))}

    home.run(work)


def test_a_store_lives_on_when_it_is_used_and_ends_when_it_is_not(home: Home) -> None:
    async def work(engine: Engine) -> None:
        clock = Clock()
        stores = room(engine, clock)
        document = await bring(engine, home, "tides.txt", TIDES)
        store = await stores.create(expires_after=timedelta(days=1), owner=ME)
        clock.pass_by(hours=20)
        await stores.attach(store.id, Addition(document), owner=ME)
        clock.pass_by(hours=20)
        assert await stores.search(store.id, ["tide"], owner=ME)
        clock.pass_by(hours=20)
        assert await stores.documents([store.id], owner=ME) == (document,)
        assert (await stores.get(store.id, owner=ME)).last_active_at == clock.now
        clock.pass_by(hours=24)
        assert (await stores.get(store.id, owner=ME)).is_expired(clock.now)
        for ask in (
            lambda: stores.attach(store.id, Addition(document), owner=ME),
            lambda: stores.search(store.id, ["tide"], owner=ME),
            lambda: stores.documents([store.id], owner=ME),
        ):
            with pytest.raises(InvalidInputError, match="has expired"):
                await ask()
        # What is in it can still be got out, and it can be given more time.
        assert await stores.content(store.id, document, owner=ME) == [TIDES]
        clock.pass_by(days=30)
        await stores.update(store.id, name="other", owner=ME)
        assert (await stores.get(store.id, owner=ME)).is_expired(clock.now)
        revived = await stores.update(store.id, expires_after=timedelta(days=3), owner=ME)
        assert revived == await stores.get(store.id, owner=ME)
        assert revived.expires_at == clock.now + timedelta(days=3)
        assert await stores.search(store.id, ["tide"], owner=ME)

    home.run(work)


def test_when_a_store_was_used_is_noted_once_a_minute_at_most(home: Home) -> None:
    async def work(engine: Engine) -> None:
        clock = Clock()
        stores = room(engine, clock)
        store = await stores.create(owner=ME)
        clock.pass_by(seconds=59)
        await stores.search(store.id, ["tide"], owner=ME)
        assert (await stores.get(store.id, owner=ME)).last_active_at == store.created_at
        clock.pass_by(seconds=1)
        await stores.search(store.id, ["tide"], owner=ME)
        assert (await stores.get(store.id, owner=ME)).last_active_at == clock.now

    home.run(work)
