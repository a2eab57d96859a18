"""Conversations, prompts and attributes where only a real database shows what becomes of them."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from unchunk.adapters.catalog import (
    Database,
    SqlCatalog,
    SqlConversations,
    SqlLeases,
    SqlPrompts,
    open_database,
    rows,
)
from unchunk.adapters.catalog.schema import metadata
from unchunk.domain import Answered
from unchunk.errors import IntegrityError, InvalidInputError
from unchunk.testing.catalogs import added

ASKING = """
import asyncio, pathlib, sys
from unchunk.adapters.catalog import SqlConversations, open_database

async def ask(where, talk, count):
    database = await open_database(pathlib.Path(where) if where.startswith("/") else where)
    kept = SqlConversations(database)
    for number in range(count):
        print(await kept.ask("me", talk, "?"), flush=True)
    await database.close()

asyncio.run(ask(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    if request.param == "sqlite":
        return tmp_path / "c.db"
    url: str = request.getfixturevalue("postgres")
    return url


def play(where: Path | str, scene: Callable[[Database], Awaitable[None]]) -> None:
    async def opened() -> None:
        database = await open_database(where)
        try:
            await scene(database)
        finally:
            await database.close()

    asyncio.run(opened())


def change(where: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(where)
    with connection:
        assert connection.execute(statement, values).rowcount > 0
    connection.close()


def test_numbers_have_no_holes_and_no_doubles_whichever_process_asks(where: Path | str) -> None:
    talk = ""

    async def begin(database: Database) -> None:
        nonlocal talk
        talk = (await SqlConversations(database).start("me")).id

    async def check(database: Database) -> None:
        turns = await SqlConversations(database).turns("me", talk)
        assert [turn.number for turn in turns] == [*range(60)]

    play(where, begin)
    command = [sys.executable, "-c", ASKING, str(where), talk, "20"]
    asking = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [one.communicate(timeout=60)[0] for one in asking]
    assert [one.returncode for one in asking] == [0, 0, 0]
    numbers = [[int(line) for line in one.split()] for one in said]
    assert all(one == sorted(one) for one in numbers)
    assert sorted(chain.from_iterable(numbers)) == [*range(60)]
    play(where, check)


def test_what_was_deleted_or_taken_back_is_no_longer_in_the_file(tmp_path: Path) -> None:
    hidden = "the secret of the sea, "

    async def scene(database: Database) -> None:
        kept, prompts = SqlConversations(database), SqlPrompts(database)
        catalog = SqlCatalog(database)
        other = (await kept.start("me", title="nothing to hide")).id
        await kept.ask("me", other, "nothing to ask")
        talk = (await kept.start("me", title=hidden, folder=hidden)).id
        for size in (1, 3000):
            number = await kept.ask("me", talk, hidden * size)
            record = {"it": hidden * size}
            await kept.answer(
                "me", talk, number, Answered(hidden * size, "complete", ((hidden, 1),), record)
            )
        await prompts.set_prompt("me", "in", hidden * 500)
        await prompts.set_prompt("me", "in", "")
        document = await added(catalog, "a.txt", "text")
        await catalog.describe("me", document.id, {"a": hidden * 500, "b": hidden})
        await catalog.describe("me", document.id, {"a": "nothing to say"})
        await kept.delete("me", talk)

    play(tmp_path / "c.db", scene)
    assert [path.name for path in tmp_path.iterdir()] == ["c.db"]
    content = (tmp_path / "c.db").read_bytes()
    for plain in (b"nothing to hide", b"nothing to ask", b"nothing to say"):
        assert plain in content
    assert b"secret of the sea" not in content


def test_filters_and_pages_are_answered_from_an_index(tmp_path: Path) -> None:
    async def scene(database: Database) -> None:
        catalog, kept = SqlCatalog(database), SqlConversations(database)
        document = await added(catalog, "a.txt", "text")
        await catalog.describe("me", document.id, {"team": "red", "n": 1})
        asked: list[str] = []
        explaining = sqlite3.connect(tmp_path / "c.db", check_same_thread=False)

        def explain(*call: Any) -> None:  # noqa: ANN401 - as SQLAlchemy calls it
            _, _, statement, parameters, *_ = call
            plan = explaining.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            asked.extend(row[-1] for row in plan)

        def explain_plain(statement: str) -> None:
            if statement.startswith("SELECT"):
                explain(None, None, statement, ())

        talk = (await kept.start("me")).id
        event.listen(database.engine, "before_cursor_execute", explain)
        assert database._file is not None
        [plainly] = database._file._idle
        plainly.set_trace_callback(explain_plain)
        await catalog.open("me", {document.id: [0]})
        await catalog.live([document.id])
        # Not by their owner, who may have any number of them.
        assert not any("documents" in step and "owner" in step for step in asked), asked
        await catalog.matching("me", attributes=[("team", "red"), ("n", 1)])
        await kept.recent("me", 5, talk)
        explaining.close()
        scanned = {step.split()[1] for step in asked if step.startswith("SCAN")}
        assert not scanned & set(metadata.tables), asked
        steps = " ".join(asked)
        assert "SEARCH attributes USING COVERING INDEX" in steps
        assert "(owner=? AND mark=?)" in steps
        assert "ix_conversations_owner_updated_at_id (owner=? AND (updated_at,id)<(?,?))" in steps

    play(tmp_path / "c.db", scene)


def test_what_no_database_could_bear_is_refused(
    where: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_LARGEST", 1000)
    most, more = "x" * 1000, "x" * 1001

    async def scene(database: Database) -> None:
        kept, prompts = SqlConversations(database), SqlPrompts(database)
        catalog = SqlCatalog(database)
        document = await added(catalog, "a.txt", "text")
        talk = (await kept.start("me", title=most, folder=most)).id
        assert await kept.ask("me", talk, most) == 0
        await kept.answer("me", talk, 0, Answered(most, "complete"))
        await prompts.set_prompt("me", most, most)
        for refused in (
            kept.start("me", title=more),
            kept.start("me", folder=more),
            kept.rename("me", talk, more),
            kept.ask("me", talk, "ß" * 501),
            kept.answer("me", talk, 0, Answered(more, "complete")),
            kept.answer("me", talk, 0, Answered("", "complete", (), {"a": most})),
            prompts.set_prompt("me", more, "text"),
            prompts.set_prompt("me", "in", more),
            catalog.describe("me", document.id, {"a": most}),
        ):
            with pytest.raises(InvalidInputError, match=r"cannot be kept: shorten it to 1,000"):
                await refused
        [turn] = await kept.turns("me", talk)
        assert (turn.question, turn.answered) == (most, Answered(most, "complete"))
        assert await prompts.prompts("me") == {most: most}

    play(where, scene)


def test_bytes_that_the_disk_has_changed_are_noticed(tmp_path: Path) -> None:
    where = tmp_path / "c.db"

    async def scene(database: Database) -> None:
        kept, catalog = SqlConversations(database), SqlCatalog(database)
        talk = (await kept.start("me")).id
        await kept.ask("me", talk, "Why?")
        for column, value in (("record", b"{"), ("cited", b"[1]"), ("cited", b"5")):
            change(where, f"UPDATE turns SET {column} = ?", value)  # noqa: S608 - names of ours
            with pytest.raises(IntegrityError, match=r"conversation .* is damaged; delete it"):
                await kept.turns("me", talk)
        uses: list[tuple[str, Callable[[], Coroutine[None, None, object]]]] = [
            ("turns SET question", lambda: kept.turns("me", talk)),
            ("turns SET question", lambda: kept.rename("me", talk, "")),
            ("conversations SET title", lambda: kept.get("me", talk)),
            ("conversations SET folder", lambda: kept.recent("me")),
        ]
        for what, use in uses:
            change(where, f"UPDATE {what} = ?", b"\xff")
            with pytest.raises(IntegrityError, match=r"conversation .* is damaged; delete it"):
                await use()
        await kept.delete("me", talk)
        document = await added(catalog, "a.txt", "text")
        await catalog.describe("me", document.id, {"team": "red"})
        for damaged in (b"{", b"[1]", b"5", b"\xff"):
            change(where, "UPDATE documents SET attributes = ?", damaged)
            with pytest.raises(IntegrityError, match=r"attributes of document .* are damaged"):
                await catalog.get("me", document.id)

    play(where, scene)


def test_only_questions_of_processes_that_are_gone_are_given_up(where: Path | str) -> None:
    async def scene(database: Database) -> None:
        living, gone = SqlLeases(database, 60), SqlLeases(database, 60)
        told = [SqlConversations(database, one.holder) for one in (living, gone)]
        nobody = SqlConversations(database)
        for leases in (living, gone):
            assert await leases.take([f"process/{leases.holder}"])
        talk = (await nobody.start("me")).id
        for kept in (*told, nobody):
            await kept.ask("me", talk, "?")

        async def states() -> list[str]:
            return [turn.answered.status for turn in await nobody.turns("me", talk)]

        # What nobody is known to answer was left by whoever asked it.
        assert await told[0].abandon() == 1
        assert await states() == ["pending", "pending", "interrupted"]
        await gone.give_up([f"process/{gone.holder}"])
        # Nobody gives up their own.
        assert await told[1].abandon() == 0
        assert await told[0].abandon() == 1
        assert await states() == ["pending", "interrupted", "interrupted"]
        # Whoever was only slow has its answer kept all the same.
        await told[1].answer("me", talk, 1, Answered("Yes.", "complete"))
        assert await states() == ["pending", "complete", "interrupted"]

    play(where, scene)
