"""Files are documents: what is uploaded is in the library, and the other way round."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from homes import Home
from shops import ME, OTHER, TIDES, Clock, bring, fill, room
from unchunk.domain import NewFile
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError, NotFoundError
from unchunk.ports import FileNote, Page
from unchunk.stores import Addition, VectorStores
from unchunk.stores.filters import parse
from unchunk.stores.parts import Library


def test_a_file_is_a_document_from_the_moment_it_is_kept(home: Home) -> None:
    async def work(engine: Engine) -> None:
        path = home.file("tides.txt", TIDES)
        document, note = await engine.stores.add_file(
            path, "tides.txt", purpose="user_data", expires_after=timedelta(days=2), owner=ME
        )
        assert (document.status, document.name, document.folder) == ("pending", "tides.txt", "")
        expiry = document.created_at + timedelta(days=2)
        assert note == FileNote(document.id, "tides.txt", "user_data", expiry)
        await engine.retry()
        again = await engine.stores.file(document.id, owner=ME)
        assert (again.document.status, again.note) == ("live", note)
        assert await engine.text("tides.txt") == TIDES

    home.run(work)


def test_the_same_file_twice_is_two_documents_and_both_are_called_what_they_were(
    home: Home,
) -> None:
    async def work(engine: Engine) -> None:
        path = home.file("a.txt", TIDES)
        await engine.add(path)
        kept = [await engine.stores.add_file(path, "a.txt", owner=ME) for _ in range(2)]
        assert [one.document.name for one in kept] == ["a (2).txt", "a (3).txt"]
        assert [one.note.filename for one in kept] == ["a.txt", "a.txt"]
        await engine.retry()
        assert all([await engine.text(one.document.id) == TIDES for one in kept])
        # Deleting one takes nothing of the others.
        assert (await engine.stores.delete_file(kept[0].document.id, owner=ME)).clean
        assert {one.name for one in await engine.documents()} == {"a.txt", "a (3).txt"}
        assert (await engine.doctor()).healthy

    home.run(work)


def test_many_at_once_under_one_name_all_find_a_place(home: Home) -> None:
    async def work(engine: Engine) -> None:
        paths = [home.file(f"{at}.txt", f"{TIDES} {at}") for at in range(12)]
        kept = await asyncio.gather(
            *(engine.stores.add_file(path, "same.txt", owner=ME) for path in paths)
        )
        assert len({one.document.name for one in kept}) == 12
        await engine.retry()
        texts = [await engine.text(one.document.id) for one in kept]
        assert texts == [path.read_text() for path in paths]

    home.run(work)


def test_a_file_with_an_odd_name_has_a_harmless_one_in_the_library(home: Home) -> None:
    expected = {
        "../../etc/passwd": "passwd",
        "C:\\papers\\tides.txt": "tides.txt",
        "a\x00b\n.txt": "ab.txt",
        "..": "file",
        "folder/": "file (2)",
        " . .": "file (3)",
        "\x00\u200b": "file (4)",
        "n" * 900 + ".txt": "n" * 196 + ".txt",
        "." * 500 + "x" * 300: "file (5)",
    }

    async def work(engine: Engine) -> None:
        path = home.file("given", TIDES)
        for filename, name in expected.items():
            file = await engine.stores.add_file(path, filename, owner=ME)
            assert file.document.name == name
            noted = (await engine.stores.file(file.document.id, owner=ME)).note.filename
            assert (
                noted
                == file.note.filename
                == (filename if filename.strip(" .\x00\u200b") else name)
            )

    home.run(work)


def test_what_cannot_be_kept_is_refused_and_leaves_nothing(home: Home) -> None:
    async def work(engine: Engine) -> None:
        big, small = home.file("big.txt", "x" * 2000), home.file("small.txt", TIDES)
        with pytest.raises(InvalidInputError, match=r"^big\.txt: .*bytes"):
            await engine.stores.add_file(big, "big.txt", owner=ME)
        for filename, purpose, field in (
            ("n" * 1001, "assistants", "filename"),
            ("\ud800.txt", "assistants", "filename"),
            ("a.txt", "p" * 65, "purpose"),
        ):
            with pytest.raises(InvalidInputError, match=field):
                await engine.stores.add_file(small, filename, purpose=purpose, owner=ME)
        with pytest.raises(InvalidInputError, match="expires_after"):
            await engine.stores.add_file(
                small, "a.txt", expires_after=timedelta(seconds=1), owner=ME
            )
        assert await engine.documents() == []

    home.run(work, max_bytes=1000)


def test_every_document_is_a_file_whoever_brought_it(home: Home) -> None:
    async def work(engine: Engine) -> None:
        await engine.add(home.file("page.txt", TIDES), folder="in")
        mine = await bring(engine, home, "sent.txt", TIDES * 2)
        files, more = await engine.stores.files(Page(), owner=ME)
        assert [(it.note.filename, it.note.purpose) for it in files] == [
            ("sent.txt", "assistants"),
            ("page.txt", "assistants"),
        ]
        assert not more
        names = await engine.stores.filenames([mine, "none"], owner=ME)
        assert names == {mine: "sent.txt"}

    home.run(work)


def test_a_file_of_another_owner_is_not_there(home: Home) -> None:
    async def work(engine: Engine) -> None:
        mine = await bring(engine, home, "mine.txt", TIDES)
        stores = engine.stores
        assert await stores.files(Page(), owner=OTHER) == ([], False)
        assert await stores.filenames([mine], owner=OTHER) == {}
        for ask in (stores.file, stores.delete_file):
            with pytest.raises(NotFoundError) as caught:
                await ask(mine, owner=OTHER)
            with pytest.raises(NotFoundError) as unknown:
                await ask("never", owner=OTHER)
            assert str(caught.value).replace(mine, "never") == str(unknown.value)
        assert (await stores.file(mine, owner=ME)).document.live

    home.run(work)


def test_a_file_whose_time_is_over_is_not_there_before_it_is_swept(home: Home) -> None:
    async def work(engine: Engine) -> None:
        clock = Clock()
        stores = room(engine, clock)
        kept = await bring(engine, home, "kept.txt", TIDES)
        path = home.file("short.txt", TIDES + TIDES)
        brief = []
        for _ in range(3):
            file = await stores.add_file(
                path, "short.txt", expires_after=timedelta(hours=1), owner=ME
            )
            await engine.retry(file.document.id)
            brief.append(file.document.id)
        store = await fill(engine, kept, *brief)
        clock.pass_by(hours=2)
        with pytest.raises(NotFoundError):
            await stores.file(brief[0], owner=ME)
        for ask in (stores.member, stores.content):
            with pytest.raises(NotFoundError):
                await ask(store, brief[0], owner=ME)
        with pytest.raises(NotFoundError):
            await stores.describe(store, brief[0], {}, owner=ME)
        with pytest.raises(NotFoundError, match="no file"):
            await stores.attach(store, Addition(brief[0]), owner=ME)
        assert await stores.documents([store], owner=ME) == (kept,)
        every = parse({"type": "ne", "key": "n", "value": 1})
        assert await stores.documents([store], every, owner=ME) == (kept,)
        assert list(await stores.attributes([store], [kept, *brief], owner=ME)) == [kept]
        assert await stores.filenames([kept, *brief], owner=ME) == {kept: "kept.txt"}
        assert (await stores.counts([store], owner=ME))[store].total == 1
        members, _ = await stores.members(store, Page(), owner=ME)
        assert [it.document.id for it in members] == [kept]
        # Though the first page held nothing else.
        files, _ = await stores.files(Page(limit=2), owner=ME)
        assert [it.document.id for it in files] == [kept]
        hits = await stores.search(store, ["the tide"], owner=ME)
        assert {hit.document for hit in hits} == {kept}
        # Who wants it gone does not have to wait for that.
        assert (await stores.delete_file(brief[0], owner=ME)).clean
        assert {it.id for it in await engine.documents()} == {kept, *brief[1:]}

    home.run(work)


def test_a_crash_after_a_file_was_kept_does_not_make_it_stay(home: Home) -> None:
    class Crashing:
        """A library that breaks down as soon as it has kept a file."""

        def __init__(self, engine: Engine) -> None:
            self._engine = engine

        async def keep_file(self, path: Path, name: str, *, owner: str, said: NewFile) -> None:
            await self._engine.keep_file(path, name, owner=owner, said=said)
            raise ArithmeticError

    async def work(engine: Engine) -> None:
        library = cast("Library", Crashing(engine))
        stores = VectorStores(library, engine.stores._catalog, engine.stores._parts)
        path, hour = home.file("a.txt", TIDES), timedelta(hours=1)
        with pytest.raises(ArithmeticError):
            await stores.add_file(path, "a.txt", purpose="vision", expires_after=hour, owner=ME)
        [(document, note)], _ = await engine.stores.files(Page(), owner=ME)
        assert note == FileNote(document.id, "a.txt", "vision", document.created_at + hour)
        assert await engine.stores.sweep(document.created_at + hour) == 1

    home.run(work)
