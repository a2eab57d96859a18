"""What the catalog is asked, over one connection."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Select, and_, bindparam, select

from unchunk.adapters.catalog.dialects import asking
from unchunk.adapters.catalog.finding import all_remains
from unchunk.adapters.catalog.packing import unpack_chunks, unpack_outline
from unchunk.adapters.catalog.prepared import rows_of
from unchunk.adapters.catalog.reading import BLOCK, damaged_text
from unchunk.adapters.catalog.rows import DOCUMENT, document_in, is_storable
from unchunk.adapters.catalog.schema import documents, layouts, texts, versions
from unchunk.domain import Chunk, Document, DocumentId, Heading, OwnerId, Remains, Version
from unchunk.errors import NotFoundError

_live, _draft = versions.alias("live"), versions.alias("draft")
_HEAD = tuple(documents.c[name] for name in DOCUMENT)
COLUMNS = (*_HEAD, *_live.c, *_draft.c)
"""What a document is made of, in a row for `document_in`."""


def with_versions(found: FromClause) -> FromClause:
    """Some documents, with what is live and what is on its way of each."""
    return found.outerjoin(
        _live, and_(_live.c.document == documents.c.id, _live.c.generation == documents.c.live)
    ).outerjoin(
        _draft, and_(_draft.c.document == documents.c.id, _draft.c.generation == documents.c.draft)
    )


_DOCUMENTS = select(*COLUMNS).select_from(with_versions(documents))
_MINE = _DOCUMENTS.where(
    documents.c.id == bindparam("document"), documents.c.owner == bindparam("owner")
)
# Made once: making a statement takes as long as running it.
_BLOCKS = (
    select(texts.c.content)
    .where(
        texts.c.document == bindparam("document"),
        texts.c.generation == bindparam("generation"),
        texts.c.block.between(bindparam("first"), bindparam("last")),
    )
    .order_by(texts.c.block)
)


def get(connection: Connection, owner: OwnerId, document: DocumentId) -> Document:
    # What no column could hold is not there; PostgreSQL would complain.
    wanted = {"document": document, "owner": owner}
    found = rows_of(connection, _MINE, **wanted) if is_storable(document) else []
    if not found:
        raise nothing_there(document)
    return document_in(found[0])


def nothing_there(document: DocumentId) -> NotFoundError:
    return NotFoundError(f"there is no document {document!r}")


def find(
    connection: Connection,
    owner: OwnerId | None,
    folder: str | None,
    name: str | None,
    checksum: str | None,
) -> list[Document]:
    given = {"owner": owner, "folder": folder, "name": name, "checksum": checksum}
    wanted = {what: it for what, it in given.items() if it is not None}
    found = map(document_in, rows_of(connection, _with(*wanted), **wanted))
    # Sorted here: databases disagree on the order of texts.
    return sorted(found, key=lambda document: (document.folder, document.name, document.owner))


@lru_cache
def _with(*names: str) -> Select[Any]:
    columns = {**documents.c, "checksum": _live.c.checksum}
    return _DOCUMENTS.where(*(columns[name] == bindparam(name) for name in names))


def documents_of(connection: Connection, *conditions: ColumnElement[bool]) -> list[Document]:
    return list(map(document_in, connection.execute(_DOCUMENTS.where(*conditions))))


def text(connection: Connection, version: Version, start: int, end: int | None) -> str:
    first, last, _ = slice(start, end).indices(version.text_length)
    if first >= last:
        return ""
    wanted = {
        "document": version.document,
        "generation": version.generation,
        "first": first // BLOCK,
        "last": (last - 1) // BLOCK,
    }
    blocks = connection.scalars(_BLOCKS, wanted).all()
    if not blocks:
        raise _no_more(version)
    before = first // BLOCK * BLOCK
    with _undamaged(version):
        found = "".join(bytes(block).decode("utf-8", "surrogatepass") for block in blocks)
        found = found[first - before : last - before]
        if len(found) != last - first:
            raise ValueError
    return found


def chunks(connection: Connection, version: Version) -> list[Chunk]:
    packed = _layout(connection, version, layouts.c.chunks)
    with _undamaged(version):
        return unpack_chunks(packed)


def outline(
    connection: Connection, version: Version
) -> tuple[tuple[int, ...], tuple[Heading, ...]]:
    packed = _layout(connection, version, layouts.c.outline)
    with _undamaged(version):
        return unpack_outline(packed)


def _layout(connection: Connection, version: Version, column: ColumnElement[bytes]) -> bytes:
    found = connection.scalar(
        select(column).where(
            layouts.c.document == version.document, layouts.c.generation == version.generation
        )
    )
    if found is None:
        raise _no_more(version)
    return bytes(found)


@contextmanager
def _undamaged(version: Version) -> Iterator[None]:
    try:
        yield
    except (ValueError, LookupError) as error:
        raise damaged_text(version.document) from error


def _no_more(version: Version) -> NotFoundError:
    return NotFoundError(
        f"document {version.document!r} is not kept in its generation {version.generation}: it "
        "was written anew or deleted"
    )


def remains_of(connection: Connection, document: DocumentId) -> list[Remains]:
    return all_remains(asking(connection), document)
