"""The tools over HTTP, for whatever serves it. It says who asks: `request.state.desk`.

Without sessions. Every request is whole in itself, so there is none to be guessed, taken over or
kept open, a server that starts anew loses nothing, and whoever goes away ends what they asked for
and leaves nothing behind. What that costs: a client of the protocol before 2026-07-28 cannot
cancel a call by saying so, only by closing its connection.
"""

from contextlib import AbstractAsyncContextManager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolRequestParams, CallToolResult
from starlette.types import ASGIApp

from unchunk.mcp.protocol import Context, call, make_server, reporting


def endpoint(version: str) -> tuple[ASGIApp, AbstractAsyncContextManager[None]]:
    """What answers requests, and the context in which it does."""

    async def work(context: Context, given: CallToolRequestParams) -> CallToolResult:
        assert context.request is not None
        return await call(context.request.state.desk, given, reporting(context))

    sessions = StreamableHTTPSessionManager(make_server(version, work), stateless=True)
    return sessions.handle_request, sessions.run()
