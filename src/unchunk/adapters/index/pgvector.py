"""The index in a PostgreSQL database with pgvector, for who wants one database only.

A call is one transaction or a few, and a commit is durable, so `flush` has nothing left to do.
Words are ranked by pg_textsearch where that extension, new enough, had been created in the
database when the space was made, and by a statement of our own elsewhere.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unchunk.adapters.index.pgvector_connections import Connection, Connections, Work, address_of
from unchunk.adapters.index.pgvector_rows import escaped, unescaped, vector_of
from unchunk.adapters.index.pgvector_search import Asked, nearest, ranked
from unchunk.adapters.index.pgvector_tables import (
    TEXTSEARCH,
    Table,
    drop_table,
    open_table,
    table_names,
)
from unchunk.adapters.index.pgvector_writing import copied, writing
from unchunk.adapters.index.spaces import (
    check_texts,
    checked_name,
    checked_query,
    finds_nothing,
    keys_by_id,
    matrix,
)
from unchunk.domain import ChunkKey, DocumentId, Scored, Space, Terms, Within
from unchunk.ports import Point, Vectors

_AT_ONCE = 256


class PgvectorIndex:
    """`Index` in one table."""

    def __init__(self, connections: Connections, table: Table, space: Space) -> None:
        self._connections = connections
        self._table = table
        self._space = space

    async def upsert(self, points: Sequence[Point]) -> None:
        rows = matrix(points, self._space)
        # The last one of each key: a statement cannot write a row twice.
        last = {point.key: at for at, point in enumerate(points)}
        chosen = sorted(last.values())
        for at in range(0, len(chosen), _AT_ONCE):
            batch = chosen[at : at + _AT_ONCE]
            data = copied([points[each] for each in batch], rows[batch], self._table)
            await self._connections.run(writing(self._table, data))

    async def flush(self) -> None:
        """Nothing to do: see above."""

    async def search(self, query: Vectors | Terms, within: Within, limit: int) -> list[Scored]:
        query = checked_query(query, within, self._space)
        if finds_nothing(query, within, limit):
            return []
        if isinstance(query, Terms):
            return await self._found(ranked(self._table, query, within, limit))
        found = await self._found(nearest(self._table, query, within, limit, exactly=False))
        if len(found) < limit:
            # There are no more, or the graph gave up among what others own: few in any case.
            found = await self._found(nearest(self._table, query, within, limit, exactly=True))
        return sorted(found, key=lambda hit: -hit.score)

    async def fetch(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Vectors]:
        wanted = keys_by_id(keys)
        if not wanted:
            return {}
        dense = "dense" if self._space.dimensions else "NULL"
        text = f"SELECT id, {dense} FROM {self._table.name} WHERE id = ANY(%(ids)s::uuid[])"  # noqa: S608 a name that we made
        half = self._table.kind == "halfvec"
        return {
            wanted[str(point)]: np.empty(0, np.float32)
            if field is None
            else vector_of(field, half=half)
            for point, field in await self._rows((text, {"ids": list(wanted)}), binary=True)
        }

    async def delete(self, document: DocumentId, generations: Sequence[int] | None = None) -> None:
        check_texts(document)
        text = f"DELETE FROM {self._table.name} WHERE document = %(document)s"  # noqa: S608 likewise
        values: dict[str, Any] = {"document": escaped(document)}
        if generations is not None:
            text += " AND generation = ANY(%(generations)s)"
            values["generations"] = list(generations)

        async def work(connection: Connection) -> None:
            await connection.execute(text, values)

        await self._connections.run(work)

    async def census(self, document: DocumentId | None = None) -> dict[tuple[DocumentId, int], int]:
        check_texts(document or "")
        only = "" if document is None else "WHERE document = %(document)s"
        text = (
            f"SELECT document, generation, count(*) FROM {self._table.name} {only} "  # noqa: S608 likewise
            "GROUP BY document, generation"
        )
        rows = await self._rows((text, {"document": escaped(document or "")}))
        return {(unescaped(name), generation): count for name, generation, count in rows}

    async def close(self) -> None:
        await self._connections.close()

    async def _found(self, asked: Asked) -> list[Scored]:
        return [
            Scored(ChunkKey(unescaped(owner), unescaped(document), generation, at), float(score))
            for owner, document, generation, at, score in await self._rows(asked)
        ]

    async def _rows(self, asked: Asked, *, binary: bool = False) -> list[tuple[Any, ...]]:
        async def work(connection: Connection) -> list[tuple[Any, ...]]:
            cursor = await connection.execute(*asked, binary=binary)
            rows: list[tuple[Any, ...]] = await cursor.fetchall()
            return rows

        return await self._connections.run(work)


class PgvectorIndexes:
    """`Indexes` as tables of one database, each named by the prefix and the space.

    `url` is as for a catalog; `password` is used where it has none. `textsearch` is the oldest
    version of pg_textsearch to be used. A call that takes longer than `timeout` seconds is
    given up. An open index belongs to the event loop that it was opened in.
    """

    def __init__(
        self,
        url: str,
        password: str = "",
        prefix: str = "unchunk_",
        *,
        timeout: float = 10.0,
        textsearch: tuple[int, int] = TEXTSEARCH,
    ) -> None:
        self._address = address_of(url, password)
        self._prefix = prefix
        self._timeout = timeout
        self._textsearch = textsearch

    async def open(self, space: Space) -> PgvectorIndex:
        full = self._prefix + checked_name(space.name)
        connections = Connections(self._address, self._timeout)
        try:
            table = await connections.run(
                lambda one: open_table(one, full, space, self._textsearch)
            )
        except BaseException:
            await connections.close()
            raise
        return PgvectorIndex(connections, table, space)

    async def drop(self, name: str) -> None:
        full = self._prefix + checked_name(name)
        await self._briefly(lambda one: drop_table(one, full))

    async def names(self) -> list[str]:
        prefix = self._prefix
        found: list[str] = await self._briefly(table_names)
        return sorted(name[len(prefix) :] for name in found if name.startswith(prefix))

    async def _briefly(self, work: Work[Any]) -> Any:  # noqa: ANN401 - whatever the work gives
        connections = Connections(self._address, self._timeout)
        try:
            return await connections.run(work)
        finally:
            await connections.close()
