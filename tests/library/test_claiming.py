"""Two libraries and one place for originals: neither ever deletes what the other has."""

import asyncio
import shutil
import threading
from pathlib import Path

import pytest

from objectstores import ID, KEY, REGION, S3Server, store_in
from servers import free_ports
from unchunk.adapters.blobs.folder import FolderBlobs
from unchunk.engine import Engine
from unchunk.errors import InvalidSettingError
from unchunk.settings import Settings
from unchunk.wiring import open_engine
from unchunk.wiring.stores import blobs_of


def library(home: Path, **places: str) -> Settings:
    return Settings(home, embedder="hashing", **places)  # type: ignore[arg-type] # strings only


def in_bucket(server: S3Server, where: str) -> dict[str, str]:
    access = {"blobs_region": REGION, "blobs_id": ID, "blobs_key": KEY}
    return {"blobs": f"s3:{where}", "blobs_url": server.url, **access}


async def add(engine: Engine, folder: Path, text: str) -> None:
    path = folder / f"{text}.txt"
    await asyncio.to_thread(path.write_text, text)
    [outcome] = await engine.add(path)
    assert outcome.result == "added", outcome


async def check_apart(one: Settings, other: Settings, folder: Path) -> None:
    """Neither sees what the other has, and `doctor --fix` leaves it there."""
    for settings in (one, other):
        async with await open_engine(settings) as engine:
            await add(engine, folder, settings.home.name)
    for settings in (one, other):
        async with await open_engine(settings) as engine:
            found = await engine.doctor(fix=True)
            assert not found.findings
    for settings in (one, other):
        assert len(await blobs_of(settings).keys()) == 1


async def check_refused(first: Settings, second: Settings, folder: Path) -> None:
    """The second is not opened, and the first one has all it had."""
    async with await open_engine(first) as engine:
        await add(engine, folder, "mine")
    before = await blobs_of(first).keys()
    with pytest.raises(InvalidSettingError, match="originals of another library"):
        await open_engine(second)
    assert await blobs_of(first).keys() == before
    async with await open_engine(first) as engine:
        assert not (await engine.doctor()).findings


def test_a_folder_that_is_another_librarys_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    places = {"blobs": f"folder:{tmp_path / 'shared'}"}
    one, other = (library(tmp_path / name, **places) for name in ("one", "other"))
    asyncio.run(check_refused(one, other, tmp_path))


def test_a_folder_in_another_librarys_home_is_refused(tmp_path: Path) -> None:
    one = library(tmp_path / "one")
    other = library(tmp_path / "other", blobs=f"folder:{one.home}")
    asyncio.run(check_refused(one, other, tmp_path))


@pytest.mark.parametrize("names", [("", "uploads/b"), ("uploads/b", "")], ids=["below", "around"])
def test_a_folder_among_another_librarys_originals_is_refused(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    (tmp_path / "shared/uploads/b").mkdir(parents=True)
    one, other = (
        library(tmp_path / f"home{number}", blobs=f"folder:{tmp_path / 'shared' / name}")
        for number, name in enumerate(names)
    )
    asyncio.run(check_refused(one, other, tmp_path))


def test_a_marker_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir()
    marker = tmp_path / "uploads/.library"
    marker.touch()
    writing = threading.Timer(0.1, marker.write_text, ["another"])
    writing.start()
    with pytest.raises(InvalidSettingError, match="another library, another"):
        asyncio.run(FolderBlobs(tmp_path).claim("mine"))
    writing.join()


def test_a_bucket_that_is_another_librarys_is_refused(s3_server: S3Server, tmp_path: Path) -> None:
    bucket = s3_server.bucket()
    for where in (bucket, f"{bucket}/some/prefix"):
        places = in_bucket(s3_server, where)
        names = [f"{name}{len(where)}" for name in ("one", "other")]
        one, other = (library(tmp_path / name, **places) for name in names)
        asyncio.run(check_refused(one, other, tmp_path))


def test_a_bucket_and_a_prefix_in_it_are_two_places(s3_server: S3Server, tmp_path: Path) -> None:
    bucket = s3_server.bucket()
    one = library(tmp_path / "one", **in_bucket(s3_server, bucket))
    other = library(tmp_path / "other", **in_bucket(s3_server, f"{bucket}/local"))
    asyncio.run(check_apart(one, other, tmp_path))


@pytest.mark.parametrize("prefix", ["uploads", "a/uploads/b", "unchunk-library"])
def test_no_prefix_is_among_what_another_library_has(
    s3_server: S3Server, tmp_path: Path, prefix: str
) -> None:
    with pytest.raises(InvalidSettingError, match="choose another name"):
        store_in(s3_server, "bucket", tmp_path, prefix)


def test_a_library_that_was_moved_by_hand_keeps_its_originals(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    for places in ({}, {"blobs": f"folder:{tmp_path / 'shared'}"}):
        here, there = (tmp_path / f"{name}{len(places)}" for name in ("here", "there"))

        async def scene(here: Path, there: Path, places: dict[str, str]) -> None:
            async with await open_engine(library(here, **places)) as engine:
                await add(engine, tmp_path, "mine")
            await asyncio.to_thread(shutil.move, here, there)
            async with await open_engine(library(there, **places)) as engine:
                assert not (await engine.doctor()).findings

        asyncio.run(scene(here, there, places))


def test_a_place_that_is_away_is_claimed_when_it_is_used(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    places = {"blobs": f"folder:{shared}"}
    one, other = (library(tmp_path / name, **places) for name in ("one", "other"))

    async def scene() -> None:
        async with await open_engine(one) as engine:
            shared.mkdir()
            async with await open_engine(other) as owner:
                await add(owner, tmp_path, "theirs")
            with pytest.raises(InvalidSettingError, match="originals of another library"):
                await engine.doctor(fix=True)
        assert len(await blobs_of(one).keys()) == 1

    asyncio.run(scene())


def test_a_library_opens_while_its_bucket_is_away(tmp_path: Path) -> None:
    away = S3Server(f"http://127.0.0.1:{free_ports(1)[0]}", 0)

    async def scene() -> None:
        async with await open_engine(library(tmp_path, **in_bucket(away, "bucket"))) as engine:
            assert await engine.documents() == []

    asyncio.run(scene())


def test_the_threads_of_a_bucket_end_with_the_library(s3_server: S3Server, tmp_path: Path) -> None:
    places = in_bucket(s3_server, s3_server.bucket())

    async def scene() -> None:
        async with await open_engine(library(tmp_path / "home", **places)) as engine:
            await add(engine, tmp_path, "mine")
            assert threads()

    def threads() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.name.startswith("s3")]

    before = set(threads())
    asyncio.run(scene())
    for one in set(threads()) - before:
        one.join(10)
        assert not one.is_alive()
