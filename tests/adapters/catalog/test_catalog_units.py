"""What a library is made of when it moves: no table is forgotten, on either database."""

from sqlalchemy import LargeBinary, Table

from unchunk.adapters.catalog.schema import metadata
from unchunk.adapters.catalog.units import (
    LEFT_BEHIND,
    SHAPES,
    mark_of,
    mark_of_row,
    shape_of,
)


def tables(shape_kind: str) -> list[Table]:
    shape = next(shape for shape in SHAPES if shape.kind == shape_kind)
    return [shape.root, *(part.table for part in shape.parts)]


def test_every_table_moves_or_is_left_behind_for_a_reason() -> None:
    moving = [table.name for shape in SHAPES for table in tables(shape.kind)]
    assert len(moving) == len(set(moving)), "a table belongs to one kind of thing"
    assert not set(moving) & set(LEFT_BEHIND)
    assert set(moving) | set(LEFT_BEHIND) == set(metadata.tables)
    assert all(LEFT_BEHIND.values())


def test_a_thing_is_written_before_what_names_it() -> None:
    order = [table for shape in SHAPES for table in tables(shape.kind)]
    for at, table in enumerate(order):
        for key in table.foreign_keys:
            assert key.column.table in order[:at], f"{table.name} names {key.column.table.name}"


def test_a_mark_is_the_same_for_the_same_rows_in_any_order_and_for_no_others() -> None:
    table = shape_of("key").root
    row: dict[str, object] = {
        column.name: b"x" if isinstance(column.type, LargeBinary) else "x" for column in table.c
    }
    one, other = mark_of_row(table, row), mark_of_row(table, row | {"label": b"y"})
    assert one != other
    assert mark_of([one, other]) == mark_of([other, one])
    assert mark_of_row(table, row | {"used_on": 7}) == one, "it was used, and is the same key"
    assert mark_of_row(table, row | {"label": memoryview(b"x")}) == one
