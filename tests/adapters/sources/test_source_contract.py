"""The contract of other people's chunks, on each kind of store."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

import servers
from adapters.sources import stores
from unchunk.adapters.lexicon.bm25 import Bm25Lexicon
from unchunk.adapters.sources.chroma import open_chroma
from unchunk.adapters.sources.chunkenizer import ChunkenizerSource
from unchunk.adapters.sources.qdrant import open_qdrant
from unchunk.ports import ChunkSource
from unchunk.testing.chunksources import ChunkSourceContract, Row

_NUMBERS = count()
LEXICON = Bm25Lexicon()


@pytest.fixture(scope="module")
def qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.QdrantServer]:
    with servers.qdrant(tmp_path_factory.mktemp("qdrant")) as server:
        yield server


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.chroma(tmp_path_factory.mktemp("chroma")) as url:
        yield url


def payload(row: Row) -> stores.Payload:
    """As document 001 has it."""
    return {
        "mongo_id": row.document,
        "parent_id": row.document,
        "chunk_index": row.chunk_index,
        "chunk_count": row.chunk_count,
        "content": row.text,
        "title": row.title,
        "content_type": row.content_type,
        **row.more,
    }


class TestQdrant(ChunkSourceContract):
    grpc = False
    indexed = False

    @pytest.fixture(autouse=True)
    def _choose(self, qdrant: servers.QdrantServer) -> None:
        self.server = qdrant

    def opened(self, rows: Sequence[Row]) -> AbstractAsyncContextManager[ChunkSource]:
        return self._opened(rows)

    @asynccontextmanager
    async def _opened(self, rows: Sequence[Row]) -> AsyncIterator[ChunkSource]:
        name = f"theirs{next(_NUMBERS)}"
        await asyncio.to_thread(stores.fill_qdrant, self.server.url, name, [*map(payload, rows)])
        if self.indexed:
            await asyncio.to_thread(stores.index_texts, self.server.url, name)
        port = self.server.grpc_port if self.grpc else None
        source = await open_qdrant(
            self.server.url, name, stores.embedder(), grpc_port=port, lexicon=LEXICON
        )
        try:
            yield source
        finally:
            await source.close()


class TestQdrantByGrpc(TestQdrant):
    grpc = True


class TestQdrantWithATextIndex(TestQdrant):
    indexed = True


class TestChromaInAFolder(ChunkSourceContract):
    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.where: str | Path = tmp_path / "theirs ü"

    def opened(self, rows: Sequence[Row]) -> AbstractAsyncContextManager[ChunkSource]:
        return self._opened(rows)

    @asynccontextmanager
    async def _opened(self, rows: Sequence[Row]) -> AsyncIterator[ChunkSource]:
        name = f"theirs{next(_NUMBERS)}"
        await asyncio.to_thread(self._fill, name, rows)
        source = await open_chroma(self.where, name, stores.embedder(), lexicon=LEXICON)
        try:
            yield source
        finally:
            await source.close()

    def _fill(self, name: str, rows: Sequence[Row]) -> None:
        with stores.chroma_client(self.where) as client:
            stores.fill_chroma(client, name, [*map(payload, rows)])


class TestChromaServer(TestChromaInAFolder):
    @pytest.fixture(autouse=True)
    def _choose(self, chroma: str) -> None:
        self.where = chroma


class TestChunkenizer(ChunkSourceContract):
    def opened(self, rows: Sequence[Row]) -> AbstractAsyncContextManager[ChunkSource]:
        return self._opened(rows)

    @asynccontextmanager
    async def _opened(self, rows: Sequence[Row]) -> AsyncIterator[ChunkSource]:
        results = [
            {
                "document_id": row.document,
                "document_name": row.title,
                "content_type": row.content_type,
                "chunk_index": row.chunk_index,
                "chunk_text": row.text,
                "token_count": len(row.text) // 4,
                "metadata": dict(row.more),
            }
            for row in rows
        ]
        kept = await asyncio.to_thread(stores.Chunkenizer, results)
        with stores.chunkenizer(kept) as url:
            source = ChunkenizerSource(url)
            try:
                yield source
            finally:
                await source.close()


@pytest.mark.parametrize(
    ("library", "module", "extra"),
    [("qdrant_client", "qdrant", "unchunk[qdrant]"), ("chromadb", "chroma", "unchunk[chroma]")],
)
def test_a_client_that_is_not_installed_is_named(library: str, module: str, extra: str) -> None:
    lines = f"import sys; sys.modules[{library!r}] = None; import unchunk.adapters.sources.{module}"
    done = subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, timeout=60, check=False
    )
    assert "MissingPartError" in done.stderr
    assert extra in done.stderr
