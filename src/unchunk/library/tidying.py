"""What any process that stays puts in order now and then, for all that share a library."""

import asyncio
from logging import ERROR
from traceback import format_exc
from typing import Final, Protocol

from unchunk.errors import UnchunkError
from unchunk.ports import Queue
from unchunk.telemetry import job, log

EVERY: Final = 30.0
# Whoever keeps a file begins its job in the next moment.
UNCLAIMED: Final = 60.0


class Purging(Protocol):
    """What this needs of an engine."""

    @property
    def sees_all_work(self) -> bool: ...

    async def purge_remains(self) -> object: ...

    async def purge_again(self) -> object: ...


async def keep_tidy(library: Purging, queue: Queue, every: float = EVERY) -> None:
    """Purge what is left of old versions, have lost drafts worked on, and take out of the index what
    came late, until it is cancelled.
    """
    while True:
        await asyncio.sleep(every)
        with job():
            try:
                await library.purge_remains()
                if library.sees_all_work and (adopted := await queue.adopt(UNCLAIMED)):
                    log("%d documents were on their way in: that goes on", adopted)
                await library.purge_again()
            except UnchunkError as error:
                log("what was left cannot be put in order yet: %s", error)
            except Exception:  # noqa: BLE001 - the edge of this task: the next time may be better
                log("what was left cannot be put in order: %s", format_exc(), level=ERROR)
