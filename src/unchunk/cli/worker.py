"""The command that takes documents in for all who share a library."""

import asyncio
import signal
from functools import partial
from logging import INFO, WARNING

import click

from unchunk.beside.running import find
from unchunk.cli.session import Session, with_session
from unchunk.engine import Engine
from unchunk.errors import LibraryInUseError
from unchunk.library.doing import Ended
from unchunk.library.tidying import UNCLAIMED, keep_tidy
from unchunk.library.working import Pace, Worker
from unchunk.ports import Job
from unchunk.retrieval.display import one_line
from unchunk.settings import Settings
from unchunk.telemetry import log
from unchunk.wiring import open_engine

# One that is stopped has this long for what it has begun; the rest goes to others at once.
_GRACE = 10.0


@click.command()
@click.option(
    "--width",
    default=8,
    show_default=True,
    type=click.IntRange(1, 1_000),
    help="How many documents come in at a time.",
)
@with_session
def worker(session: Session, width: int) -> None:
    """Take in what servers have kept: on any number of machines, with one library.

    The library's catalog is then PostgreSQL, and its index a server. It says what becomes of each
    document, and ends with Ctrl-C or SIGTERM: what is not done then is for the others, at once. The
    second time it ends without waiting.
    """
    settings = session.settings
    is_told_all = session.is_verbose or settings.logs_are_json
    session.show_logs(INFO if is_told_all else WARNING)
    asyncio.run(_work(session, settings, width))


async def _work(session: Session, settings: Settings, width: int) -> None:
    engine = await open_engine(settings)
    async with engine:
        await _claim(engine, settings)
        queue = engine.sharing.queue
        told = partial(_tell, session, as_log=settings.logs_are_json)
        one = Worker(engine, queue, engine.sharing.bell, Pace(width=width, grace=_GRACE), told)
        if engine.is_alone:
            await queue.release()
        await queue.adopt(0.0 if engine.is_alone else UNCLAIMED)
        _stop_by_signal(session, one)
        tidying = asyncio.create_task(keep_tidy(engine, queue))
        session.result({"worker": one.name})
        session.say(f"worker {one.name} takes in {width} documents at a time; Ctrl-C ends it")
        try:
            await one.run()
        finally:
            tidying.cancel()
            await asyncio.wait([tidying])
    session.say("ended; what was not done is for the others")


async def _claim(engine: Engine, settings: Settings) -> None:
    """An index in the home is one process's, and SQLite does not tell who works on what."""
    try:
        await engine.claim()
        is_ours = engine.sees_all_work
    except LibraryInUseError:
        is_ours = False
    if not is_ours:
        running = find(settings.home)
        who = f"the server at {running.url} has" if running else "another process has"
        raise LibraryInUseError(
            f"{who} the library in {settings.home} open, and takes documents in itself: end that"
            " one first. For workers beside it, give it PostgreSQL as `catalog` and a server, say"
            " Qdrant, as `index`"
        )


def _stop_by_signal(session: Session, one: Worker) -> None:
    loop, signals = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        session.say("ends when what has begun is done; once more ends it at once")
        one.stop()
        for each in signals:
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)

    for each in signals:
        loop.add_signal_handler(each, stop)


def _tell(session: Session, job: Job, ended: Ended, *, as_log: bool) -> None:
    result = ended.result or ("waiting" if ended.error_code == "unavailable" else "failed")
    line = one_line(f"{result}: {job.name}{': ' if ended.error else ''}{ended.error}")
    if as_log and not session.as_json:
        log("%s", line)
        return
    told = {"document": job.document, "name": job.name, "result": result, "job": job.id}
    session.result(told | {"error_code": ended.error_code, "error": ended.error})
    session.say(line)
