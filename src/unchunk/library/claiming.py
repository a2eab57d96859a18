"""A place for originals that is this library's before anything is done there."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from unchunk.errors import TransientError
from unchunk.ports import Blobs
from unchunk.telemetry import log

# Whoever opens a library waits no longer for a place that is away.
_PATIENCE = 5.0


class ClaimedBlobs:
    """`blobs`, of which nothing is read, written or deleted before `library` has claimed them."""

    def __init__(self, blobs: Blobs, library: str) -> None:
        self._blobs, self._library = blobs, library
        self._claiming = asyncio.Lock()
        self._is_claimed = False

    async def open(self) -> None:
        """Raises where the place is another's. One that is away now is claimed when it is used."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._claim()
                await self._blobs.sweep()
        except (TransientError, TimeoutError) as error:
            log("the place of originals does not answer: %s", str(error) or "not in time")

    async def claim(self, library: str) -> None:
        await self._blobs.claim(library)

    async def put(self, key: str, source: Path) -> None:
        await self._claim()
        await self._blobs.put(key, source)

    @asynccontextmanager
    async def local(self, key: str) -> AsyncIterator[Path]:
        await self._claim()
        async with self._blobs.local(key) as path:
            yield path

    async def delete(self, key: str) -> None:
        await self._claim()
        await self._blobs.delete(key)

    async def keys(self) -> Mapping[str, int]:
        await self._claim()
        return await self._blobs.keys()

    async def sweep(self, older_than: float = 3600.0) -> int:
        await self._claim()
        return await self._blobs.sweep(older_than)

    async def close(self) -> None:
        await self._blobs.close()

    async def _claim(self) -> None:
        if self._is_claimed:
            return
        async with self._claiming:
            if not self._is_claimed:
                await self._blobs.claim(self._library)
                self._is_claimed = True
