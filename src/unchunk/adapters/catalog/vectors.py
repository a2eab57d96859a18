"""The port `VectorCache`, in the database of the catalog."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from sqlalchemy import Connection, bindparam, delete, func, select

from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import in_batches, insert_new
from unchunk.adapters.catalog.prepared import rows_of, rows_with, write
from unchunk.adapters.catalog.rows import storable
from unchunk.adapters.catalog.schema import documents, vectors
from unchunk.domain import DocumentId, OwnerId
from unchunk.ports import Vectors

_RECALL = select(vectors.c.digest, vectors.c.vector).where(
    vectors.c.owner == bindparam("owner"),
    vectors.c.embedder == bindparam("embedder"),
    vectors.c.digest.in_(bindparam("wanted", expanding=True)),
)
# Locked where many write at once: it is not deleted before its vectors are kept.
_ITS_DOCUMENT = (
    select(documents.c.id)
    .where(documents.c.id == bindparam("document"), documents.c.owner == bindparam("owner"))
    .with_for_update(read=True)
)
_ALL = select(func.count()).select_from(vectors)
_ITS = _ALL.where(vectors.c.document == bindparam("document"))
_DROPPED = delete(vectors).where(vectors.c.document == bindparam("its_document"))


class SqlVectorCache:
    """Lives as long as the catalog on the same database; the vectors it returns are read-only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def recall(
        self, owner: OwnerId, embedder: str, digests: Sequence[bytes]
    ) -> dict[bytes, Vectors]:
        if not digests:
            return {}
        return await self._database.read(
            partial(_recall, owner=owner, embedder=embedder, digests=digests)
        )

    async def keep(
        self, owner: OwnerId, embedder: str, document: DocumentId, found: Mapping[bytes, Vectors]
    ) -> None:
        """Nothing is kept for a document that was deleted meanwhile: nobody would drop it."""
        if found:
            await self._database.write(
                partial(_keep, owner=owner, embedder=embedder, document=document, found=found)
            )

    async def drop(self, document: DocumentId) -> None:
        await self._database.write(partial(_drop, document=document))

    async def count(self, document: DocumentId | None = None) -> int:
        return await self._database.read(partial(_count, document=document))


def _recall(
    connection: Connection, owner: OwnerId, embedder: str, digests: Sequence[bytes]
) -> dict[bytes, Vectors]:
    found: dict[bytes, Vectors] = {}
    for batch in in_batches(digests):
        for digest, vector in rows_with(connection, _RECALL, batch, owner=owner, embedder=embedder):
            found[digest] = np.frombuffer(vector, "<f4")
    return found


def _keep(
    connection: Connection,
    owner: OwnerId,
    embedder: str,
    document: DocumentId,
    found: Mapping[bytes, Vectors],
) -> None:
    storable(owner=owner, embedder=embedder)
    if not rows_of(connection, _ITS_DOCUMENT, document=document, owner=owner):
        return
    # In the order of digests: two writers with the same ones never wait for each other.
    rows = [
        {
            "owner": owner,
            "embedder": embedder,
            "digest": digest,
            "document": document,
            "vector": np.asarray(vector, "<f4").tobytes(),
        }
        for digest, vector in sorted(found.items(), key=_digest)
    ]
    write(connection, insert_new(connection.dialect.name, vectors), *rows)


def _digest(item: tuple[bytes, Vectors]) -> bytes:
    return item[0]


def _drop(connection: Connection, document: DocumentId) -> None:
    write(connection, _DROPPED, {"its_document": document})


def _count(connection: Connection, document: DocumentId | None) -> int:
    if document is None:
        [[count]] = rows_of(connection, _ALL)
    else:
        [[count]] = rows_of(connection, _ITS, document=document)
    return int(count)
