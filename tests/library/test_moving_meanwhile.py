"""What somebody does in the target before or while a library moves there is theirs."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text as sql

from moves import database_of, look, marks, moved, opened, text
from unchunk.adapters.catalog import SqlCatalog, SqlConversations, SqlKeys, SqlLeases, SqlRecords
from unchunk.adapters.index.edge import EdgeIndexes
from unchunk.adapters.lexicon.bm25 import Bm25Lexicon
from unchunk.errors import IndexUnavailableError, InvalidInputError, MigrationNeededError
from unchunk.library import moving
from unchunk.library.comparing import Task, tasks_of
from unchunk.library.desk import Desk
from unchunk.library.places import Way, prepare
from unchunk.library.recipes import Wanted
from unchunk.library.withdrawing import purge
from unchunk.ports.moving import Kind, Unit
from unchunk.settings import Settings
from unchunk.wiring.moving import _opened, target_of


@pytest.fixture
def home(laptop: Settings, tmp_path: Path) -> Settings:
    return target_of(laptop, str(tmp_path / "home"), {}, None)


async def add(place: Settings, name: str, paragraphs: int) -> None:
    file = place.home.parent / "files" / name
    file.write_text(text(name, paragraphs))
    async with opened(place) as engine:
        await engine.add(file, folder="sea")


async def id_of(place: Settings, name: str) -> str:
    async with database_of(place) as database:
        (found,) = await SqlCatalog(database).find(name=name)
        return found.id


def when_compared(
    patch: pytest.MonkeyPatch, kind: Kind, act: Callable[[], Awaitable[object]]
) -> None:
    """Something happens right after the two places were compared."""

    async def then(way: Way, of: Kind) -> dict[str, Task]:
        found = await tasks_of(way, of)
        if of == kind:
            await act()
        return found

    patch.setattr(moving, "tasks_of", then)


def test_what_is_written_over_there_meanwhile_is_not_written_over(
    laptop: Settings, home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved(laptop, home)
    asyncio.run(add(laptop, "whale.md", 9))
    asyncio.run(add(laptop, "harbour.md", 9))
    after: dict[str, bytes] = {}

    async def act() -> None:
        await add(home, "whale.md", 8)
        async with opened(home) as engine:
            await engine.delete("harbour.md")
        after.update((await marks(home))["document"])

    when_compared(monkeypatch, "document", act)
    done = moved(laptop, home)
    told = {it.name: it.why for it in done.differs if it.kind == "document"}
    assert set(told) == {"harbour.md", "whale.md"}
    assert all("changed over there while" in why for why in told.values())
    assert (done.documents, done.verified) == (5, 3)
    assert asyncio.run(marks(home))["document"] == after
    assert asyncio.run(look(home))[1] == []


@pytest.mark.parametrize("how", ["described", "deleted", "rewritten"])
def test_what_changes_over_there_while_it_is_carried_leaves_nothing_of_the_other(
    laptop: Settings, home: Settings, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    moved(laptop, home)
    asyncio.run(add(laptop, "whale.md", 9))
    whale = asyncio.run(id_of(home, "whale.md"))
    real, after, given = SqlRecords.write, dict[str, bytes](), list[int]()

    async def write(self: SqlRecords, unit: Unit, *others: Any) -> None:  # noqa: ANN401 - theirs
        if unit.kind == "document":
            async with database_of(home) as database:
                catalog = SqlCatalog(database)
                if how == "described":
                    await catalog.describe("local", whale, {"year": 1852})
                elif how == "deleted":
                    await catalog.bury("local", whale)
                else:
                    given.append(await catalog.next_generation(whale))
            after.update((await marks(home))["document"])
        await real(self, unit, *others)

    monkeypatch.setattr(SqlRecords, "write", write)
    done = moved(laptop, home)
    if how == "rewritten":
        # Its number is not the one that came: the writer is late, and refused.
        assert given == [3]
        assert done.is_whole
    else:
        assert [it.name for it in done.differs if it.kind == "document"] == ["whale.md"]
        assert asyncio.run(marks(home))["document"] == after
    assert asyncio.run(look(home))[1] == []


def test_a_move_that_was_cut_off_has_its_numbers_the_next_time(
    laptop: Settings, home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved(laptop, home)
    asyncio.run(add(laptop, "whale.md", 9))

    async def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SqlRecords, "write", cut)
        with pytest.raises(KeyboardInterrupt):
            moved(laptop, home)
    assert moved(laptop, home).is_whole
    assert asyncio.run(look(home)) == asyncio.run(look(laptop))


def test_what_was_deleted_here_stays_there_if_it_is_changed_meanwhile(
    laptop: Settings, home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved(laptop, home)

    async def delete() -> None:
        async with opened(laptop) as engine:
            await engine.delete("whale.md")

    asyncio.run(delete())
    with monkeypatch.context() as patch:
        when_compared(patch, "document", lambda: add(home, "whale.md", 8))
        done = moved(laptop, home)
    assert [it.name for it in done.differs if it.kind == "document"] == ["whale.md"]
    assert done.removed == 0
    again = moved(laptop, home)
    assert [it.name for it in again.left if it.kind == "document"] == ["whale.md"]
    assert (again.documents, again.verified, again.is_whole) == (4, 4, False)


def test_a_conversation_that_goes_on_over_there_meanwhile_is_kept(
    laptop: Settings, home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved(laptop, home)

    async def ask(place: Settings, question: str) -> None:
        async with database_of(place) as database:
            talks = SqlConversations(database)
            (talk,) = await talks.recent("local", limit=9)
            await talks.ask("local", talk.id, question)

    asyncio.run(ask(laptop, "What is new here?"))
    when_compared(monkeypatch, "conversation", lambda: ask(home, "What is new there?"))
    done = moved(laptop, home)
    assert [it.kind for it in done.differs] == ["conversation"]
    assert asyncio.run(marks(home))["conversation"] != asyncio.run(marks(laptop))["conversation"]


def test_an_index_that_cannot_be_used_does_not_bind_the_target_to_it(
    laptop: Settings, home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise IndexUnavailableError("the index cannot be used")

    with monkeypatch.context() as patch:
        patch.setattr(EdgeIndexes, "open", away)
        with pytest.raises(IndexUnavailableError):
            moved(laptop, home)

    async def notes() -> set[str]:
        async with database_of(home) as database:
            return set(await SqlCatalog(database).notes())

    assert asyncio.run(notes()) == {"library"}


def test_a_target_without_documents_takes_another_index(laptop: Settings, home: Settings) -> None:
    async def start(place: Settings) -> None:
        async with opened(place):
            pass

    asyncio.run(start(replace(home, index="qdrant:http://127.0.0.1:9", index_timeout=1)))
    assert moved(laptop, home).is_whole
    assert asyncio.run(look(home)) == asyncio.run(look(laptop))
    other = replace(home, index="qdrant:http://127.0.0.1:9")
    with pytest.raises(MigrationNeededError, match="has become a library of another kind"):
        moved(laptop, other)


def test_a_server_that_was_started_before_is_no_conflict(laptop: Settings, home: Settings) -> None:
    async def secret(place: Settings) -> bytes:
        async with database_of(place) as database:
            return await SqlKeys(database).secret()

    own = asyncio.run(secret(home))
    assert moved(laptop, home).is_whole
    brought = asyncio.run(secret(home))
    assert own != brought == asyncio.run(secret(laptop))

    async def make_own() -> None:
        async with database_of(home) as database:
            forget = sql("DELETE FROM moved WHERE kind = 'note'")
            await database.write(lambda it: it.execute(forget).rowcount)
            change = sql("UPDATE notes SET value = 'abcd' WHERE key = '#signing'")
            await database.write(lambda it: it.execute(change).rowcount)

    asyncio.run(make_own())
    assert moved(laptop, home).is_whole
    assert asyncio.run(secret(home)) == bytes.fromhex("abcd")


def test_a_copy_of_the_files_is_the_same_library(laptop: Settings, tmp_path: Path) -> None:
    shutil.copytree(laptop.home, tmp_path / "copy")
    with pytest.raises(InvalidInputError, match="the same library"):
        moved(laptop, target_of(laptop, str(tmp_path / "copy"), {}, None))


def test_remains_of_what_somebody_holds_over_there_stay(laptop: Settings, home: Settings) -> None:
    moved(laptop, home)
    wanted = Wanted(home.embedder, home.chunking, home.index, home.language)

    async def scene() -> None:
        whale, harbour = await id_of(home, "whale.md"), await id_of(home, "harbour.md")
        pending = await id_of(home, "pending.md")
        async with (
            _opened(laptop) as here,
            _opened(home) as there,
            database_of(home) as database,
        ):
            target = replace(there, desk=Desk(SqlLeases(database, 60)))
            way = await prepare(here, target, wanted, Bm25Lexicon)
            for document in (whale, harbour, pending):
                await there.catalog.next_generation(document)
            await SqlLeases(database, 60).take([whale])
            await purge(way, {whale, harbour})
            left = {one.document for one in await there.catalog.remains()}
            assert left == {whale, pending}
            await target.close()

    asyncio.run(scene())
