"""Other settings than the library was built with, and servers that are not there."""

import asyncio
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import servers
from adapters.embed.provider import Handler, provider, refuse, reply
from gates import hold, in_time, until
from homes import Home
from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.adapters.index import qdrant
from unchunk.engine import Engine
from unchunk.errors import (
    IndexUnavailableError,
    InvalidSettingError,
    MigrationNeededError,
    ProviderUnavailableError,
)
from unchunk.library.recipes import without_password
from unchunk.settings import load
from unchunk.wiring.stores import indexes_of

WHALE = "# Whales\n\nThe white whale swam before him.\n\n" + "It was a long voyage. " * 200
TEXTS = {f"{n}.md": f"# Part {n}\n\nThe white whale of part {n}." for n in range(6)}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a library with all of `TEXTS`, to be copied."""
    home = Home(tmp_path_factory.mktemp("library"))
    for name, text in TEXTS.items():
        home.file(name, text)
    home.run(lambda engine: engine.add(home.files))
    return home.folder


async def names_found(engine: Engine) -> set[str]:
    return {hit.name for hit in (await engine.search("the white whale", limit=100)).hits}


async def assert_in_one_space(engine: Engine) -> None:
    [space] = engine._parts.spaces.all
    assert {one.live.space for one in await engine.documents() if one.live} == {space.name}
    assert (await engine.doctor()).findings == ()


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("index", "chroma", "index 'edge', not 'chroma'"),
        ("language", "german", "language 'english', not 'german'"),
    ],
)
def test_another_kind_of_index_or_another_language_is_refused_until_it_is_migrated(
    home: Home, library: Path, setting: str, value: str, says: str
) -> None:
    shutil.copytree(library, home.folder)
    new = home.file("new.md", WHALE)

    async def work(engine: Engine) -> None:
        for call in (engine.add(new), engine.retry(), engine.reindex("0.md")):
            with pytest.raises(MigrationNeededError, match=says) as caught:
                await call
            assert "`unchunk reindex --all`" in str(caught.value)
        assert len(await engine.documents()) == len(TEXTS)
        found = await engine.search("the white whale")
        if setting == "index":
            assert {hit.name for hit in found.hits} == set(TEXTS)
            assert says in found.notes[0]
        assert (await engine.migrate()).documents == len(TEXTS)
        assert (await engine.search("the white whale")).notes == ()
        assert await names_found(engine) == set(TEXTS)
        assert [one.result for one in await engine.add(new)] == ["added"]
        await assert_in_one_space(engine)

    home.run(in_time(work), **{setting: value})


def test_a_setting_that_is_set_back_is_as_if_nothing_had_been(home: Home, library: Path) -> None:
    shutil.copytree(library, home.folder)
    home.run(lambda engine: engine.documents(), language="german", embedder="hashing:128")

    async def work(engine: Engine) -> None:
        assert await names_found(engine) == set(TEXTS)
        assert [one.result for one in await engine.add(home.file("0.md", TEXTS["0.md"]))] == [
            "unchanged"
        ]
        await assert_in_one_space(engine)

    home.run(in_time(work))


def sized(handler: Handler, body: dict[str, Any]) -> None:
    """Vectors of as many dimensions as are asked for."""
    embedder = HashingEmbedder(body.get("dimensions", 64))
    rows = asyncio.run(embedder.embed(body["input"], "document"))
    data = [{"index": at, "embedding": row.tolist()} for at, row in enumerate(rows)]
    reply(handler, 200, {"data": data})


def test_the_same_embedder_with_other_dimensions_opens_and_is_migrated(home: Home) -> None:
    path = home.file("whale.md", WHALE)
    new = home.file("new.md", TEXTS["0.md"])

    async def other(engine: Engine) -> None:
        assert [one.name for one in await engine.documents()] == ["whale.md"]
        assert await engine.text("whale.md") == WHALE
        with pytest.raises(MigrationNeededError, match="64") as caught:
            await engine.add(new)
        assert "`unchunk reindex --all`" in str(caught.value)
        assert len(await engine.documents()) == 1
        found = await engine.search("white whale")
        assert {hit.name for hit in found.hits} == {"whale.md"}
        assert "searched by words only" in found.notes[0]
        assert (await engine.migrate()).documents == 1
        assert (await engine.search("white whale")).notes == ()
        assert [one.result for one in await engine.add(new)] == ["added"]
        await assert_in_one_space(engine)
        assert engine._parts.spaces.active.identity.dimensions == 32

    with provider() as server:
        server.plan.extend([sized] * 100)
        options: dict[str, str | float] = {
            "embedder": "openai:some-model",
            "embedder_url": f"{server.url}/v1",
        }
        home.run(lambda engine: engine.add(path), **options)
        home.run(in_time(other), embedder_dimensions=32, **options)


def test_documents_come_go_and_are_found_while_the_library_is_migrated(
    home: Home, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(library, home.folder)
    new = home.file("new.md", WHALE)

    async def work(engine: Engine) -> None:
        reading = hold(monkeypatch, engine._parts.catalog, "outline", call=len(TEXTS))
        retiring = hold(monkeypatch, engine._parts.spaces, "retire")
        migrating = asyncio.create_task(engine.migrate())
        await reading.reached.wait()
        assert await names_found(engine) == set(TEXTS)
        assert [one.result for one in await engine.add(new)] == ["added"]
        assert await names_found(engine) == {*TEXTS, "new.md"}
        before = {one.name: one.id for one in await engine.documents() if one.name != "new.md"}
        desk = engine._parts.desk
        await until(lambda: sum(one in desk._locks for one in before.values()) == 1)
        held = await desk.held(list(before.values()))
        moved, *_ = [one for one in before.values() if one not in held]
        [moving] = held
        assert (await engine.delete(moved)).clean
        deleting = asyncio.create_task(engine.delete(moving))
        await until(lambda: moving in desk._dismissed)
        reading.opened.set()
        assert (await deleting).clean
        retiring.opened.set()
        assert len((await migrating).dropped) == 1
        left = {one.name for one in await engine.documents()}
        assert len(left) == len(TEXTS) - 1
        assert await names_found(engine) == left
        await assert_in_one_space(engine)

    home.run(in_time(work), embedder="hashing:128")


@pytest.mark.parametrize("call", ["doctor", "export"])
def test_the_doctor_and_an_export_go_on_when_the_index_they_read_is_dropped(
    home: Home, tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    shutil.copytree(library, home.folder)

    async def work(engine: Engine) -> None:
        old = engine._parts.spaces.active.index
        gate = hold(monkeypatch, old, "census" if call == "doctor" else "fetch")
        looking = asyncio.create_task(doctor(engine) if call == "doctor" else export(engine))
        await gate.reached.wait()
        assert len((await engine.migrate()).dropped) == 1
        gate.opened.set()
        await looking

    async def doctor(engine: Engine) -> None:
        assert (await engine.doctor()).findings == ()

    async def export(engine: Engine) -> None:
        assert (await engine.export(tmp_path / "library.zip")).documents == len(TEXTS)

    async def restored(engine: Engine) -> None:
        assert (await engine.restore(tmp_path / "library.zip")).documents == len(TEXTS)
        assert "embedded_chunks" not in (await engine.counts()).counters

    home.run(in_time(work), embedder="hashing:128")
    if call == "export":
        Home(tmp_path / "other").run(in_time(restored), embedder="hashing:128")


def test_an_index_that_is_being_dropped_is_no_leftover(
    home: Home, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(library, home.folder)

    async def work(engine: Engine) -> None:
        await engine._parts.spaces.adopt()
        [indexes] = engine._parts.spaces._indexes.values()
        gate = hold(monkeypatch, indexes, "drop")
        migrating = asyncio.create_task(engine.migrate())
        await gate.reached.wait()
        assert (await engine.doctor(fix=True)).findings == ()
        gate.opened.set()
        assert len((await migrating).dropped) == 1

    home.run(in_time(work), embedder="hashing:128")


async def all_have_left(engine: Engine, space: str) -> bool:
    return not any(one.live and one.live.space == space for one in await engine.documents())


def test_a_file_that_was_on_its_way_into_the_old_index_is_migrated_too(
    home: Home, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(library, home.folder)
    new = home.file("new.md", WHALE)

    async def work(engine: Engine) -> None:
        spaces = engine._parts.spaces
        old = spaces.active.name
        gate = hold(monkeypatch, spaces.active.index, "upsert", after=True)
        adding = asyncio.create_task(engine.add(new))
        await gate.reached.wait()
        wanted = replace(spaces._wanted, embedder="hashing:128")
        monkeypatch.setattr(spaces, "_wanted", wanted)
        migrating = asyncio.create_task(engine.migrate())
        await until(partial(all_have_left, engine, old))
        waiting = vars(spaces._changed)["_waiters"]
        await until(lambda: migrating.done() or bool(waiting))
        assert not migrating.done()
        gate.opened.set()
        assert [one.result for one in await adding] == ["added"]
        assert (await migrating).dropped == (old,)
        assert await names_found(engine) == {*TEXTS, "new.md"}
        await assert_in_one_space(engine)

    home.run(in_time(work))


@contextmanager
def served(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """A Qdrant server as the setting `index` names it."""
    with servers.qdrant(folder) as server:
        there = partial(QDRANT, grpc_port=server.grpc_port)
        patch.setattr(qdrant, "QdrantIndexes", there)
        yield f"qdrant:{server.url}"


QDRANT = qdrant.QdrantIndexes


async def goes_to_another_index(engine: Engine, before: str, after: str) -> None:
    """One document is deleted before the library is migrated, and one when it is."""
    assert (await engine.delete(before)).clean
    await engine.migrate()
    assert (await engine.delete(after)).clean
    await assert_in_one_space(engine)
    assert await names_found(engine) == {one.name for one in await engine.documents()}


@pytest.mark.parametrize(
    ("first", "second"),
    [("edge", "chroma"), ("chroma", "edge"), ("edge", "qdrant"), ("qdrant", "chroma")],
)
def test_from_one_kind_of_index_to_another_and_back_nothing_deleted_is_left_anywhere(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    for name, text in TEXTS.items():
        home.file(name, text)
    with ExitStack() as stack:
        kinds = {"edge": "edge", "chroma": "chroma"}
        if "qdrant" in (first, second):
            kinds["qdrant"] = stack.enter_context(served(tmp_path / "server", monkeypatch))
        home.run(lambda engine: engine.add(home.files), index=kinds[first])
        there = partial(goes_to_another_index, before="0.md", after="1.md")
        home.run(in_time(there), index=kinds[second])
        back = partial(goes_to_another_index, before="2.md", after="3.md")
        home.run(in_time(back), index=kinds[first])


def test_a_library_leaves_an_index_that_is_no_longer_installed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("0.md", TEXTS["0.md"])
    home.run(lambda engine: engine.add(home.files), index="chroma")
    monkeypatch.setitem(sys.modules, "chromadb", None)
    monkeypatch.delitem(sys.modules, "unchunk.adapters.index.chroma")
    monkeypatch.delitem(sys.modules, "unchunk.adapters.chroma_clients")

    async def leaves(engine: Engine) -> None:
        with pytest.raises(IndexUnavailableError, match="Chroma is not installed"):
            await engine.search("the white whale")
        assert (await engine.migrate()).documents == 1
        assert await names_found(engine) == {"0.md"}

    home.run(in_time(leaves))
    home.run(in_time(assert_in_one_space))


def test_the_key_of_one_server_is_not_for_another(tmp_path: Path) -> None:
    there, elsewhere = "qdrant:http://127.0.0.1:1", "qdrant:http://127.0.0.1:2"
    for index, key in ((there, "secret"), (elsewhere, None)):
        indexes = indexes_of(load(tmp_path, {}, index=there, index_key="secret"), "", index)
        assert isinstance(indexes, QDRANT)
        assert indexes._api_key == key


def test_a_library_leaves_a_server_that_is_gone_and_takes_nothing_old_from_it_when_it_is_back(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in TEXTS.items():
        home.file(name, text)
    with served(tmp_path / "server", monkeypatch) as index:
        home.run(lambda engine: engine.add(home.files), index=index)

    async def leaves(engine: Engine) -> None:
        assert (await engine.migrate()).documents == len(TEXTS)
        assert (await engine.delete("0.md")).clean

    async def returns(engine: Engine) -> None:
        await engine.migrate()
        await assert_in_one_space(engine)
        assert await names_found(engine) == set(TEXTS) - {"0.md"}

    home.run(in_time(leaves))
    home.run(in_time(assert_in_one_space))
    with served(tmp_path / "server", monkeypatch) as index:
        home.run(in_time(returns), index=index)


def test_without_its_index_a_library_can_be_read_and_files_wait(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("whale.md", WHALE)
    home.file("gone.md", TEXTS["0.md"])
    with served(tmp_path / "server", monkeypatch) as index:
        home.run(lambda engine: engine.add(home.files), index=index)
    new = home.file("new.md", TEXTS["1.md"])

    async def without(engine: Engine) -> None:
        assert [one.name for one in await engine.documents()] == ["gone.md", "whale.md"]
        assert (await engine.document("whale.md")).status == "live"
        assert await engine.text("whale.md") == WHALE
        with pytest.raises(IndexUnavailableError, match="Qdrant server cannot be used"):
            await engine.search("white whale")
        assert [one.result for one in await engine.add(new)] == ["waiting"]
        receipt = await engine.delete("gone.md")
        assert not receipt.clean
        assert "Qdrant server cannot be used" in receipt.problem

    home.run(in_time(without), index=index)

    async def again(engine: Engine) -> None:
        assert [one.result for one in await engine.retry()] == ["added"]
        assert await names_found(engine) == {"whale.md", "new.md"}
        await assert_in_one_space(engine)

    with served(tmp_path / "server", monkeypatch) as index:
        home.run(in_time(again), index=index)


def test_a_new_library_whose_embedder_does_not_answer_opens_and_says_why(home: Home) -> None:
    home.file("whale.md", WHALE)

    async def without(engine: Engine) -> None:
        assert await engine.documents() == []
        for call in (engine.add(home.files), engine.search("whale")):
            with pytest.raises(ProviderUnavailableError, match=r"127\.0\.0\.1:9/"):
                await call

    options: dict[str, str | float] = {"embedder": "openai:m", "embedder_patience": 0.2}
    home.run(in_time(without), embedder_url="http://127.0.0.1:9/v1", **options)

    async def again(engine: Engine) -> None:
        assert [one.result for one in await engine.add(home.files)] == ["added"]
        await assert_in_one_space(engine)

    with provider() as server:
        home.run(in_time(again), embedder="openai:m", embedder_url=f"{server.url}/v1")


@pytest.mark.parametrize("call", ["add", "search"])
def test_a_new_library_asks_an_embedder_again_that_did_not_answer(home: Home, call: str) -> None:
    home.file("whale.md", WHALE)
    # A provider that asks for more than is ever waited for is not tried again in the same call.
    down = refuse(503, {}, retry_after="1000")

    async def work(engine: Engine) -> None:
        server.plan.append(down)
        with pytest.raises(ProviderUnavailableError):
            await (engine.add(home.files) if call == "add" else engine.search("whale"))
        if call == "search":
            assert (await engine.search("whale")).hits == ()
        assert [one.result for one in await engine.add(home.files)] == ["added"]
        assert await names_found(engine) == {"whale.md"}
        await assert_in_one_space(engine)

    with provider() as server:
        server.plan.append(down)
        home.run(in_time(work), embedder="openai:m", embedder_url=f"{server.url}/v1")


def test_a_library_whose_embedder_is_no_longer_known_is_searched_by_words(
    home: Home, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(library, home.folder)

    def gone(*_: object) -> None:
        raise InvalidSettingError("there is no such model any more")

    monkeypatch.setattr(HashingEmbedder, "__init__", gone)

    async def work(engine: Engine) -> None:
        found = await engine.search("the white whale", limit=100)
        assert {hit.name for hit in found.hits} == set(TEXTS)
        assert "searched by words only" in found.notes[0]
        with pytest.raises(InvalidSettingError, match="no such model"):
            await engine.reindex("0.md")

    home.run(in_time(work))


@pytest.mark.parametrize(
    ("index", "noted"),
    [
        ("pgvector:postgresql://me:a/b@c@host:5432/db", "pgvector:postgresql://me@host:5432/db"),
        (
            "qdrant:http://one:6333,http://me:word@two:6333",
            "qdrant:http://one:6333,http://me@two:6333",
        ),
        ("pgvector:postgresql://h/db?password=w&user=x", "pgvector:postgresql://h/db?user=x"),
        ("pgvector:postgresql://h/db?password=w", "pgvector:postgresql://h/db"),
        ("qdrant:http://me@host:6333", "qdrant:http://me@host:6333"),
        ("edge", "edge"),
    ],
)
def test_no_password_of_an_index_is_noted(index: str, noted: str) -> None:
    assert without_password(index) == noted


def test_the_catalog_does_not_hold_the_password_of_the_index(tmp_path: Path) -> None:
    home = Home(tmp_path)

    async def look(engine: Engine) -> str:
        return str(await engine._parts.catalog.notes())

    notes = home.run(look, index="qdrant:http://me:secret@127.0.0.1:1")
    assert "127.0.0.1" in notes
    assert "secret" not in notes


def test_an_index_that_is_none_is_named_without_its_password(tmp_path: Path) -> None:
    settings = load(tmp_path, {}, index="qdrand:http://me:secret@host")
    with pytest.raises(InvalidSettingError, match="there is no index 'qdrand'") as it:
        indexes_of(settings, "library", settings.index)
    assert "secret" not in str(it.value)
