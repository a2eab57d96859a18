"""Opening and closing a database: new, old, foreign, and in use."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine

from unchunk.adapters.catalog import upgrade
from unchunk.adapters.catalog.catalog import SqlCatalog
from unchunk.adapters.catalog.database import open_database
from unchunk.adapters.catalog.file import READERS, Ask
from unchunk.adapters.catalog.partial import metadata
from unchunk.adapters.catalog.terms import HEAD, REVISIONS
from unchunk.domain import Whole
from unchunk.errors import (
    IntegrityError,
    InvalidSettingError,
    LibraryInUseError,
    MigrationNeededError,
    MissingPartError,
    OutputError,
)
from unchunk.testing.catalogs import added, drafted, live_of, whole_of


async def opened(where: Path, patience: float = 10.0) -> SqlCatalog:
    return SqlCatalog(await open_database(where, patience=patience))


async def touch(where: Path) -> None:
    await (await opened(where)).close()


def test_the_migrations_build_the_tables_of_the_schema(tmp_path: Path) -> None:
    asyncio.run(touch(tmp_path / "c.db"))
    engine = create_engine(f"sqlite:///{tmp_path / 'c.db'}")
    with engine.connect() as connection:
        options = {"version_table": REVISIONS, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_all_that_one_reads_of_a_file_is_of_one_moment(tmp_path: Path) -> None:
    where = tmp_path / "c.db"
    asked = "SELECT value FROM notes WHERE key = 'a'"

    def read(connection: Connection) -> list[object]:
        found = [connection.exec_driver_sql(asked).scalar()]
        with closing(sqlite3.connect(where)) as other, other:
            other.execute("INSERT INTO notes (key, value) VALUES ('a', 'late')")
        return [*found, connection.exec_driver_sql(asked).scalar()]

    async def scene() -> None:
        database = await open_database(where)
        assert await database.read(read) == [None, None]
        assert await database.read(lambda it: it.exec_driver_sql(asked).scalar()) == "late"
        await database.close()

    asyncio.run(scene())


def test_all_that_one_asks_of_a_file_is_of_one_moment(tmp_path: Path) -> None:
    where = tmp_path / "c.db"
    asked = "SELECT value FROM notes WHERE key = 'a'"

    def look(ask: Ask) -> list[object]:
        found = [ask(asked, ())]
        with closing(sqlite3.connect(where)) as other, other:
            other.execute("INSERT INTO notes (key, value) VALUES ('a', 'late')")
        return [*found, ask(asked, ())]

    async def scene() -> None:
        database = await open_database(where)
        assert await database.ask(look) == [[], []]
        assert await database.ask(lambda ask: ask(asked, ())) == [("late",)]
        await database.close()

    asyncio.run(scene())


def test_whoever_asks_for_nonsense_is_in_nobodys_way(tmp_path: Path) -> None:
    async def scene() -> None:
        database = await open_database(tmp_path / "c.db")
        for _ in range(9):
            with pytest.raises(sqlite3.OperationalError, match="no such table"):
                await database.ask(lambda ask: ask("SELECT 1 FROM nowhere", ()))
        await SqlCatalog(database).note("a", "b")
        assert await SqlCatalog(database).notes() == {"a": "b"}
        await database.close()

    asyncio.run(scene())
    assert [path.name for path in tmp_path.iterdir()] == ["c.db"]


@pytest.mark.parametrize("trouble", [sqlite3.OperationalError, sqlite3.DatabaseError])
def test_whoever_cannot_look_at_once_asks_as_usual(
    trouble: type[sqlite3.Error], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(_: object) -> None:
        raise trouble

    async def scene() -> None:
        database = await open_database(tmp_path / "c.db")
        catalog = SqlCatalog(database)
        await added(catalog, "a.txt", "text")
        at_once = await catalog.revision()
        monkeypatch.setattr(database._at_once, "ask", busy)
        assert await catalog.revision() == at_once > 0
        await database.close()
        with pytest.raises(RuntimeError, match="after shutdown"):
            await catalog.revision()

    asyncio.run(scene())
    assert [path.name for path in tmp_path.iterdir()] == ["c.db"]


def test_many_ask_at_once_over_few_connections(tmp_path: Path) -> None:
    async def scene() -> None:
        database = await open_database(tmp_path / "c.db")
        catalog = SqlCatalog(database)
        document = await added(catalog, "a.txt", "text")
        found = await asyncio.gather(*(catalog.open("me", {document.id: []}) for _ in range(99)))
        assert {one[document.id].document for one in found} == {document}
        assert database._file is not None
        assert 1 <= len(database._file._idle) <= READERS
        await database.close()

    asyncio.run(scene())


def test_the_newest_migration_is_the_one_that_opening_looks_for() -> None:
    assert upgrade.newest_revision() == HEAD


def test_sqlalchemy_is_not_loaded_for_a_database_that_is_up_to_date(tmp_path: Path) -> None:
    asyncio.run(touch(tmp_path / "c.db"))
    script = (
        "import asyncio, pathlib, sys\n"
        "from unchunk.adapters.catalog.database import open_database\n"
        "asyncio.run(open_database(pathlib.Path(sys.argv[1])))\n"
        "print({'alembic', 'sqlalchemy'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "c.db")]
    assert subprocess.check_output(command, text=True).strip() == "set()"


def test_a_database_stays_where_it_is_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        monkeypatch.chdir(tmp_path)
        catalog = await opened(Path("c.db"))
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        document = await added(catalog, "a.txt", "text")
        assert await catalog.revision() > 0
        assert list(await catalog.live([document.id])) == [document.id]
        await catalog.close()

    asyncio.run(scene())
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_a_folder_with_a_percent_sign_in_its_name_is_as_good_as_any(tmp_path: Path) -> None:
    asyncio.run(touch(tmp_path / "100%(home)s" / "c%20.db"))
    assert (tmp_path / "100%(home)s" / "c%20.db").is_file()


def test_a_new_database_is_its_users_alone_with_all_that_lies_beside_it(tmp_path: Path) -> None:
    async def scene() -> None:
        catalog = await opened(tmp_path / "c.db")
        await added(catalog, "a.txt", "text")
        assert modes() == dict.fromkeys(("c.db", "c.db-wal", "c.db-shm"), 0o600)
        await catalog.close()

    def modes() -> dict[str, int]:
        return {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}

    before = os.umask(0)
    try:
        asyncio.run(scene())
        # What somebody chose for one that is there stays.
        (tmp_path / "c.db").chmod(0o640)
        asyncio.run(touch(tmp_path / "c.db"))
        assert modes() == {"c.db": 0o640}
    finally:
        os.umask(before)


def test_many_may_open_a_new_database_at_once(tmp_path: Path) -> None:
    async def scene(where: Path) -> None:
        catalogs = await asyncio.gather(*(opened(where) for _ in range(12)))
        for number, catalog in enumerate(catalogs):
            await added(catalog, f"{number}.txt", "text")
        assert len(await catalogs[0].find()) == 12
        await asyncio.gather(*(catalog.close() for catalog in catalogs))

    for number in range(10):
        asyncio.run(scene(tmp_path / f"{number}.db"))


def test_a_database_that_stays_busy_is_not_waited_for_without_end(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "c.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LibraryInUseError, match="another process is writing"):
            asyncio.run(opened(tmp_path / "c.db", patience=0.05))


def test_a_database_whose_making_failed_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = upgrade.upgrade

    def half(connection: object) -> None:
        made(connection)  # type: ignore[arg-type] # only handed on
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "upgrade", half)
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(touch(tmp_path / "c.db"))
    with sqlite3.connect(tmp_path / "c.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    connection.close()
    asyncio.run(touch(tmp_path / "c.db"))


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    asyncio.run(touch(tmp_path / "c.db"))
    with sqlite3.connect(tmp_path / "c.db") as connection:
        connection.execute("UPDATE catalog_revision SET version_num = '9999'")
    connection.close()
    with pytest.raises(MigrationNeededError, match=r"newer version of unchunk .*'9999'"):
        asyncio.run(touch(tmp_path / "c.db"))


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "c.db") as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with pytest.raises(IntegrityError, match=r"c\.db is a database of something else.*'recipes'"):
        asyncio.run(touch(tmp_path / "c.db"))
    with sqlite3.connect(tmp_path / "c.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]
    connection.close()


@pytest.mark.parametrize("content", [b"not a database at all " * 500, b"SQLite format 3\0" * 300])
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "c.db").write_bytes(content)
    with pytest.raises(IntegrityError, match=r"c\.db is damaged or is not a catalog"):
        asyncio.run(touch(tmp_path / "c.db"))
    assert (tmp_path / "c.db").read_bytes() == content


def test_damage_inside_the_file_is_named(tmp_path: Path) -> None:
    where = tmp_path / "c.db"

    async def fill() -> None:
        catalog = await opened(where)
        for number in range(40):
            await added(catalog, f"{number}.txt", "some text, " * 2000)
        await catalog.close()

    async def read() -> None:
        catalog = await opened(where)
        try:
            for document in await catalog.find():
                await catalog.text(live_of(document))
        finally:
            await catalog.close()

    asyncio.run(fill())
    content = bytearray(where.read_bytes())
    content[4096 * 8 :] = b"\x5a" * (len(content) - 4096 * 8)
    where.write_bytes(content)
    with pytest.raises(IntegrityError, match="is damaged"):
        asyncio.run(read())


def test_bytes_that_the_disk_has_changed_are_noticed(tmp_path: Path) -> None:
    async def scene() -> None:
        catalog = await opened(tmp_path / "c.db")
        version = live_of(await added(catalog, "a.txt", "some text"))
        with sqlite3.connect(tmp_path / "c.db") as connection:
            connection.execute("UPDATE texts SET content = ?", (b"some \xff",))
            connection.execute("UPDATE layouts SET chunks = ?, outline = ?", (b"{", b"{}\n123"))
        connection.close()
        for ask in (catalog.text, catalog.chunks, catalog.outline):
            with pytest.raises(IntegrityError, match="is damaged; add it again"):
                await ask(version)
        with sqlite3.connect(tmp_path / "c.db") as connection:
            connection.execute("UPDATE texts SET content = ?", (b"some",))
        connection.close()
        with pytest.raises(IntegrityError, match="is damaged; add it again"):
            await catalog.text(version)
        await catalog.close()

    asyncio.run(scene())


@pytest.mark.parametrize("address", ["secret", "secret:no", "nothing://me:secret@host/name"])
def test_an_address_without_sense_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InvalidSettingError, match="write it as postgresql") as refused:
        asyncio.run(open_database(address))
    assert "secret" not in str(refused.value)


def test_a_driver_that_is_not_installed_is_named() -> None:
    with pytest.raises(MissingPartError, match="needs pg8000, which is not installed"):
        asyncio.run(open_database("postgresql+pg8000://me:secret@host/name"))


def test_a_place_where_no_file_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for where in (tmp_path / "file" / "c.db", tmp_path / "folder"):
        with pytest.raises(OutputError, match=str(where)):
            asyncio.run(touch(where))


def test_another_process_that_writes_is_waited_for_but_not_forever(tmp_path: Path) -> None:
    async def scene() -> None:
        catalog = await opened(tmp_path / "c.db", patience=0.2)
        document = await added(catalog, "a.txt", "text")
        other = sqlite3.connect(tmp_path / "c.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LibraryInUseError, match="another process is writing"):
            await drafted(catalog, "b.txt", "text")
        assert await catalog.text(live_of(document)) == "text", "reading goes on"
        other.execute("COMMIT")
        other.close()
        await drafted(catalog, "b.txt", "text")
        await catalog.close()

    asyncio.run(scene())


def test_another_process_sees_what_was_written_at_once(tmp_path: Path) -> None:
    async def scene() -> None:
        writer, reader = await opened(tmp_path / "c.db"), await opened(tmp_path / "c.db")
        for text in ("first", "second"):
            document = await added(writer, "a.txt", text)
            assert await reader.get("me", document.id) == document
            assert await reader.text(live_of(document)) == text
        await writer.close()
        assert [it.id for it in await reader.find()] == [document.id]
        await reader.close()

    asyncio.run(scene())


def test_a_text_as_long_as_a_library_is_kept_whole(tmp_path: Path) -> None:
    async def scene() -> None:
        catalog = await opened(tmp_path / "c.db")
        text = "".join(f"{number:07}\n" for number in range(2**21 + 5))
        draft = await drafted(catalog, "a.txt", "its bytes")
        version = replace(draft, text_length=len(text))
        await catalog.go_live([Whole(version, text, ())])
        assert await catalog.text(version) == text
        assert await catalog.text(version, 2**24 - 3, 2**24 + 3) == text[2**24 - 3 : 2**24 + 3]
        await catalog.close()

    asyncio.run(scene())


def pragmas(connection: Connection) -> dict[str, object]:
    names = ("journal_mode", "synchronous", "foreign_keys")
    return {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names}


def test_a_commit_is_on_the_disk_before_it_returns(tmp_path: Path) -> None:
    async def scene() -> None:
        database = await open_database(tmp_path / "c.db")
        for ask in (database.read, database.write):
            found = await ask(pragmas)
            assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
        await database.close()

    asyncio.run(scene())


def test_closing_leaves_one_file_and_twice_is_as_once(tmp_path: Path) -> None:
    async def scene() -> None:
        catalog = await opened(tmp_path / "c.db")
        await added(catalog, "a.txt", "text")
        assert (tmp_path / "c.db-wal").stat().st_size > 0
        await catalog.close()
        await catalog.close()

    asyncio.run(scene())
    assert [path.name for path in tmp_path.iterdir()] == ["c.db"]


def test_what_was_forgotten_is_no_longer_in_the_file(tmp_path: Path) -> None:
    async def scene() -> None:
        catalog = await opened(tmp_path / "c.db")
        await added(catalog, "other.txt", "nothing to hide")
        document = await added(catalog, "a.txt", "the secret of the sea, " * 3000)
        await catalog.forget(await catalog.bury("me", document.id))
        await catalog.close()

    asyncio.run(scene())
    content = (tmp_path / "c.db").read_bytes()
    assert b"nothing to hide" in content
    assert b"the secret of the sea" not in content


def test_a_caller_that_goes_away_leaves_all_or_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        catalog = await opened(tmp_path / "c.db")
        drafts = [await drafted(catalog, f"{n}.txt", "text") for n in range(20)]
        wholes = [whole_of(draft, f"{n} " * 20_000) for n, draft in enumerate(drafts)]
        other = sqlite3.connect(tmp_path / "c.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")  # it cannot be done before the caller has gone away
        task = asyncio.create_task(catalog.go_live(wholes))
        await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        other.execute("COMMIT")
        other.close()
        await catalog.close()
        catalog = await opened(tmp_path / "c.db")
        assert len(await catalog.live([draft.document for draft in drafts])) in (0, 20)
        await catalog.close()

    asyncio.run(scene())
