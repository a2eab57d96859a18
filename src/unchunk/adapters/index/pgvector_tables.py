"""The tables of an index in PostgreSQL: made, found by name, checked and dropped.

A table's name is made from the space's, which may be longer than the database lets a name be,
and of other letters; the whole name is the table's comment.
"""

import re
from hashlib import sha256
from typing import NamedTuple

from psycopg import errors

from unchunk.adapters.index.pgvector_connections import Connection
from unchunk.adapters.index.pgvector_rows import K1
from unchunk.adapters.index.spaces import check_kept
from unchunk.domain import Space
from unchunk.errors import MissingPartError, ProviderRefusedError

_LOCK = 52018
_NOTE = "unchunk index: "
_LONGEST = 40
# What pgvector can index: more dimensions as halves of numbers, still more not at all.
_WHOLE, _HALF = 2000, 4000
_OLDEST = (0, 8)
# 1.0 ranks texts wrongly once they have left its memory, and forgets them when it is killed.
TEXTSEARCH = (1, 3)

_TABLE = """
CREATE TABLE {name} (
  id uuid PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  generation integer NOT NULL,
  chunk_index integer NOT NULL,
  folder text COLLATE "C" NOT NULL,
  terms integer[] NOT NULL,
  weights real[] NOT NULL{dense}{words}
);
CREATE INDEX {name}_document ON {name} (document, generation);
CREATE INDEX {name}_owner ON {name} (owner, folder);
"""
_DENSE = "CREATE INDEX {name}_dense ON {name} USING hnsw (dense {kind}_cosine_ops);"
_WORDS = (
    "CREATE INDEX {name}_words ON {name} USING bm25 (words) "
    "WITH (text_config = 'pg_catalog.simple', k1 = {k1}, b = 0);"
)
_TERMS = "CREATE INDEX {name}_terms ON {name} USING gin (terms);"


class Table(NamedTuple):
    """`worded`: whether pg_textsearch ranks its terms, else we do."""

    name: str
    dimensions: int
    worded: bool

    @property
    def kind(self) -> str:
        return "vector" if self.dimensions <= _WHOLE else "halfvec"


def table_name(full: str) -> str:
    readable = re.sub("[^a-z0-9]+", "_", full.lower())[:_LONGEST]
    return f"{readable}_{sha256(full.encode()).hexdigest()[:8]}"


async def open_table(
    connection: Connection, full: str, space: Space, textsearch: tuple[int, int]
) -> Table:
    """The table of a space, made if there is none. Two may do so at once.

    `textsearch` is the oldest version of pg_textsearch that is used.
    """
    name = table_name(full)
    found = await _found(connection, name)
    if found is None:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            # Asked again: another process may have been quicker.
            found = await _found(connection, name)
            if found is None:
                found = await _made(connection, name, full, space, textsearch)
    check_kept(space, found.dimensions)
    return found


async def drop_table(connection: Connection, full: str) -> None:
    await connection.execute(f"DROP TABLE IF EXISTS {table_name(full)}")


async def table_names(connection: Connection) -> list[str]:
    """The whole names of all that there are."""
    cursor = await connection.execute(
        "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE relkind = 'r' "
        "AND pg_table_is_visible(oid) AND starts_with(obj_description(oid, 'pg_class'), %s)",
        (_NOTE,),
    )
    return [note.removeprefix(_NOTE) for (note,) in await cursor.fetchall()]


async def _found(connection: Connection, name: str) -> Table | None:
    cursor = await connection.execute(
        "SELECT attname, atttypmod FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
        (name,),
    )
    columns: dict[str, int] = dict(await cursor.fetchall())
    if not columns:
        return None
    return Table(name, columns.get("dense", 0), "words" in columns)


async def _made(
    connection: Connection, name: str, full: str, space: Space, textsearch: tuple[int, int]
) -> Table:
    await _ensure_vector(connection)
    there = (await _extensions(connection)).get("pg_textsearch", (0, 0))
    table = Table(name, space.dimensions, there >= textsearch)
    dense = f",\n  dense {table.kind}({table.dimensions}) NOT NULL" if table.dimensions else ""
    words = ",\n  words text NOT NULL" if table.worded else ""
    statements = _TABLE + (_WORDS if table.worded else _TERMS)
    if 0 < table.dimensions <= _HALF:
        statements += _DENSE
    made = statements.format(name=name, dense=dense, words=words, kind=table.kind, k1=K1)
    await connection.execute(made + f"COMMENT ON TABLE {name} IS '{_NOTE}{full}'")
    return table


async def _ensure_vector(connection: Connection) -> None:
    try:
        async with connection.transaction():
            await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except errors.InsufficientPrivilege as error:
        raise ProviderRefusedError(
            f"the role {connection.info.user!r} may not add pgvector to the database "
            f"{connection.info.dbname!r}: run CREATE EXTENSION vector there as its administrator"
        ) from error
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise MissingPartError(
            f"the PostgreSQL server at {connection.info.host}:{connection.info.port} has no "
            "pgvector: install it there (on Debian: postgresql-pgvector), then run "
            f"CREATE EXTENSION vector in the database {connection.info.dbname!r}"
        ) from error
    version = (await _extensions(connection))["vector"]
    if version < _OLDEST:
        raise MissingPartError(
            f"pgvector 0.8 or newer is needed, and the database {connection.info.dbname!r} has "
            f"{version[0]}.{version[1]}: update it on the server, then run ALTER EXTENSION vector UPDATE"
        )


async def _extensions(connection: Connection) -> dict[str, tuple[int, int]]:
    cursor = await connection.execute("SELECT extname, extversion FROM pg_extension")
    return {name: _version(text) for name, text in await cursor.fetchall()}


def _version(text: str) -> tuple[int, int]:
    major, minor, *_ = [*map(int, re.findall(r"\d+", text)), 0, 0]
    return major, minor
