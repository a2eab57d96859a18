"""Vector stores where only a real database shows what becomes of them."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from unchunk.adapters.catalog import (
    Database,
    SqlBatches,
    SqlCatalog,
    SqlFileNotes,
    SqlKeptResponses,
    SqlMembers,
    SqlStores,
    open_database,
)
from unchunk.adapters.catalog.schema import metadata
from unchunk.errors import IntegrityError
from unchunk.ports import Batch, FileNote, KeptResponse, Page, StoreFile, VectorStore
from unchunk.testing.shelves import NOON, Shelves, a_store, live

HIDDEN = "the secret of the sea, "


def shelves(database: Database) -> Shelves:
    return Shelves(
        SqlCatalog(database),
        SqlStores(database),
        SqlMembers(database),
        SqlBatches(database),
        SqlFileNotes(database),
        SqlKeptResponses(database),
    )


def play(where: Path, scene: Callable[[Shelves, Database], Awaitable[None]]) -> None:
    async def opened() -> None:
        database = await open_database(where)
        try:
            await scene(shelves(database), database)
        finally:
            await database.close()

    asyncio.run(opened())


def change(where: Path, statement: str, value: object) -> None:
    with closing(sqlite3.connect(where)) as connection, connection:
        assert connection.execute(statement, [value]).rowcount > 0


def test_what_was_deleted_or_replaced_is_no_longer_in_the_file(tmp_path: Path) -> None:
    async def scene(kept: Shelves, _: Database) -> None:
        long = HIDDEN * 500
        [one, other] = await live(kept, 2)
        said = {"a": long}
        for name in ("vs_a", "vs_b"):
            await kept.stores.add(VectorStore(name, "me", long, NOON, NOON, long, said))
            await kept.members.put("me", [StoreFile(name, one, NOON, attributes={"a": long})])
        await kept.stores.save(VectorStore("vs_a", "me", "nothing to hide", NOON, NOON))
        await kept.members.put("me", [StoreFile("vs_a", one, NOON, attributes={"a": "all known"})])
        await kept.stores.delete("me", "vs_b")
        for document in (one, other):
            await kept.notes.note("me", FileNote(document, long, long))
        await kept.notes.note("me", FileNote(one, "nothing to see"))
        await kept.catalog.bury("me", other)
        for name in ("resp_a", "resp_b"):
            await kept.responses.keep(KeptResponse(name, "me", NOON, {"text": long}))
        await kept.responses.keep(KeptResponse("resp_a", "me", NOON, {"text": "nothing to say"}))
        await kept.responses.delete("me", "resp_b")

    play(tmp_path / "c.db", scene)
    assert [path.name for path in tmp_path.iterdir()] == ["c.db"]
    content = (tmp_path / "c.db").read_bytes()
    for plain in (b"nothing to hide", b"all known", b"nothing to see", b"nothing to say"):
        assert plain in content
    assert b"secret of the sea" not in content


@asynccontextmanager
async def watched(where: Path, database: Database) -> AsyncIterator[list[str]]:
    """How SQLite goes about each statement meanwhile."""
    plans: list[str] = []
    with closing(sqlite3.connect(where, check_same_thread=False)) as explaining:

        def explain(*given: Any) -> None:  # noqa: ANN401 - an event of SQLAlchemy
            _, _, statement, parameters, *_ = given
            steps = explaining.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
            plans.append("; ".join(step[-1] for step in steps))

        event.listen(database.engine, "before_cursor_execute", explain)
        yield plans
        event.remove(database.engine, "before_cursor_execute", explain)


def test_pages_and_counts_are_answered_from_indexes_with_few_statements(tmp_path: Path) -> None:
    where = tmp_path / "c.db"

    async def scene(kept: Shelves, database: Database) -> None:
        ids = await live(kept, 30)
        await a_store(kept)
        files = [StoreFile("vs_a", one, NOON) for one in ids]
        await kept.members.put("me", files, Batch("vsfb_a", "vs_a", NOON))
        await kept.notes.note("me", FileNote(ids[0], "a", expires_at=NOON))
        middle = Page(20, after=ids[15])
        by_store = (
            "ix_store_files_store_created_at_document (store=? AND (created_at,document)<(?,?))"
        )
        by_batch = "(store=? AND batch=?"
        uses: list[tuple[int, str, Callable[[], Coroutine[None, None, object]]]] = [
            (2, "ix_vector_stores_owner_created_at_id (owner=?", _stores(kept, "vs_a")),
            (3, by_store, lambda: kept.members.page("me", "vs_a", middle, NOON)),
            (3, by_store, lambda: kept.members.page("me", "vs_a", middle, NOON, status="failed")),
            (4, by_batch, lambda: kept.members.page("me", "vs_a", middle, NOON, batch="vsfb_a")),
            (3, by_batch, lambda: kept.batches.get("me", "vs_a", "vsfb_a", NOON)),
            (1, "(store=?)", lambda: kept.stores.counts("me", ["vs_a"], NOON)),
            (1, "(store=?", lambda: kept.members.completed("me", ["vs_a"], NOON, ids[:3])),
            (
                2,
                "ix_documents_owner_created_at_id (owner=?",
                lambda: kept.notes.page("me", middle, NOON),
            ),
            (1, "ix_file_notes_expires_at (expires_at<?)", lambda: kept.notes.expired(NOON)),
            (1, "ix_responses_created_at (created_at<?)", lambda: kept.responses.forget(NOON)),
        ]
        for count, step, use in uses:
            async with watched(where, database) as plans:
                await use()
            assert len(plans) == count, plans
            assert step in plans[-1]
            steps = "; ".join(plans).split("; ")
            assert "USE TEMP B-TREE FOR ORDER BY" not in steps
            scanned = {one.split()[1] for one in steps if one.startswith("SCAN")}
            assert not scanned & set(metadata.tables), plans

    play(where, scene)


def _stores(kept: Shelves, after: str) -> Callable[[], Coroutine[None, None, object]]:
    return lambda: kept.stores.page("me", Page(20, after=after))


def test_bytes_that_the_disk_has_changed_are_noticed(tmp_path: Path) -> None:
    where = tmp_path / "c.db"

    async def scene(kept: Shelves, _: Database) -> None:
        [one] = await live(kept, 1)
        await a_store(kept)
        await kept.members.put("me", [StoreFile("vs_a", one, NOON, attributes={"a": 1})])
        await kept.notes.note("me", FileNote(one, "a"))
        await kept.responses.keep(KeptResponse("resp_a", "me", NOON, {"a": 1}))
        uses: list[tuple[str, object, str, Callable[[], Coroutine[None, None, object]]]] = [
            ("responses SET body", b"[1]", "response", lambda: kept.responses.get("me", "resp_a")),
            ("responses SET body", b"{", "response", lambda: kept.responses.get("me", "resp_a")),
            (
                "file_notes SET filename",
                b"\xff",
                "document",
                lambda: kept.notes.get("me", [one], NOON),
            ),
            (
                "file_notes SET purpose",
                b"\xff",
                "document",
                lambda: kept.notes.page("me", Page(), NOON),
            ),
            ("store_files SET attributes", b"5", "document", lambda: _members(kept)),
            ("store_files SET strategy", "{", "document", lambda: _members(kept)),
            ("store_files SET strategy", '{"size": 0}', "document", lambda: _members(kept)),
            ("store_files SET strategy", '{"a": 0}', "document", lambda: _members(kept)),
            ("vector_stores SET name", b"\xff", "vector store", lambda: _page(kept)),
            ("vector_stores SET metadata", b"{", "vector store", lambda: _page(kept)),
        ]
        for what, value, kind, use in uses:
            change(where, f"UPDATE {what} = ?", value)
            with pytest.raises(IntegrityError, match=rf"{kind} .* is damaged; delete it"):
                await use()
        await kept.responses.delete("me", "resp_a")
        await kept.stores.delete("me", "vs_a")

    play(where, scene)


def _members(kept: Shelves) -> Coroutine[None, None, object]:
    return kept.members.completed("me", ["vs_a"], NOON)


def _page(kept: Shelves) -> Coroutine[None, None, object]:
    return kept.stores.page("me", Page())
