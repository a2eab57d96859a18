"""Things of a library, read whole: each with all rows that belong to it, and its mark."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, or_, select
from sqlalchemy import Row as RowOf

from unchunk.adapters.catalog.schema import documents, notes
from unchunk.adapters.catalog.units import MOVED_NOTES, Part, Shape, mark_of, mark_of_row
from unchunk.ports.moving import Row, Unit

_AT_ONCE = 500


def all_marks(connection: Connection, shape: Shape) -> dict[str, bytes]:
    found: dict[str, list[bytes]] = {}
    roots = select(shape.root).where(*_only(shape)).execution_options(yield_per=_AT_ONCE)
    for row in map(_dict, connection.execute(roots)):
        found[_key(shape, row)] = [mark_of_row(shape.root, row)]
    for part in shape.parts:
        if part.derived:
            continue
        rows = _of_part(part).execution_options(yield_per=_AT_ONCE)
        for row in map(_dict, connection.execute(rows)):
            # Where its thing came after the first look, it is not there yet.
            if (key := _key_of(row[part.column])) in found:
                found[key].append(mark_of_row(part.table, row))
    return {key: mark_of(rows) for key, rows in found.items()}


def read_unit(
    connection: Connection, shape: Shape, key: str, *, with_derived: bool = True
) -> Unit | None:
    identity = json.loads(key)
    first = connection.execute(select(shape.root).where(*is_it(shape, identity))).first()
    if first is None:
        return None
    root = _dict(first)
    rows: dict[str, Sequence[Row]] = {shape.root.name: [root]}
    marks = [mark_of_row(shape.root, root)]
    for part in shape.parts:
        if part.derived and not with_derived:
            continue
        wanted = _of_part(part).where(part.table.c[part.column] == identity[0])
        found = [_dict(row) for row in connection.execute(wanted)]
        rows[part.table.name] = found
        if not part.derived:
            marks += [mark_of_row(part.table, row) for row in found]
    return Unit(shape.kind, key, mark_of(marks), rows)


def _of_part(part: Part) -> Any:  # noqa: ANN401 - a Select of whatever columns
    """All rows of a part; of versions and what is theirs, only those that somebody sees."""
    wanted = select(part.table)
    if "generation" not in part.table.c:
        return wanted
    generation = part.table.c.generation
    is_seen = or_(generation == documents.c.live, generation == documents.c.draft)
    its = documents.c.id == part.table.c[part.column]
    return wanted.join_from(part.table, documents, and_(its, is_seen))


def _only(shape: Shape) -> tuple[ColumnElement[bool], ...]:
    return (notes.c.key.in_(MOVED_NOTES),) if shape.kind == "note" else ()


def _dict(row: RowOf[Any]) -> dict[str, Any]:
    return row._asdict()


def _key(shape: Shape, row: Mapping[str, Any]) -> str:
    return _key_of(*(row[name] for name in shape.keys))


def _key_of(*values: object) -> str:
    # Bytes as hexadecimal in a list of their own: no text looks like that.
    return json.dumps(
        [[bytes(it).hex()] if isinstance(it, bytes | memoryview) else it for it in values]
    )


def is_it(shape: Shape, identity: Sequence[Any]) -> list[ColumnElement[bool]]:
    return [
        shape.root.c[name] == (bytes.fromhex(value[0]) if isinstance(value, list) else value)
        for name, value in zip(shape.keys, identity, strict=True)
    ]
