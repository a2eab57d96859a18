"""No room and no right: a clear word, and nothing lost."""

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from unchunk.adapters.catalog.catalog import SqlCatalog
from unchunk.adapters.catalog.database import Database, open_database
from unchunk.adapters.catalog.faults import in_our_words
from unchunk.errors import InvalidTextError, NotFoundError, OutputError, TransientError
from unchunk.testing.catalogs import added, drafted, live_of, whole_of

LONG = "a long text, " * 4000
NOBODY = 65534


async def limit_pages(database: Database, pages: int) -> None:
    """Let the one connection that writes have no more room than this."""
    await database.write(lambda it: it.exec_driver_sql(f"PRAGMA max_page_count = {pages}"))


def test_a_full_disk_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    async def scene() -> None:
        database = await open_database(tmp_path / "c.db")
        catalog = SqlCatalog(database)
        before = await added(catalog, "a.txt", LONG)
        drafts = [await drafted(catalog, f"{n}.txt", "text") for n in range(20)]
        wholes = [whole_of(draft, LONG) for draft in drafts]
        await limit_pages(database, 60)
        with pytest.raises(OutputError, match=r"c\.db: the disk is full; make room"):
            await catalog.go_live(wholes)
        assert await catalog.live([draft.document for draft in drafts]) == {}
        assert await catalog.text(live_of(before)) == LONG
        await limit_pages(database, 100_000)
        assert len(await catalog.go_live(wholes)) == 20
        await catalog.close()

    asyncio.run(scene())


def test_a_file_that_may_not_grow_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    asyncio.run(_write_until_it_fails(tmp_path / "c.db", 1))
    lines = _child("limited", tmp_path / "c.db")
    done, failure = int(lines[0]), lines[1]
    assert done > 1
    assert failure.startswith("OutputError: cannot write")
    assert asyncio.run(_count_readable(tmp_path / "c.db")) == 1 + done


def test_a_folder_that_may_not_be_written_to_is_named() -> None:
    # Not in pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as name:
        where = Path(name) / "c.db"
        asyncio.run(_write_until_it_fails(where, 1))
        where.chmod(0o444)
        Path(name).chmod(0o555)
        try:
            for path in (where, Path(name) / "new.db"):
                failure = _child("reading", path)[-1]
                assert failure.startswith("OutputError: cannot write")
                assert "see that its folder exists, that you may write to it" in failure
        finally:
            Path(name).chmod(0o755)


def test_a_database_that_does_not_answer_may_later() -> None:
    pytest.importorskip("psycopg", reason="needs the driver of PostgreSQL")
    where = "postgresql+psycopg://me:secret@127.0.0.1:1/library"
    with pytest.raises(TransientError, match="does not answer") as refused:
        asyncio.run(open_database(where, patience=0.1))
    assert "secret" not in str(refused.value)


def test_text_that_no_column_can_hold_is_refused_wherever_it_is_asked_for(tmp_path: Path) -> None:
    async def scene() -> None:
        catalog = SqlCatalog(await open_database(tmp_path / "c.db"))
        with pytest.raises(InvalidTextError):
            await catalog.get("\ud800", "x")
        with pytest.raises(NotFoundError):
            await catalog.get("a\0b", "x")
        await catalog.close()

    asyncio.run(scene())


def test_postgres_refuses_text_that_it_cannot_hold(postgres: str) -> None:
    async def scene() -> None:
        catalog = SqlCatalog(await open_database(postgres))
        for owner in ("a\0b", "\ud800"):
            with pytest.raises(InvalidTextError):
                await catalog.get(owner, "x")
        await catalog.close()

    asyncio.run(scene())


def test_a_postgres_that_only_reads_may_write_again_later(postgres: str) -> None:
    def write(connection: Connection) -> None:
        # As a server answers that another one took over from.
        connection.execute(text("SET TRANSACTION READ ONLY"))
        connection.execute(text("INSERT INTO notes (key, value) VALUES ('a', '')"))

    async def scene() -> None:
        database = await open_database(postgres)
        with pytest.raises(TransientError, match="cannot be written to now"):
            await database.write(write)
        await database.close()

    asyncio.run(scene())


def test_a_mistake_of_ours_is_not_taken_for_a_fault_of_the_disk(tmp_path: Path) -> None:
    async def scene() -> None:
        database = await open_database(tmp_path / "c.db")
        with pytest.raises(Exception, match="no such table: nonsense") as raised:
            await database.read(
                lambda connection: connection.execute(text("SELECT * FROM nonsense"))
            )
        assert not isinstance(raised.value, OutputError)
        await database.close()

    asyncio.run(scene())
    with pytest.raises(sqlite3.ProgrammingError), in_our_words("here"):
        raise sqlite3.ProgrammingError


# What the children do.


def _child(what: str, where: Path) -> list[str]:
    command = [sys.executable, __file__, what, str(where)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


async def _write_until_it_fails(where: Path, most: int) -> str:
    """How many were written, and what then went wrong."""
    catalog = SqlCatalog(await open_database(where))
    done = 0
    try:
        while done < most:
            await added(catalog, f"{os.getpid()} {done}.txt", LONG)
            done += 1
    except OutputError as error:
        return f"{done}\nOutputError: {error}"
    finally:
        await catalog.close()
    return f"{done}"


async def _count_readable(where: Path) -> int:
    catalog = SqlCatalog(await open_database(where))
    documents = await catalog.find()
    whole = [await catalog.text(it.live) == LONG for it in documents if it.live is not None]
    assert all(whole)
    await catalog.close()
    return len(whole)


def _main(what: str, where: Path) -> str:
    if what == "limited":
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
        return asyncio.run(_write_until_it_fails(where, 1000))
    # Loaded while we still may: nobody need not be allowed to read the interpreter's files.
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(_write_until_it_fails(Path(name) / "c.db", 1))
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    try:
        return asyncio.run(_write_until_it_fails(where, 1))
    except OutputError as error:
        return f"OutputError: {error}"


if __name__ == "__main__":
    sys.stdout.write(_main(sys.argv[1], Path(sys.argv[2])))
