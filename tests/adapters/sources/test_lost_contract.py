"""The contract of lost files, on each kind of store."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import servers
from adapters.sources import stores
from unchunk.adapters.sources.chroma_files import ChromaFiles
from unchunk.adapters.sources.chroma_folder import ChromaFolder
from unchunk.adapters.sources.chunkenizer_files import ChunkenizerFiles
from unchunk.adapters.sources.qdrant_files import QdrantFiles
from unchunk.ports import LostFiles
from unchunk.testing.lostfiles import Kept, LostFilesContract

_NUMBERS = count()


@pytest.fixture(scope="module")
def qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.QdrantServer]:
    with servers.qdrant(tmp_path_factory.mktemp("qdrant")) as server:
        yield server


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.chroma(tmp_path_factory.mktemp("chroma")) as url:
        yield url


def payloads(kept: Sequence[Kept]) -> list[stores.Payload]:
    rows = [
        {
            "parent_id": f"id of {number}",
            "chunk_index": at,
            "chunk_count": len(one.texts),
            "content": text,
            "title": one.name,
        }
        for number, one in enumerate(kept)
        for at, text in enumerate(one.texts)
    ]
    random.Random(3).shuffle(rows)
    return rows


def _vectors(rows: Sequence[object]) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
    return np.ones((len(rows), 2), np.float32)


def nobody() -> str:
    (port,) = servers.free_ports(1)
    return f"http://127.0.0.1:{port}"


class TestQdrant(LostFilesContract):
    many = 1_100

    @pytest.fixture(autouse=True)
    def _choose(self, qdrant: servers.QdrantServer) -> None:
        self.url = qdrant.url

    def opened(self, kept: Sequence[Kept]) -> AbstractAsyncContextManager[LostFiles]:
        return self._opened(kept)

    @asynccontextmanager
    async def _opened(self, kept: Sequence[Kept]) -> AsyncIterator[LostFiles]:
        name, rows = f"lost{next(_NUMBERS)} ü", payloads(kept)

        def fill() -> None:
            stores.fill_qdrant(self.url, name, rows, rows=_vectors(rows))

        await asyncio.to_thread(fill)
        store = QdrantFiles(self.url, name)
        try:
            yield store
        finally:
            await store.close()

    def nowhere(self) -> LostFiles:
        return QdrantFiles(self.url, "absent")

    def gone(self) -> LostFiles:
        return QdrantFiles(nobody(), "c", timeout=0.3)


class TestChromaServer(LostFilesContract):
    many = 1_100

    @pytest.fixture(autouse=True)
    def _choose(self, chroma: str) -> None:
        self.where: str | Path = chroma

    def opened(self, kept: Sequence[Kept]) -> AbstractAsyncContextManager[LostFiles]:
        return self._opened(kept)

    @asynccontextmanager
    async def _opened(self, kept: Sequence[Kept]) -> AsyncIterator[LostFiles]:
        name, rows = f"lost{next(_NUMBERS)}", payloads(kept)

        def fill() -> None:
            with stores.chroma_client(self.where) as client:
                stores.fill_chroma(client, name, rows, rows=_vectors(rows))

        await asyncio.to_thread(fill)
        store = self.store(name)
        try:
            yield store
        finally:
            await store.close()

    def store(self, name: str) -> LostFiles:
        return ChromaFiles(str(self.where), name)

    def nowhere(self) -> LostFiles:
        return self.store("absent")

    def gone(self) -> LostFiles | None:
        return ChromaFiles(nobody(), "c", timeout=0.3)


class TestChromaInAFolder(TestChromaServer):
    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.where = tmp_path / "theirs ü"

    def store(self, name: str) -> LostFiles:
        return ChromaFolder(self.where, name)

    def nowhere(self) -> LostFiles:
        return self.store("absent")

    def gone(self) -> LostFiles | None:
        return None


class TestChunkenizer(LostFilesContract):
    def opened(self, kept: Sequence[Kept]) -> AbstractAsyncContextManager[LostFiles]:
        return self._opened(kept)

    @asynccontextmanager
    async def _opened(self, kept: Sequence[Kept]) -> AsyncIterator[LostFiles]:
        results = [
            {
                "document_id": row["parent_id"],
                "document_name": row["title"],
                "chunk_index": row["chunk_index"],
                "chunk_text": row["content"],
                "token_count": 1,
                "metadata": {},
            }
            for row in payloads(kept)
        ]
        theirs = await asyncio.to_thread(stores.Chunkenizer, results)
        with stores.chunkenizer(theirs) as url:
            store = ChunkenizerFiles(url)
            try:
                yield store
            finally:
                await store.close()

    @pytest.fixture(autouse=True)
    def _choose(self) -> Iterator[None]:
        with stores.chunkenizer(stores.Chunkenizer([])) as url:
            self.empty = url
            yield

    def nowhere(self) -> LostFiles:
        return ChunkenizerFiles(f"{self.empty}/elsewhere")

    def gone(self) -> LostFiles:
        return ChunkenizerFiles(nobody(), timeout=0.3)
