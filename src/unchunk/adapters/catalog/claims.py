"""Who has which job, and for how long. Each function is the work of one transaction."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, exists, select, update

from unchunk.adapters.catalog.dialects import in_batches
from unchunk.adapters.catalog.jobs import DELETED, IS_RUNNING, job_of, now
from unchunk.adapters.catalog.rows import quoted
from unchunk.adapters.catalog.schema import documents, jobs
from unchunk.ports import Job, Progress

_CRASHED = "crashed"
# How often a job may have ended its worker before it is worked on alone.
_SUSPECT = 2
_FREE: dict[str, Any] = {"worker": "", "until": 0}
_others = jobs.alias("others")


def claim(
    connection: Connection, worker: str, most: int, seconds: float, limit: int, *, asked_for: bool
) -> list[Job]:
    moment = now(connection)
    _give_up(connection, moment, limit)
    is_due = jobs.c.due_at == 0 if asked_for else jobs.c.due_at <= moment
    is_lost = and_(IS_RUNNING, jobs.c.until < moment)
    _end_dropped(connection, is_lost)
    mine = select(jobs.c.attempts).where(IS_RUNNING, jobs.c.worker == worker)
    has = connection.scalars(mine.where(jobs.c.until >= moment)).all()
    if any(attempts > _SUSPECT for attempts in has):
        return []
    rows = _free(connection, is_lost, moment, most) if not asked_for else []
    for state in ("queued", "waiting"):
        rows += _free(connection, and_(jobs.c.state == state, is_due), moment, most)
    rows.sort(key=lambda row: (row.attempts < _SUSPECT, row.turn, row.begun_at, row.id))
    chosen = rows[:most]
    if rows and rows[0].attempts >= _SUSPECT:
        # Not beside others; who has some takes no more until it is done with them.
        chosen = [] if has else rows[:1]
    ids = [row.id for row in chosen]
    held = {"state": "running", "worker": worker, "until": moment + _microseconds(seconds)}
    held |= {"attempts": jobs.c.attempts + 1, "error_code": "", "error": quoted("")}
    connection.execute(update(jobs).where(jobs.c.id.in_(ids)).values(held))
    found = {row.id: row for row in connection.execute(select(jobs).where(jobs.c.id.in_(ids)))}
    return [job_of(found[one]) for one in ids]


def _free(
    connection: Connection, condition: ColumnElement[bool], moment: int, most: int
) -> list[Row[Any]]:
    """Some that no other is about to take, and whose document nobody works on."""
    is_busy = exists().where(
        _others.c.document == jobs.c.document,
        _others.c.state == "running",
        _others.c.until >= moment,
        _others.c.id != jobs.c.id,
    )
    wanted = select(jobs).where(condition, ~is_busy).order_by(jobs.c.turn).limit(most)
    return list(connection.execute(wanted.with_for_update(skip_locked=True)).all())


def _give_up(connection: Connection, moment: int, limit: int) -> None:
    """What has ended its workers so often fails, and is found among what has failed."""
    is_hopeless = and_(IS_RUNNING, jobs.c.until < moment, jobs.c.attempts >= limit)
    for row in connection.execute(select(jobs).where(is_hopeless)).all():
        # First the document, as everywhere; one that is locked is for the next time.
        its = documents.c.id == row.document
        known = connection.execute(select(documents.c.id).where(its)).first()
        locked = select(documents.c.id).where(its).with_for_update(skip_locked=True)
        if known and connection.execute(locked).first() is None:
            continue
        why = f"whoever worked on it ended, {row.attempts} times in a row; `retry` tries it again"
        failed: dict[str, Any] = {"state": "failed", "result": "failed", "ended_at": moment}
        failed |= {"error_code": _CRASHED, "error": quoted(why)} | _FREE
        is_it = and_(jobs.c.id == row.id, is_hopeless)
        if connection.execute(update(jobs).where(is_it).values(failed)).rowcount == 0:
            continue
        if row.kind != "reindex":
            told = {"error_code": _CRASHED, "error": quoted(why), "updated_at": moment}
            has_draft = documents.c.draft.is_not(None)
            connection.execute(update(documents).where(its, has_draft).values(told))


def beat(connection: Connection, worker: str, had: Collection[str], seconds: float) -> set[str]:
    kept: set[str] = set()
    for some in in_batches(sorted(had)):
        is_mine = and_(jobs.c.id.in_(some), IS_RUNNING, jobs.c.worker == worker)
        mine = select(jobs.c.id, jobs.c.is_dropped).where(is_mine).order_by(jobs.c.id)
        rows = connection.execute(mine.with_for_update()).all()
        until = now(connection) + _microseconds(seconds)
        ids = [row.id for row in rows]
        connection.execute(update(jobs).where(jobs.c.id.in_(ids)).values(until=until))
        kept.update(row.id for row in rows if not row.is_dropped)
    return kept


def reached(connection: Connection, worker: str, seen: Mapping[str, Progress]) -> None:
    for job, (stage, done, total) in sorted(seen.items()):
        is_it = _mine(worker, job)
        connection.execute(update(jobs).where(is_it).values(stage=stage, done=done, total=total))


def put_back(connection: Connection, worker: str, job: str, why: str, seconds: float) -> None:
    later = now(connection) + _microseconds(seconds)
    back: dict[str, Any] = {"state": "waiting" if why else "queued", "due_at": later, "result": ""}
    back |= {"error_code": "unavailable" if why else "", "error": quoted(why)} | _FREE
    back["attempts"] = jobs.c.attempts - 1
    is_it = _mine(worker, job)
    connection.execute(update(jobs).where(is_it, ~jobs.c.is_dropped).values(back))
    _end_dropped(connection, is_it)


def end(
    connection: Connection,
    worker: str,
    job: str,
    *,
    reached: Progress | None,
    result: str,
    error_code: str,
    error: str,
) -> None:
    is_it = _mine(worker, job)
    ended: dict[str, Any] = reached._asdict() if reached else {}
    ended |= _FREE | {"ended_at": now(connection), "error": quoted(error)}
    if error_code:
        ended |= {"state": "failed", "result": "failed", "error_code": error_code}
    else:
        done = reached.total if reached else jobs.c.total
        ended |= {"state": "done", "stage": "done", "result": result, "done": done}
    _end_dropped(connection, is_it)
    connection.execute(update(jobs).where(is_it).values(ended))


def release(connection: Connection) -> int:
    return connection.execute(update(jobs).where(IS_RUNNING).values(until=0)).rowcount


def _end_dropped(connection: Connection, is_it: ColumnElement[bool]) -> None:
    gone = DELETED | _FREE | {"ended_at": now(connection)}
    connection.execute(update(jobs).where(is_it, jobs.c.is_dropped).values(gone))


def _mine(worker: str, job: str) -> ColumnElement[bool]:
    return and_(jobs.c.id == job, IS_RUNNING, jobs.c.worker == worker)


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)
