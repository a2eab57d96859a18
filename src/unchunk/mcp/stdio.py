"""The tools for one program, which started this process and speaks over its standard streams."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult

from unchunk.beside.running import Running
from unchunk.mcp.forwarding import forward
from unchunk.mcp.lending import Lending
from unchunk.mcp.protocol import Context, call, make_server, reporting
from unchunk.mcp.tools import Desk
from unchunk.telemetry import log

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# What goes to the collection that is searched instead of the library, if there is one.
_SEARCHES = frozenset({"rag_search", "ask"})


async def serve(
    version: str,
    library: Lending,
    beside: Callable[[], Running | None] = lambda: None,
    source: str = "",
) -> None:
    """Answer until standard input ends. A signal ends the process.

    `beside` is asked with each call: where a server has the library, it is forwarded. Searches are
    refused if that server searches anything other than `source`, if that is set.
    """

    async def work(context: Context, given: CallToolRequestParams) -> CallToolResult:
        if (running := beside()) is not None:
            if given.name in _SEARCHES:
                running.check_source(source)
            return await forward(running, given, reporting(context))
        async with library.borrowed() as engine:
            return await call(Desk(engine), given, reporting(context))

    server = make_server(version, work)

    async def answer() -> None:
        try:
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())
        except* BrokenPipeError:
            log("nobody reads what is said here: this is the end")

    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    answering = asyncio.ensure_future(answer())
    answering.add_done_callback(lambda _: ended.set())
    signals: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        signals.append(number)
        ended.set()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    await ended.wait()
    answering.cancel()
    await library.close()
    if signals:
        # A thread waits for a line that does not come, and Python would wait for the thread.
        sys.stderr.flush()
        os._exit(128 + signals[0])
    await answering
