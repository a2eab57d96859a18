"""A library into one file and back."""

import asyncio
import json
import sqlite3
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from gates import break_off, hold, in_time, part
from homes import Home
from unchunk.domain import Whole
from unchunk.engine import Engine
from unchunk.errors import (
    IndexUnavailableError,
    IntegrityError,
    InvalidInputError,
    OutputError,
    ProviderUnavailableError,
)
from unchunk.retrieval.shelf import Where

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


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE texts SET content = CAST(replace(content, 'worth', 'WORTH') AS BLOB)",
        "UPDATE texts SET content = x'00'",
        "DELETE FROM texts",
    ],
)
def test_a_document_whose_text_is_damaged_or_gone_is_left_out_and_named(
    home: Home, tmp_path: Path, damage: str
) -> None:
    archive = tmp_path / "library.zip"
    home.file("a.md", TEXT)
    home.file("b.md", TEXT + "more")
    home.run(lambda engine: engine.add(home.files))
    database = sqlite3.connect(home.folder / "catalog.sqlite")
    with database:
        [damaged] = database.execute("SELECT id FROM documents WHERE name = 'b.md'")
        assert database.execute(f"{damage} WHERE document = ?", damaged).rowcount == 1
    database.close()

    async def pack(engine: Engine) -> None:
        moved = await engine.export(archive)
        assert (moved.documents, moved.lost, moved.damaged) == (1, (), ("b.md",))

    async def unpack(engine: Engine) -> None:
        assert (await engine.restore(archive)).documents == 1
        assert await engine.text("a.md") == TEXT

    home.run(in_time(pack))
    Home(tmp_path / "other").run(in_time(unpack))


def test_a_damaged_original_stays_behind_and_its_text_moves(home: Home, tmp_path: Path) -> None:
    archive = tmp_path / "library.zip"
    home.file("a.md", TEXT)
    home.run(lambda engine: engine.add(home.files))
    [original] = [path for path in (home.folder / "uploads").rglob("[!.]*") if path.is_file()]
    original.write_text("something else")

    async def pack(engine: Engine) -> None:
        moved = await engine.export(archive)
        assert (moved.documents, moved.lost, moved.damaged) == (1, ("a.md",), ())

    async def unpack(engine: Engine) -> None:
        assert (await engine.restore(archive)).documents == 1
        assert await engine.text("a.md") == TEXT

    home.run(in_time(pack))
    Home(tmp_path / "other").run(in_time(unpack))


@pytest.mark.parametrize("name", ["0.md", "2.md"])
@pytest.mark.parametrize(("where", "method"), [("catalog", "outline"), ("index", "fetch")])
@pytest.mark.parametrize("change", ["delete", "reindex", "replace"])
def test_an_export_goes_on_when_a_document_changes_meanwhile(  # noqa: PLR0917 - the cases
    home: Home,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
    where: str,
    method: str,
    name: str,
) -> None:
    """One that is being exported, or one whose turn comes later."""
    archive = tmp_path / "library.zip"
    texts = {f"{number}.md": f"{TEXT} {number}" for number in range(3)}
    for one, text in texts.items():
        home.file(one, text)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        gate = hold(monkeypatch, part(engine, where), method)
        exporting = asyncio.create_task(engine.export(archive))
        await gate.reached.wait()
        if change == "delete":
            assert (await engine.delete(name)).clean
            del texts[name]
        elif change == "reindex":
            await engine.reindex(name)
        else:
            texts[name] = "# Another one"
            await engine.add(home.file(name, texts[name]))
        gate.opened.set()
        moved = await exporting
        assert (moved.documents, moved.lost, moved.damaged) == (len(texts), (), ())

    async def unpack(engine: Engine) -> None:
        assert (await engine.restore(archive)).documents == len(texts)
        assert {one.name: await engine.text(one.id) for one in await engine.documents()} == texts

    home.run(in_time(work))
    Home(tmp_path / "other").run(in_time(unpack))


def test_an_export_without_its_index_says_why_and_leaves_no_file(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("a.md", TEXT)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        down = IndexUnavailableError("the index is down")
        break_off(monkeypatch, part(engine, "index"), "fetch", down)
        with pytest.raises(IndexUnavailableError, match="is down"):
            await engine.export(tmp_path / "library.zip")

    home.run(in_time(work))
    assert {path.name for path in tmp_path.iterdir()} == {"files", "home"}


def test_a_draft_that_a_restored_version_ends_leaves_nothing(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, path = tmp_path / "library.zip", home.file("a.md", TEXT)

    async def work(engine: Engine) -> None:
        await engine.add(path)
        await engine.export(archive)
        home.file("a.md", TEXT + "more")
        with monkeypatch.context() as patch:
            down = ProviderUnavailableError("the provider is down")
            break_off(patch, part(engine, "embedder"), "embed", down)
            assert [one.result for one in await engine.add(path)] == ["waiting"]
        assert (await engine.restore(archive)).unchanged == 1
        assert (await engine.document("a.md")).draft is None
        assert len(await engine._parts.blobs.keys()) == 1
        assert (await engine.doctor()).findings == ()

    home.run(in_time(work))


SAID: dict[str, object] = {"team": "red", "n": [1, None, {"ß": True}], "half": "\ud800", "one": 1}


async def describe(
    engine: Engine, name: str, said: dict[str, object], owner: str = "local"
) -> None:
    document = await engine.document(name, owner=owner)
    await engine._parts.catalog.describe(owner, document.id, said)


async def said_of(engine: Engine) -> dict[str, object]:
    every = await engine._parts.catalog.find()
    return {f"{one.owner}:{one.name}": one.attributes for one in every}


def described(home: Home, archive: Path) -> None:
    exported(home, archive)

    async def work(engine: Engine) -> None:
        await describe(engine, "a.md", SAID)
        assert (await engine.export(archive)).documents == 3

    home.run(work)


def without_attributes(archive: Path, target: Path) -> Path:
    """As it was written before there were any."""
    with zipfile.ZipFile(archive) as new, zipfile.ZipFile(target, "w") as old:
        for name in new.namelist():
            content = new.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                for record in manifest["documents"]:
                    del record["attributes"]
                content = json.dumps(manifest).encode()
            old.writestr(name, content)
    return target


def test_what_is_said_of_documents_moves_with_them(home: Home, tmp_path: Path) -> None:
    archive = tmp_path / "library.zip"
    described(home, archive)

    async def work(engine: Engine) -> None:
        assert (await engine.restore(archive)).documents == 3
        said = {"local:a.md": SAID, "local:b.txt": {}, "ann:a.md": {}}
        assert await said_of(engine) == said
        where = Where(fields=(("team", "red"),))
        assert {hit.name for hit in (await engine.search("worth", where=where)).hits} == {"a.md"}
        assert (await engine.search("worth", where=where, owner="ann")).hits == ()
        assert (await engine.restore(archive)).unchanged == 3
        assert (await engine.doctor()).findings == ()

    Home(tmp_path / "other").run(in_time(work))


def test_an_archive_says_it_over_what_was_said_though_the_content_is_the_same(
    home: Home, tmp_path: Path
) -> None:
    archive = tmp_path / "library.zip"
    described(home, archive)

    async def work(engine: Engine) -> None:
        await describe(engine, "a.md", SAID | {"one": True})
        await describe(engine, "a.md", {"team": "blue"}, "ann")
        moved = await engine.restore(archive)
        assert (moved.documents, moved.unchanged) == (2, 1)
        said = await said_of(engine)
        assert said == {"local:a.md": SAID, "local:b.txt": {}, "ann:a.md": {}}
        assert type((await engine.document("a.md")).attributes["one"]) is int

    home.run(in_time(work))


def test_an_archive_from_before_attributes_leaves_those_that_there_are(
    home: Home, tmp_path: Path
) -> None:
    archive = tmp_path / "library.zip"
    described(home, archive)
    old = without_attributes(archive, tmp_path / "old.zip")

    async def same(engine: Engine) -> None:
        assert (await engine.restore(old)).unchanged == 3
        assert (await said_of(engine))["local:a.md"] == SAID

    async def elsewhere(engine: Engine) -> None:
        assert (await engine.restore(old)).documents == 3
        assert set(map(str, (await said_of(engine)).values())) == {"{}"}
        assert await engine.text("f/a.md") == TEXT

    home.run(in_time(same))
    Home(tmp_path / "other").run(in_time(elsewhere))


def test_a_restored_document_is_never_seen_without_what_is_said_of_it(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "library.zip"
    described(home, archive)

    async def work(engine: Engine) -> None:
        catalog = engine._parts.catalog
        going_live, seen = catalog.go_live, dict[str, object]()

        async def watched(wholes: Sequence[Whole]) -> list[str]:
            said = {one.id: one for one in await catalog.find()}
            for whole in wholes:
                document = said[whole.version.document]
                seen[f"{document.owner}:{document.name}"] = document.attributes
            return await going_live(wholes)

        monkeypatch.setattr(catalog, "go_live", watched)
        assert (await engine.restore(archive)).documents == 3
        assert seen == {"local:a.md": SAID, "local:b.txt": {}, "ann:a.md": {}}

    Home(tmp_path / "other").run(in_time(work))
