"""Points into a table: by COPY in PostgreSQL's binary format, then over what is there.

The format is made by hand: a driver's way from Python values takes many times as long.
"""

from collections.abc import Sequence
from struct import Struct

import numpy as np

from unchunk.adapters.index.pgvector_connections import Connection, Work
from unchunk.adapters.index.pgvector_rows import escaped, signed, vector_field, words
from unchunk.adapters.index.pgvector_tables import Table
from unchunk.ports import Point, Vectors

_COLUMNS = ("id", "owner", "document", "generation", "chunk_index", "folder", "terms", "weights")
_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"
_INT4, _FLOAT4 = 23, 700  # the numbers of these types in PostgreSQL
_SHORT, _LONG = Struct(">h"), Struct(">i")
_ARRAY, _NO_ARRAY = Struct(">5i"), Struct(">3i")


def writing(table: Table, data: bytes) -> Work[None]:
    """Rows that were made by `copied` into the table, over those of the same ids."""
    columns = ", ".join(_columns(table))
    changes = ", ".join(f"{column} = excluded.{column}" for column in _columns(table)[1:])

    async def work(connection: Connection) -> None:
        incoming = f"{table.name}_in"
        await connection.execute(
            f"CREATE TEMPORARY TABLE IF NOT EXISTS {incoming} "
            f"(LIKE {table.name}) ON COMMIT DELETE ROWS"
        )
        async with connection.transaction(), connection.cursor() as cursor:
            into = f"COPY {incoming} ({columns}) FROM STDIN (FORMAT BINARY)"
            async with cursor.copy(into) as copy:
                await copy.write(data)
            # In the order of their ids: two who write the same rows wait for each other in turn.
            await cursor.execute(
                f"INSERT INTO {table.name} ({columns}) "  # noqa: S608 names that we made
                f"SELECT {columns} FROM {incoming} ORDER BY id "
                f"ON CONFLICT (id) DO UPDATE SET {changes}"
            )

    return work


def copied(points: Sequence[Point], rows: Vectors, table: Table) -> bytes:
    """The points as one COPY of the columns of `table`."""
    head = _SHORT.pack(len(_columns(table)))
    half = table.kind == "halfvec"
    parts = [_HEADER]
    for point, row in zip(points, rows, strict=True):
        key = point.key
        parts.append(head)
        values = [
            key.id_bytes,
            escaped(key.owner).encode(),
            escaped(key.document).encode(),
            _LONG.pack(key.generation),
            _LONG.pack(key.chunk_index),
            escaped(point.folder).encode(),
            _array(np.asarray(signed(point.terms.ids), ">i4"), _INT4),
            _array(np.asarray(point.terms.weights, ">f4"), _FLOAT4),
        ]
        if row.size:
            values.append(vector_field(row, half=half))
        if table.worded:
            values.append(words(point.terms).encode())
        for value in values:
            parts += (_LONG.pack(len(value)), value)
    return b"".join([*parts, _TRAILER])


def _array(values: "np.ndarray[tuple[int], np.dtype[np.generic]]", kind: int) -> bytes:
    if not values.size:
        return _NO_ARRAY.pack(0, 0, kind)
    cells = np.empty(values.size, [("length", ">i4"), ("value", values.dtype)])
    cells["length"] = 4
    cells["value"] = values
    return _ARRAY.pack(1, 0, kind, values.size, 1) + cells.tobytes()


def _columns(table: Table) -> list[str]:
    dense = ["dense"] if table.dimensions else []
    return [*_COLUMNS, *dense, *(["words"] if table.worded else [])]
