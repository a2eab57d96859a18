"""A call carried out by the server that has the library, over its own /mcp."""

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, CallToolResult
from mcp_types.version import LATEST_MODERN_VERSION

from unchunk.beside.running import Running
from unchunk.errors import TransientError
from unchunk.mcp.tools import Report

_CONNECTING = 10.0


async def forward(running: Running, given: CallToolRequestParams, report: Report) -> CallToolResult:
    """The server's own result, and its progress on the way to it."""

    async def told(progress: float, total: float | None, message: str | None) -> None:
        del total
        await report(int(progress), message or "")

    http = httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {running.secret}"},
        # An answer may take long; the server is on this machine, and says when it ends.
        timeout=httpx2.Timeout(None, connect=_CONNECTING),
        # Nobody stands between two processes of one machine.
        trust_env=False,
    )
    failure: BaseExceptionGroup[Exception] | None = None
    try:
        async with http:
            line = streamable_http_client(f"{running.url}/mcp", http_client=http)
            # It speaks the newest version, as it is of this one: nothing to negotiate.
            async with Client(line, mode=LATEST_MODERN_VERSION, cache=None) as client:
                return await client.call_tool(given.name, given.arguments, progress_callback=told)
    except* (MCPError, httpx2.HTTPError) as errors:
        failure = errors
    first: BaseException | None = failure
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    raise TransientError(f"the server at {running.url} does not answer: {first}")
