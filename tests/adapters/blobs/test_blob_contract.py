"""The contract of the stores of originals, on each of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from unchunk.adapters.blobs.folder import FolderBlobs
from unchunk.ports import Blobs
from unchunk.testing.blobstores import BlobsContract


class TestFolder(BlobsContract):
    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.where = tmp_path / "not there yet"

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Blobs]:
        yield FolderBlobs(self.where)
