"""Jobs as rows: how they come, are looked up and go. Each function is the work of one transaction.

Whoever locks a document and its jobs locks the document first, and jobs in the order of their ids.
"""

import json
import secrets
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    text,
    update,
)

from unchunk.adapters.catalog.dialects import clock, in_batches
from unchunk.adapters.catalog.prepared import rows_of
from unchunk.adapters.catalog.rows import is_storable, quoted, time_of
from unchunk.adapters.catalog.schema import COMING, documents, jobs, leases
from unchunk.domain import Document, DocumentId, OwnerId
from unchunk.errors import NotFoundError
from unchunk.ports import Job, JobKind

DELETED = {"state": "failed", "result": "failed", "error_code": "deleted"}
DELETED |= {"error": quoted("it was deleted")}
IS_OPEN = jobs.c.ended_at.is_(None)
IS_RUNNING = jobs.c.state == "running"
IS_WAITING = jobs.c.state.in_(("queued", "waiting"))
_OPEN_JOBS = select(jobs.c.id).where(jobs.c.document == bindparam("document"), IS_OPEN)
_NAMED = 12
_FIELDS = tuple(Job.__dataclass_fields__)


def now(connection: Connection) -> int:
    [[found]] = rows_of(connection, _asked(connection.dialect.name))
    return int(found)


@lru_cache
def _asked(dialect: str) -> Select[tuple[int]]:
    return select(clock(dialect))


def job_of(row: Row[Any]) -> Job:
    values = {name: getattr(row, name) for name in _FIELDS}
    values["error"] = json.loads(row.error)
    values["begun_at"] = time_of(row.begun_at)
    values["ended_at"] = None if row.ended_at is None else time_of(row.ended_at)
    return Job(**values)


def begin(connection: Connection, kind: JobKind, document: Document, *, forced: bool) -> Job:
    is_there = select(documents.c.id).where(documents.c.id == document.id).with_for_update()
    if connection.execute(is_there).first() is None:
        return _made(connection, kind, document, **DELETED, ended_at=now(connection))
    for row in _of_document(connection, document.id):
        is_in_time = row.state != "running" or kind != "upload"
        if is_in_time and (row.kind == "reindex") == (kind == "reindex"):
            asked: dict[str, Any] = {"forced": row.forced or forced}
            if row.state == "waiting":
                asked["due_at"] = 0
            connection.execute(update(jobs).where(jobs.c.id == row.id).values(asked))
            return find(connection, document.owner, row.id)
    return _made(connection, kind, document, forced=forced)


def noted(connection: Connection, document: Document, result: str) -> Job:
    done = {"state": "done", "stage": "done", "result": result}
    return _made(connection, "upload", document, **done, ended_at=now(connection))


def adopt(connection: Connection, older_than: float) -> int:
    """What has yet no job is asked again when its document is locked: another may do the same.

    What somebody works on without a job is left to them.
    """
    has_job = exists().where(jobs.c.document == documents.c.id, IS_OPEN)
    is_held = leases.c.until >= clock(connection.dialect.name)
    has_one = or_(has_job, exists().where(leases.c.name == documents.c.id, is_held))
    latest = now(connection) - round(older_than * 1_000_000)
    is_pending: ColumnElement[bool] = and_(text(COMING))
    if older_than:
        is_pending = and_(is_pending, documents.c.updated_at < latest)
    lost = connection.scalars(
        select(documents.c.id).where(is_pending, ~has_one).order_by(documents.c.created_at)
    ).all()
    adopted = 0
    for some in in_batches(lost):
        is_one = documents.c.id.in_(some)
        locked = select(documents.c.id).where(is_one).with_for_update(skip_locked=True)
        free = connection.scalars(locked).all()
        still = select(documents).where(documents.c.id.in_(free), is_pending, ~has_one)
        for row in connection.execute(still.order_by(documents.c.created_at)).all():
            times = (time_of(row.created_at), time_of(row.updated_at))
            _made(connection, "upload", Document(row.id, row.owner, row.name, row.folder, *times))
            adopted += 1
    return adopted


def drop(connection: Connection, document: DocumentId) -> None:
    """Its document goes: what waits is over, and whoever works on it is told."""
    for row in _of_document(connection, document):
        gone: dict[str, Any] = {"is_dropped": True}
        if row.state != "running":
            gone |= DELETED | {"ended_at": now(connection)}
        connection.execute(update(jobs).where(jobs.c.id == row.id).values(gone))


def settle(connection: Connection, came_in: Collection[DocumentId]) -> None:
    done: dict[str, Any] = {"state": "done", "stage": "done", "result": "unchanged"}
    done |= {"done": jobs.c.total, "error_code": "", "error": quoted("")}
    for some in in_batches(sorted(came_in)):
        has_failed = and_(jobs.c.document.in_(some), jobs.c.state == "failed")
        connection.execute(update(jobs).where(has_failed, ~jobs.c.is_dropped).values(done))


def find(connection: Connection, owner: OwnerId, job: str) -> Job:
    wanted = select(jobs).where(jobs.c.id == job, jobs.c.owner == owner)
    row = connection.execute(wanted).first() if is_storable(job) else None
    if row is None:
        raise NotFoundError(f"there is no job {job[:40]!r}")
    return job_of(row)


def of(connection: Connection, owner: OwnerId, limit: int) -> list[Job]:
    wanted = select(jobs).where(jobs.c.owner == owner)
    coming = wanted.where(IS_OPEN).order_by(jobs.c.turn, jobs.c.begun_at, jobs.c.id).limit(limit)
    found = [job_of(row) for row in reversed(connection.execute(coming).all())]
    ended = wanted.where(~IS_OPEN).order_by(jobs.c.ended_at.desc(), jobs.c.id)
    rest = ended.limit(limit - len(found))
    return found + [job_of(row) for row in connection.execute(rest)]


def waiting(connection: Connection, owner: OwnerId | None) -> int:
    return _count(
        connection, IS_WAITING if owner is None else and_(IS_WAITING, jobs.c.owner == owner)
    )


def running(connection: Connection) -> int:
    return _count(connection, IS_RUNNING)


def forget(connection: Connection, older_than: float, most: int) -> None:
    oldest = now(connection) - round(older_than * 1_000_000)
    lately = select(jobs.c.ended_at).where(~IS_OPEN).order_by(jobs.c.ended_at.desc())
    last = connection.scalar(lately.offset(most).limit(1))
    is_old = or_(jobs.c.ended_at <= oldest, jobs.c.ended_at <= (-1 if last is None else last))
    connection.execute(delete(jobs).where(~IS_OPEN, is_old))


def _of_document(connection: Connection, document: DocumentId) -> Sequence[Row[Any]]:
    """Those that are not over, kept from other writers until the end."""
    # Mostly there is none, and that is soon known.
    if not rows_of(connection, _OPEN_JOBS, document=document):
        return []
    its = select(jobs).where(jobs.c.document == document, IS_OPEN).order_by(jobs.c.id)
    found = connection.execute(its.with_for_update()).all()
    return sorted(found, key=lambda row: (row.begun_at, row.id))


def _made(connection: Connection, kind: JobKind, document: Document, **more: Any) -> Job:  # noqa: ANN401 - columns
    identity = secrets.token_urlsafe(_NAMED)
    values = {
        "id": identity,
        "owner": document.owner,
        "kind": kind,
        "document": document.id,
        "name": document.name,
        "folder": document.folder,
        "forced": False,
        "state": "queued",
        "stage": "read",
        "done": 0,
        "total": 0,
        "result": "",
        "error_code": "",
        "error": quoted(""),
        "attempts": 0,
        "turn": _turn(connection, document.owner),
        "due_at": 1,
        "worker": "",
        "until": 0,
        "is_dropped": False,
        "begun_at": now(connection),
        "ended_at": None,
    }
    connection.execute(jobs.insert(), values | more)
    return find(connection, document.owner, identity)


def _turn(connection: Connection, owner: OwnerId) -> int:
    """Behind the last one of its owner, but not behind all that others have.

    Whoever had none comes after those that are worked on. Each look is at one end of an index.
    """
    lookups = (
        select(jobs.c.turn).where(IS_RUNNING).order_by(jobs.c.turn.desc()),
        *(
            select(jobs.c.turn).where(jobs.c.state == state).order_by(jobs.c.turn)
            for state in ("queued", "waiting")
        ),
        select(jobs.c.turn).where(jobs.c.owner == owner, IS_OPEN).order_by(jobs.c.turn.desc()),
    )
    worked_on, *first, own = (connection.scalar(one.limit(1)) for one in lookups)
    least = min((one for one in first if one is not None), default=0)
    return max(worked_on or 0, least, 0 if own is None else own + 1)


def _count(connection: Connection, condition: ColumnElement[bool]) -> int:
    return connection.scalar(select(func.count()).select_from(jobs).where(condition)) or 0
