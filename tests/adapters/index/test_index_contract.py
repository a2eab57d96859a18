"""The contract of the index, on each engine."""

import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import servers
from unchunk.adapters.index.beside import BesideIndexes
from unchunk.adapters.index.chroma import ChromaIndexes
from unchunk.adapters.index.edge import EdgeIndexes
from unchunk.adapters.index.qdrant import QdrantIndexes
from unchunk.ports import Indexes
from unchunk.testing.indexes import IndexContract

_NUMBERS = count()


@pytest.fixture(scope="module")
def qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.QdrantServer]:
    with servers.qdrant(tmp_path_factory.mktemp("qdrant")) as server:
        yield server


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.chroma(tmp_path_factory.mktemp("chroma")) as url:
        yield url


class TestEdge(IndexContract):
    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "index ü"

    def indexes(self) -> Indexes:
        return EdgeIndexes(self.folder)


class TestQdrantServer(IndexContract):
    @pytest.fixture(autouse=True)
    def _choose(self, qdrant: servers.QdrantServer) -> None:
        self.server = qdrant
        self.prefix = f"test{next(_NUMBERS)}_"

    def indexes(self) -> Indexes:
        return QdrantIndexes(
            self.server.url, prefix=self.prefix, grpc_port=self.server.grpc_port, timeout=60
        )


class TestChromaInAFolder(IndexContract):
    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "index ü"

    def indexes(self) -> Indexes:
        return BesideIndexes(
            ChromaIndexes(self.folder / "chroma"), EdgeIndexes(self.folder / "words")
        )


class TestChromaServer(IndexContract):
    @pytest.fixture(autouse=True)
    def _choose(self, chroma: str, tmp_path: Path) -> None:
        self.url = chroma
        self.folder = tmp_path / "index"
        self.prefix = f"test{next(_NUMBERS)}_"

    def indexes(self) -> Indexes:
        return BesideIndexes(
            ChromaIndexes(self.url, prefix=self.prefix), EdgeIndexes(self.folder / "words")
        )


@pytest.mark.parametrize(
    ("library", "module", "extra"),
    [("qdrant_client", "qdrant", "unchunk[qdrant]"), ("chromadb", "chroma", "unchunk[chroma]")],
)
def test_an_engine_that_is_not_installed_is_named(library: str, module: str, extra: str) -> None:
    lines = f"import sys; sys.modules[{library!r}] = None; import unchunk.adapters.index.{module}"
    done = subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, timeout=60, check=False
    )
    assert "MissingPartError" in done.stderr
    assert extra in done.stderr
