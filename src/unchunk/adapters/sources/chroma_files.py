"""The files of somebody else's collection in a Chroma server, by plain HTTP. Read, never written."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from unchunk.adapters.sources.asking import Server
from unchunk.adapters.sources.bounds import Bounds
from unchunk.adapters.sources.characters import is_sound
from unchunk.adapters.sources.collected import CollectionFiles, bounds_within, in_path
from unchunk.adapters.sources.fields import Fields, Names
from unchunk.adapters.sources.reading import Record
from unchunk.errors import IntegrityError

_COLLECTIONS = "api/v2/tenants/default_tenant/databases/default_database/collections"


class ChromaFiles(CollectionFiles):
    """`LostFiles` over one collection; without `fields` their names are found out.

    `timeout` is for all attempts at one call. Belongs to the event loop that it is first used in.
    """

    def __init__(
        self,
        url: str,
        collection: str,
        fields: Fields | None = None,
        *,
        key: str = "",
        timeout: float = 30.0,
        bounds: Bounds | None = None,
    ) -> None:
        bounds = bounds or bounds_within(timeout)
        headers = {"x-chroma-token": key} if key else {}
        server = Server(url, f"the Chroma collection {collection!r}", bounds, headers)
        super().__init__(_Rows(server, collection), fields, bounds)


def records_of(reply: object, where: str) -> list[Record]:
    """The rows of what Chroma answers, which lists each of their parts for itself."""
    if isinstance(reply, Mapping) and isinstance(ids := reply.get("ids"), list):
        found = [reply.get(name) for name in ("metadatas", "documents")]
        parts = [[None] * len(ids) if part is None else part for part in found]
        if all(isinstance(part, list) and len(part) == len(ids) for part in parts):
            return [
                Record(
                    str(one),
                    note if isinstance(note, Mapping) else {},
                    text=text if isinstance(text, str) else None,
                )
                for one, note, text in zip(ids, *parts, strict=True)
            ]
    raise IntegrityError(f"the reply of {where} is none of Chroma; check the URL")


class _Rows:
    """`Rows` of one collection."""

    def __init__(self, server: Server, collection: str) -> None:
        self._server = server
        self._name = in_path(collection)
        self._id = ""
        self.where = server.where

    async def page(
        self, after: object, limit: int, without: Names
    ) -> tuple[list[Record], object | None]:
        offset = after if isinstance(after, int) else 0
        include = ["metadatas"] if without else ["metadatas", "documents"]
        records = await self._got({"limit": limit, "offset": offset, "include": include})
        return records, offset + len(records) if len(records) >= limit else None

    async def these(self, ids: Sequence[str]) -> list[Record]:
        return await self._got({"ids": list(ids), "include": ["metadatas", "documents"]})

    async def close(self) -> None:
        await self._server.close()

    async def _got(self, wanted: Mapping[str, object]) -> list[Record]:
        if not self._id:
            found = await self._server.ask("GET", f"{_COLLECTIONS}/{self._name}")
            identity = found.get("id") if isinstance(found, Mapping) else None
            if not isinstance(identity, str) or not is_sound(identity):
                raise IntegrityError(f"the reply of {self.where} is none of Chroma; check the URL")
            self._id = quote(identity, safe="")
        reply = await self._server.ask("POST", f"{_COLLECTIONS}/{self._id}/get", wanted)
        return records_of(reply, self.where)
