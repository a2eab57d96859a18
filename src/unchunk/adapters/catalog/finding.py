"""Which documents there are, and what is live: what a search asks first, in plain SQL."""
# ruff: noqa: S608 - only names of our own are part of a query

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from unchunk.adapters.catalog.file import Ask
from unchunk.adapters.catalog.marks import mark_of
from unchunk.adapters.catalog.rows import (
    DOCUMENT,
    VERSION,
    document_in,
    in_batches,
    known_version,
    microseconds_of,
)
from unchunk.adapters.catalog.terms import PENDING, REVISION, REVISIONS, SIGNING
from unchunk.domain import Document, DocumentId, OwnerId, Remains, Version


def _of(table: str, columns: Sequence[str]) -> str:
    return ", ".join(f"{table}.{column}" for column in columns)


_IS_LIVE = "live.document = documents.id AND live.generation = documents.live"
_IS_DRAFT = "draft.document = documents.id AND draft.generation = documents.draft"
# By their ids alone: with the owner beside them SQLite reads through all that is the owner's.
_DOCUMENTS = (
    f"SELECT {_of('documents', DOCUMENT)}, {_of('live', VERSION)}, {_of('draft', VERSION)}"
    f" FROM documents LEFT JOIN versions AS live ON {_IS_LIVE}"
    f" LEFT JOIN versions AS draft ON {_IS_DRAFT} WHERE documents.id IN "
)
_LIVE = (
    f"SELECT {_of('live', VERSION)} FROM documents JOIN versions AS live ON {_IS_LIVE}"
    " WHERE documents.id IN "
)
_MATCHING = f"SELECT documents.id FROM documents JOIN versions AS live ON {_IS_LIVE} WHERE "
_WITH_ALL = (
    "documents.id IN (SELECT document FROM attributes WHERE owner = ? AND mark IN {}"
    " GROUP BY document HAVING count(*) = ?)"
)
_REMAINS = f"SELECT {', '.join(Remains._fields)} FROM remains {{}} ORDER BY document, generation"
_OWNER = DOCUMENT.index("owner")
_GONE = Remains._fields.index("gone")


def marks(count: int) -> str:
    """A place for each of so many values."""
    return f"({', '.join('?' * count)})"


def newest_step(ask: Ask) -> str | None:
    """How far the tables of a file are; None where there are none of ours."""
    if not ask("SELECT 1 FROM sqlite_master WHERE name = ?", (REVISIONS,)):
        return None
    rows = ask(f"SELECT version_num FROM {REVISIONS}", ())
    return rows[0][0] if rows else None


def revision(ask: Ask) -> int:
    rows = ask("SELECT value FROM notes WHERE key = ?", (REVISION,))
    return int(rows[0][0]) if rows else 0


def all_notes(ask: Ask) -> dict[str, str]:
    rows = ask("SELECT key, value FROM notes WHERE key NOT IN (?, ?)", (REVISION, SIGNING))
    return dict(rows)  # type: ignore[arg-type] # of two columns


def all_remains(ask: Ask, document: DocumentId | None = None) -> list[Remains]:
    of_it, values = ("", ()) if document is None else ("WHERE document = ?", (document,))
    rows = ask(_REMAINS.format(of_it), values)
    # SQLite knows no truths, only numbers.
    return [Remains(*row)._replace(gone=bool(row[_GONE])) for row in rows]


def is_answering(ask: Ask) -> bool:
    """Whether a question of any conversation has no answer yet."""
    return bool(ask(f"SELECT 1 FROM turns WHERE {PENDING} LIMIT 1", ()))


def owned(ask: Ask, owner: OwnerId, wanted: Sequence[DocumentId]) -> list[Document]:
    """Those of the documents that are the owner's."""
    return [
        document_in(row)
        for batch in in_batches(wanted)
        for row in ask(_DOCUMENTS + marks(len(batch)), batch)
        if row[_OWNER] == owner
    ]


def live(ask: Ask, wanted: Sequence[DocumentId]) -> dict[DocumentId, Version]:
    return {
        row[0]: known_version(tuple(row))
        for batch in in_batches(list(set(wanted)))
        for row in ask(_LIVE + marks(len(batch)), batch)
    }


def matching(
    ask: Ask,
    owner: OwnerId,
    *,
    folders: Sequence[str] | None,
    names: Sequence[str] | None,
    media_types: Sequence[str] | None,
    between: tuple[datetime | None, datetime | None],
    described: Sequence[tuple[str, str | int | float | bool]],
) -> list[DocumentId]:
    if any(given is not None and not given for given in (folders, names, media_types)):
        return []
    since, until = between
    conditions: list[tuple[str, Sequence[Any]]] = [("documents.owner = ?", (owner,))]
    for column, them in (("folder", folders), ("name", names)):
        if them is not None:
            conditions.append((f"documents.{column} IN {marks(len(them))}", them))
    if media_types is not None:
        kinds = [_is_kind(one) for one in media_types]
        either = " OR ".join(condition for condition, _ in kinds)
        conditions.append((f"({either})", [value for _, value in kinds]))
    if since is not None:
        conditions.append(("documents.updated_at >= ?", (microseconds_of(since),)))
    if until is not None:
        conditions.append(("documents.updated_at <= ?", (microseconds_of(until),)))
    if described:
        said = sorted({mark_of(name, value) for name, value in described})
        conditions.append((_WITH_ALL.format(marks(len(said))), (owner, *said, len(said))))
    chosen = _MATCHING + " AND ".join(condition for condition, _ in conditions)
    rows = ask(chosen, [value for _, values in conditions for value in values])
    return sorted(row[0] for row in rows)


def _is_kind(kind: str) -> tuple[str, str]:
    if not kind.endswith("/"):
        return "live.media_type = ?", kind
    for special in "|%_":
        kind = kind.replace(special, f"|{special}")
    return "live.media_type LIKE ? ESCAPE '|'", f"{kind}%"
