"""Originals in a folder: what is left when something goes wrong, and what is not."""

import asyncio
import errno
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from unchunk.adapters.blobs.folder import FolderBlobs
from unchunk.errors import NotFoundError, OutputError, TransientError

KEY = "me/2026-02-03/one"
NOBODY = 65534


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(b"x" * 1000)
    return path


def test_a_blob_is_a_file_under_its_key(tmp_path: Path, source: Path) -> None:
    blobs = FolderBlobs(tmp_path / "home")
    asyncio.run(blobs.put(KEY, source))
    assert files_in(tmp_path / "home") == [f"uploads/{KEY}"]
    assert (tmp_path / "home" / "uploads" / KEY).read_bytes() == source.read_bytes()


def test_of_a_blob_that_is_gone_not_the_place_is_told(tmp_path: Path) -> None:
    async def scene() -> None:
        async with FolderBlobs(tmp_path).local(KEY):
            pass

    with pytest.raises(NotFoundError, match="there is no blob") as told:
        asyncio.run(scene())
    assert str(tmp_path) not in str(told.value)


def test_what_else_is_in_the_home_is_no_blob(tmp_path: Path, source: Path) -> None:
    (tmp_path / "catalog.sqlite").write_text("precious")
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / ".DS_Store").write_text("")
    blobs = FolderBlobs(tmp_path)
    asyncio.run(blobs.put(KEY, source))
    assert asyncio.run(blobs.keys()) == {KEY: 1000}


def test_deleting_takes_empty_folders_along_but_no_others(tmp_path: Path, source: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    for key in ("me/monday/one", "me/tuesday/one", "you/monday/one"):
        asyncio.run(blobs.put(key, source))
    asyncio.run(blobs.delete("me/monday/one"))
    assert names_in(tmp_path / "uploads" / "me") == ["tuesday"]
    asyncio.run(blobs.delete("me/tuesday/one"))
    asyncio.run(blobs.delete("you/monday/one"))
    assert names_in(tmp_path / "uploads") == [".incoming"]


def test_a_blob_whose_place_is_taken_by_a_folder_is_an_error(tmp_path: Path, source: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    asyncio.run(blobs.put("me/monday/one", source))
    for action in (blobs.put("me/monday", source), blobs.delete("me/monday")):
        with pytest.raises(OutputError, match="me/monday"):
            asyncio.run(action)
    with pytest.raises(OutputError, match="cannot write"):
        asyncio.run(blobs.put("me/monday/one/two", source))
    assert asyncio.run(blobs.keys()) == {"me/monday/one": 1000}
    assert files_in(tmp_path / "uploads") == ["me/monday/one"]


def test_leftovers_of_a_crash_are_no_blobs_and_can_be_swept(tmp_path: Path, source: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    assert asyncio.run(blobs.sweep()) == 0
    asyncio.run(blobs.put(KEY, source))
    incoming = tmp_path / "uploads" / ".incoming"
    (incoming / "old").write_text("half")
    (incoming / "young").write_text("half")
    yesterday = time.time() - 86400
    os.utime(incoming / "old", (yesterday, yesterday))
    assert asyncio.run(blobs.keys()) == {KEY: 1000}
    assert asyncio.run(blobs.sweep()) == 1
    assert names_in(incoming) == ["young"]
    assert asyncio.run(blobs.sweep(older_than=0)) == 1
    assert files_in(tmp_path / "uploads") == [KEY]


def test_leftovers_are_old_by_the_clock_of_the_folder(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = FolderBlobs(tmp_path, is_shared=True)
    asyncio.run(blobs.put(KEY, source))
    (tmp_path / "uploads" / ".incoming" / "young").write_text("half")
    tomorrow = time.time() + 86400
    monkeypatch.setattr(time, "time", lambda: tomorrow)
    assert asyncio.run(blobs.sweep()) == 0


def test_a_shared_folder_that_is_not_mounted_is_away_and_not_empty(
    tmp_path: Path, source: Path
) -> None:
    blobs = FolderBlobs(tmp_path / "mount", is_shared=True)

    async def look() -> None:
        async with blobs.local(KEY):
            pass

    for action in (look(), blobs.put(KEY, source), blobs.keys(), blobs.delete(KEY)):
        with pytest.raises(TransientError, match="is it mounted"):
            asyncio.run(action)
    assert not (tmp_path / "mount").exists()


def test_a_file_server_that_is_away_may_come_back(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = FolderBlobs(tmp_path, is_shared=True)

    def away(*_args: object, **_more: object) -> None:
        raise OSError(errno.ETIMEDOUT, "Connection timed out")

    monkeypatch.setattr(tempfile, "mkstemp", away)
    with pytest.raises(TransientError, match="Connection timed out; try again"):
        asyncio.run(blobs.put(KEY, source))


def test_no_room_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"x" * 10_000)
    blobs = FolderBlobs(tmp_path / "home")
    asyncio.run(blobs.put("before", tmp_path / "source"))
    said = _child("limited", tmp_path / "home", tmp_path / "source")
    assert said.startswith("OutputError: cannot write")
    assert f"uploads/{KEY}: File too large" in said
    assert asyncio.run(blobs.keys()) == {"before": 10_000}
    assert files_in(tmp_path / "home") == ["uploads/before"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_called_so(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def always_full(dir: Path) -> tuple[int, str]:  # noqa: A002 - the name is tempfile's
        return os.open("/dev/full", os.O_WRONLY), str(dir / "never")

    monkeypatch.setattr(tempfile, "mkstemp", always_full)
    with pytest.raises(OutputError, match="the disk is full; make room and try again"):
        asyncio.run(FolderBlobs(tmp_path).put(KEY, source))


def test_a_folder_that_may_not_be_used_is_named() -> None:
    # Not in pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        home.chmod(0o755)
        (home / "source").write_bytes(b"x")
        asyncio.run(FolderBlobs(home).put(KEY, home / "source"))
        for what in ("put", "delete", "keys"):
            said = _child(what, home, home / "source")
            assert said.startswith("OutputError: cannot"), what
            assert "ermission denied" in said
        (home / "uploads" / "me").chmod(0o755)
        assert asyncio.run(FolderBlobs(home).keys()) == {KEY: 1}


def test_a_kill_leaves_whole_files_only(tmp_path: Path) -> None:
    size = 2**24
    (tmp_path / "source").write_bytes(os.urandom(size))
    for attempt in range(5):
        command = _command("forever", tmp_path / "home", tmp_path / "source")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.01 + attempt * 0.013)
            child.kill()
    blobs = FolderBlobs(tmp_path / "home")
    keys = asyncio.run(blobs.keys())
    assert set(keys.values()) == {size}
    asyncio.run(blobs.sweep(older_than=0))
    assert files_in(tmp_path / "home") == sorted(f"uploads/{key}" for key in keys)
    content = (tmp_path / "source").read_bytes()
    assert all((tmp_path / "home" / "uploads" / key).read_bytes() == content for key in keys)


# What the children do.


def _command(what: str, home: Path, source: Path) -> list[str]:
    return [sys.executable, __file__, what, str(home), str(source)]


def _child(what: str, home: Path, source: Path) -> str:
    return subprocess.check_output(_command(what, home, source), text=True, timeout=60)


async def _forever(blobs: FolderBlobs, source: Path) -> None:
    await blobs.put(f"{os.getpid()}/first", source)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    number = 0
    while True:
        await blobs.put(f"{os.getpid()}/{number % 3}", source)
        number += 1


def _main(what: str, home: Path, source: Path) -> str:
    blobs = FolderBlobs(home)
    if what == "forever":
        asyncio.run(_forever(blobs, source))
    # Loaded while we still may: nobody need not be allowed to read the interpreter's files.
    asyncio.run(asyncio.to_thread(int))
    if what == "limited":
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    elif os.geteuid() == 0:
        (home / "uploads" / "me").chmod(0o700)
        os.setuid(NOBODY)
    else:
        (home / "uploads" / "me").chmod(0)
    try:
        if what == "delete":
            asyncio.run(blobs.delete(KEY))
        elif what == "keys":
            asyncio.run(blobs.keys())
        else:
            asyncio.run(blobs.put(KEY, source))
    except OutputError as error:
        return f"OutputError: {error}"
    return "nothing went wrong"


if __name__ == "__main__":
    sys.stdout.write(_main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
