"""Connections to one PostgreSQL database, and what goes wrong with them in our own words."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from unchunk.errors import (
    IndexUnavailableError,
    InvalidInputError,
    InvalidSettingError,
    MissingPartError,
    ProviderRefusedError,
)

try:
    import psycopg
    from psycopg import errors
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.pq import TransactionStatus
except ImportError as missing:
    raise MissingPartError(
        "the PostgreSQL driver is not installed: pip install 'unchunk[postgres]'"
    ) from missing

T = TypeVar("T")
Connection = psycopg.AsyncConnection[tuple[Any, ...]]
Work = Callable[[Connection], Awaitable[T]]

_WIDTH = 8
# One that lies idle for longer may have been cut by something on the way, without a word.
_LAST_MOMENTS = 2.0
_IDLE_SECONDS = 300.0
# A machine that is gone without a word is noticed, too.
_REACHING: dict[str, str | int | None] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "unchunk",
}
_ATTEMPTS = 3
# libpq tells of a refused login in words only.
_REFUSALS = ("authentication failed", "does not exist", "pg_hba.conf", "no password supplied")
_SETTINGS = {
    # A filtered search goes on until it has found enough.
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": "100",
    # What an owner or a document holds differs too much for one plan to serve all.
    "plan_cache_mode": "force_custom_plan",
}
# A commit is on the disk when it returns, whatever the server is set to; stronger stays.
_DURABLE = """
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'
"""


def address_of(url: str, password: str = "") -> str:
    """What the driver understands; `postgresql+psycopg:` is how catalogs are named."""
    kind, mark, rest = url.partition("://")
    try:
        if kind.partition("+")[0] not in ("postgresql", "postgres") or not mark:
            raise psycopg.ProgrammingError
        known = conninfo_to_dict(f"postgresql://{rest}")
        if password and "password" not in known:
            known["password"] = password
        return make_conninfo("", **{**_REACHING, **known})
    except psycopg.Error:
        # Not named: there may be a password in it.
        raise InvalidSettingError(
            "pgvector needs the address of a PostgreSQL database: write it as "
            "pgvector:postgresql://user@host/name"
        ) from None


class Connections:
    """Kept open between calls; whoever finds all of them busy waits.

    Work may be done again, after a deadlock or over a connection that had been lost unnoticed,
    so it must do no harm twice. It is given up after `timeout` seconds. All belong to the event
    loop that used them first.
    """

    def __init__(self, address: str, timeout: float) -> None:
        self._address = address
        self._timeout = timeout
        self._idle: list[tuple[Connection, float]] = []
        self._room = asyncio.Semaphore(_WIDTH)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        known = conninfo_to_dict(address)
        host, port = known.get("host", "localhost"), known.get("port", 5432)
        self.where = f"{known.get('dbname', known.get('user', ''))} at {host}:{port}"

    async def run(self, work: Work[T]) -> T:
        task: asyncio.Task[T] = asyncio.create_task(self._again(work))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        try:
            # Not `timeout`: a server that hangs would delay its end, too.
            done, _ = await asyncio.wait({task}, timeout=self._timeout)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not done:
            task.cancel()
            raise IndexUnavailableError(
                f"the database {self.where} does not answer within {self._timeout:g} s; "
                "see that it runs, try again"
            )
        with ours(self.where):
            return task.result()

    async def close(self) -> None:
        self._closed = True
        if self._tasks:
            # What was given up may yet tidy up behind itself.
            await asyncio.wait(self._tasks, timeout=_LAST_MOMENTS)
        await self._forget()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # asked for, lest it be complained of that nobody did

    async def _again(self, work: Work[T]) -> T:
        for last in (*[False] * (_ATTEMPTS - 1), True):
            async with self._room:
                if self._closed:
                    raise IndexUnavailableError(f"the index in {self.where} is closed")
                connection, used = await self._connection()
                try:
                    return await work(connection)
                except errors.DeadlockDetected:
                    if last:
                        raise
                except psycopg.OperationalError:
                    if last or not (used and connection.closed):
                        raise
                    await self._forget()
                finally:
                    await self._put_back(connection)
        raise AssertionError

    async def _connection(self) -> tuple[Connection, bool]:
        """One, and whether it was in use before."""
        # The one that was used last is taken first, so those in front are the oldest.
        await self._forget(before=_now() - _IDLE_SECONDS)
        if self._idle:
            return self._idle.pop()[0], True
        connection = await psycopg.AsyncConnection.connect(self._address, autocommit=True)
        try:
            limit = {"statement_timeout": str(int(self._timeout * 1000))}
            for name, value in (_SETTINGS | limit).items():
                await connection.execute("SELECT set_config(%s, %s, false)", (name, value))
            await connection.execute(_DURABLE)
        except BaseException:
            await connection.close()
            raise
        return connection, False

    async def _put_back(self, connection: Connection) -> None:
        clean = connection.info.transaction_status == TransactionStatus.IDLE
        if clean and not self._closed:
            self._idle.append((connection, _now()))
        else:
            await connection.close()

    async def _forget(self, before: float = math.inf) -> None:
        """Close what lies idle since then: after a restart of the server all are lost, not one."""
        while self._idle and self._idle[0][1] < before:
            await self._idle.pop(0)[0].close()


@contextmanager
def ours(where: str) -> Iterator[None]:
    """Their errors as ours; one that only a mistake of ours can cause stays."""
    try:
        yield
    except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction) as error:
        raise ProviderRefusedError(f"the database {where} refuses: {_said(error)}") from error
    except (psycopg.DataError, errors.ProgramLimitExceeded) as error:
        raise InvalidInputError(f"the database {where} cannot hold this: {_said(error)}") from error
    except (
        psycopg.OperationalError,
        psycopg.InterfaceError,
        psycopg.InternalError,
        errors.UndefinedTable,
    ) as error:
        said = _said(error)
        if error.sqlstate is None and any(words in said for words in _REFUSALS):
            raise ProviderRefusedError(
                f"the database {where} refuses: {said}. Check its address and the password"
            ) from error
        raise IndexUnavailableError(f"the database {where} cannot be used: {said}") from error


def _now() -> float:
    return asyncio.get_running_loop().time()


def _said(error: psycopg.Error) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "; ".join(lines) or type(error).__name__
