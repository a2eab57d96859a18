"""The contract of the stores of originals, on each of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from objectstores import S3Server, store_in
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


class TestSharedFolder(BlobsContract):
    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self.where = tmp_path

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Blobs]:
        yield FolderBlobs(self.where, is_shared=True)


class TestS3(BlobsContract):
    @pytest.fixture(autouse=True)
    def _choose(self, s3_server: S3Server, tmp_path: Path) -> None:
        self.server, self.incoming = s3_server, tmp_path / "incoming"

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Blobs]:
        yield store_in(self.server, self.server.bucket(), self.incoming)
