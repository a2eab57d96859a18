"""Local folders of Qdrant's client: they compute in a thread, and are closed whatever happens."""

import asyncio
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.local.local_collection import LocalCollection

from adapters.sources import stores
from unchunk.adapters.lexicon.bm25 import Bm25Lexicon
from unchunk.adapters.sources import qdrant_clients
from unchunk.adapters.sources.qdrant import open_qdrant
from unchunk.errors import IndexUnavailableError
from unchunk.ports import Among

WORDS = ("the tide comes in", "the lamp is lit", "a rope and a sail")
NAME = "notes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(QdrantClient(path=str(tmp_path / "qdrant"))) as client:
        size = models.VectorParams(size=stores.DIMENSIONS, distance=models.Distance.COSINE)
        client.create_collection(NAME, size)
        rows = stores.vectors(WORDS)
        points = [
            models.PointStruct(
                id=at,
                vector=row.tolist(),
                payload={"parent_id": "d", "chunk_index": at, "content": text},
            )
            for at, (row, text) in enumerate(zip(rows, WORDS, strict=True))
        ]
        client.upsert(NAME, points)
    return tmp_path / "qdrant"


def test_everything_runs_in_one_thread_that_is_not_the_event_loops(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, set[int]] = {}

    def note(method: str) -> None:
        inner = getattr(LocalCollection, method)

        def noted(self: LocalCollection, *args: Any, **named: Any) -> Any:  # noqa: ANN401 theirs
            seen.setdefault(method, set()).add(threading.get_ident())
            return inner(self, *args, **named)

        monkeypatch.setattr(LocalCollection, method, noted)

    methods = ("__init__", "query_points", "scroll", "close")
    for method in methods:
        note(method)

    async def scene() -> None:
        source = await open_qdrant(
            str(folder), NAME, stores.embedder(), lexicon=Bm25Lexicon("english")
        )
        found = await asyncio.gather(*(source.search(text, Among(), 1) for text in WORDS))
        assert [one.chunks[0].text for one in found] == list(WORDS)
        assert (await source.search_words("lamp", Among(), 1)).chunks[0].text == WORDS[1]
        assert len((await source.fetch({"d": [0, 1]}, Among())).chunks) == 2
        await source.close()

    asyncio.run(scene())
    assert set(seen) == set(methods)
    threads = set.union(*seen.values())
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_a_closed_one_is_unavailable_and_can_be_closed_again(folder: Path) -> None:
    async def scene() -> None:
        source = await open_qdrant(str(folder), NAME, stores.embedder())
        await source.close()
        await source.close()
        with pytest.raises(IndexUnavailableError, match="its client is closed"):
            await source.search(WORDS[0], Among(), 1)
        # Nothing keeps it locked.
        await (await open_qdrant(str(folder), NAME, stores.embedder())).close()

    asyncio.run(scene())


def test_calls_that_wait_for_their_turn_are_answered_before_it_is_closed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()
    inner = QdrantClient.get_collections

    def get_collections(self: QdrantClient) -> models.CollectionsResponse:
        assert may_go_on.wait(60)
        return inner(self)

    monkeypatch.setattr(QdrantClient, "get_collections", get_collections)

    async def scene() -> None:
        client = await qdrant_clients.connected(str(folder), None, None, 30)
        asked = [asyncio.ensure_future(client.get_collections()) for _ in range(2)]
        closed = asyncio.ensure_future(client.close())
        # All of them have begun when this goes on.
        await asyncio.sleep(0)
        may_go_on.set()
        for found in await asyncio.gather(*asked):
            assert [one.name for one in found.collections] == [NAME]
        await closed

    asyncio.run(scene())


class Slow(QdrantClient):
    """A client that opens when it is let, and tells when it is closed."""

    started, may_go_on, closed = threading.Event(), threading.Event(), threading.Event()

    def __init__(self, path: str) -> None:
        self.started.set()
        assert self.may_go_on.wait(60)
        super().__init__(path=path)

    def close(self, grpc_grace: float | None = None, **kwargs: Any) -> None:  # noqa: ANN401 theirs
        super().close(grpc_grace, **kwargs)
        self.closed.set()


def test_one_that_is_still_opening_when_its_caller_gives_up_is_closed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(qdrant_clients, "QdrantClient", Slow)
            opening = asyncio.create_task(open_qdrant(str(folder), NAME, stores.embedder()))
            assert await asyncio.to_thread(Slow.started.wait, 60)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            Slow.may_go_on.set()
            assert await asyncio.to_thread(Slow.closed.wait, 60)
        source = await open_qdrant(str(folder), NAME, stores.embedder())
        assert (await source.search(WORDS[2], Among(), 1)).chunks[0].text == WORDS[2]
        await source.close()

    asyncio.run(scene())
