"""The application: one engine behind all routes."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware import Middleware

from unchunk.engine import Engine
from unchunk.errors import UnchunkError
from unchunk.server import chat, chunkenizer, conversations, sockets
from unchunk.server.access import House
from unchunk.server.faults import handle_faults
from unchunk.server.guarding import Guard
from unchunk.server.options import Options
from unchunk.server.streams import Streams
from unchunk.server.tracing import Tracing


def create_app(
    opening: Engine | Callable[[], Awaitable[Engine]], options: Options | None = None
) -> FastAPI:
    """What `opening` opens is closed with the application; an open engine stays its opener's.

    Where it cannot be opened, `app.state.failure` says why.
    """
    options = options or Options()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try:
            engine = await opening() if callable(opening) else opening
        except UnchunkError as error:
            app.state.failure = error
            raise
        streams = Streams(options)
        app.state.house = House(engine, streams, options)
        try:
            yield
        finally:
            await streams.close()
            if callable(opening):
                await engine.close()

    app = FastAPI(
        title="unchunk",
        description="Ask your documents, and answer from whole passages.",
        lifespan=lifespan,
        # Their pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        middleware=[
            Middleware(Tracing),
            Middleware(Guard, options=options, uploads=chunkenizer.UPLOADS),
        ],
    )
    app.state.failure = None
    handle_faults(app)
    for router in (chat.router, sockets.router, conversations.router, chunkenizer.router):
        app.include_router(router)
    app.include_router(chunkenizer.router, prefix="/api")
    return app
