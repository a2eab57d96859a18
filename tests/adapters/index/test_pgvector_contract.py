"""The contract of the index on PostgreSQL with pgvector: words ranked by us and by pg_textsearch."""

from collections.abc import Iterator
from itertools import count

import pytest

import vectorbases
from databases import PostgresServer
from unchunk.adapters.index.pgvector import PgvectorIndexes
from unchunk.ports import Indexes
from unchunk.testing.indexes import IndexContract

_NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with vectorbases.vectorbase() as started:
        yield started


@pytest.fixture(scope="module")
def plain(server: PostgresServer) -> str:
    return vectorbases.database(server, "plain")


@pytest.fixture(scope="module")
def worded(server: PostgresServer) -> str:
    return vectorbases.database(server, "worded", "CREATE EXTENSION pg_textsearch")


class TestPgvector(IndexContract):
    @pytest.fixture(autouse=True)
    def _choose(self, plain: str) -> None:
        self.url = plain
        self.prefix = f"test{next(_NUMBERS)}_"

    def indexes(self) -> Indexes:
        return PgvectorIndexes(self.url, prefix=self.prefix, timeout=60)


class TestPgvectorWithTextsearch(IndexContract):
    @pytest.fixture(autouse=True)
    def _choose(self, worded: str) -> None:
        self.url = worded
        self.prefix = f"test{next(_NUMBERS)}_"

    def indexes(self) -> Indexes:
        return PgvectorIndexes(
            self.url, prefix=self.prefix, timeout=60, textsearch=vectorbases.TEXTSEARCH
        )
