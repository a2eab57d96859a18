"""The files of somebody else's collection of Chroma in a folder, by Chroma's own library.

It is read, and never written. Of a folder that another process writes to, Chroma may show what was there a while ago.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unchunk.adapters.chroma_clients import disconnect
from unchunk.adapters.sources.bounds import Bounds
from unchunk.adapters.sources.chroma import connected_there, in_thread
from unchunk.adapters.sources.chroma_files import records_of
from unchunk.adapters.sources.collected import CollectionFiles
from unchunk.adapters.sources.fields import Fields, Names
from unchunk.adapters.sources.reading import Record
from unchunk.errors import IndexUnavailableError, ProviderUnavailableError


class ChromaFolder(CollectionFiles):
    """`LostFiles` over one collection, opened at first use."""

    def __init__(self, folder: str | Path, collection: str, fields: Fields | None = None) -> None:
        super().__init__(_Rows(Path(folder), collection), fields, Bounds())


class _Rows:
    """`Rows` of one collection."""

    def __init__(self, folder: Path, collection: str) -> None:
        self._folder = folder
        self._name = collection
        self._client: Any = None
        self._collection: Any = None
        self._opening = asyncio.Lock()
        self.where = f"the Chroma collection {collection!r} in {folder}"

    async def page(
        self, after: object, limit: int, without: Names
    ) -> tuple[list[Record], object | None]:
        offset = after if isinstance(after, int) else 0
        include = ["metadatas"] if without else ["metadatas", "documents"]
        records = await self._got(limit=limit, offset=offset, include=include)
        return records, offset + len(records) if len(records) >= limit else None

    async def these(self, ids: Sequence[str]) -> list[Record]:
        return await self._got(ids=list(ids), include=["metadatas", "documents"])

    async def close(self) -> None:
        client, self._client, self._collection = self._client, None, None
        if client is not None:
            await in_thread(self.where, disconnect, client)

    async def _got(self, **wanted: object) -> list[Record]:
        try:
            async with self._opening:
                await self._open()
            return records_of(
                await in_thread(self.where, self._collection.get, **wanted), self.where
            )
        except IndexUnavailableError as error:
            raise ProviderUnavailableError(str(error)) from error

    async def _open(self) -> None:
        if self._client is None:
            self._client = await in_thread(self.where, connected_there, self._folder, None, 0.0)
        if self._collection is None:
            # No function that embeds: it would fetch a model.
            self._collection = await in_thread(
                self.where, self._client.get_collection, self._name, embedding_function=None
            )
