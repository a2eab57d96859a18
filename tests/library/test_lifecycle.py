"""What happens to documents from the day they come in until they are gone."""

import asyncio
import sys

import pytest

from gates import hold, in_time, until
from homes import Home
from unchunk.engine import Engine
from unchunk.errors import (
    IndexUnavailableError,
    IntegrityError,
    InvalidInputError,
    MigrationNeededError,
    NotFoundError,
)
from unchunk.library.ingest import Outcome
from unchunk.library.intake import Source
from unchunk.retrieval.shelf import Where

WHALE = "# Whales\n\nThe white whale swam before him.\n\n" + "It was a long voyage. " * 200
HARBOUR = "# Harbour\n\nBoats over nine metres pay dues.\r\n\r\nThe quay is closed at night.  \n"


def results(outcomes: list[Outcome]) -> dict[str, str]:
    return {one.name: one.result for one in outcomes}


async def names_found(engine: Engine, question: str, owner: str | None = None) -> set[str]:
    return {hit.name for hit in (await engine.search(question, owner=owner)).hits}


def test_a_document_comes_in_whole_and_its_text_comes_out_byte_for_byte(home: Home) -> None:
    home.file("whale.md", WHALE)
    home.file("sub/harbour.md", HARBOUR)

    async def work(engine: Engine) -> None:
        outcomes = await engine.add(home.files, folder="docs")
        assert results(outcomes) == {"sub/harbour.md": "added", "whale.md": "added"}
        assert await engine.text("whale.md") == WHALE
        assert await engine.text("docs/sub/harbour.md") == HARBOUR
        assert await engine.text("whale.md", 2, 8) == "Whales"
        documents = {one.name: one for one in await engine.documents("docs")}
        live = documents["whale.md"].live
        assert live is not None
        assert (live.media_type, live.chunk_count > 3) == ("text/markdown", True)
        async with engine.original("whale.md") as path:
            assert path.read_text() == WHALE
        found = await engine.search("dues for boats in the harbour", limit=1)
        [hit] = found.hits
        assert (hit.name, hit.chunk.heading_path) == ("sub/harbour.md", ("Harbour",))
        assert hit.text == HARBOUR[hit.chunk.start : hit.chunk.end]
        assert (await engine.doctor()).findings == ()

    home.run(work)


def test_it_is_still_there_after_closing_and_opening(home: Home) -> None:
    home.file("whale.md", WHALE)
    home.run(lambda engine: engine.add(home.files))

    async def work(engine: Engine) -> None:
        assert await engine.text("whale.md") == WHALE
        assert await names_found(engine, "white whale") == {"whale.md"}

    home.run(work)


def test_the_same_bytes_twice_are_a_no_op_that_says_so(home: Home) -> None:
    home.file("whale.md", WHALE)

    async def work(engine: Engine) -> None:
        [first] = await engine.add(home.files)
        [second] = await engine.add(home.files)
        assert (first.result, second.result) == ("added", "unchanged")
        assert first.document == second.document
        assert (await engine.counts()).counters["embedding_calls"] == 1

    home.run(work)


def test_the_same_content_under_another_name_is_linked_and_not_embedded_again(home: Home) -> None:
    home.file("whale.md", WHALE)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        before = (await engine.counts()).counters["embedded_chunks"]
        home.file("copy.md", WHALE)
        outcomes = await engine.add(home.files)
        assert results(outcomes) == {"copy.md": "linked", "whale.md": "unchanged"}
        assert outcomes[0].same_as == "whale.md"
        assert (await engine.counts()).counters["embedded_chunks"] == before
        assert await names_found(engine, "white whale") == {"copy.md", "whale.md"}

    home.run(work)


def test_a_changed_file_replaces_the_old_one(home: Home) -> None:
    path = home.file("notes.md", WHALE)

    async def work(engine: Engine) -> None:
        await engine.add(path)
        home.file("notes.md", HARBOUR)
        assert results(await engine.add(path)) == {"notes.md": "replaced"}
        assert await engine.text("notes.md") == HARBOUR
        [hit, *_] = (await engine.search("white whale")).hits
        assert hit.text in HARBOUR
        assert (await engine.doctor()).findings == ()

    home.run(work)


def test_a_changed_file_that_cannot_be_read_leaves_the_old_one_and_says_why(home: Home) -> None:
    path = home.file("notes.md", WHALE)

    async def work(engine: Engine) -> None:
        await engine.add(path)
        home.file("notes.md", b"")
        [outcome] = await engine.add(path)
        assert (outcome.result, outcome.error_code) == ("failed", "empty")
        document = await engine.document("notes.md")
        assert (document.status, document.error_code) == ("live", "empty")
        assert await engine.text("notes.md") == WHALE
        home.file("notes.md", HARBOUR)
        assert results(await engine.add(path)) == {"notes.md": "replaced"}
        assert not (await engine.document("notes.md")).error

    home.run(work)


def test_files_that_fail_are_listed_with_their_reason_and_the_others_come_in(home: Home) -> None:
    home.file("empty.txt", "")
    home.file("lie.pdf", "this is no PDF")
    home.file("whale.md", WHALE)
    (home.files / "out.txt").symlink_to("/etc/passwd")
    with (home.files / "huge.txt").open("wb") as file:
        file.truncate(2_000_000_000)

    async def work(engine: Engine) -> None:
        outcomes = {one.name: one for one in await engine.add(home.files)}
        codes = {name: one.error_code for name, one in outcomes.items()}
        assert codes == {
            "empty.txt": "empty",
            "huge.txt": "too-big",
            "lie.pdf": "mismatch",
            "out.txt": "unreadable",
            "whale.md": "",
        }
        listed = {one.name: (one.status, one.error_code) for one in await engine.documents()}
        assert listed["lie.pdf"] == ("failed", "mismatch")
        assert listed["whale.md"] == ("live", "")
        with pytest.raises(NotFoundError, match="has no text"):
            await engine.text("empty.txt")
        assert await names_found(engine, "passwd root bin PDF") <= {"whale.md"}
        again = await engine.retry()
        assert {one.result for one in again} == {"failed"}
        assert (await engine.doctor()).findings == ()

    home.run(work)


@pytest.mark.parametrize("name", ["../up.txt", "nul\0.txt", "x" * 1001])
def test_a_name_that_cannot_be_is_an_error(home: Home, name: str) -> None:
    path = home.file("a.txt", WHALE)

    async def work(engine: Engine) -> None:
        with pytest.raises(InvalidInputError, match="choose another"):
            await engine.add_file(path, name)
        assert (await engine.add_file(path, "x" * 300)).result == "added"
        assert [one.name for one in await engine.documents()] == ["x" * 300]

    home.run(work)


def test_files_of_one_call_have_names_and_attributes_of_their_own(home: Home) -> None:
    path = home.file("a.txt", WHALE)
    files = [
        Source(path, "one.txt", attributes={"year": 1851}),
        Source(home.file("b.txt", HARBOUR), "two.txt", attributes={"year": float("inf")}),
        Source(path, "../up.txt"),
        Source(home.file("c.txt", "Of the sea.\n"), "three.txt"),
    ]

    async def work(engine: Engine) -> None:
        done = [one.name for one in files]
        outcomes = await engine.add_files(
            files,
            folder="sea",
            report=lambda at: done.remove(at.name) if at.stage == "done" else None,
        )
        assert [one.result for one in outcomes] == ["added", "failed", "failed", "added"]
        assert "too large, or is none" in outcomes[1].error
        assert not done
        said = {one.name: one.attributes for one in await engine.documents()}
        assert said == {"one.txt": {"year": 1851}, "three.txt": {}}

    home.run(work)


def test_a_deleted_document_leaves_nothing_anywhere(home: Home) -> None:
    home.file("whale.md", WHALE)
    home.file("harbour.md", HARBOUR)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        receipt = await engine.delete("whale.md")
        assert receipt.clean
        assert (receipt.vectors, receipt.blobs, receipt.cached, receipt.catalog) == (0, 0, 0, 0)
        assert await names_found(engine, "white whale") == {"harbour.md"}
        with pytest.raises(NotFoundError):
            await engine.document("whale.md")
        parts = engine._parts
        assert len(await parts.blobs.keys()) == 1
        assert await parts.catalog.remains() == []
        [document] = await engine.documents()
        assert document.live is not None
        assert await parts.cache.count() == document.live.chunk_count
        assert (await engine.doctor()).findings == ()

    home.run(work)
    assert not [
        path
        for path in home.folder.rglob("*")
        if path.is_file() and WHALE.encode() in path.read_bytes()
    ]


class Unreachable:
    """An index whose server went away."""

    async def delete(self, *_: object) -> None:
        raise IndexUnavailableError("the index cannot be reached")


def test_a_deleted_document_is_not_found_even_if_the_purge_fails(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.file("whale.md", WHALE)

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        index = engine._parts.spaces.active.index
        with monkeypatch.context() as patch:
            patch.setattr(type(index), "delete", Unreachable.delete)
            receipt = await engine.delete("whale.md")
        assert not receipt.clean
        assert receipt.vectors > 0
        assert "cannot be reached" in receipt.problem
        assert await names_found(engine, "white whale") == set()
        assert await engine.documents() == []

    home.run(work)

    async def after(engine: Engine) -> None:
        assert await engine._parts.catalog.remains() == []
        assert await engine._parts.spaces.active.index.census() == {}
        assert (await engine.doctor()).findings == ()

    home.run(after)


def test_one_owners_files_are_not_there_for_another(home: Home) -> None:
    path = home.file("whale.md", WHALE)

    async def work(engine: Engine) -> None:
        [mine] = await engine.add(path, owner="ann")
        [yours] = await engine.add(path, owner="bob")
        assert (mine.result, yours.result) == ("added", "added")
        assert await names_found(engine, "white whale", "eve") == set()
        for call in (engine.document, engine.text, engine.delete):
            with pytest.raises(NotFoundError):
                await call(mine.document, owner="eve")
        assert (await engine.delete(mine.document, owner="ann")).clean
        assert await engine.text("whale.md", owner="bob") == WHALE
        assert await names_found(engine, "white whale", "bob") == {"whale.md"}
        assert await names_found(engine, "white whale", "ann") == set()
        assert (await engine.doctor()).findings == ()

    home.run(work)


def test_a_search_keeps_to_its_folders_and_documents(home: Home) -> None:
    path = home.file("whale.md", WHALE)

    async def work(engine: Engine) -> None:
        [one] = await engine.add(path, folder="sea")
        await engine.add(path, folder="land")
        for where in (Where(folders=("sea",)), Where(documents=(one.document,))):
            found = await engine.search("whale", where=where)
            assert {hit.folder for hit in found.hits} == {"sea"}
        assert (await engine.search("whale", where=Where(folders=()))).hits == ()
        with pytest.raises(InvalidInputError, match="empty"):
            await engine.search("  ")
        for limit in (0, -1, 1001, 10**20):
            with pytest.raises(InvalidInputError, match="between 1 and 1000"):
                await engine.search("whale", limit=limit)
        assert (await engine.search("whale", limit=1000)).hits
        with pytest.raises(InvalidInputError, match="may be one of"):
            await engine.document("whale.md")

    home.run(work)


def test_a_provider_that_is_down_makes_files_wait_and_retry_goes_on(home: Home) -> None:
    home.file("whale.md", WHALE)
    down: dict[str, str | float] = {
        "embedder": "openai:some-model",
        "embedder_url": "http://127.0.0.1:9/v1",
        "embedder_dimensions": 64,
        "embedder_patience": 0.2,
    }

    async def work(engine: Engine) -> None:
        [outcome] = await engine.add(home.files)
        assert outcome.result == "waiting"
        [document] = await engine.documents()
        assert document.status == "pending"
        found = await engine.search("white whale")
        assert found.hits == ()
        assert "searched by words only" in found.notes[0]
        [again] = await engine.retry()
        assert again.result == "waiting"

    home.run(work, **down)


def test_a_changed_chunking_is_refused_until_the_library_is_migrated(home: Home) -> None:
    path = home.file("whale.md", WHALE)
    home.run(lambda engine: engine.add(path))

    async def refused(engine: Engine) -> None:
        home.file("harbour.md", HARBOUR)
        with pytest.raises(MigrationNeededError, match="unchunk reindex --all"):
            await engine.add(home.files)
        assert await names_found(engine, "white whale") == {"whale.md"}
        before = (await engine.document("whale.md")).live
        assert (await engine.migrate()).documents == 1
        after = (await engine.document("whale.md")).live
        assert before is not None
        assert after is not None
        assert after.chunk_count > before.chunk_count
        assert await engine.text("whale.md") == WHALE
        assert {one.result for one in await engine.add(home.files)} == {"added", "unchanged"}
        assert (await engine.doctor()).findings == ()

    home.run(refused, chunk_size=300, chunk_overlap=50)


def test_a_changed_embedder_is_migrated_beside_the_old_index_while_searches_go_on(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = {f"{number}.md" for number in range(60)}
    for name in everything:
        home.file(name, f"# Part {name}\n\nThe white whale of part {name}.\n")
    home.run(lambda engine: engine.add(home.files))

    async def work(engine: Engine) -> None:
        with pytest.raises(MigrationNeededError, match="embedder 'hashing', not 'hashing:128'"):
            await engine.add(home.files)
        seen: list[set[str]] = []

        async def searching() -> None:
            while True:
                found = await engine.search("the white whale", limit=100)
                seen.append({hit.name for hit in found.hits})
                await asyncio.sleep(0)

        async def searched() -> None:
            """Searches are made that begin now or later."""
            wanted = len(seen) + 3
            await until(lambda: searches.done() or len(seen) >= wanted)

        async def spaces_of_documents() -> set[str]:
            return {one.live.space for one in await engine.documents() if one.live}

        # Before the first document moves, with some moved, and with all moved.
        first = hold(monkeypatch, engine._parts.catalog, "outline")
        later = hold(monkeypatch, engine._parts.catalog, "outline", call=40)
        retiring = hold(monkeypatch, engine._parts.spaces, "retire")
        old = engine._parts.spaces.active.name
        searches = asyncio.create_task(searching())
        await searched()
        migrating = asyncio.create_task(engine.migrate())
        await first.reached.wait()
        await searched()
        first.opened.set()
        await later.reached.wait()
        assert len(await spaces_of_documents()) == 2
        await searched()
        later.opened.set()
        await retiring.reached.wait()
        assert old not in await spaces_of_documents()
        await searched()
        retiring.opened.set()
        done = await migrating
        await searched()
        searches.cancel()
        with pytest.raises(asyncio.CancelledError):
            await searches
        assert done.documents == 60
        assert done.dropped == (old,)
        assert all(names == everything for names in seen)
        assert {hit.name for hit in (await engine.search("whale", limit=100)).hits} == everything
        assert (await engine.doctor()).findings == ()
        assert len(engine._parts.spaces.all) == 1

    home.run(in_time(work), embedder="hashing:128")


def test_an_interrupted_migration_goes_on_and_both_halves_are_found(home: Home) -> None:
    for number in range(6):
        home.file(f"{number}.md", f"# Part {number}\n\n{WHALE}")
    home.run(lambda engine: engine.add(home.files))

    async def half(engine: Engine) -> None:
        await engine._parts.spaces.adopt()
        await engine.reindex("0.md", "1.md")
        assert len(await names_found(engine, "whale part")) >= 1

    home.run(half, embedder="hashing:128")

    async def rest(engine: Engine) -> None:
        spaces = {one.live.space for one in await engine.documents() if one.live}
        assert len(spaces) == 2
        found = await engine.search("the white whale", limit=100)
        assert {hit.name for hit in found.hits} == {f"{number}.md" for number in range(6)}
        assert (await engine.migrate()).documents == 4
        assert (await engine.doctor()).findings == ()

    home.run(rest, embedder="hashing:128")


def test_a_library_in_use_says_so(home: Home) -> None:
    async def work(engine: Engine) -> None:
        await engine.search("anything")
        code = (
            "import asyncio, sys\n"
            "from unchunk.settings import load\nfrom unchunk.wiring import open_engine\n"
            "async def work():\n"
            "    engine = await open_engine(load(sys.argv[1], {}, embedder='hashing'))\n"
            "    print(await engine.documents())\n"
            "    await engine.search('anything')\n"
            "asyncio.run(work())\n"
        )
        other = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            code,
            str(home.folder),
            stderr=asyncio.subprocess.PIPE,
        )
        _, errors = await other.communicate()
        assert other.returncode == 1
        assert b"LibraryInUseError" in errors

    home.run(work)


def test_a_library_whose_index_is_damaged_amid_a_delete_can_be_opened_and_read(home: Home) -> None:
    paths = [home.file("a.md", WHALE), home.file("b.md", HARBOUR)]
    home.run(lambda engine: engine.add(*paths))
    for current in home.folder.glob("index/edge/*/current.json"):
        current.write_text("{bad")

    async def delete(engine: Engine) -> None:
        with pytest.raises(IntegrityError):
            await engine.delete("a.md")

    async def read(engine: Engine) -> None:
        assert [one.name for one in await engine.documents()] == ["b.md"]
        assert await engine.text("b.md") == HARBOUR

    home.run(delete)
    home.run(read)
