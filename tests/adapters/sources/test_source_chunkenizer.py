"""A Chunkenizer server: what it is asked, and what becomes of its answers."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator

import pytest

import servers
from adapters.sources import stores
from unchunk.adapters.sources.asking import NotUnderstoodError
from unchunk.adapters.sources.chunkenizer import ChunkenizerSource
from unchunk.adapters.sources.result_limit import ResultLimit
from unchunk.errors import (
    InvalidInputError,
    InvalidSettingError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.ports import Among

RESULT: stores.Payload = {
    "document_id": "550e8400-e29b-41d4-a716-446655440000",
    "document_name": "tides.txt",
    "chunk_index": 3,
    "chunk_text": "the tide comes in",
    "token_count": 4,
    "metadata": {"team": "blue", "page": 2, "chunk_text": "not this"},
}


@pytest.fixture
def kept() -> stores.Chunkenizer:
    return stores.Chunkenizer([RESULT])


@pytest.fixture
def url(kept: stores.Chunkenizer) -> Iterator[str]:
    with stores.chunkenizer(kept) as address:
        yield address


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await scene()

    asyncio.run(run())


def test_it_is_asked_as_its_api_says(kept: stores.Chunkenizer, url: str) -> None:
    async def scene() -> None:
        source = ChunkenizerSource(f"{url}/", key="secret")
        (chunk,) = (await source.search("the tide", Among(), 7)).chunks
        assert kept.asked == [{"query": "the tide", "top_k": 7, "filters": None}]
        assert (chunk.document, chunk.chunk_index) == (RESULT["document_id"], 3)
        assert (chunk.title, chunk.text) == ("tides.txt", "the tide comes in")
        # What was given with a document is no page of a chunk.
        assert chunk.page is None
        assert chunk.metadata == {"team": "blue", "page": 2, "token_count": 4}
        await source.search("q", Among(("d",), ("n",), ("t",), (("team", "blue"),)), 1)
        filters = {"team": "blue", "doc_id": "d", "name": "n", "content_type": "t"}
        assert kept.asked[1]["filters"] == filters
        await source.close()

    play(scene)


def test_for_several_documents_it_is_asked_several_times(
    kept: stores.Chunkenizer, url: str
) -> None:
    kept.results = [RESULT | {"document_id": name, "document_name": f"{name}.md"} for name in "abc"]
    kept.rows = kept.rows[:1].repeat(3, axis=0)

    async def scene() -> None:
        source = ChunkenizerSource(url)
        found = await source.search("q", Among(("a", "c")), 3)
        assert {one.document for one in found.chunks} == {"a", "c"}
        assert sorted(one["filters"]["doc_id"] for one in kept.asked) == ["a", "c"]
        assert len((await source.search("q", Among(("a", "c")), 1)).chunks) == 1
        await source.close()

    play(scene)


def test_it_is_asked_for_fewer_results_where_it_refuses_so_many(
    kept: stores.Chunkenizer, url: str
) -> None:
    kept.most = 200

    async def scene() -> None:
        source = ChunkenizerSource(url)
        for limit, most in ((240, 200), (300, 200), (30, None)):
            found = await source.search("the tide", Among(), limit)
            assert (len(found.chunks), found.most) == (1, most)
        # What it refused once is not asked for again.
        assert [one["top_k"] for one in kept.asked] == [240, 5, 200, 200, 30]
        await source.close()

    play(scene)


def test_what_is_refused_for_other_reasons_is_no_limit(kept: stores.Chunkenizer, url: str) -> None:
    kept.most = 0

    async def scene() -> None:
        source = ChunkenizerSource(url)
        with pytest.raises(ProviderRefusedError, match=r"answered 422.*top_k is too large"):
            await source.search("the tide", Among(), 300)
        assert [one["top_k"] for one in kept.asked] == [300, 5]
        kept.most = 1_000
        assert (await source.search("the tide", Among(), 300)).most is None
        assert kept.asked[-1]["top_k"] == 300
        await source.close()

    play(scene)


def test_a_limit_is_forgotten_after_some_minutes() -> None:
    now, most = 0.0, 20
    asked: list[int] = []

    async def ask(top_k: int) -> int:
        asked.append(top_k)
        if top_k > most:
            raise NotUnderstoodError("top_k is too large")
        return top_k

    limit = ResultLimit(lambda: now)

    def searched(wanted: int) -> tuple[int, int]:
        return asyncio.run(limit.search(wanted, ask))

    assert searched(30) == (20, 20)
    most = 1_000
    assert searched(1_000) == (20, 20)
    now = 3_600.0
    assert searched(1_000) == (1_000, 1_000)
    assert asked == [30, 5, 20, 20, 1_000]


def test_more_than_a_few_searches_and_two_values_of_a_field_are_refused(url: str) -> None:
    async def scene() -> None:
        source = ChunkenizerSource(url)
        with pytest.raises(InvalidInputError, match="this takes 12 searches"):
            await source.search("q", Among(("a", "b", "c"), ("a", "b", "c", "d")), 3)
        with pytest.raises(InvalidInputError, match="one value"):
            await source.search("q", Among(fields=(("team", "red"), ("team", "blue"))), 3)
        await source.search("q", Among(fields=(("team", "red"), ("team", "red"))), 3)
        await source.close()

    play(scene)


def rows(**wrong: object) -> tuple[int, bytes]:
    """An answer with two results that are wrong in the same way."""
    results = [{"score": 0.5} | RESULT | {"chunk_index": at} | wrong for at in range(2)]
    return 200, json.dumps({"results": results}).encode()


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        ((500, b'{"detail":"no Qdrant"}'), ProviderUnavailableError, 'answered 500: {"detail"'),
        ((503, b""), ProviderUnavailableError, "answered 503: Service Unavailable"),
        ((429, b"slow down"), ProviderUnavailableError, "429"),
        ((401, b"no"), ProviderRefusedError, "check the URL and the key"),
        ((422, b"x" * 5000), ProviderRefusedError, "422"),
        ((200, b"<html>"), ProviderRefusedError, "cannot be read"),
        ((200, b"[" * 100_000), ProviderRefusedError, "cannot be read"),
        ((200, b"[]"), ProviderRefusedError, "no list of results"),
        ((200, b'{"results": [1]}'), ProviderRefusedError, "no list of results"),
        ((200, b'{"results": null}'), ProviderRefusedError, "no list of results"),
        (rows(chunk_text=""), ProviderRefusedError, "2 left out: no text in 'chunk_text'"),
        (
            rows(chunk_index="3"),
            ProviderRefusedError,
            "is not a valid chunk index (for example '3')",
        ),
        (rows(document_id=None), ProviderRefusedError, "no document in 'document_id'"),
        (rows(score=None), ProviderRefusedError, "no score"),
    ],
)
def test_an_answer_that_is_none_says_so(
    kept: stores.Chunkenizer, url: str, answer: tuple[int, bytes], error: type[Exception], said: str
) -> None:
    kept.trick = answer

    async def scene() -> None:
        source = ChunkenizerSource(url)
        with pytest.raises(error) as failed:
            await source.search("q", Among(), 3)
        assert said in str(failed.value)
        assert len(str(failed.value)) < 500
        await source.close()

    play(scene)


def test_odd_results_are_left_out_and_named(kept: stores.Chunkenizer, url: str) -> None:
    results = [
        {"score": 0.2} | RESULT,
        {"score": 0.9} | RESULT | {"chunk_index": 4, "metadata": None},
        {"score": None} | RESULT,
        {"score": True} | RESULT,
        {"score": 0.5} | RESULT | {"chunk_index": None},
        {"score": 0.5} | RESULT | {"chunk_text": None},
    ]
    kept.trick = 200, json.dumps({"results": results}).encode()

    async def scene() -> None:
        source = ChunkenizerSource(url)
        found = await source.search("q", Among(), 9)
        assert [one.chunk_index for one in found.chunks] == [4, 3]
        assert sorted(note.partition(": ")[2].partition(" in ")[0] for note in found.notes) == [
            "some chunks were left out: no chunk index",
            "some chunks were left out: no score",
            "some chunks were left out: no text",
        ]
        await source.close()

    play(scene)


def test_a_server_that_is_slow_or_away_is_unavailable(kept: stores.Chunkenizer, url: str) -> None:
    kept.delay.clear()

    async def scene() -> None:
        slow = ChunkenizerSource(url, timeout=0.2)
        with pytest.raises(ProviderUnavailableError, match=r"did not answer within 0\.2 s"):
            await slow.search("q", Among(), 3)
        await slow.close()
        kept.delay.set()
        (port,) = servers.free_ports(1)
        away = ChunkenizerSource(f"http://user:word@127.0.0.1:{port}")
        with pytest.raises(ProviderUnavailableError, match="no answer from Chunkenizer") as failed:
            await away.search("q", Among(), 3)
        assert "word" not in str(failed.value)
        await away.close()

    play(scene)


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://x", "http://", "http://[::1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidSettingError, match=r"is not a (server )?URL"):
        ChunkenizerSource(url)
