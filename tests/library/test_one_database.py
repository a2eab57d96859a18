"""A library in one PostgreSQL database: its catalog, its vectors and its words."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import unchunk
import vectorbases
from unchunk.errors import InvalidSettingError

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.md"))


@pytest.fixture
def url() -> Iterator[str]:
    with vectorbases.vectorbase() as server:
        yield vectorbases.database(server, "library")


def test_a_library_lives_in_one_database(url: str, tmp_path: Path) -> None:
    settings = {"embedder": "hashing", "catalog": url, "index": "pgvector"}
    originals = tmp_path / "originals"
    originals.mkdir()
    settings["blobs"] = f"folder:{originals}"
    with unchunk.open(tmp_path / "one", **settings) as library:
        added = library.add(*FILES)
        assert {outcome.result for outcome in added} == {"added"}
        found = library.search("What does a night in the harbour cost?")
        assert found.hits
        with psycopg.connect(url) as connection:
            (held,) = connection.execute(
                "SELECT count(*) FROM pg_class WHERE relkind = 'r' "
                "AND obj_description(oid, 'pg_class') LIKE 'unchunk index: %%'"
            ).fetchone() or (0,)
        assert held == 1
    # Another machine has a home of its own, and the same library.
    with unchunk.open(tmp_path / "two", **settings) as library:
        again = library.search("What does a night in the harbour cost?")
        assert [hit.chunk for hit in again.hits] == [hit.chunk for hit in found.hits]
        assert library.doctor().findings == ()
        for file in FILES:
            library.delete(file.name)
        assert not library.search("What does a night in the harbour cost?").hits
        assert library.doctor().findings == ()


def test_pgvector_without_a_database_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidSettingError, match="set catalog to a PostgreSQL URL"),
        unchunk.open(tmp_path, embedder="hashing", index="pgvector") as library,
    ):
        library.add(FILES[0])
