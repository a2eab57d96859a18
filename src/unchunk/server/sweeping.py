"""What has its time goes when that is over. Every process does this; each finds what is left."""

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
                await sweep_shared(house)
            except UnchunkError as error:
                log("what has expired could not be deleted: %s", error)
            except Exception:  # noqa: BLE001 - the edge of this task: the next time may be better
                log("what has expired could not be deleted: %s", format_exc(), level=ERROR)


async def sweep_shared(house: House) -> None:
    """What other processes left, and what this one holds of documents that went through them."""
    engine, sharing = house.engine, house.engine.sharing
    if sharing.leases is not None and (abandoned := await engine.abandon()):
        log("%d answers were interrupted", abandoned)
    if sharing.streams is not None:
        await sharing.streams.forget(house.options.kept_seconds)
    if sharing.rates is not None:
        await sharing.rates.forget()
    if sharing.leases is not None:
        await house.pictures.sweep()
