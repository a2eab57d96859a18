"""A library into one file and back."""

import json
import zipfile
from pathlib import Path

import pytest

from homes import Home
from unchunk.engine import Engine
from unchunk.errors import IntegrityError, InvalidInputError, OutputError

TEXT = "# Title\n\n" + "Some words that are worth keeping. " * 100


def exported(home: Home, archive: Path) -> None:
    home.file("a.md", TEXT)
    home.file("b.txt", "Äther\r\nund Öl".encode("utf-8-sig"))

    async def work(engine: Engine) -> None:
        await engine.add(home.files, folder="f")
        await engine.add(home.files / "a.md", owner="ann")
        assert (await engine.export(archive)).documents == 3

    home.run(work)


def test_all_that_went_out_comes_in_elsewhere_and_nothing_is_embedded_again(
    home: Home, tmp_path: Path
) -> None:
    archive = tmp_path / "library.zip"
    exported(home, archive)
    other = Home(tmp_path / "other")

    async def work(engine: Engine) -> None:
        moved = await engine.restore(archive)
        assert (moved.documents, moved.unchanged) == (3, 0)
        assert await engine.text("f/a.md") == TEXT
        assert await engine.text("b.txt") == "Äther\r\nund Öl"
        assert await engine.text("a.md", owner="ann") == TEXT
        async with engine.original("b.txt") as path:
            assert path.read_bytes() == "Äther\r\nund Öl".encode("utf-8-sig")
        assert "embedded_chunks" not in (await engine.counts()).counters
        assert {hit.name for hit in (await engine.search("worth keeping")).hits} >= {"a.md"}
        assert (await engine.doctor()).findings == ()
        again = await engine.restore(archive)
        assert (again.documents, again.unchanged) == (0, 3)

    other.run(work)


def test_an_archive_of_another_embedder_is_embedded_anew(home: Home, tmp_path: Path) -> None:
    archive = tmp_path / "library.zip"
    exported(home, archive)
    other = Home(tmp_path / "other")

    async def work(engine: Engine) -> None:
        assert (await engine.restore(archive, owner="bob")).documents == 3
        assert (await engine.counts()).counters["embedded_chunks"] > 0
        assert [one.name for one in await engine.documents(owner="bob")] == [
            "a.md",
            "a.md",
            "b.txt",
        ]
        assert (await engine.doctor()).findings == ()

    other.run(work, embedder="hashing:128", chunk_size=300)


@pytest.mark.parametrize("part", ["0/text", "0/original", "manifest.json"])
def test_a_damaged_archive_changes_nothing(home: Home, tmp_path: Path, part: str) -> None:
    archive, damaged = tmp_path / "library.zip", tmp_path / "damaged.zip"
    exported(home, archive)
    with zipfile.ZipFile(archive) as good, zipfile.ZipFile(damaged, "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            bad.writestr(name, content[:-1] + b"?" if name == part else content)
    other = Home(tmp_path / "other")

    async def work(engine: Engine) -> None:
        with pytest.raises(IntegrityError, match="damaged"):
            await engine.restore(damaged)
        assert await engine.documents(owner=None) == []
        assert await engine._parts.blobs.keys() == {}

    other.run(work)


def test_what_is_no_archive_is_refused(home: Home, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.zip"
    text = home.file("a.md", TEXT)
    newer = tmp_path / "newer.zip"
    with zipfile.ZipFile(newer, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": "unchunk library 9"}))

    async def work(engine: Engine) -> None:
        for path in (nothing, text, newer):
            with pytest.raises(InvalidInputError):
                await engine.restore(path)

    home.run(work)


def test_an_export_that_fails_leaves_no_file(home: Home, tmp_path: Path) -> None:
    home.file("a.md", TEXT)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        with pytest.raises(OutputError, match="cannot be written"):
            await engine.export(tmp_path / "no" / "folder.zip")

    home.run(work)
    assert not (tmp_path / "no").exists()
