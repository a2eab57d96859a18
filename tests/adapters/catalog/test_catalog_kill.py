"""Killed at any moment: every document is wholly old or wholly new, and all of a group alike."""

import asyncio
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from unchunk.adapters.catalog import SqlCatalog, open_database
from unchunk.domain import Whole
from unchunk.testing.catalogs import drafted, live_of, whole_of

NAMES = [f"{number}.txt" for number in range(8)]


def text_of(name: str, turn: int) -> str:
    return f"{name} in turn {turn}. " * 2000


def written(name: str, turn: int, whole: Whole) -> bool:
    text = text_of(name, turn)
    return whole == whole_of(whole.version, text) and whole.text == text


async def write_turns(where: Path, first: int) -> None:
    """Write all documents anew, again and again, and say each time that it is done."""
    catalog = SqlCatalog(await open_database(where))
    turn = first
    while True:
        drafts = [await drafted(catalog, name, text_of(name, turn)) for name in NAMES]
        wholes = [
            whole_of(draft, text_of(name, turn)) for name, draft in zip(NAMES, drafts, strict=True)
        ]
        await catalog.go_live(wholes)
        sys.stdout.write(f"{turn}\n")
        sys.stdout.flush()
        await catalog.forget(await catalog.remains())
        turn += 1


async def turn_of_all(where: Path) -> int:
    """Which turn the documents are in, after a look at everything."""
    catalog = SqlCatalog(await open_database(where))
    turns = set()
    documents = await catalog.find()
    assert [document.name for document in documents] == NAMES
    for document in documents:
        version = live_of(document)
        text = await catalog.text(version)
        turn = int(text.split()[3].rstrip("."))
        chunks = tuple(await catalog.chunks(version))
        assert written(
            document.name, turn, Whole(version, text, chunks, *await catalog.outline(version))
        )
        turns.add(turn)
    await catalog.close()
    assert len(turns) == 1
    return turns.pop()


def test_a_kill_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    where = tmp_path / "c.db"
    chance = random.Random(7)
    turn = 0
    for _ in range(10):
        command = [sys.executable, __file__, str(where), str(turn + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            said = int(child.stdout.readline())
            time.sleep(chance.random() * 0.15)
            child.kill()
            said = max([said, *map(int, child.stdout.read().split())])
        turn = asyncio.run(turn_of_all(where))
        assert turn in (said, said + 1), "what was said to be done is done"
        connection = sqlite3.connect(where)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.close()


if __name__ == "__main__":
    asyncio.run(write_turns(Path(sys.argv[1]), int(sys.argv[2])))
