"""What has its time goes when that is over."""

import asyncio
from datetime import UTC, datetime
from logging import ERROR
from traceback import format_exc

from unchunk.errors import UnchunkError
from unchunk.server.access import House
from unchunk.telemetry import job, log

_EVERY = 60.0


async def keep_sweeping(house: House, every: float = _EVERY) -> None:
    """Delete files and answers whose time is over, again and again until it is cancelled."""
    while True:
        await asyncio.sleep(every)
        with job():
            try:
                await house.engine.stores.sweep(datetime.now(UTC), house.forgetting)
            except UnchunkError as error:
                log("what has expired could not be deleted: %s", error)
            except Exception:  # noqa: BLE001 - the edge of this task: the next time may be better
                log("what has expired could not be deleted: %s", format_exc(), level=ERROR)
