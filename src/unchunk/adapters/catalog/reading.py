"""What a search asks: which documents may be searched, and what the chunks that it found say."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from sqlalchemy import ColumnElement, Connection, Subquery, and_, bindparam, func, or_, select

from unchunk.adapters.catalog.describing import mark_of
from unchunk.adapters.catalog.dialects import in_batches
from unchunk.adapters.catalog.lookups import BLOCK, owned, rows_with, undamaged
from unchunk.adapters.catalog.packing import unpack_some
from unchunk.adapters.catalog.rows import microseconds_of
from unchunk.adapters.catalog.schema import (
    REVISION,
    attributes,
    documents,
    layouts,
    notes,
    versions,
)
from unchunk.domain import Chunk, DocumentId, Opened, OwnerId, Version

# Made once: making a statement takes as long as running it.
_LAYOUTS = select(layouts.c.document, layouts.c.generation, layouts.c.chunks).where(
    layouts.c.document.in_(bindparam("wanted", expanding=True))
)
_BLOCKS = (
    "SELECT texts.document, texts.block, texts.content FROM (VALUES {}) AS wanted JOIN texts"
    " ON texts.document = wanted.column1 AND texts.generation = wanted.column2"
    " AND texts.block = wanted.column3"
)
_REVISION = select(notes.c.value).where(notes.c.key == REVISION)


def revision(connection: Connection) -> int:
    return int(connection.scalar(_REVISION) or 0)


def matching(
    connection: Connection,
    owner: OwnerId,
    *,
    folders: Sequence[str] | None,
    names: Sequence[str] | None,
    media_types: Sequence[str] | None,
    between: tuple[datetime | None, datetime | None],
    described: Sequence[tuple[str, str | int | float | bool]],
) -> list[DocumentId]:
    conditions: list[ColumnElement[bool]] = [documents.c.owner == owner]
    if folders is not None:
        conditions.append(documents.c.folder.in_(folders))
    if names is not None:
        conditions.append(documents.c.name.in_(names))
    if media_types is not None:
        kinds = (
            versions.c.media_type.startswith(one, autoescape=True)
            if one.endswith("/")
            else versions.c.media_type == one
            for one in media_types
        )
        conditions.append(or_(*kinds))
    since, until = between
    if since is not None:
        conditions.append(documents.c.updated_at >= microseconds_of(since))
    if until is not None:
        conditions.append(documents.c.updated_at <= microseconds_of(until))
    is_live = and_(versions.c.document == documents.c.id, versions.c.generation == documents.c.live)
    chosen = select(documents.c.id).join(versions, is_live).where(*conditions)
    if described:
        has_all = _with_all({mark_of(name, value) for name, value in described}, owner)
        chosen = chosen.join(has_all, has_all.c.document == documents.c.id)
    return sorted(connection.scalars(chosen))


def _with_all(marks: Collection[bytes], owner: OwnerId) -> Subquery:
    return (
        select(attributes.c.document)
        .where(attributes.c.owner == owner, attributes.c.mark.in_(marks))
        .group_by(attributes.c.document)
        .having(func.count() == len(marks))
        .subquery()
    )


def open_documents(
    connection: Connection, owner: OwnerId, wanted: Mapping[DocumentId, Sequence[int]]
) -> dict[DocumentId, Opened]:
    """Three statements, however many documents and chunks there are."""
    live = {
        one.id: (one, one.live)
        for one in owned(connection, owner, list(wanted))
        if one.live is not None
    }
    chunks = _chunks(connection, {it: version for it, (_, version) in live.items()}, wanted)
    says = _texts(connection, {it: live[it][1] for it in chunks}, chunks)
    return {
        identity: Opened(document, version, says.get(identity, {}))
        for identity, (document, version) in live.items()
    }


def _chunks(
    connection: Connection,
    live: Mapping[DocumentId, Version],
    wanted: Mapping[DocumentId, Sequence[int]],
) -> dict[DocumentId, list[Chunk]]:
    found = {}
    for batch in in_batches([it for it in live if wanted[it]]):
        for document, generation, packed in rows_with(connection, _LAYOUTS, batch):
            if generation == live[document].generation:
                with undamaged(live[document]):
                    found[document] = unpack_some(bytes(packed), wanted[document])
    return found


def _texts(
    connection: Connection,
    live: Mapping[DocumentId, Version],
    chunks: Mapping[DocumentId, Sequence[Chunk]],
) -> dict[DocumentId, dict[int, tuple[Chunk, str]]]:
    needed = {
        (document, live[document].generation, block)
        for document, its_chunks in chunks.items()
        for chunk in its_chunks
        for block in range(chunk.start // BLOCK, _last_block(chunk) + 1)
    }
    blocks: dict[DocumentId, dict[int, bytes]] = {}
    for batch in in_batches(sorted(needed)):
        for document, block, content in _blocks(connection, batch):
            blocks.setdefault(document, {})[block] = content
    found = {}
    for document, its_blocks in blocks.items():
        with undamaged(live[document]):
            found[document] = _cut(its_blocks, chunks[document])
    return found


def _blocks(
    connection: Connection, wanted: Sequence[tuple[DocumentId, int, int]]
) -> Sequence[Sequence[Any]]:
    """Written out: SQLite reads the whole table for a list of tuples, but not for a join."""
    marks = ", ".join(["(?, ?, ?)"] * len(wanted))
    values = tuple(chain.from_iterable(wanted))
    if connection.dialect.name == "sqlite":
        cursor = connection.connection.cursor()
        cursor.execute(_BLOCKS.format(marks), values)
        return cursor.fetchall()
    return connection.exec_driver_sql(_BLOCKS.format(marks.replace("?", "%s")), values).all()


def _cut(blocks: Mapping[int, bytes], chunks: Iterable[Chunk]) -> dict[int, tuple[Chunk, str]]:
    """What the chunks of a document say, but for those of which a block is gone: it was written
    anew or deleted since.
    """
    texts = {at: bytes(one).decode("utf-8", "surrogatepass") for at, one in blocks.items()}
    found = {}
    for chunk in chunks:
        first, last = chunk.start // BLOCK, _last_block(chunk)
        parts = [texts[at] for at in range(first, last + 1) if at in texts]
        if len(parts) <= last - first:
            continue
        text = parts[0] if first == last else "".join(parts)
        says = text[chunk.start - first * BLOCK : chunk.end - first * BLOCK]
        if len(says) != chunk.end - chunk.start:
            raise ValueError
        found[chunk.chunk_index] = (chunk, says)
    return found


def _last_block(chunk: Chunk) -> int:
    return max(chunk.start, chunk.end - 1) // BLOCK
