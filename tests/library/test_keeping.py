"""Files that are only kept, to come in later: nothing of them is lost, and nobody waits."""

import asyncio
from pathlib import Path

from homes import Home
from unchunk.engine import Engine

TEXT = "The tide comes in twice a day. " * 100


def blobs(home: Home) -> int:
    return sum(path.is_file() for path in (home.folder / "uploads").rglob("[!.]*"))


def test_a_kept_file_is_pending_until_it_is_brought_in(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.file("a.txt", TEXT)

    async def keep(engine: Engine) -> None:
        kept = await engine.keep_file(path, "a.txt", folder="in", attributes={"team": "blue"})
        assert (kept.result, kept.name) == ("waiting", "a.txt")
        document = await engine.exactly(kept.document)
        assert (document.status, document.folder) == ("pending", "in")
        assert document.attributes == {"team": "blue"}
        assert await engine.documents() == [document]
        async with engine.original(document.id) as original:
            assert original.read_text() == TEXT
        # Once more is the same.
        again = await engine.keep_file(path, "a.txt", folder="in")
        assert (again.document, again.result) == (kept.document, "waiting")
        assert blobs(home) == 1

    home.run(keep)
    path.unlink()

    async def go_on(engine: Engine) -> None:
        [outcome] = await engine.retry()
        assert outcome.result == "added"
        assert [one.status for one in await engine.documents()] == ["live"]
        assert await engine.text("a.txt") == TEXT
        assert (await engine.doctor()).healthy
        kept = await engine.keep_file(home.file("a.txt", TEXT), "a.txt", folder="in")
        assert kept.result == "unchanged"
        assert blobs(home) == 1

    home.run(go_on)


def test_keeping_needs_no_embedder(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.file("a.txt", TEXT)

    async def keep(engine: Engine) -> str:
        return (await engine.keep_file(path, "a.txt")).result

    away: dict[str, str | float] = {
        "embedder": "ollama:none",
        "embedder_url": "http://127.0.0.1:9",
        "embedder_patience": 0,
    }
    assert home.run(keep, **away) == "waiting"


def test_keeping_does_not_wait_for_whoever_works_on_the_document(tmp_path: Path) -> None:
    home = Home(tmp_path)
    old, new = home.file("old.txt", TEXT), home.file("new.txt", TEXT + "More.")

    async def scene(engine: Engine) -> None:
        document = (await engine.add_file(old, "a.txt")).document
        # As if somebody wrote it just now.
        async with asyncio.timeout(60), engine._parts.desk.hold(document):
            assert (await engine.keep_file(new, "a.txt")).result == "waiting"
            assert (await engine.keep_file(old, "a.txt")).result == "unchanged"
        assert (await engine.exactly(document)).draft is None
        # What it left goes with the next that is written, or at the next start.
        assert (await engine.add_file(new, "a.txt")).result == "replaced"
        assert (await engine.doctor()).healthy
        assert blobs(home) == 1

    home.run(scene)


def test_what_is_deleted_while_it_is_kept_leaves_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.file("a.txt", TEXT)

    async def scene(engine: Engine) -> None:
        parts = engine._parts
        put = parts.blobs.put

        async def slow(key: str, source: Path) -> None:
            [document] = await engine.documents()
            await engine.delete(document.id)
            await put(key, source)

        parts.blobs.put = slow  # type: ignore[method-assign]
        outcome = await engine.keep_file(path, "a.txt")
        assert (outcome.result, outcome.error_code) == ("failed", "overtaken")
        assert blobs(home) == 0
        assert (await engine.doctor()).healthy

    home.run(scene)


def test_what_is_brought_in_waits_for_its_bytes(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.file("a.txt", TEXT)

    async def scene(engine: Engine) -> None:
        parts, bringing = engine._parts, list[asyncio.Task[object]]()
        put = parts.blobs.put

        async def slow(key: str, source: Path) -> None:
            bringing.append(asyncio.create_task(engine.retry()))
            while not await parts.desk.is_held((await engine.documents())[0].id):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0)
            await put(key, source)

        parts.blobs.put = slow  # type: ignore[method-assign]
        assert (await engine.keep_file(path, "a.txt")).result == "waiting"
        await asyncio.gather(*bringing)
        [document] = await engine.documents()
        assert document.status == "live"

    home.run(scene)


def test_a_folder_is_deleted_with_all_that_is_in_it(tmp_path: Path) -> None:
    home = Home(tmp_path)

    async def scene(engine: Engine) -> None:
        for at in range(120):
            path = home.file(f"{at}.txt", f"{at} {TEXT}")
            await engine.keep_file(path, path.name, folder="in")
        await engine.add_file(home.file("kept.txt", TEXT), "kept.txt")
        await engine.retry()
        receipts = await engine.delete_folder("in")
        assert len(receipts) == 120
        assert all(one.clean for one in receipts)
        assert [one.name for one in await engine.documents()] == ["kept.txt"]
        assert await engine.delete_folder("in") == []
        assert (await engine.doctor()).healthy
        assert blobs(home) == 1

    home.run(scene)


def test_tokens_are_counted_when_a_text_is_written_and_later_where_that_was_not(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)

    async def scene(engine: Engine) -> None:
        for name in ("a.txt", "b.txt"):
            await engine.add_file(home.file(name, f"{name} {TEXT}"), name)
        documents = await engine.documents()
        tokens = [one.live.tokens for one in documents if one.live]
        assert all(tokens)
        assert await engine.count_tokens() == 0
        for document in documents:
            assert document.live is not None
            await engine._parts.catalog.count_tokens(document.live, None)  # type: ignore[arg-type]
        assert await engine.count_tokens(1) == 1
        assert await engine.count_tokens() == 1
        assert await engine.count_tokens() == 0
        again = await engine.documents()
        assert [one.live.tokens for one in again if one.live] == tokens
        await engine.reindex("a.txt", "b.txt")
        anew = await engine.documents()
        assert [one.live.tokens for one in anew if one.live] == tokens

    home.run(scene)
