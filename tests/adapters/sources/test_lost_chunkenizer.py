"""Files out of a Chunkenizer: our own server, which speaks as it does, and one that is small."""

import asyncio
import json
from pathlib import Path

import pytest

import corpus
from adapters.sources import stores
from server import houses
from unchunk.adapters.sources.bounds import Bounds
from unchunk.adapters.sources.chunkenizer_files import ChunkenizerFiles
from unchunk.errors import IntegrityError
from unchunk.ports import LostChunks, LostFile
from unchunk.text.stitching import stitch_placed


async def everything(store: ChunkenizerFiles) -> dict[str, tuple[LostFile, LostChunks]]:
    try:
        return {file.name: (file, await store.chunks(file)) async for file in store.files()}
    finally:
        await store.close()


async def listed(store: ChunkenizerFiles) -> list[LostFile]:
    try:
        return [file async for file in store.files()]
    finally:
        await store.close()


@pytest.mark.skipif(not corpus.DATA.exists(), reason=corpus.MISSING)
def test_files_come_back_from_our_own_server(tmp_path: Path) -> None:
    speeches = [text for name, text in corpus.natural() if name.startswith("state_union/")]
    texts = {
        "more than are found at once.txt": "".join(speeches[:5]),
        "speech.txt": speeches[-1],
        "abc.md": "# A\n\nshort\n",
    }
    with houses.house(tmp_path, "ann", "bob") as house:
        for name, text in texts.items():
            houses.add(house["ann"], name, text, metadata_json='{"team": "blue"}')
        houses.add(house["bob"], "other.md", "not Ann's")
        key = house["ann"].headers["Authorization"].removeprefix("Bearer ")
        found = asyncio.run(everything(ChunkenizerFiles(house.served.url, key=key)))
    assert set(found) == set(texts)
    for name, (file, chunks) in found.items():
        assert file.attributes == {"team": "blue"}
        assert (chunks.from_start, chunks.complete, chunks.notes) == (True, True, ())
        assert len(chunks.texts) > 200 or not name.startswith("more")
        assert chunks.starts is not None
        stitched = stitch_placed(chunks.texts, chunks.starts, from_start=True)
        assert stitched is not None
        assert stitched.text == texts[name]


def result(at: int, text: str, document: str = "d") -> stores.Payload:
    return {
        "document_id": document,
        "document_name": f"{document}.md",
        "chunk_index": at,
        "chunk_text": text,
        "token_count": 1,
        "metadata": {"year": 1999, "odd": [1], "none": None},
    }


def at_most(kept: stores.Chunkenizer, most: int) -> None:
    """The server takes no more than `most` for `top_k`."""
    answer = kept.answer

    def strict(request: stores.Payload) -> tuple[int, bytes]:
        if request["top_k"] > most:
            kept.asked.append(request)
            return 422, b'{"detail": "top_k"}'
        return answer(request)

    kept.answer = strict  # type: ignore[method-assign]  # a server that is stricter


WORDS = [f"word{at} word{at + 1} word{at + 2}" for at in range(60)]


def test_where_the_server_finds_few_at_once_neighbours_are_asked_with() -> None:
    kept = stores.Chunkenizer([result(at, text) for at, text in enumerate(WORDS)])
    at_most(kept, 20)
    with stores.chunkenizer(kept) as url:
        (_, chunks) = asyncio.run(everything(ChunkenizerFiles(url)))["d.md"]
    assert chunks.texts == tuple(WORDS)
    assert (chunks.from_start, chunks.complete) == (True, True)
    assert [one["top_k"] for one in kept.asked[:4]] == [60, 5, 50, 20]
    assert len(kept.asked) < 60


def test_what_the_server_does_not_find_is_missing_by_name() -> None:
    kept = stores.Chunkenizer([result(at, WORDS[at]) for at in range(10)])
    listed = kept.listed()
    kept.results = [one for one in kept.results if one["chunk_index"] not in (0, 4, 5, 9)]
    kept.rows = stores.vectors([one["chunk_text"] for one in kept.results])
    kept.listed = lambda: listed  # type: ignore[method-assign]  # it knows of more than it finds
    with stores.chunkenizer(kept) as url:
        (file, chunks) = asyncio.run(everything(ChunkenizerFiles(url)))["d.md"]
    assert file.attributes == {"year": 1999}
    assert chunks.texts == tuple(WORDS[at] for at in (1, 2, 3, 6, 7, 8))
    assert (chunks.from_start, chunks.complete) == (False, False)
    assert chunks.notes == ("chunks are missing: 0, 4-5, 9",)


def test_a_server_that_does_not_heed_the_filter_mixes_nothing_in() -> None:
    rows = [result(0, WORDS[0]), result(0, WORDS[1], "other"), result(1, WORDS[1])]
    kept = stores.Chunkenizer([*rows, result(1, "another text")])
    kept.heeds_filters = False
    with stores.chunkenizer(kept) as url:
        found = asyncio.run(everything(ChunkenizerFiles(url)))
    assert found["other.md"][1].texts == (WORDS[1],)
    assert len(found["d.md"][1].texts) == 2
    assert "several chunks claim one place" in found["d.md"][1].notes[-1]
    assert found["d.md"][1].complete is False


def test_a_document_of_which_nothing_is_found_is_said_to_be_so() -> None:
    kept = stores.Chunkenizer([result(0, WORDS[0])])
    listed = kept.listed()
    kept.listed = lambda: listed  # type: ignore[method-assign]  # it finds nothing
    kept.results, kept.rows = [], stores.vectors(["?"])
    with stores.chunkenizer(kept) as url:
        (_, chunks) = asyncio.run(everything(ChunkenizerFiles(url)))["d.md"]
    assert chunks.texts == ()
    assert chunks.complete is False
    assert "finds no chunk of the 1 that" in chunks.notes[0]


def test_what_is_not_ready_is_listed_as_such() -> None:
    kept = stores.Chunkenizer([])
    rows = [
        {"id": "a", "name": "a.md", "status": "processing", "chunk_count": 0},
        {"id": "b", "name": "", "status": "error", "error": "no text", "metadata_json": "{"},
        {"id": 7, "name": "no id that is one"},
    ]
    kept.listed = lambda: json.dumps({"documents": rows}).encode()  # type: ignore[method-assign]

    with stores.chunkenizer(kept) as url:
        files = asyncio.run(listed(ChunkenizerFiles(url)))
    assert [(one.name, one.status, one.problem) for one in files] == [
        ("a.md", "in progress", "processing"),
        ("b", "failed", "no text"),
    ]


def test_documents_that_are_listed_page_by_page_are_all_listed() -> None:
    kept = stores.Chunkenizer([])
    rows = [{"id": f"d{at}", "name": f"{at}.md", "chunk_count": 0} for at in range(5)]
    pages = iter([rows[:2], rows[2:4], rows[3:]])
    kept.listed = lambda: json.dumps(  # type: ignore[method-assign]  # a server with pages
        {"documents": next(pages), "total": 5}
    ).encode()

    with stores.chunkenizer(kept) as url:
        found = asyncio.run(listed(ChunkenizerFiles(url)))
    assert [file.id for file in found] == ["d0", "d1", "d2", "d3", "d4"]


@pytest.mark.parametrize(
    "reply",
    [b"[]", b'{"documents": {}}', b'{"documents": [1]}', b'{"documents": [], "total": 3}'],
)
def test_a_reply_that_is_no_list_of_documents_is_refused(reply: bytes) -> None:
    kept = stores.Chunkenizer([])
    kept.trick = (200, reply)
    with (
        stores.chunkenizer(kept) as url,
        pytest.raises(IntegrityError, match="Chunkenizer at http"),
    ):
        asyncio.run(everything(ChunkenizerFiles(url)))


def growing(length: int, count: int) -> stores.Chunkenizer:
    """One document, of which each search finds another chunk of so many characters."""
    kept = stores.Chunkenizer([])
    row = {"id": "d", "name": "n\ud800.md", "chunk_count": count}
    kept.listed = lambda: json.dumps({"documents": [row]}).encode()  # type: ignore[method-assign]

    def answer(request: stores.Payload) -> tuple[int, bytes]:
        kept.asked.append(request)
        text = f"{len(kept.asked)} " + "z" * length
        return 200, json.dumps({"results": [result(len(kept.asked) * 2, text)]}).encode()

    kept.answer = answer  # type: ignore[method-assign]
    return kept


def test_a_document_of_endless_chunks_is_not_gathered() -> None:
    kept = growing(20_000, 1_000_000)
    with (
        stores.chunkenizer(kept) as url,
        pytest.raises(IntegrityError, match="has more than 100,000 characters: it is not fetched"),
    ):
        asyncio.run(everything(ChunkenizerFiles(url, bounds=Bounds(reply=100_000))))
    assert len(kept.asked) == 5


def test_a_chunk_beyond_the_last_is_refused() -> None:
    with (
        stores.chunkenizer(growing(10, 2)) as url,
        pytest.raises(IntegrityError, match="says that 'd' has 2 chunks, and sends its chunk 2"),
    ):
        asyncio.run(everything(ChunkenizerFiles(url)))


def test_an_id_that_is_half_a_character_is_refused_and_a_name_made_safe() -> None:
    kept = growing(10, 0)
    with stores.chunkenizer(kept) as url:
        assert [file.name for file in asyncio.run(listed(ChunkenizerFiles(url)))] == ["n?.md"]
    kept.listed = lambda: b'{"documents": [{"id": "\\ud800"}]}'  # type: ignore[method-assign]
    with (
        stores.chunkenizer(kept) as url,
        pytest.raises(IntegrityError, match="has a document whose id is"),
    ):
        asyncio.run(listed(ChunkenizerFiles(url)))
