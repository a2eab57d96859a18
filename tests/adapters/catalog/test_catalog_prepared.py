"""Statements past SQLAlchemy: the same rows as by it, and no value is forgotten."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, bindparam, create_engine, delete, insert, select, update

from unchunk.adapters.catalog.partial import metadata
from unchunk.adapters.catalog.prepared import rows_of, write
from unchunk.adapters.catalog.schema import remains

_NAMED = select(remains).where(remains.c.document == bindparam("document"))
_KEPT = update(remains).where(remains.c.document == bindparam("its_document")).values(blob="kept")
_ROW = {"owner": "me", "generation": 1, "blob": "", "space": "s", "gone": False}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    engine = create_engine(f"sqlite:///{tmp_path / 'c.db'}")
    with engine.begin() as connection:
        metadata.create_all(connection)
        yield connection
    engine.dispose()


def test_rows_are_as_by_sqlalchemy(connection: Connection) -> None:
    write(connection, insert(remains), *({**_ROW, "document": name} for name in "ab"))
    write(connection, _KEPT, {"its_document": "b"})
    for name in "abc":
        by_it = connection.execute(_NAMED, {"document": name}).all()
        assert rows_of(connection, _NAMED, document=name) == [tuple(row) for row in by_it]
    assert [row[3] for row in rows_of(connection, select(remains))] == ["", "kept"]


def test_a_value_that_is_missing_is_not_taken_for_none(connection: Connection) -> None:
    with pytest.raises(KeyError, match="document"):
        rows_of(connection, _NAMED)
    with pytest.raises(KeyError, match="its_document"):
        write(connection, _KEPT, {"document": "a"})


def test_without_rows_nothing_is_written(connection: Connection) -> None:
    write(connection, insert(remains), {**_ROW, "document": "a"})
    write(connection, delete(remains))
    assert len(rows_of(connection, select(remains))) == 1
