"""Hears what other processes ring through a PostgreSQL, as long as it runs."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import psycopg
from sqlalchemy import Engine

from unchunk.adapters.catalog.connecting import SERVER
from unchunk.adapters.catalog.ringing import CHANNEL
from unchunk.telemetry import log

_PAUSE = 1.0


async def listen(
    engine: Engine, ring: Callable[[str], None], waited_for: Callable[[], Iterable[str]]
) -> None:
    """Until it is cancelled. A connection that is lost is made again, and whoever waited while
    nobody listened is rung for.
    """
    while True:
        try:
            connection = await psycopg.AsyncConnection.connect(
                **arguments_of(engine), autocommit=True
            )
            async with connection:
                named = await (await connection.execute(f"SELECT {CHANNEL}")).fetchone()
                assert named is not None, "one row"
                channel = psycopg.sql.Identifier(named[0])
                await connection.execute(psycopg.sql.SQL("LISTEN {}").format(channel))
                for topic in waited_for():
                    ring(topic)
                async for notice in connection.notifies():
                    ring(notice.payload)
        except psycopg.Error as error:
            log("the database does not ring now: %s", error)
        await asyncio.sleep(_PAUSE)


def arguments_of(engine: Engine) -> dict[str, Any]:
    _, arguments = engine.dialect.create_connect_args(engine.url)
    return {**arguments, **SERVER, "application_name": "unchunk bell"}
