"""The tools for agents at /mcp, under the same rules of access as every other route."""

import asyncio
from contextlib import AbstractAsyncContextManager

from starlette.requests import HTTPConnection
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from unchunk.domain import OwnerId
from unchunk.mcp.tools import Desk
from unchunk.server.access import House, house_of, limited_of, owner_of
from unchunk.server.tracing import request_id

PATH = "/mcp"


class Agents:
    """An ASGI application that the first request loads and starts: many servers never see one."""

    def __init__(self) -> None:
        self._begun: asyncio.Task[None] | None = None
        self._app: asyncio.Future[ASGIApp] | None = None
        self._ended = asyncio.Event()

    @property
    def route(self) -> Route:
        """Only what is posted: nothing is ever sent that was not asked for."""
        return Route(PATH, self, methods=["POST"], include_in_schema=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        owner = owner_of(connection)
        house = house_of(connection)
        limited = limited_of(connection)
        connection.state.desk = Desk(
            house.engine, owner, request_id(connection), lambda: _admit(house, owner, limited)
        )
        await (await self._started(house.options.version))(scope, receive, send)

    async def close(self) -> None:
        """End what is being answered. Closing twice is closing once."""
        self._ended.set()
        if self._begun is not None:
            await asyncio.wait([self._begun])

    async def _started(self, version: str) -> ASGIApp:
        if self._app is None:
            app: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()
            self._app, self._begun = app, asyncio.create_task(self._run(app, version))
            self._begun.add_done_callback(lambda task: _fail(app, task))
        return await asyncio.shield(self._app)

    async def _run(self, app: "asyncio.Future[ASGIApp]", version: str) -> None:
        """All in one task, as the protocol's library wants it."""
        answer, running = await asyncio.to_thread(_load, version)
        async with running:
            app.set_result(answer)
            await self._ended.wait()


def _load(version: str) -> tuple[ASGIApp, AbstractAsyncContextManager[None]]:
    # As long as all the rest of the server.
    from unchunk.mcp.http import endpoint  # noqa: PLC0415

    return endpoint(version)


def _fail(app: "asyncio.Future[ASGIApp]", task: "asyncio.Task[None]") -> None:
    """Nobody waits for what did not start."""
    if not app.done():
        app.set_exception(task.exception() or RuntimeError("it was closed"))


def _admit(house: House, owner: OwnerId, limited: OwnerId | None) -> None:
    """An answer for an agent counts among all others, and ends with the server as they do."""
    house.streams.check(limited)
    task = asyncio.current_task()
    assert task is not None
    house.streams.follow(task, owner)
