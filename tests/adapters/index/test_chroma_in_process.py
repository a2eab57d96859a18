"""A Chroma folder that this process has open already: by another client, as index, as collection."""

import asyncio
import os
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings

from adapters.sources.stores import fill_chroma
from homes import Home
from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.engine import Engine
from unchunk.settings import load
from unchunk.wiring.collections import open_collection

PAGES = [
    {"parent_id": "d", "title": "rules.md", "chunk_index": at, "content": text}
    for at, text in enumerate(["The crane lifts six tonnes.", "A night costs 22 euros."])
]


# Made here, as some of the tests are in an event loop.
ROWS = asyncio.run(HashingEmbedder().embed([str(one["content"]) for one in PAGES], "document"))


async def found(home: Path, place: str) -> list[str]:
    collection = await open_collection(load(home, {}, embedder="hashing"), place)
    try:
        return [one.name for one in await collection.search_with_context("What does a night cost?")]
    finally:
        await collection.close()


@pytest.mark.parametrize("relative", [False, True], ids=["the same path", "a relative path"])
@pytest.mark.parametrize("telemetry", [True, False], ids=["usual settings", "other settings"])
def test_a_collection_in_a_folder_that_a_client_has_open_is_read_as_it_is_now(
    tmp_path: Path, *, telemetry: bool, relative: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = "chroma" if relative else str(tmp_path / "chroma")
    theirs: Any = chromadb.PersistentClient(folder, Settings(anonymized_telemetry=telemetry))
    fill_chroma(theirs, "pages", PAGES, rows=ROWS)
    place = f"chroma:{tmp_path / 'chroma'}#pages"
    assert asyncio.run(found(tmp_path / "home", place)) == ["rules.md"]
    # Theirs is open as before.
    assert theirs.get_collection("pages", embedding_function=None).count() == len(PAGES)
    theirs.close()


def test_a_client_may_be_opened_in_a_folder_that_is_a_collection_here(tmp_path: Path) -> None:
    folder = str(tmp_path / "chroma")
    theirs: Any = chromadb.PersistentClient(folder)
    fill_chroma(theirs, "pages", PAGES, rows=ROWS)
    theirs.close()

    async def both() -> int:
        settings = load(tmp_path / "home", {}, embedder="hashing")
        collection = await open_collection(settings, f"chroma:{folder}#pages")
        client: Any = chromadb.PersistentClient(folder)
        try:
            return int(client.get_collection("pages", embedding_function=None).count())
        finally:
            client.close()
            await collection.close()

    assert asyncio.run(both()) == len(PAGES)


def test_our_own_index_in_chroma_is_searched_beside_others_in_the_same_folder(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)

    async def work(engine: Engine) -> None:
        await engine.add(home.file("rules.md", "A night in the harbour costs 22 euros."))
        [folder] = {path.parent for path in home.folder.rglob("chroma.sqlite3")}
        relative = os.path.relpath(folder)  # noqa: ASYNC240 - only a name is made
        theirs: Any = chromadb.PersistentClient(relative)
        try:
            fill_chroma(theirs, "pages", PAGES, rows=ROWS)
            assert await found(tmp_path / "other", f"chroma:{folder}#pages") == ["rules.md"]
            [one] = await engine.search_with_context("What does a night cost?")
            assert one.name == "rules.md"
        finally:
            theirs.close()
        await engine.add(home.file("more.md", "The lamp was lit in 1871."))
        assert len(await engine.search_with_context("When was the lamp lit?")) >= 1

    home.run(work, index="chroma")
