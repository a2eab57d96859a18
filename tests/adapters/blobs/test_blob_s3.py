"""Originals on an S3 server: what it refuses, what happens when it goes, what it costs."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from objectstores import ID, KEY, REGION, S3Server, s3, store_in
from servers import free_ports
from unchunk.adapters.blobs.s3 import S3Blobs
from unchunk.errors import (
    InvalidSettingError,
    NotFoundError,
    OutputError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.settings import Settings
from unchunk.wiring.stores import blobs_of

NAME = "me/2026-02-03/one"
LARGE, SEVERAL_PARTS = 60_000_000, 20_000_000


async def read(blobs: S3Blobs, key: str = NAME) -> bytes:
    async with blobs.local(key) as path:
        return await asyncio.to_thread(path.read_bytes)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(b"x" * 1000)
    return path


def test_a_bucket_that_is_not_there_is_named(
    s3_server: S3Server, tmp_path: Path, source: Path
) -> None:
    blobs = store_in(s3_server, "no-such-bucket", tmp_path)
    for action in (blobs.put(NAME, source), read(blobs), blobs.keys(), blobs.delete(NAME)):
        with pytest.raises(ProviderRefusedError, match=r"no-such-bucket .* NoSuchBucket; make it"):
            asyncio.run(action)


def test_a_wrong_key_is_refused_and_not_told(
    s3_server: S3Server, tmp_path: Path, source: Path
) -> None:
    bucket = s3_server.bucket()
    blobs = store_in(s3_server, bucket, tmp_path, key="a wrong secret")
    for action in (blobs.put(NAME, source), read(blobs), blobs.keys(), blobs.delete(NAME)):
        with pytest.raises(ProviderRefusedError, match="check blobs, blobs_id and blobs_key") as it:
            asyncio.run(action)
        assert "a wrong secret" not in str(it.value)
    assert asyncio.run(store_in(s3_server, bucket, tmp_path).keys()) == {}


def test_a_server_that_is_away_may_come_back(tmp_path: Path, source: Path) -> None:
    away = S3Server(f"http://127.0.0.1:{free_ports(1)[0]}", 0)
    blobs = store_in(away, "bucket", tmp_path)
    for action in (blobs.put(NAME, source), read(blobs), blobs.keys(), blobs.delete(NAME)):
        with pytest.raises(ProviderUnavailableError, match="is blobs_url right, and the server up"):
            asyncio.run(action)


def test_two_prefixes_of_a_bucket_do_not_see_each_other(
    s3_server: S3Server, tmp_path: Path, source: Path
) -> None:
    bucket = s3_server.bucket()
    one, other = (store_in(s3_server, bucket, tmp_path, name) for name in ("one/a", "one/b"))
    asyncio.run(one.put(NAME, source))
    assert asyncio.run(other.keys()) == {}
    assert asyncio.run(store_in(s3_server, bucket, tmp_path).keys()) == {}
    with pytest.raises(NotFoundError):
        asyncio.run(read(other))


def test_a_listing_of_several_pages_is_whole(
    s3_server: S3Server, tmp_path: Path, source: Path
) -> None:
    blobs = store_in(s3_server, s3_server.bucket(), tmp_path)

    async def fill() -> None:
        await asyncio.gather(*(blobs.put(f"me/{number}", source) for number in range(16)))

    asyncio.run(fill())
    assert asyncio.run(blobs.keys()) == {f"me/{number}": 1000 for number in range(16)}


def test_the_copy_for_reading_goes_whatever_happens(
    s3_server: S3Server, tmp_path: Path, source: Path
) -> None:
    incoming = tmp_path / "incoming"
    blobs = store_in(s3_server, s3_server.bucket(), incoming)

    async def fall() -> None:
        await blobs.put(NAME, source)
        async with blobs.local(NAME) as path:
            assert incoming in path.parents
            raise KeyError

    with pytest.raises(KeyError):
        asyncio.run(fall())
    with pytest.raises(NotFoundError, match="there is no blob"):
        asyncio.run(read(blobs, "me/absent"))
    assert list(incoming.iterdir()) == []


def test_a_folder_for_copies_that_cannot_be_is_named(s3_server: S3Server, source: Path) -> None:
    blobs = store_in(s3_server, s3_server.bucket(), source)
    asyncio.run(blobs.put(NAME, source))
    with pytest.raises(OutputError, match=f"cannot write to {source}"):
        asyncio.run(read(blobs))


def test_a_server_killed_while_it_is_written_to_leaves_no_object(tmp_path: Path) -> None:
    large, where = _large(tmp_path, SEVERAL_PARTS), tmp_path / "server"
    (port,) = free_ports(1)

    async def scene(server: S3Server, bucket: str) -> None:
        blobs = store_in(server, bucket, tmp_path)
        putting = asyncio.create_task(blobs.put(NAME, large))
        await asyncio.to_thread(_wait_for_parts, where)
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(ProviderUnavailableError, match="cannot write"):
            await putting

    with s3(where, port) as server:
        bucket = server.bucket()
        asyncio.run(scene(server, bucket))
    with s3(where, port) as server:
        blobs = store_in(server, bucket, tmp_path)
        assert asyncio.run(blobs.keys()) == {}
        asyncio.run(blobs.put(NAME, large))
        assert asyncio.run(blobs.keys()) == {NAME: SEVERAL_PARTS}


def test_several_processes_put_and_read_large_ones_in_little_memory(
    s3_server: S3Server, tmp_path: Path
) -> None:
    large, bucket = _large(tmp_path), s3_server.bucket()
    command = [sys.executable, __file__, s3_server.url, bucket, str(large)]
    found = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen([*command, f"me/{number}"], stdout=subprocess.PIPE, text=True, env=found)
        for number in range(2)
    ]
    said = [child.communicate(timeout=120)[0].split() for child in children]
    # Not only that it worked: a process that used the library must end in peace, too.
    assert [child.returncode for child in children] == [0, 0]
    expected = sha256(large.read_bytes()).hexdigest()
    assert [digest for digest, _ in said] == [expected, expected]
    assert max(int(grown) for _, grown in said) < 50_000
    blobs = store_in(s3_server, bucket, tmp_path)
    assert asyncio.run(blobs.keys()) == {"me/0": LARGE, "me/1": LARGE}


def test_the_settings_name_a_bucket_a_folder_or_nothing(
    s3_server: S3Server, tmp_path: Path, source: Path
) -> None:
    bucket, shared = s3_server.bucket(), tmp_path / "shared"
    shared.mkdir()
    home = tmp_path / "home"
    asyncio.run(blobs_of(Settings(home)).put(NAME, source))
    asyncio.run(blobs_of(Settings(home, blobs=f"folder:{shared}")).put(NAME, source))
    on_s3 = Settings(
        home,
        blobs=f"s3:{bucket}/deep/",
        blobs_url=s3_server.url,
        blobs_region=REGION,
        blobs_id=ID,
        blobs_key=KEY,
    )
    asyncio.run(blobs_of(on_s3).put(NAME, source))
    assert (home / "uploads" / NAME).exists()
    assert (shared / "uploads" / NAME).exists()
    assert asyncio.run(store_in(s3_server, bucket, tmp_path, "deep").keys()) == {NAME: 1000}
    assert KEY not in repr(on_s3).replace(ID, "")


def test_blobs_that_cannot_be_are_refused_at_once(tmp_path: Path) -> None:
    for wrong in ("s3:", "folder:", "gcs:bucket", "s3"):
        with pytest.raises(InvalidSettingError, match="there are no blobs"):
            blobs_of(Settings(tmp_path, blobs=wrong))
    with pytest.raises(InvalidSettingError, match="belong together"):
        blobs_of(Settings(tmp_path, blobs="s3:bucket", blobs_id="me"))
    with pytest.raises(InvalidSettingError, match="blobs cannot be used"):
        blobs_of(Settings(tmp_path, blobs="s3:bucket/..", blobs_url="http://127.0.0.1:1"))


def test_the_keys_may_come_from_the_environment(
    s3_server: S3Server, tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    settings = Settings(tmp_path, blobs=f"s3:{s3_server.bucket()}", blobs_url=s3_server.url)
    asyncio.run(blobs_of(settings).put(NAME, source))
    assert asyncio.run(blobs_of(settings).keys()) == {NAME: 1000}


def _large(folder: Path, size: int = LARGE) -> Path:
    path = folder / "large"
    path.write_bytes(os.urandom(size))
    return path


def _wait_for_parts(where: Path) -> None:
    deadline = time.monotonic() + 60
    while not any((where / "devices").rglob("*.data")):
        assert time.monotonic() < deadline
        time.sleep(0.01)


# What the children do.


async def _put_and_read(url: str, bucket: str, large: Path, key: str) -> None:
    blobs = store_in(S3Server(url, 0), bucket, large.parent / "incoming")
    small = large.with_name(f"small-{os.getpid()}")
    small.write_bytes(b"x")
    await blobs.put(f"warm/{key}", small)
    await read(blobs, f"warm/{key}")
    await blobs.delete(f"warm/{key}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await blobs.put(key, large)
    digest = sha256()
    async with blobs.local(key) as path:
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    sys.stdout.write(f"{digest.hexdigest()} {grown}")


if __name__ == "__main__":
    asyncio.run(_put_and_read(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]))
