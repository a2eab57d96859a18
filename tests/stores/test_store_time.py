"""What has its time goes when that is over, and nothing else does."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from homes import Home
from server.houses import house
from shops import ME, OTHER, ROME, TIDES, Clock, bring, fill, room
from unchunk.domain import Document
from unchunk.engine import Engine
from unchunk.errors import IndexUnavailableError, NotFoundError
from unchunk.library.purging import Receipt
from unchunk.ports import FileNotes
from unchunk.server.sweeping import keep_sweeping
from unchunk.stores import VectorStores
from unchunk.stores.parts import Library


async def brief(engine: Engine, home: Home, name: str, owner: str = ME) -> str:
    """A file that lives for an hour."""
    file = await engine.stores.add_file(
        home.file(name, TIDES), name, expires_after=timedelta(hours=1), owner=owner
    )
    await engine.retry(file.document.id, owner=owner)
    return file.document.id


def test_files_whose_time_is_over_are_deleted_everywhere_whosever_they_are(home: Home) -> None:
    async def work(engine: Engine) -> None:
        clock = Clock()
        kept = await bring(engine, home, "kept.txt", TIDES * 2)
        short = await brief(engine, home, "short.txt")
        theirs = await brief(engine, home, "theirs.txt", OTHER)
        store = await fill(engine, kept, short)
        dropped: list[str] = []

        @contextmanager
        def forgetting(document: str) -> Iterator[None]:
            yield
            dropped.append(document)

        assert await engine.stores.sweep(clock.now, forgetting) == 0
        clock.pass_by(hours=2)
        assert await engine.stores.sweep(clock.now, forgetting) == 2
        assert sorted(dropped) == sorted([short, theirs])
        assert [it.id for it in await engine.documents()] == [kept]
        assert await engine.documents(owner=OTHER) == []
        assert (await engine.stores.counts([store], owner=ME))[store].total == 1
        assert (await engine.doctor()).healthy
        assert await engine.stores.sweep(clock.now) == 0

    home.run(work)


def test_a_file_that_a_person_replaces_does_not_go_when_its_time_is_over(home: Home) -> None:
    async def work(engine: Engine) -> None:
        clock = Clock()
        replaced, same, late = [
            await brief(engine, home, name) for name in ("a.txt", "b.txt", "c.txt")
        ]
        await engine.add(home.file("a.txt", ROME))
        await engine.add(home.file("b.txt", TIDES))
        clock.pass_by(hours=2)

        class Replacing(Stubborn):
            """Somebody replaces a file while another is deleted."""

            async def delete(self, reference: str, *, owner: str | None = None) -> Receipt:
                await engine.add(home.file("c.txt", ROME))
                return await engine.delete(reference, owner=owner)

        library = cast("Library", Replacing(engine, "", ""))
        stores = VectorStores(library, engine.stores._catalog, engine.stores._parts)
        assert await stores.sweep(clock.now) == 1
        assert {it.id for it in await engine.documents()} == {replaced, late}
        assert same not in {it.id for it in await engine.documents()}
        assert await engine.text(late) == ROME

    home.run(work)


class Stubborn:
    """A library in which one document cannot be deleted, and another is gone already."""

    def __init__(self, engine: Engine, stuck: str, gone: str) -> None:
        self._engine, self._stuck, self._gone = engine, stuck, gone

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    async def delete(self, reference: str, *, owner: str | None = None) -> Receipt:
        if reference == self._stuck:
            raise IndexUnavailableError("the index is away")
        receipt = await self._engine.delete(reference, owner=owner)
        if reference == self._gone:
            raise NotFoundError("somebody was quicker")
        return replace(receipt, vectors=1, problem="a point is left")


def test_one_file_that_cannot_go_does_not_keep_the_others(home: Home) -> None:
    async def work(engine: Engine) -> None:
        stuck, gone, rest = [
            await brief(engine, home, name) for name in ("a.txt", "b.txt", "c.txt")
        ]
        library = cast("Library", Stubborn(engine, stuck, gone))
        stores = VectorStores(library, engine.stores._catalog, engine.stores._parts)
        clock = Clock()
        clock.pass_by(hours=2)
        assert await stores.sweep(clock.now) == 1
        assert [it.id for it in await engine.documents()] == [stuck]
        assert await engine.stores.sweep(clock.now) == 1
        assert rest not in {it.id for it in await engine.documents()}

    home.run(work)


def test_an_answer_is_kept_for_thirty_days(home: Home) -> None:
    async def work(engine: Engine) -> None:
        clock = Clock()
        stores = room(engine, clock)
        kept = await stores.keep_response("resp_1", {"output": ["é"]}, owner=ME)
        assert await stores.response("resp_1", owner=ME) == kept
        for ask in (stores.response, stores.delete_response):
            with pytest.raises(NotFoundError):
                await ask("resp_1", owner=OTHER)
        await stores.keep_response("resp_2", {}, owner=ME)
        await stores.delete_response("resp_2", owner=ME)
        with pytest.raises(NotFoundError):
            await stores.response("resp_2", owner=ME)
        await stores.sweep(clock.now + timedelta(days=29))
        assert await stores.response("resp_1", owner=ME) == kept
        await stores.sweep(clock.now + timedelta(days=31))
        with pytest.raises(NotFoundError):
            await stores.response("resp_1", owner=ME)

    home.run(work)


class Failing:
    """Notes that fail at first, in a way that nobody foresaw, and then as foreseen."""

    def __init__(self, notes: FileNotes) -> None:
        self._notes = notes
        self.errors: list[Exception] = [IndexUnavailableError("away"), ZeroDivisionError()]

    def __getattr__(self, name: str) -> object:
        return getattr(self._notes, name)

    async def expired(self, now: datetime) -> list[Document]:
        if self.errors:
            raise self.errors.pop()
        return await self._notes.expired(now)


def test_a_server_sweeps_again_and_again_whatever_happens(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text(TIDES)
    with house(tmp_path) as place:
        assert any("keep_sweeping" in task for task in place.served.tasks())
        inside = place.served.app.state.house
        engine: Engine = inside.engine
        parts = engine.stores._parts
        failing = Failing(parts.notes)

        async def work() -> None:
            document, note = await engine.stores.add_file(path, "short.txt", owner=ME)
            await parts.notes.note(ME, replace(note, expires_at=document.created_at))
            engine.stores._parts = replace(parts, notes=cast("FileNotes", failing))
            sweeping = asyncio.create_task(keep_sweeping(inside, every=0.01))
            async with asyncio.timeout(20):
                while await engine.documents():  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
            sweeping.cancel()
            await asyncio.wait([sweeping])

        place.served.inside(work)
        assert not failing.errors
