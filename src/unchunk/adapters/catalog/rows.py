"""Rows into values and back."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, TypeVar

from unchunk.domain import Chunking, ChunkingStrategy, Document, DocumentId, Version
from unchunk.errors import IntegrityError, InvalidInputError, InvalidTextError

T = TypeVar("T")

DOCUMENT: Final = (
    *("id", "owner", "folder", "name", "created_at", "updated_at"),
    *("error_code", "error", "attributes"),
)
"""The columns of a document, in the order of `document_in`."""
VERSION: Final = tuple(field.name for field in fields(Version))
"""Those of a version."""
_LIVE_AT, _DRAFT_AT = len(DOCUMENT), len(DOCUMENT) + len(VERSION)
_END = _DRAFT_AT + len(VERSION)
_MOST = 400
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
# PostgreSQL gives out no more than half a gigabyte of bytes, SQLite not much more than that.
_LARGEST = 2**28


def version_row(version: Version) -> dict[str, Any]:
    row = {name: getattr(version, name) for name in VERSION}
    row["title"] = quoted(version.title)
    row["notes"] = json.dumps(version.notes)
    row["chunking"] = _chunking_row(version.chunking)
    return row


def version_of(row: Sequence[Any]) -> Version:
    document, generation, checksum, size, blob, media_type, title, *rest = row
    text_checksum, text_length, page_count, chunk_count, chunking, space, notes, tokens = rest
    return Version(
        document,
        generation,
        checksum,
        size,
        blob,
        media_type,
        json.loads(title),
        text_checksum,
        text_length,
        page_count,
        chunk_count,
        _chunking_of(chunking),
        space,
        tuple(json.loads(notes)),
        tokens,
    )


@lru_cache(maxsize=4096)
def known_version(row: tuple[Any, ...]) -> Version:
    """The same row is the same version: a search reads many, and mostly ones it read before."""
    return version_of(row)


def document_in(row: Sequence[Any]) -> Document:
    """The one in the first columns of a row, with its live version and its draft; there may be
    others behind.
    """
    document, owner, folder, name, created, updated, code, error, attributes = row[:_LIVE_AT]
    live, draft = tuple(row[_LIVE_AT:_DRAFT_AT]), tuple(row[_DRAFT_AT:_END])
    return Document(
        document,
        owner,
        name,
        folder,
        time_of(created),
        time_of(updated),
        None if live[0] is None else known_version(live),
        None if draft[0] is None else known_version(draft),
        code,
        _unquoted(error),
        {} if attributes is None else _attributes_of(document, attributes),
    )


def _attributes_of(document: DocumentId, row: bytes) -> dict[str, object]:
    try:
        return dict(json_of(row))
    except (TypeError, ValueError) as error:
        raise IntegrityError(
            f"the attributes of document {document!r} are damaged; put a backup of the catalog in its place"
        ) from error


def in_batches(items: Sequence[T], most: int = _MOST) -> Iterator[Sequence[T]]:
    """So many at a time that no database has too many parameters in one statement."""
    for first in range(0, len(items), most):
        yield items[first : first + most]


def time_of(microseconds: int) -> datetime:
    return _BEGINNING + timedelta(microseconds=microseconds)


def microseconds_of(moment: datetime) -> int:
    return (moment.astimezone(UTC) - _BEGINNING) // timedelta(microseconds=1)


def quoted(text: str) -> str:
    """Any text as ASCII: titles and messages hold what no column of text would take."""
    return json.dumps(text)


@lru_cache(maxsize=64)
def _unquoted(row: str) -> str:
    """Mostly the same: that nothing went wrong."""
    text: str = json.loads(row)
    return text


def kept_text(text: str, what: str) -> bytes:
    """Any text; it may be as long as a database can bear."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > _LARGEST:
        raise InvalidInputError(
            f"{what} of {len(data):,} bytes cannot be kept: shorten it to {_LARGEST:,}"
        )
    return data


def text_of(data: bytes) -> str:
    return bytes(data).decode("utf-8", "surrogatepass")


def kept_json(value: object, what: str) -> bytes:
    """As it is spelled, without escapes: these would make two halves of a character a whole one."""
    return kept_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), what)


def json_of(data: bytes) -> Any:  # noqa: ANN401 - whatever was kept
    return json.loads(text_of(data))


def damaged(what: str) -> IntegrityError:
    """A database does not notice when its disk gives back other bytes than it was given."""
    return IntegrityError(f"what is kept of {what} is damaged; delete it")


def storable(**texts: str) -> None:
    """Refuse text that a column cannot hold; better here than with the words of a driver."""
    for what, text in texts.items():
        if not is_storable(text):
            raise InvalidTextError(
                f"{what} {text!r} cannot be kept: it holds a NUL or half a character; rename it"
            )


def is_storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


@lru_cache(maxsize=64)
def _chunking_row(chunking: Chunking | None) -> str:
    return "" if chunking is None else json.dumps(asdict(chunking))


@lru_cache(maxsize=64)
def _chunking_of(row: str) -> Chunking | None:
    if not row:
        return None
    values = json.loads(row)
    return Chunking(ChunkingStrategy(**values["strategy"]), values["boundaries"])


@lru_cache(maxsize=64)
def strategy_row(strategy: ChunkingStrategy) -> str:
    return json.dumps(asdict(strategy))


@lru_cache(maxsize=64)
def strategy_of(row: str) -> ChunkingStrategy:
    return ChunkingStrategy(**json.loads(row))
