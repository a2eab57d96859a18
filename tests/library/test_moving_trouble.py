"""A move that is killed, refused or half of what it should be: told, and gone on with."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text as sql

from moves import database_of, look, marks, moved, opened, settings_in, text
from unchunk.adapters.blobs.folder import FolderBlobs
from unchunk.adapters.catalog import SqlRecords
from unchunk.adapters.index.edge import EdgeIndex
from unchunk.errors import (
    InvalidInputError,
    InvalidSettingError,
    MigrationNeededError,
    OutputError,
    TransientError,
)
from unchunk.settings import Settings, load
from unchunk.wiring.moving import target_of

STEPS = (
    (SqlRecords, ("announce", "write", "vouch", "remove", "forget")),
    (FolderBlobs, ("put", "delete")),
    (EdgeIndex, ("upsert", "flush", "delete")),
)


@pytest.fixture
def home(laptop: Settings, tmp_path: Path) -> Settings:
    return target_of(laptop, str(tmp_path / "home"), {}, None)


class PowerCutError(BaseException):
    """Nobody is to catch it."""


class Steps:
    """Counts what changes the target, and ends it all before the step of a number."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.done, self.last = 0, 0
        for owner, names in STEPS:
            for name in names:
                patch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, real: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def step(*arguments: object, **options: object) -> Any:  # noqa: ANN401 - theirs
            self.done += 1
            if self.done == self.last:
                raise PowerCutError
            return await real(*arguments, **options)

        return step


def test_a_move_goes_on_from_any_step(
    laptop: Settings, home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, is_over, cuts = Steps(monkeypatch), False, 0
    while not is_over:
        # Each time a little further, on what the ones before left.
        steps.done, steps.last = 0, steps.last + 3
        try:
            moved(laptop, home)
            is_over = True
        except PowerCutError:
            cuts += 1
    assert cuts > 5
    steps.last = 0
    assert moved(laptop, home).unchanged == 5
    assert asyncio.run(marks(home)) == asyncio.run(marks(laptop))
    assert asyncio.run(look(home)) == asyncio.run(look(laptop))


def test_a_killed_process_leaves_what_the_next_one_goes_on_with(
    laptop: Settings, home: Settings, tmp_path: Path
) -> None:
    script = Path(__file__).with_name("killed_move.py")
    found = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for last in (5, 17):
        command = [sys.executable, str(script), str(last), str(laptop.home), str(home.home)]
        done = subprocess.run(command, env=found, check=False, timeout=120)
        assert done.returncode == -signal.SIGKILL

    # What went meanwhile goes there, too, even if it was only half there.
    async def change() -> None:
        async with opened(laptop) as engine:
            for one in await engine.documents(owner="somebody else"):
                await engine.delete(one.id, owner="somebody else")
            await engine.delete("whale.md")

    asyncio.run(change())
    assert moved(laptop, home).differs == []
    assert asyncio.run(marks(home)) == asyncio.run(marks(laptop))
    assert asyncio.run(look(home)) == asyncio.run(look(laptop))
    assert (tmp_path / "home" / "catalog.sqlite").exists()


def test_a_lost_original_is_told_and_the_rest_moves(laptop: Settings, home: Settings) -> None:
    uploads = laptop.home / "uploads"
    (harbour,) = [
        path for path in uploads.rglob("[!.]*") if path.is_file() and _is(path, "harbour")
    ]
    harbour.unlink()
    done = moved(laptop, home)
    assert [(it.name, it.why) for it in done.differs] == [
        ("harbour.md", "its original is gone over here, too; its text was moved")
    ]
    assert (done.moved, done.verified) == (5, 4)
    assert asyncio.run(look(home))[1] == ["harbour.md: its original is gone; the text is not"]


def test_what_was_spoiled_over_there_before_it_was_verified_is_brought_again(
    laptop: Settings, home: Settings
) -> None:
    moved(laptop, home)
    uploads = home.home / "uploads"
    (harbour,) = [
        path for path in uploads.rglob("[!.]*") if path.is_file() and _is(path, "harbour")
    ]
    harbour.write_bytes(b"# The harbour, but not this one")
    which = "(SELECT id FROM documents WHERE name = 'whale.md')"
    spoil = f"UPDATE texts SET content = x'41' WHERE document = {which}"  # noqa: S608 - ours

    async def change() -> None:
        async with opened(home) as engine:
            (ferry,) = await engine.documents(owner="somebody else")
            index = engine._parts.spaces.active.index
            await index.delete(ferry.id)
            await index.flush()
        async with database_of(home) as database:
            await database.write(lambda it: it.execute(sql(spoil)).rowcount)
            forget = sql("UPDATE moved SET is_verified = false")
            await database.write(lambda it: it.execute(forget).rowcount)

    asyncio.run(change())
    done = moved(laptop, home)
    assert (done.moved, done.unchanged, done.verified, done.differs) == (3, 2, 5, [])
    assert asyncio.run(look(home)) == asyncio.run(look(laptop))


def test_vectors_that_are_gone_are_told_and_leave_nothing_behind(
    laptop: Settings, home: Settings
) -> None:
    async def lose() -> None:
        async with database_of(laptop) as database:
            await database.write(lambda it: it.execute(sql("DELETE FROM vectors")).rowcount)

    asyncio.run(lose())
    assert moved(laptop, home).differs == [], "the index has them still"
    shutil.rmtree(laptop.home / "index")
    shutil.rmtree(home.home)
    done = moved(laptop, home)
    assert {it.name for it in done.differs} >= {"whale.md", "harbour.md"}
    assert "doctor --fix" in done.differs[0].why
    assert asyncio.run(look(home))[1] == []


def test_a_target_that_is_full_or_away_is_told_and_the_laptop_stays(
    laptop: Settings, home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = asyncio.run(marks(laptop))

    async def full(*_: object) -> None:
        raise OutputError("cannot write: the disk is full; make room and try again")

    with monkeypatch.context() as patch:
        patch.setattr(FolderBlobs, "put", full)
        with pytest.raises(OutputError, match="the disk is full"):
            moved(laptop, home)
    away = {"index": "qdrant:http://127.0.0.1:9", "index_timeout": "1"}
    with pytest.raises(TransientError, match="cannot be used"):
        moved(laptop, target_of(laptop, str(home.home / "away"), away, None))
    assert asyncio.run(marks(laptop)) == before
    assert moved(laptop, home).differs == []


def test_another_library_is_not_written_over(
    laptop: Settings, home: Settings, tmp_path: Path
) -> None:
    other = settings_in(tmp_path / "other")
    (tmp_path / "one.md").write_text(text("other"))

    async def fill() -> None:
        async with opened(other) as engine:
            await engine.add(tmp_path / "one.md")

    asyncio.run(fill())
    with pytest.raises(InvalidInputError, match="holds another library"):
        moved(laptop, target_of(laptop, str(other.home), {}, None))
    with pytest.raises(InvalidInputError, match="the same library"):
        moved(laptop, target_of(laptop, str(laptop.home), {}, None))
    with pytest.raises(InvalidInputError, match="there is no library"):
        moved(settings_in(tmp_path / "nothing"), home)
    assert len(asyncio.run(marks(other))["document"]) == 1


def test_a_target_of_another_kind_or_in_the_same_place_is_refused(
    laptop: Settings, tmp_path: Path
) -> None:
    folder = str(tmp_path / "home")
    for changes, said in (
        ({"embedder": "local"}, "embedder 'local', and the library has 'hashing'"),
        ({"language": "german"}, "language 'german'"),
        ({"chunk_size": "300"}, "reindex --all"),
    ):
        with pytest.raises(MigrationNeededError, match=said):
            moved(laptop, target_of(laptop, folder, changes, None))
    url = "postgresql://postgres@127.0.0.1:9/nowhere"
    with pytest.raises(InvalidSettingError, match="--set index=qdrant:URL"):
        target_of(laptop, url, {}, None)
    with pytest.raises(InvalidSettingError, match="--set blobs=s3:BUCKET"):
        target_of(laptop, url, {"index": "pgvector"}, None)
    with pytest.raises(InvalidSettingError, match="did you mean index"):
        target_of(laptop, folder, {"indx": "edge"}, None)
    shared = {"blobs": f"folder:{tmp_path}"}
    with pytest.raises(InvalidInputError, match="share their originals"):
        moved(load(laptop.home, {}, **shared), target_of(laptop, folder, shared, None))


def test_the_settings_of_the_target_come_from_its_file_and_not_from_here(
    laptop: Settings, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "unchunk.toml").write_text('index = "chroma"\nowner = "me"\n')
    (tmp_path / "cluster.toml").write_text('index = "pgvector"\nblobs = "s3:bucket"\n')
    at = Settings(laptop.home, index="qdrant:http://here", blobs="s3:here", embedder="hashing")
    own = target_of(at, str(tmp_path / "home"), {"owner": "you"}, None)
    assert (own.index, own.blobs, own.owner, own.embedder) == ("chroma", "", "you", "hashing")
    cluster = target_of(at, "postgresql://db/x", {}, tmp_path / "cluster.toml")
    assert (cluster.catalog, cluster.index) == ("postgresql://db/x", "pgvector")
    assert (cluster.blobs, cluster.home) == ("s3:bucket", laptop.home)


def _is(path: Path, word: str) -> bool:
    return path.read_bytes().startswith(f"# The {word}".encode())
