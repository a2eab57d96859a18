"""The files of somebody else's collection in a Qdrant server, by plain HTTP. Read, never written."""

from collections.abc import Mapping, Sequence

from unchunk.adapters.sources.asking import Server
from unchunk.adapters.sources.bounds import Bounds
from unchunk.adapters.sources.collected import CollectionFiles, bounds_within, in_path
from unchunk.adapters.sources.fields import Fields, Names
from unchunk.adapters.sources.reading import Record
from unchunk.errors import IntegrityError


class QdrantFiles(CollectionFiles):
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
        server = Server(
            url, f"the Qdrant collection {collection!r}", bounds, {"api-key": key} if key else {}
        )
        super().__init__(_Points(server, collection), fields, bounds)


class _Points:
    """`Rows` of one collection."""

    def __init__(self, server: Server, collection: str) -> None:
        self._server = server
        self._path = f"collections/{in_path(collection)}/points"
        self.where = server.where

    async def page(
        self, after: object, limit: int, without: Names
    ) -> tuple[list[Record], object | None]:
        body: dict[str, object] = {
            "limit": limit,
            "with_payload": {"exclude": list(without)} if without else True,
            "with_vector": False,
        }
        if after is not None:
            body["offset"] = after
        result = await self._asked(f"{self._path}/scroll", body)
        if not isinstance(result, dict):
            raise self._unreadable()
        return self._records(result.get("points")), result.get("next_page_offset")

    async def these(self, ids: Sequence[str]) -> list[Record]:
        # They are numbers or UUIDs.
        wanted = [int(one) if one.isdecimal() else one for one in ids]
        body = {"ids": wanted, "with_payload": True, "with_vector": False}
        return self._records(await self._asked(self._path, body))

    async def close(self) -> None:
        await self._server.close()

    async def _asked(self, path: str, body: object) -> object:
        reply = await self._server.ask("POST", path, body)
        if not isinstance(reply, dict):
            raise self._unreadable()
        return reply.get("result")

    def _records(self, points: object) -> list[Record]:
        if not isinstance(points, list):
            raise self._unreadable()
        return [self._record(point) for point in points]

    def _record(self, point: object) -> Record:
        if not isinstance(point, dict) or not isinstance(point.get("id"), str | int):
            raise self._unreadable()
        payload = point.get("payload")
        return Record(str(point["id"]), payload if isinstance(payload, Mapping) else {})

    def _unreadable(self) -> IntegrityError:
        return IntegrityError(f"the reply of {self.where} is none of Qdrant; check the URL")
