"""A library moves to other places and back: all of it, and only what is new the next time."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from moves import (
    NOW,
    database_of,
    look,
    marks,
    moved,
    opened,
    text,
)
from objectstores import ID, KEY, REGION, S3Server
from servers import QdrantServer, qdrant
from unchunk.adapters.catalog import (
    Database,
    SqlCatalog,
    SqlConversations,
    SqlKeys,
    SqlMembers,
)
from unchunk.keyring import Keyring
from unchunk.library.moving import Difference
from unchunk.settings import Settings
from unchunk.wiring.moving import move_library, target_of


@pytest.fixture(scope="module")
def search_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantServer]:
    with qdrant(tmp_path_factory.mktemp("qdrant")) as server:
        yield server


def test_a_library_moves_to_servers_and_back_with_everything(
    laptop: Settings,
    tmp_path: Path,
    postgres: str,
    search_server: QdrantServer,
    s3_server: S3Server,
) -> None:
    key = (tmp_path / "key").read_text()
    before = asyncio.run(marks(laptop))
    assert all(before.values()), "something of every kind is to be moved"
    changes = {
        "index": f"qdrant:{search_server.url}",
        "blobs": f"s3:{s3_server.bucket()}/library",
        "blobs_url": s3_server.url,
        "blobs_region": REGION,
        "blobs_id": ID,
        "blobs_key": KEY,
    }
    cluster = target_of(laptop, postgres, changes, None)
    done = moved(laptop, cluster)
    assert done.differs == []
    assert (done.documents, done.moved, done.verified) == (5, 5, 5)
    assert asyncio.run(marks(cluster)) == before
    home = target_of(cluster, str(tmp_path / "home"), {}, None)
    assert moved(cluster, home).verified == 5
    expected, findings = asyncio.run(look(laptop))
    assert findings == []
    for place in (cluster, home):
        assert asyncio.run(look(place)) == (expected, [])
        asyncio.run(_same_doors(laptop, place, key))
    assert asyncio.run(marks(laptop))["document"] == before["document"]
    # What was made there, and what it needs, is known there.
    assert (tmp_path / "home" / "unchunk.toml").read_text() == (
        'embedder = "hashing"\nchunk_size = "200"\nchunk_overlap = "40"\n'
    )


async def _same_doors(laptop: Settings, place: Settings, key: str) -> None:
    async with AsyncExitStack() as stack:
        here, there = [await stack.enter_async_context(database_of(one)) for one in (laptop, place)]
        secrets = [await SqlKeys(database).secret() for database in (here, there)]
        assert secrets[0] == secrets[1]
        keyring = Keyring(SqlKeys(there), there.close)
        checked = await keyring.check(key)
        assert checked is not None
        assert await keyring.is_ended(checked.id, "a session")
        member = await SqlMembers(there).get("local", "vs_1", await _id(there, "whale.md"), NOW)
        assert member.file.attributes == {"n": 1.5}
        (talk,) = await SqlConversations(there).recent("local", limit=9)
        assert len(await SqlConversations(there).turns("local", talk.id)) == 2


async def _id(database: Database, name: str) -> str:
    (found,) = await SqlCatalog(database).find(name=name)
    return found.id


def test_drafts_come_in_where_they_were_moved_to(laptop: Settings, tmp_path: Path) -> None:
    home = target_of(laptop, str(tmp_path / "home"), {}, None)
    moved(laptop, home)

    async def go_on() -> dict[str, tuple[str, str]]:
        async with opened(home) as engine:
            await engine.retry()
            return {one.name: (one.status, one.error_code) for one in await engine.documents()}

    states = asyncio.run(go_on())
    assert states["pending.md"] == ("live", "")
    assert states["torn.pdf"] == ("failed", "damaged")


def test_what_changes_is_brought_up_to_date_and_nothing_else_is_touched(
    laptop: Settings, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    home = target_of(laptop, str(tmp_path / "home"), {}, None)
    moved(laptop, home)
    again = moved(laptop, home)
    assert (again.moved, again.unchanged, again.bytes, again.differs) == (0, 5, 0, [])

    async def change() -> None:
        (files / "whale.md").write_text(text("whale", 9))
        (files / "new.md").write_text(text("newcomer"))
        async with opened(laptop) as engine:
            await engine.add(files / "whale.md", folder="sea")
            await engine.add(files / "new.md")
            await engine.delete("harbour.md")
        async with database_of(laptop) as database:
            talks = SqlConversations(database)
            (old,) = await talks.recent("local", limit=9)
            await talks.delete("local", old.id)
            await talks.ask("local", (await talks.start("local")).id, "What is new?")

    asyncio.run(change())
    third = moved(laptop, home)
    assert (third.moved, third.removed, third.unchanged, third.differs) == (2, 1, 3, [])
    assert asyncio.run(marks(home)) == asyncio.run(marks(laptop))
    expected, _ = asyncio.run(look(laptop))
    assert asyncio.run(look(home)) == (expected, [])


def test_what_was_changed_over_there_is_left_as_it_is(laptop: Settings, tmp_path: Path) -> None:
    files = tmp_path / "files"
    home = target_of(laptop, str(tmp_path / "home"), {}, None)
    moved(laptop, home)

    async def change(place: Settings, paragraphs: int, *names: str) -> None:
        async with opened(place) as engine:
            for name in names:
                (files / name).write_text(text(name, paragraphs))
                await engine.add(files / name, folder="sea")

    asyncio.run(change(home, 8, "whale.md", "harbour.md", "theirs.md"))
    asyncio.run(change(laptop, 9, "whale.md"))
    after = asyncio.run(marks(home))
    done = moved(laptop, home)
    assert [(it.kind, it.name) for it in done.differs] == [("document", "whale.md")]
    assert "changed in both places" in done.differs[0].why
    assert [(it.kind, it.name) for it in done.left] == [("document", "harbour.md")]
    assert (done.documents, done.unchanged, done.verified) == (5, 3, 3)
    assert asyncio.run(marks(home))["document"] == after["document"]
    assert asyncio.run(look(home))[1] == []


def test_what_is_just_written_anew_over_there_is_not_mixed_with_it(
    laptop: Settings, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    home = target_of(laptop, str(tmp_path / "home"), {}, None)
    moved(laptop, home)

    async def scene() -> None:
        async with database_of(home) as database:
            await SqlCatalog(database).next_generation(await _id(database, "whale.md"))
        (files / "whale.md").write_text(text("whale", 9))
        async with opened(laptop) as engine:
            await engine.add(files / "whale.md", folder="sea")

    before = asyncio.run(marks(home))
    asyncio.run(scene())
    done = moved(laptop, home)
    assert [(it.name, it.why) for it in done.differs] == [
        ("whale.md", "it is written anew over there: run the same command later")
    ]
    assert asyncio.run(marks(home)) == before


def test_a_document_whose_name_is_taken_over_there_is_told(
    laptop: Settings, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    home = target_of(laptop, str(tmp_path / "home"), {}, None)
    moved(laptop, home)

    async def add(place: Settings) -> None:
        (files / "same.md").write_text(text("same"))
        async with opened(place) as engine:
            await engine.add(files / "same.md")

    asyncio.run(add(home))
    asyncio.run(add(laptop))
    done = moved(laptop, home)
    assert [(it.name, it.why[:32]) for it in done.differs] == [
        ("same.md", "another document has its name ov")
    ]
    assert asyncio.run(look(home))[1] == []


def test_a_store_whose_file_did_not_come_is_told(laptop: Settings, tmp_path: Path) -> None:

    async def damage() -> None:
        from sqlalchemy import text as sql

        async with database_of(laptop) as database:
            which = "SELECT id FROM documents WHERE name = 'whale.md'"
            spoil = f"UPDATE texts SET content = x'00' WHERE document = ({which})"  # noqa: S608
            await database.write(lambda connection: connection.execute(sql(spoil)).rowcount)

    asyncio.run(damage())
    home = target_of(laptop, str(tmp_path / "home"), {}, None)
    done = moved(laptop, home)
    assert [it.kind for it in done.differs] == ["document", "store"]
    assert "text is damaged" in done.differs[0].why
    assert isinstance(done.differs[0], Difference)
    assert (done.documents, done.verified) == (5, 4)
    assert set(asyncio.run(marks(home))["document"]) < set(asyncio.run(marks(laptop))["document"])


def test_a_library_that_is_in_use_moves_all_the_same(laptop: Settings, tmp_path: Path) -> None:
    home = target_of(laptop, str(tmp_path / "home"), {}, None)

    async def scene() -> None:
        async with opened(laptop) as engine:
            # It has its index, and nobody else may.
            assert (await engine.search("whale")).hits
            done = await move_library(laptop, home, lambda *_: None)
        assert done.differs == []

    asyncio.run(scene())
    assert asyncio.run(look(home)) == asyncio.run(look(laptop))
