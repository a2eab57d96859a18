"""Databases that an earlier version made come up to date, and nothing in them is lost."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import MetaData, create_engine, inspect, text

from unchunk.adapters.catalog import (
    SqlCatalog,
    SqlConversations,
    SqlFileNotes,
    SqlKeptResponses,
    SqlMembers,
    SqlPrompts,
    SqlStores,
    SqlVectorCache,
    open_database,
    upgrade,
)
from unchunk.adapters.catalog.terms import HEAD, REVISIONS
from unchunk.ports import Batch, FileNote, KeptResponse, StoreFile, VectorStore
from unchunk.testing.catalogs import added, drafted, live_of
from unchunk.testing.shelves import NOON
from unchunk.testing.vectorcaches import vectors_of

FIRST = ("documents", "versions", "layouts", "texts", "remains", "vectors", "notes")


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    if request.param == "sqlite":
        return tmp_path / "old.db"
    url: str = request.getfixturevalue("bare_postgres")
    return url


def url_of(where: Path | str) -> str:
    return f"sqlite:///{where}" if isinstance(where, Path) else where


async def fill(where: Path) -> None:
    """Something in every table that the first version had."""
    database = await open_database(where)
    catalog, cache = SqlCatalog(database), SqlVectorCache(database)
    await added(catalog, "a.txt", "some text, " * 5000)
    await added(catalog, "ß 日本.md", "text", "you", "in")
    await added(catalog, "b.txt", "old")
    replaced = await added(catalog, "b.txt", "new")
    failing = await drafted(catalog, "c.txt", "text")
    await catalog.fail(failing.document, failing.generation, "damaged", "a\0b")
    gone = await added(catalog, "d.txt", "text")
    await catalog.bury("me", gone.id)
    await cache.keep("me", "e", replaced.id, vectors_of("one", "two"))
    await catalog.note("key", "value")
    await catalog.close()


def age(new: Path, old: Path | str) -> None:
    """What is in `new`, as the first version kept it: only its migration is run."""
    source, target = create_engine(url_of(new)), create_engine(url_of(old))
    with source.connect() as reading, target.begin() as writing:
        config = upgrade._config()
        config.attributes["connection"] = writing
        command.upgrade(config, "0001")
        tables = MetaData()
        tables.reflect(writing)
        assert set(tables.tables) == {*FIRST, REVISIONS}
        for name in FIRST:
            table = tables.tables[name]
            columns = ", ".join(table.columns.keys())
            rows = reading.execute(text(f"SELECT {columns} FROM {name}")).mappings().all()  # noqa: S608 - names of ours
            assert rows, name
            writing.execute(table.insert(), [_typed(dict(row)) for row in rows])
    source.dispose()
    target.dispose()


def _typed(row: dict[str, Any]) -> dict[str, Any]:
    """Plain SQL has 0 and 1 for false and true."""
    return row | ({"gone": bool(row["gone"])} if "gone" in row else {})


async def everything(where: Path | str) -> list[object]:
    database = await open_database(where)
    catalog = SqlCatalog(database)
    found = await catalog.find()
    live = [live_of(one) for one in found if one.live is not None]
    all_of_it: list[object] = [
        found,
        [await catalog.text(one) for one in live],
        [await catalog.chunks(one) for one in live],
        [await catalog.outline(one) for one in live],
        await catalog.remains(),
        await catalog.notes(),
        await catalog.revision(),
        {
            digest: vector.tolist()
            for digest, vector in (
                await SqlVectorCache(database).recall("me", "e", list(vectors_of("one", "two")))
            ).items()
        },
    ]
    await catalog.close()
    return all_of_it


def test_a_library_of_the_first_version_comes_up_to_date_without_loss(
    tmp_path: Path, old: Path | str
) -> None:
    new = tmp_path / "new.db"
    asyncio.run(fill(new))
    age(new, old)
    expected = asyncio.run(everything(new))
    assert asyncio.run(everything(old)) == expected
    assert asyncio.run(everything(old)) == expected, "and again"

    async def use_what_is_new() -> None:
        database = await open_database(old)
        catalog, talks = SqlCatalog(database), SqlConversations(database)
        [document] = await catalog.find("me", name="a.txt")
        assert document.attributes == {}
        assert document.live is not None
        assert document.live in await catalog.uncounted(10)
        await catalog.count_tokens(document.live, 7)
        assert document.live not in await catalog.uncounted(10)
        await catalog.describe("me", document.id, {"team": "red"})
        assert await catalog.matching("me", attributes=[("team", "red")]) == [document.id]
        talk = await talks.start("me")
        assert await talks.ask("me", talk.id, "Why?") == 0
        await SqlPrompts(database).set_prompt("me", "in", "Be brief.")
        await SqlStores(database).add(VectorStore("vs_a", "me", "", NOON, NOON))
        batch = Batch("vsfb_a", "vs_a", NOON)
        await SqlMembers(database).put("me", [StoreFile("vs_a", document.id, NOON)], batch)
        await SqlFileNotes(database).note("me", FileNote(document.id, "b.txt"))
        await SqlKeptResponses(database).keep(KeptResponse("resp_a", "me", NOON, {}))
        await catalog.forget(await catalog.bury("me", document.id))
        assert await catalog.matching("me", attributes=[("team", "red")]) == []
        assert await SqlMembers(database).searchable("me", ["vs_a"], NOON) == []
        await catalog.close()

    asyncio.run(use_what_is_new())
    engine = create_engine(url_of(old))
    with engine.connect() as connection:
        assert connection.scalar(text(f"SELECT version_num FROM {REVISIONS}")) == HEAD  # noqa: S608
    engine.dispose()


def test_a_note_that_nobody_reads_any_more_goes(tmp_path: Path, old: Path | str) -> None:
    new = tmp_path / "new.db"
    asyncio.run(fill(new))
    age(new, old)
    engine = create_engine(url_of(old))
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO notes (key, value) VALUES ('unfinished generations', 'yes')")
        )
    engine.dispose()
    assert asyncio.run(everything(old)) == asyncio.run(everything(new))


def test_an_upgrade_that_breaks_off_leaves_the_old_library(
    tmp_path: Path, old: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = tmp_path / "new.db"
    asyncio.run(fill(new))
    age(new, old)
    whole = upgrade.upgrade

    def half(connection: Any) -> None:  # noqa: ANN401 - only handed on
        whole(connection)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "upgrade", half)
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(open_database(old))
    engine = create_engine(url_of(old))
    with engine.connect() as connection:
        assert set(inspect(connection).get_table_names()) == {*FIRST, REVISIONS}
        assert connection.scalar(text(f"SELECT version_num FROM {REVISIONS}")) == "0001"  # noqa: S608
    engine.dispose()
    assert asyncio.run(everything(old)) == asyncio.run(everything(new))
