"""Archives that are damaged, or that somebody made who wishes us ill: told, and nothing changes."""

import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gates import in_time
from homes import Home
from unchunk.domain import Heading
from unchunk.engine import Engine
from unchunk.errors import IntegrityError, InvalidInputError, NotFoundError, UnchunkError
from unchunk.library.embedding import DIGEST_SIZE, digest

WHALE = "# Whales\n\nThe white whale swam before him.\n\n" + "It was a long voyage. " * 200
HARBOUR = "# Harbour\n\nBoats over nine metres pay dues.\n"
FLIPS = 40

Record = dict[str, Any]
Change = Callable[[Record], object]


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two documents, of which tests change the second."""
    folder = tmp_path_factory.mktemp("archive")
    home = Home(folder)
    home.file("a.md", WHALE)
    home.file("b.md", HARBOUR)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        await engine.export(folder / "library.zip")

    home.run(work)
    return folder / "library.zip"


def changed(
    archive: Path, target: Path, change: Change | None = None, **entries: bytes | None
) -> Path:
    """A copy whose second record is changed; `text=...` puts that in the place of its text."""
    with zipfile.ZipFile(archive) as good:
        contents = {name: good.read(name) for name in good.namelist()}
    manifest = json.loads(contents["manifest.json"])
    if change is not None:
        change(manifest["documents"][1])
    contents["manifest.json"] = json.dumps(manifest).encode()
    contents |= {f"1/{name}": content or b"" for name, content in entries.items()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bad:
        for name, content in contents.items():
            if entries.get(name.removeprefix("1/"), content) is not None:
                bad.writestr(name, content)
    return target


async def assert_untouched(engine: Engine) -> None:
    parts = engine._parts
    assert await parts.catalog.find() == []
    assert await parts.catalog.remains() == []
    assert await parts.blobs.keys() == {}
    assert await parts.cache.count() == 0
    assert list(parts.incoming.iterdir()) == []


def assert_refused(
    home: Home, archive: Path, says: str | None = None, **options: str | float
) -> None:
    async def work(engine: Engine) -> None:
        with pytest.raises((IntegrityError, InvalidInputError), match=says):
            await engine.restore(archive)
        await assert_untouched(engine)

    home.run(in_time(work), **options)


@pytest.mark.parametrize(
    "change",
    [
        {"name": 5},
        {"name": None},
        {"name": ""},
        {"name": "../../../etc/passwd"},
        {"name": "/etc/passwd"},
        {"name": "a\x1b[31m.md"},
        {"name": "a\0b"},
        {"name": "half\ud800"},
        {"name": "x" * 2000},
        {"name": "a.md"},
        {"folder": "../up"},
        {"folder": 5},
        {"owner": None},
        {"owner": ["ann"]},
        {"size": -5},
        {"size": "5"},
        {"size": 5.5},
        {"size": True},
        {"checksum": "0" * 64},
        {"checksum": 5},
        {"text_checksum": "0" * 64},
        {"text_checksum": None},
        {"title": 5},
        {"title": "half\ud800"},
        {"notes": 5},
        {"pages": [-1]},
        {"pages": ["1"]},
        {"pages": [10**9]},
        {"pages": {"a": 1}},
        {"headings": [[1]]},
        {"headings": [[10**9, 1, "far"]]},
        {"headings": [["0", 1, "text"]]},
        {"headings": None},
        {"attributes": 5},
        {"attributes": []},
        {"attributes": {"a": float("nan")}},
        {"attributes": {"a": -float("inf")}},
        {"attributes": {"a": 10**1000}},
        {"attributes": {"a": nested(200)}},
        {"entry": "7"},
        {"entry": 1},
        {"entry": "0"},
    ],
    ids=lambda change: repr(change)[:40],
)
def test_a_record_that_cannot_be_is_refused(
    home: Home, archive: Path, tmp_path: Path, change: Record
) -> None:
    bad = changed(archive, tmp_path / "bad.zip", lambda record: record.update(change))
    assert_refused(home, bad)


@pytest.mark.parametrize("field", ["name", "folder", "original", "headings"])
def test_a_record_without_a_field_is_refused(
    home: Home, archive: Path, tmp_path: Path, field: str
) -> None:
    bad = changed(archive, tmp_path / "bad.zip", lambda record: record.pop(field))
    assert_refused(home, bad, "damaged")


def test_a_list_of_documents_that_is_none_is_refused(home: Home, tmp_path: Path) -> None:
    begin = b'{"format": "unchunk library 1", "documents": '
    lists = [b"[]", b"5", b"null", b"", b"\xff\xfe", b"[" * 100_000, b'{"documents": []}']
    lists += [
        begin + rest for rest in (b'{"a": 1}}', b"5}", b"[5]}", b'"ab"}', b"[[]]}", b"[null]}")
    ]
    bad = tmp_path / "bad.zip"

    async def work(engine: Engine) -> None:
        for manifest in lists:
            with zipfile.ZipFile(bad, "w") as archive:
                archive.writestr("manifest.json", manifest)
            with pytest.raises(IntegrityError, match="damaged"):
                await engine.restore(bad)
        with zipfile.ZipFile(bad, "w") as archive:
            archive.writestr("something else", b"")
        with pytest.raises(IntegrityError, match="damaged"):
            await engine.restore(bad)
        await assert_untouched(engine)

    home.run(in_time(work))


def holds_the_same(one: Path, other: Path) -> bool:
    """Some bits mean nothing: those behind the end of what is packed, for example."""
    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        try:
            return all(first.read(name) == second.read(name) for name in second.namelist())
        except (zipfile.BadZipFile, zlib.error, EOFError):
            return False


def test_one_bit_that_flipped_anywhere_in_the_data_is_noticed(
    home: Home, archive: Path, tmp_path: Path
) -> None:
    rng = random.Random(20261115)
    whole = archive.read_bytes()
    with zipfile.ZipFile(archive) as opened:
        entries = [one for one in opened.infolist() if one.compress_size > 2]
    bad = tmp_path / "bad.zip"

    async def work(engine: Engine) -> None:
        damaged = 0
        while damaged < FLIPS:
            entry = rng.choice(entries)
            name, extra = struct.unpack_from("<HH", whole, entry.header_offset + 26)
            at = entry.header_offset + 30 + name + extra + rng.randrange(entry.compress_size)
            flipped = bytearray(whole)
            flipped[at] ^= 1 << rng.randrange(8)
            bad.write_bytes(flipped)
            if holds_the_same(bad, archive):
                continue
            damaged += 1
            with pytest.raises(UnchunkError):
                await engine.restore(bad)
        await assert_untouched(engine)

    home.run(in_time(work))


def test_an_archive_that_ends_too_early_is_refused(
    home: Home, archive: Path, tmp_path: Path
) -> None:
    whole, bad = archive.read_bytes(), tmp_path / "bad.zip"

    async def work(engine: Engine) -> None:
        for size in (0, 1, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
            bad.write_bytes(whole[:size])
            with pytest.raises(InvalidInputError, match="not a library archive"):
                await engine.restore(bad)
        await assert_untouched(engine)

    home.run(in_time(work))


def test_an_encrypted_archive_is_refused(home: Home, archive: Path, tmp_path: Path) -> None:
    locked, bad = bytearray(archive.read_bytes()), tmp_path / "bad.zip"
    for mark, flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = locked.find(mark)
        while at >= 0:
            locked[at + flags] |= 1
            at = locked.find(mark, at + 4)
    bad.write_bytes(locked)
    assert_refused(home, bad, "encrypted")


def test_an_entry_that_is_there_twice_cannot_slip_in_unseen(
    home: Home, archive: Path, tmp_path: Path
) -> None:
    bad = changed(archive, tmp_path / "bad.zip")
    with (
        zipfile.ZipFile(bad, "a") as appended,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        appended.writestr("1/text", b"something else")
    assert_refused(home, bad, "the text of b.md is damaged")


@pytest.mark.parametrize("part", ["text", "original"])
def test_an_entry_that_unfolds_beyond_max_bytes_is_refused(
    home: Home, archive: Path, tmp_path: Path, part: str
) -> None:
    huge = bytes(3_000_000)
    key = "text_checksum" if part == "text" else "checksum"
    bad = changed(
        archive,
        tmp_path / "bad.zip",
        lambda record: record.update({key: sha256(huge).hexdigest()}),
        **{part: huge},
    )
    assert bad.stat().st_size < 30_000
    assert_refused(home, bad, r"more than max_bytes \(1,000,000\)", max_bytes=1_000_000)


def test_an_entry_that_lies_about_its_size_is_not_read_any_further(
    home: Home, archive: Path, tmp_path: Path
) -> None:
    huge = bytes(3_000_000)
    claimed = sha256(huge[:10]).hexdigest()
    bad = changed(
        archive, tmp_path / "bad.zip", lambda it: it.update(text_checksum=claimed), text=huge
    )
    lying = bytearray(bad.read_bytes())
    at = lying.rfind(b"PK\x01\x02", 0, lying.rfind(b"1/text"))
    assert struct.unpack_from("<I", lying, at + 24) == (len(huge),)
    struct.pack_into("<I", lying, at + 24, 10)
    bad.write_bytes(lying)
    assert_refused(home, bad)


def test_a_text_that_is_no_text_is_refused(home: Home, archive: Path, tmp_path: Path) -> None:
    broken = b"\xff\xfe\xff"
    bad = changed(
        archive,
        tmp_path / "bad.zip",
        lambda record: record.update(text_checksum=sha256(broken).hexdigest()),
        text=broken,
    )
    assert_refused(home, bad, "damaged")


def test_documents_of_two_owners_that_would_be_one_are_refused(home: Home, tmp_path: Path) -> None:
    path, merged = home.file("a.md", WHALE), tmp_path / "merged.zip"

    async def work(engine: Engine) -> None:
        await engine.add(path, owner="ann")
        home.file("a.md", HARBOUR)
        await engine.add(path, owner="bob")
        await engine.export(merged)

    async def take_over(engine: Engine) -> None:
        with pytest.raises(InvalidInputError, match="two documents of one name"):
            await engine.restore(merged, owner="eve")
        await assert_untouched(engine)
        assert (await engine.restore(merged)).documents == 2
        assert await engine.text("a.md", owner="ann") == WHALE
        assert await engine.text("a.md", owner="bob") == HARBOUR

    home.run(in_time(work))
    Home(tmp_path / "other").run(in_time(take_over))


def without_meaning(vectors: bytes, digests: bytes) -> tuple[bytes, bytes]:
    return np.full(len(vectors) // 4, np.nan, "<f4").tobytes(), digests


def without_length(vectors: bytes, digests: bytes) -> tuple[bytes, bytes]:
    return (np.frombuffer(vectors, "<f4") * 100).astype("<f4").tobytes(), digests


def cut_short(vectors: bytes, digests: bytes) -> tuple[bytes, bytes]:
    return vectors[:-3], digests


def for_another_text(vectors: bytes, digests: bytes) -> tuple[bytes, bytes]:
    foreign = digest("what somebody else is going to add")
    return vectors, foreign * (len(digests) // DIGEST_SIZE)


@pytest.mark.parametrize("spoil", [without_meaning, without_length, cut_short, for_another_text])
def test_vectors_that_cannot_be_trusted_are_made_anew_and_enter_no_cache(
    home: Home,
    archive: Path,
    tmp_path: Path,
    spoil: Callable[[bytes, bytes], tuple[bytes, bytes]],
) -> None:
    with zipfile.ZipFile(archive) as good:
        vectors, digests = spoil(good.read("1/vectors"), good.read("1/digests"))
    bad = changed(archive, tmp_path / "bad.zip", vectors=vectors, digests=digests)
    own = len(digests) // DIGEST_SIZE

    async def work(engine: Engine) -> None:
        assert (await engine.restore(bad)).documents == 2
        document = await engine.document("b.md")
        assert (await engine.counts()).counters["embedded_chunks"] == own
        parts, identity = engine._parts, engine._parts.spaces.active.identity
        foreign = digest("what somebody else is going to add")
        assert await parts.cache.recall("local", identity.fingerprint, [foreign]) == {}
        assert await parts.cache.count(document.id) == own
        [hit, *_] = (await engine.search("boats pay dues")).hits
        assert hit.text == HARBOUR
        assert (await engine.doctor()).findings == ()

    home.run(in_time(work))


def test_an_archive_without_vectors_is_embedded(home: Home, archive: Path, tmp_path: Path) -> None:
    bare = changed(archive, tmp_path / "bare.zip", vectors=None)

    async def work(engine: Engine) -> None:
        assert (await engine.restore(bare)).documents == 2
        assert (await engine.counts()).counters["embedded_chunks"] > 0
        assert (await engine.doctor()).findings == ()

    home.run(in_time(work))


def test_a_lost_original_is_told_and_the_text_moves_all_the_same(
    home: Home, tmp_path: Path
) -> None:
    home.file("a.md", WHALE)
    lost = home.file("b.md", HARBOUR)
    target = tmp_path / "library.zip"
    home.run(lambda engine: engine.add(home.files))
    for path in (home.folder / "uploads").rglob("[!.]*"):
        if path.is_file() and path.read_bytes() == lost.read_bytes():
            path.unlink()

    async def pack(engine: Engine) -> None:
        moved = await engine.export(target)
        assert (moved.documents, moved.lost) == (2, ("b.md",))

    async def unpack(engine: Engine) -> None:
        assert (await engine.restore(target)).documents == 2
        assert await engine.text("b.md") == HARBOUR
        with pytest.raises(NotFoundError, match="was not kept"):
            async with engine.original("b.md"):
                pass
        async with engine.original("a.md") as path:
            assert path.read_text() == WHALE
        document = await engine.document("a.md")
        assert document.live is not None
        _, headings = await engine._parts.catalog.outline(document.live)
        assert headings == (Heading(0, 1, "Whales"),)
        assert (await engine.doctor()).findings == ()
        assert (await engine.delete("b.md")).clean

    home.run(in_time(pack))
    Home(tmp_path / "other").run(in_time(unpack))


def test_an_owner_without_a_name_is_an_owner_of_its_own(home: Home, tmp_path: Path) -> None:
    path, target = home.file("a.md", WHALE), tmp_path / "library.zip"

    async def work(engine: Engine) -> None:
        await engine.add(path)
        assert await engine.documents(owner="") == []
        assert (await engine.search("white whale", owner="")).hits == ()
        with pytest.raises(NotFoundError):
            await engine.text("a.md", owner="")
        home.file("a.md", HARBOUR)
        assert [one.result for one in await engine.add(path, owner="")] == ["added"]
        assert await engine.text("a.md") == WHALE
        assert await engine.text("a.md", owner="") == HARBOUR
        assert (await engine.counts(owner="")).documents == 1
        assert (await engine.export(target, owner="")).documents == 1
        assert (await engine.delete("a.md", owner="")).clean
        assert [one.owner for one in await engine._parts.catalog.find()] == ["local"]
        assert (await engine.doctor()).findings == ()

    home.run(in_time(work))
